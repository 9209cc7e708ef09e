import { describe, expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { setupCrm } from '../support/contacts.ts';
import { setupNightly } from '../support/nightly.ts';

describe('plan JOB --show KEY', () => {
  it('shows new, unchanged, changed and rejected products with the cells of their fields', async () => {
    await using shop = await setupNightly(3);
    const { workspace, store } = shop;
    const show = (key: string) => workspace.storeferry('plan', 'nightly', '--show', key);

    const added = await show('product-2');
    expect(added.code).toBe(0);
    expect(added.stdout).toMatch(/^product-2 \(1 row from line 3\)\nNew: /);
    expect(added.stdout).toMatch(/title +"Product 2" +← Title "Product 2" \(line 3\)\n/);
    expect(store.figures().requests).toBe(0);

    expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);
    expect((await show('product-2')).stdout).toContain('Unchanged: ');

    const [one, two, three] = manyProducts(3);
    if (one === undefined || two === undefined || three === undefined) throw new Error('three products');
    const edited = [one, { ...two, price: '19.00' }, { ...three, price: 'tbc' }];
    await workspace.write('catalog.csv', shopifyCatalog(edited));
    const changed = await show('product-2');
    expect(changed.code).toBe(3);
    expect(changed.stdout).toMatch(
      /variants\[0\]\.price +19\s+was 12\s+← Variant Price "19\.00" \(line 3\) {2}number \(decimal point, currency strip\)/,
    );
    const rejected = await show('product-3');
    expect(rejected.stdout).toMatch(/variants\.price: 'tbc' is not .* \(line 4\)\n/);
    expect(rejected.stdout).toMatch(/\n> Variant Price: "tbc"\n/);

    const sent = (await workspace.storeferry('plan', 'nightly', '--show', 'product-2', '--json')).json();
    expect(sent).toMatchObject({
      status: 'planned',
      changed: 1,
      record: { key: 'product-2', standing: 'changed' },
    });
    const missing = await workspace.storeferry('plan', 'nightly', '--show', 'product 22', '--json');
    expect(missing.code).toBe(2);
    expect(missing.stderr).toMatch(/No record of this plan has the key 'product 22'\.\nNearest: product-2/);
    expect(missing.json()).toMatchObject({ status: 'planned', record: null });
    expect((await show('SKU-product-3-1')).stderr).toMatch(
      /product-3 {2}\(Variant SKU "SKU-product-3-1", line 4\)/,
    );
  });

  it('shows every copy of a repeated key as the plan treats it', async () => {
    await using shop = await setupNightly(2, { duplicates: 'last' });
    const [one, two] = manyProducts(2);
    if (one === undefined || two === undefined) throw new Error('two products');
    await shop.workspace.write('catalog.csv', shopifyCatalog([one, two, { ...one, title: 'Later' }]));
    const shown = await shop.workspace.storeferry('plan', 'nightly', '--show', 'product-1');
    expect(shown.stdout).toContain('2 records of the source have this key.');
    expect(shown.stdout).toMatch(/title +"Later" +← Title "Later" \(line 4\)/);
  });

  it('finds a contact by its id, which the crosswalk gives, and a row without one by its line', async () => {
    await using crm = await setupCrm({
      rows: [1, 2].map((number) => ({ number, phone: '1', city: 'Leeds' })),
      known: [1],
      job: { safety: '{ maxRejects: off }' },
    });
    const known = await crm.workspace.storeferry('plan', 'crm', '--show', '1001');
    expect(known.stdout).toMatch(/id +"1001"\s+← Email "/);
    const unknown = await crm.workspace.storeferry('plan', 'crm', '--show', 'line 3');
    expect(unknown.stdout).toMatch(/^The key cannot be read \(1 row from line 3\)\nRejected\./);
    expect(unknown.stdout).toContain('no contact in ids.csv has this email');
  });

  it('finds the product of an update by a SKU or its url, and traces the merged variant', async () => {
    await using shop = await setupNightly(2);
    const { workspace } = shop;
    const [one, two] = manyProducts(2);
    if (one === undefined || two === undefined) throw new Error('two products');
    await workspace.write('catalog.csv', shopifyCatalog([one, { ...two, sizes: 3 }]));
    await workspace.storeferry('run', 'nightly');
    await workspace.write(
      'mappings/stock.yaml',
      'import: products\ncolumns: { code: SKU, left: Stock }\nproduct: {}\nvariants: { sku: code, quantity: left }\ntests: []\n',
    );
    await workspace.write(
      'jobs/stock.yaml',
      'import: products\nstore: main\nsource: { path: stock.csv }\nmapping: stock\nmode: update\nmatch: sku\nsafety: { maxRejects: off }\n',
    );
    await workspace.write('stock.csv', 'SKU,Stock\nSKU-product-2-2,3\nSKU-product-2-3,4\nnosuch,1\n');
    const show = async (key: string) => (await workspace.storeferry('plan', 'stock', '--show', key)).stdout;
    for (const key of ['SKU-product-2-3', 'product-2']) {
      const text = await show(key);
      expect(text).toMatch(/^product-2 \(2 rows from line 2\)\nChanged /);
      expect(text).toMatch(/variants\[1\]\.quantity +3 +was 7 +← Stock "3" \(line 2\)/);
      expect(text).toMatch(/variants\[2\]\.quantity +4 +was 7 +← Stock "4" \(line 3\)/);
      expect(text).toMatch(/variants\[0\]\.quantity +7\n/);
    }
    expect(await show('nosuch')).toMatch(/Rejected\. .*\n.*no product that Storeferry has sent/);
  });
});
