import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startStore } from '../../support/store.ts';
import { makeWorkspace } from '../../support/workspace.ts';
import type { Answer } from './http-client.ts';
import { serveDashboard } from './running-dashboard.ts';

const MAPPING = `# Our supplier, since 2024.
import: products
columns:
  name: Name # as printed on the box
  price: Preis
  sku: Artikel
  text: Beschreibung
required: [name, price]
product:
  url: [name, slug]
  title: name # never empty
  description: text
variants:
  sku: sku
  pricing: { price: [price, { number: { decimal: ',' } }] }
tests:
  - name: a row
    rows: |
      Name,Preis,Artikel,Beschreibung
      Becher,"12,90",B-1,Ein Becher
    expect:
      - includes: { title: Becher }
`;

async function setup(mapping: string, header: string) {
  const store = await startStore({ seed: 1 });
  const rows = 'Becher;12,90;B-1;Ein Becher;7;x\nKanne;30,00;K-1;Eine Kanne;2;y\n';
  const workspace = await makeWorkspace(
    {
      'stores.yaml': `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}", weightUnit: kg }\n`,
      'jobs/supplier.yaml': `# Nightly.\nimport: products\nstore: main\nsource: { path: list.csv }\nmapping: ${mapping} # ours\n`,
      'mappings/ours.yaml': MAPPING,
      'list.csv': `${header}\n${rows}`,
    },
    { STORE_API_KEY: store.apiKey },
  );
  return {
    ...{ workspace, store },
    file: (name: string) => readFile(join(workspace.dir, name), 'utf8'),
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

/** Sends the form with other choices: by the header of the column, the label of the field. */
function chosen(page: Answer, choices: Readonly<Record<string, string>>) {
  const form = page.document.querySelector('form.draft');
  const inputs = [...(form?.querySelectorAll('input[type=hidden]') ?? [])];
  const fields = inputs.map((one) => [one.getAttribute('name') ?? '', one.getAttribute('value') ?? '']);
  for (const row of form?.querySelectorAll('table.columns tbody tr') ?? []) {
    const select = row.querySelector('select');
    const label = choices[row.querySelector('th')?.textContent ?? ''];
    const option = [...(select?.querySelectorAll('option') ?? [])].find((one) =>
      label === undefined ? one.hasAttribute('selected') : one.textContent === label,
    );
    if (select !== null)
      fields.push([select.getAttribute('name') ?? '', option?.getAttribute('value') ?? '?']);
  }
  return Object.fromEntries(fields);
}

describe('columns of a job, matched in the dashboard', () => {
  const address = '/jobs/supplier/columns';

  it('moves a field to a renamed column, adds and removes fields, and leaves every other byte', async () => {
    await using shop = await setup('ours', 'Name;Preis netto;Artikel;Beschreibung;Lager;Rest');
    const dashboard = await serveDashboard(shop.workspace);
    const client = await dashboard.signedIn('full');
    const asked = await client.get(address);
    expect(asked.words).toContain("No column of the file fills Price ('Preis'), which the mapping needs");
    expect(asked.words).not.toContain('mappings/');

    const choices = { 'Preis netto': 'Price', Lager: 'Stock (new)', Beschreibung: 'Not used' };
    const shown = await client.post(address, chosen(asked, choices));
    expect(shown.status).toBe(200);
    expect(shown.words).toContain('2 records can be sent');
    expect(shown.words).toContain('stock 7');
    // What is written is folded, for those who edit files.
    const written = shown.document.querySelector('details:has(pre.file)')?.textContent ?? '';
    expect(written.replaceAll(/\s+/g, ' ')).toMatch(
      /mappings\/ours\.yaml.*- price: Preis - .*\+ price: Preis netto \+ quantity/,
    );
    expect(shown.words).toContain('Tests of the mapping that fail then');
    expect(await shop.file('mappings/ours.yaml')).toBe(MAPPING);

    const atOnce = await client.post(address, { ...chosen(asked, choices), do: 'save' });
    expect([atOnce.status, atOnce.words]).toEqual([
      422,
      expect.stringContaining('Tests of the mapping that fail then'),
    ]);
    expect(await shop.file('mappings/ours.yaml')).toBe(MAPPING);
    const saved = await client.post(address, { ...chosen(shown, {}), do: 'save' });
    expect(saved.headers.location).toBe('/jobs/supplier/plan');
    expect(await shop.file('mappings/ours.yaml')).toBe(
      MAPPING.replace('price: Preis\n', 'price: Preis netto\n')
        .replace('  text: Beschreibung\n', '  quantity: Lager\n')
        .replace('  description: text\n', '')
        .replace('} }] }\n', '} }] }\n  quantity: [quantity, integer]\n'),
    );
    const planned = (await shop.workspace.storeferry('plan', 'supplier', '--json')).json();
    expect(planned).toMatchObject({ status: 'planned', new: 2, rejected: 0 });
    expect((await client.get('/audit')).words).toContain('edited');
  });

  it('copies a shipped mapping before it changes it, and says so', async () => {
    await using shop = await setup('shopify-products', 'Handle;Title;Price;SKU;Text;Rest');
    const dashboard = await serveDashboard(shop.workspace);
    const client = await dashboard.signedIn('full');
    const asked = await client.get(address);
    expect(asked.words).toContain('The format shopify-products is part of Storeferry and is not changed');
    const label = [...asked.document.querySelectorAll('option')].find((one) =>
      one.textContent?.startsWith('Description'),
    )?.textContent;
    const shown = await client.post(address, { ...chosen(asked, { Text: label ?? '' }), do: 'save' });
    expect([shown.status, shown.words]).toEqual([
      422,
      expect.stringContaining('Tests of the mapping that fail then'),
    ]);
    const saved = await client.post(address, { ...chosen(shown, {}), do: 'save' });
    expect(saved.status, saved.words).toBe(303);
    expect(await shop.file('jobs/supplier.yaml')).toContain('mapping: supplier # ours\n');
    const copy = await shop.file('mappings/supplier.yaml');
    expect(copy).toMatch(/^# Shopify.*\n/);
    expect(copy).toContain('  body: Text\n');
  });

  it('writes nothing over an edit by hand, with two columns for a field, and for read-only visitors', async () => {
    await using shop = await setup('ours', 'Name;Preis;Artikel;Beschreibung;Lager;Rest');
    const dashboard = await serveDashboard(shop.workspace);
    const client = await dashboard.signedIn('full');
    const asked = await client.get(address);
    const twice = await client.post(address, {
      ...chosen(asked, { Lager: 'Description', Rest: 'Description' }),
      do: 'save',
    });
    expect(twice.status).toBe(422);
    expect(twice.words).toContain('Two columns are matched to Description');
    const lost = await client.post(address, { ...chosen(asked, { Preis: 'Not used' }), do: 'save' });
    expect(lost.status).toBe(422);
    expect(lost.words).toContain('This cannot be saved');

    const byHand = MAPPING.replace('since 2024', 'since 2025');
    await shop.workspace.write('mappings/ours.yaml', byHand);
    const late = await client.post(address, { ...chosen(asked, { Lager: 'Description' }), do: 'save' });
    expect(late.status).toBe(409);
    expect(late.words).toContain('changed after this page was shown');
    expect(await shop.file('mappings/ours.yaml')).toBe(byHand);

    const looking = await dashboard.signedIn('readOnly');
    expect((await looking.get(address)).status).toBe(403);
    expect((await looking.post(address, {})).status).toBe(403);
    expect((await looking.get('/jobs/supplier')).words).not.toContain('Match columns');
  });
});
