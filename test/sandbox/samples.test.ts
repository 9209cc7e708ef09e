import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { readWorkspace } from '../../src/config/workspace.ts';
import { setup } from './setup.ts';

const ROOT = join(import.meta.dirname, '..', '..');

type Cells = Readonly<Record<string, string>>;

function sample(name: string): Cells[] {
  return parse(readFileSync(join(ROOT, 'jobs', 'samples', name)), { columns: true });
}

/** The rows of each product, as one text to compare. */
function productsOf(name: string): ReadonlyMap<string, string> {
  const groups = Map.groupBy(sample(name), (row) => row['Handle'] ?? '');
  return new Map([...groups].map(([handle, rows]) => [handle, JSON.stringify(rows)]));
}

describe('the sample catalogs', () => {
  const first = productsOf('catalog.csv');
  const second = productsOf('catalog-second-night.csv');

  it('hold a small shop: 76 products in 221 rows, some hidden, some on sale', () => {
    const rows = sample('catalog.csv');
    expect([first.size, rows.length]).toEqual([76, 221]);
    const withPrice = rows.filter((row) => row['Variant Price'] !== '');
    expect(withPrice).toHaveLength(189);
    expect(withPrice.filter((row) => !/^\d+\.\d\d$/.test(row['Variant Price'] ?? ''))).toEqual([]);
    expect(new Set(withPrice.map((row) => row['Variant SKU'])).size).toBe(189);
    expect(rows.filter((row) => row['Published'] === 'false')).toHaveLength(5);
    expect(rows.filter((row) => row['Variant Compare At Price'] !== '').length).toBeGreaterThan(15);
  });

  it('differ from run to run by 14 changed, 5 new, 1 removed and 1 broken product', () => {
    const handles = (wanted: (handle: string) => boolean) => [...second.keys()].filter(wanted);
    expect([...first.keys()].filter((handle) => !second.has(handle))).toEqual(['fish-stock-cubes']);
    expect(handles((handle) => !first.has(handle))).toHaveLength(5);
    expect(handles((handle) => first.has(handle) && first.get(handle) !== second.get(handle))).toHaveLength(
      15,
    );
    const unreadable = sample('catalog-second-night.csv').filter((row) =>
      /^[^\d]+$/.test(row['Variant Price'] ?? ''),
    );
    expect(unreadable.map((row) => [row['Handle'], row['Variant Price']])).toEqual([['salt-pig', 'tbc']]);
  });
});

describe('the sample contacts', () => {
  const email = (row: Cells, name: string) => (row[name] ?? '').trim().toLowerCase();

  it('have a crosswalk to all contacts that a new sandbox holds', async () => {
    await using store = await setup();
    const seeded = (await store.list('/_sandbox/contacts')).map(({ id, email }) => ({
      id: String(id),
      email,
    }));
    expect(sample('contact-ids.csv')).toEqual(seeded);
  });

  it('are 300, of whom the crosswalk knows 290', () => {
    const known = new Set(sample('contact-ids.csv').map((row) => email(row, 'email')));
    const emails = sample('crm-export.csv').map((row) => email(row, 'Email'));
    expect(new Set(emails).size).toBe(300);
    expect(emails.filter((address) => known.has(address))).toHaveLength(290);
    expect(emails.filter((address) => !address.endsWith('.example'))).toEqual([]);
  });
});

describe('the sample job', () => {
  it('is a valid job for a valid store, with a source that is there', () => {
    const workspace = readWorkspace(ROOT, { STORE_URL: 'http://127.0.0.1:4010', STORE_API_KEY: 'k' });
    expect(workspace.store('main')).toMatchObject({ baseUrl: 'http://127.0.0.1:4010', weightUnit: 'kg' });
    const job = workspace.job('nightly-catalog');
    expect(job).toMatchObject({ store: 'main', mapping: 'shopify-products', mode: 'upsert' });
    expect(job).not.toHaveProperty('notify');
  });
});
