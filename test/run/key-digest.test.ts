import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { importJobSchema } from '../../src/config/job/import-job-schema.ts';
import { comparableKeyDigest, openMapping } from '../../src/run/inputs/open-mapping.ts';
import { mappingOf } from '../mapping/mapping-setup.ts';

const dir = mkdtempSync(join(tmpdir(), 'storeferry-key-digest-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
writeFileSync(join(dir, 'shops.csv'), 'shop,prefix\n1,a-\n');

const BASE = `import: products
columns: { product_code: SKU, code: Code, title: Title, price: Price, shop: Shop, weight: "Weight ({unit})" }
params: { prefix: x-, decimal: "." }
lookups: { shops: { path: shops.csv, match: shop } }
group: { by: product_code, rows: anywhere, head: { title: present } }
product: { url: "{prefix}{product_code}", title: title }
variants: { sku: code, pricing: { price: [price, { number: { decimal: "{decimal}" } }] }, weight: { value: weight, unit: unit } }
`;
const PRODUCTS = 'import: products\nstore: main\nsource: { path: a.csv }\nmapping: own\n';

async function digestOf(mapping: string, job = PRODUCTS): Promise<string> {
  const spec = mappingOf(mapping);
  const {
    crosswalk: _crosswalk,
    notify: _notify,
    mode = 'upsert',
    ...read
  } = importJobSchema.parse({ ...parse(job) });
  const opened = await openMapping(
    {
      ...{ name: 'own', spec, shipped: false, dir, placeOf: () => ({ file: 'own.yaml' }) },
      lookupPlaces: new Map([['shops', { path: 'shops.csv' }]]),
    },
    { ...read, mode, name: 'nightly', kind: 'import' },
    { workspaceDir: dir },
  );
  return opened.keyDigest;
}

/** The base with one text in the place of another. */
function edited(from: string, to: string): string {
  expect(BASE).toContain(from);
  return BASE.replace(from, to);
}

describe('the digest of what decides the key', () => {
  it.each([
    ['the expression', edited('{prefix}{product_code}', '{prefix}{title}')],
    ['the header of a column it names', edited('product_code: SKU', 'product_code: Article')],
    ['what groups rows', edited('by: product_code', 'by: title')],
    ['the head of a group', edited('{ title: present }', '{ price: present }')],
    ['the header of a column that only the grouping names', edited('title: Title', 'title: Name')],
    ['a param it names', edited('prefix: x-', 'prefix: y-')],
    ['no grouping', edited('group: { by: product_code, rows: anywhere, head: { title: present } }\n', '')],
    [
      'a lookup it names',
      edited('url: "{prefix}{product_code}"', 'url: [shop, { table: shops, column: prefix }]'),
    ],
  ])('is another with %s', async (_what, mapping) => {
    expect(await digestOf(mapping)).not.toBe(await digestOf(BASE));
  });

  it.each([
    ['a column whose name is part of one that it names', edited('code: Code', 'code: Other')],
    ['another column', edited('price: Price', 'price: Cost')],
    ['a param it does not name', edited('decimal: "."', 'decimal: ","')],
    ['a lookup it does not name', edited('match: shop', 'match: prefix')],
    ['a title', edited('title: title }', 'title: "{title}!" }')],
  ])('is the same with another %s', async (_what, mapping) => {
    expect(await digestOf(mapping)).toBe(await digestOf(BASE));
  });

  it('is another when the job sets a param that the key names, and the same for others', async () => {
    const before = await digestOf(BASE);
    expect(await digestOf(BASE, `${PRODUCTS}params: { prefix: z- }\n`)).not.toBe(before);
    expect(await digestOf(BASE, `${PRODUCTS}params: { decimal: "," }\n`)).toBe(before);
  });

  it('is not compared with one of an earlier version, which covered less', async () => {
    const now = await digestOf(BASE);
    expect(comparableKeyDigest(now)).toBe(now);
    expect(comparableKeyDigest('f00d'.repeat(16))).toBeNull();
    expect(comparableKeyDigest(null)).toBeNull();
  });
});
