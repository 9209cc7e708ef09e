import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { type Nightly, setupNightly } from '../support/nightly.ts';
import { errorAnswer, unauthorized } from '../support/store/faults.ts';
import { startStore } from '../support/store.ts';
import { type CellToWrite, makeXlsx } from '../tables/workbooks.ts';

interface Rejected extends Nightly {
  readonly run: string;
  /** The rejects file as it was written. */
  readonly rejects: string;
  save(content: string | Buffer): Promise<void>;
  retry(of?: string): Promise<Retried>;
}

interface Retried {
  readonly json: Record<string, unknown>;
  readonly code: number | null;
  readonly stderr: string;
}

/** Five products, two of which the mapping rejects for their price: product-2 and product-4. */
async function setup(edit: (catalog: string) => string = (catalog) => catalog): Promise<Rejected> {
  const products = manyProducts(5).map((product, index) => ({
    ...product,
    price: index % 2 === 1 ? 'tbc' : product.price,
  }));
  const nightly = await setupNightly(0, { safety: '{ maxRejects: off, minRows: 0 }' });
  const { workspace } = nightly;
  await workspace.write('catalog.csv', edit(shopifyCatalog(products)));
  const { run, rejectsFile } = (await workspace.storeferry('run', 'nightly', '--json')).json();
  const file = join(workspace.dir, String(rejectsFile));
  return {
    ...nightly,
    run: String(run),
    rejects: await readFile(file, 'utf8'),
    save: (content) => writeFile(file, content),
    async retry(of = String(run)) {
      const { code, stderr, json } = await workspace.storeferry('retry', of, '--json');
      return { json: json(), code, stderr };
    },
    [Symbol.asyncDispose]: () => nightly[Symbol.asyncDispose](),
  };
}

const SKUS = { 'SKU-product-2-1': '000123', 'SKU-product-4-1': '1234567890123' };
const withCodes = (catalog: string) =>
  Object.entries(SKUS).reduce((text, [sku, code]) => text.replace(sku, code), catalog);

describe('retry', () => {
  it('sends what was rejected, not what a spreadsheet made of it', async () => {
    await using scene = await setup(withCodes);
    const damaged = scene.rejects.replace('000123', '123').replace('1234567890123', '1.23457E+12');
    await scene.save(damaged.replaceAll('tbc', '21.00'));
    const { json, stderr } = await scene.retry();
    expect(json).toMatchObject({ status: 'done', applied: 2, rejected: 0 });
    expect(scene.store.lastBody('product-2')).toContain('"000123"');
    expect(scene.store.lastBody('product-4')).toContain('"1234567890123"');
    expect(stderr).toContain('2 cells edited in 2 of 2 rows, 2 cells restored');
    expect(stderr).toContain("line 3, Variant SKU: '000123' -> '123'");
  });

  it('is refused when the job has come to write to another store, and nothing is sent there', async () => {
    await using scene = await setup();
    const other = await startStore({ seed: 2 });
    try {
      await scene.save(scene.rejects.replaceAll('tbc', '21.00'));
      const { workspace, store } = scene;
      const configured = (address: string) => `main:\n  baseUrl: ${address}\n  apiKey: \${STORE_API_KEY}\n`;
      await workspace.write('stores.yaml', configured(other.baseUrl));
      const { code, stderr } = await scene.retry();
      expect(code).toBe(2);
      expect(stderr).toContain(store.baseUrl);
      expect(other.figures().requests).toBe(0);

      await workspace.write('stores.yaml', configured(store.baseUrl));
      expect((await scene.retry()).json).toMatchObject({ status: 'done', applied: 2 });
    } finally {
      await other.close();
    }
  });

  it('refuses a record of which it does not know what was meant, with the cell, and sends the others', async () => {
    await using scene = await setup(withCodes);
    const damaged = scene.rejects.replace('000123', '124').replaceAll('tbc', '21.00');
    await scene.save(damaged);
    const { json, code, stderr } = await scene.retry();
    expect([code, json]).toMatchObject([3, { status: 'done-with-rejects', applied: 1, rejected: 1 }]);
    expect(scene.store.lastBody('product-2')).toBeUndefined();
    expect(stderr).toContain('1 cell refused');
    expect(stderr).toContain(
      "line 3, Variant SKU: '000123' -> '124' (the reason of the rejection does not name this column)",
    );

    // Its own rejects hold the old value, and the price as it was corrected.
    const again = await readFile(join(scene.workspace.dir, String(json['rejectsFile'])), 'utf8');
    expect(again).toContain(',000123,');
    expect(again).toContain("'000123' has become '124'");
    const second = await scene.retry(String(json['run']));
    expect(second.json).toMatchObject({ status: 'done', applied: 1 });
    expect(scene.store.lastBody('product-2')).toContain('"000123"');
  });

  it('refuses a row whose storeferry_line was deleted, and sends the others', async () => {
    await using scene = await setup(withCodes);
    const cleared = scene.rejects.replace('000123', '123').replace(/,3$/m, ',').replaceAll('tbc', '21.00');
    expect(cleared).toMatch(/,\n/);
    await scene.save(cleared);
    const { json, stderr } = await scene.retry();
    expect(json).toMatchObject({ status: 'done-with-rejects', applied: 1, rejected: 1 });
    expect(scene.store.lastBody('product-2')).toBeUndefined();
    expect(stderr).toContain('1 cell edited in 1 of 2 rows, 1 row deleted, 1 cell refused');
    expect(stderr).toContain('line 2 of the corrected file, storeferry_line (no rejected row has this');
  });

  it('accepts what a European spreadsheet saves: semicolons, Windows-1252, decimal commas', async () => {
    await using scene = await setup((catalog) =>
      catalog
        .replace('Product 2', '"Tür, ""groß"""')
        .replace('<p>About Product 2</p>', '"<p class=""x"">schön; grün</p>"'),
    );
    const [header = '', two = '', four = ''] = scene.rejects.slice(1).split('\n');
    const saved = [
      header.replaceAll(',', ';'),
      two
        .replace('"Tür, ""groß"""', '"Tür# ""groß"""')
        .replaceAll(',', ';')
        .replace('Tür#', 'Tür,')
        .replace('tbc', '21.00'),
      four.replaceAll(',', ';').replace('tbc', '22.00'),
    ];
    await scene.save(Buffer.from(`${saved.join('\r\n')}\r\n`, 'latin1'));
    const { json, stderr } = await scene.retry();
    expect(stderr).toContain('2 cells edited in 2 of 2 rows\n');
    expect(json).toMatchObject({ status: 'done', applied: 2 });
    expect(scene.store.lastBody('product-2')).toContain('Tür, \\"groß\\"');
  });

  it('refuses a record whose key was not rejected, also when that is rejected and retried again', async () => {
    await using scene = await setup();
    const healthy = scene.store.lastBody('product-1');
    const edited = scene.rejects.replaceAll('tbc', '21.00').replace('product-2,', 'product-1,');
    await scene.save(edited);
    const { json, code } = await scene.retry();
    expect([code, json]).toMatchObject([3, { applied: 1, rejected: 1 }]);
    const again = await readFile(join(scene.workspace.dir, String(json['rejectsFile'])), 'utf8');
    expect(again).toContain("'product-2' has become 'product-1', but the reason of the rejection");
    expect(scene.store.lastBody('product-1')).toBe(healthy);
    await scene.save(scene.rejects.replaceAll('tbc', '21.00'));
    expect((await scene.retry()).json).toMatchObject({ status: 'done', applied: 1 });
    expect(scene.store.lastBody('product-2')).toContain('21');

    // A reason of the store names no column.
    const products = manyProducts(5).map((product, index) =>
      index === 4 ? { ...product, price: '9' } : product,
    );
    await scene.workspace.write('catalog.csv', shopifyCatalog(products));
    scene.store.misbehave({ does: errorAnswer(422, 'Too cheap'), keys: ['product-5'] });
    const { run, rejectsFile } = (await scene.workspace.storeferry('run', 'nightly', '--json')).json();
    scene.store.behave();
    const file = join(scene.workspace.dir, String(rejectsFile));
    const refused = await readFile(file, 'utf8');
    for (const key of ['product-1', 'product-99']) {
      await writeFile(file, refused.replace('product-5,', `${key},`));
      const other = await scene.retry(String(run));
      expect(other.json['error']).toContain(`was not rejected by run ${run}`);
    }
    expect(scene.store.lastBody('product-1')).toBe(healthy);
  });

  it('names the line of the rejects file and the row of the source, also where it is retried again', async () => {
    await using scene = await setup();
    // product-4 is in line 5 of catalog.csv, and in line 3 of its rejects.
    await scene.save(scene.rejects.replace('tbc', '21.00').replace('tbc', 'soon'));
    const { json } = await scene.retry();
    expect(json).toMatchObject({ applied: 1, rejected: 1 });
    const retried = String(json['run']);
    const file = join(scene.workspace.dir, String(json['rejectsFile']));
    const again = await readFile(file, 'utf8');
    expect(again).toMatch(/\(line 5 of \S*catalog\.csv, column Variant Price\).*,3\r?\n$/);
    const shown = await scene.workspace.storeferry('runs', retried);
    expect(shown.stdout.replaceAll(/\s+/g, ' ')).toMatch(/line 3 \(line 5 of \S*catalog\.csv\)/);
    await writeFile(file, again.replace('soon', 'never'));
    const second = await scene.retry(retried);
    expect(second.json).toMatchObject({ rejected: 1 });
    expect(await readFile(join(scene.workspace.dir, String(second.json['rejectsFile'])), 'utf8')).toMatch(
      /\(line 5 of \S*catalog\.csv, column Variant Price\).*,2\r?\n$/,
    );
  });

  it('names the row of the sheet', async () => {
    await using nightly = await setupNightly(0, { safety: '{ maxRejects: off, minRows: 0 }' });
    const { workspace } = nightly;
    await workspace.write(
      'jobs/sheet.yaml',
      'import: products\nstore: main\nsource: { path: prices.xlsx }\nmapping: shopify-products\nsafety: { maxRejects: off }\n',
    );
    const rows = [
      ['Handle', 'Title', 'Variant Price'],
      ['lamp', 'Lamp', '10.00'],
      ['hat', 'Hat', 'tbc'],
    ];
    await writeFile(join(workspace.dir, 'prices.xlsx'), makeXlsx([{ name: 'Prices', rows }]));
    const { run, rejectsFile } = (await workspace.storeferry('run', 'sheet', '--json')).json();
    const file = join(workspace.dir, String(rejectsFile));
    await writeFile(file, (await readFile(file, 'utf8')).replace('tbc', 'soon'));
    const retried = (await workspace.storeferry('retry', String(run), '--json')).json();
    expect(retried).toMatchObject({ rejected: 1 });
    expect(await readFile(join(workspace.dir, String(retried['rejectsFile'])), 'utf8')).toContain(
      '(Prices row 3, column Variant Price)',
    );
  });

  it('does not send what a spreadsheet has made a date, nor deletes its product, until it is typed again', async () => {
    await using nightly = await setupNightly(0, { safety: '{ maxRejects: off, minRows: 0 }' });
    const { workspace, store } = nightly;
    await workspace.write(
      'jobs/sheet.yaml',
      'import: products\nstore: main\nsource: { path: screws.xlsx }\nmapping: screws\nmode: mirror\nsafety: { maxRejects: off }\n',
    );
    await workspace.write(
      'mappings/screws.yaml',
      `import: products
columns: { code: Code, name: Name, price: Price, size: Size }
product: { url: code, title: name }
options: { columns: { Size: size } }
variants: { sku: code, pricing: { price: price } }
`,
    );
    const run = async (code: CellToWrite, size: CellToWrite) => {
      const from = { number: '46086', format: 'yyyy-mm-dd' };
      const rows = [
        ['Code', 'Name', 'Price', 'Size', 'From', 'Until'],
        ['6-12', 'Screws of 6', 1, 'S', from, from],
        [code, 'Screws of 7', 2, size, from, from],
      ];
      await writeFile(join(workspace.dir, 'screws.xlsx'), makeXlsx([{ name: 'S', rows }]));
      return (await workspace.storeferry('run', 'sheet', '--json')).json();
    };
    expect(await run('7-12', '2-3')).toMatchObject({ applied: 2, rejected: 0 });
    const dated = await run({ number: '46366', format: 'd-mmm' }, { number: '46083', format: 'd/m' });
    expect(dated).toMatchObject({ applied: 0, rejected: 1 });
    const skus = [...store.shop.products.values()].map(({ variants }) => variants?.[0]?.sku);
    expect(skus.toSorted()).toEqual(['6-12', '7-12']);
    const file = join(workspace.dir, String(dated['rejectsFile']));
    const rejects = await readFile(file, 'utf8');
    expect(rejects).toContain('2026-12-10 (date),Screws of 7,2,2026-03-02 (date),2026-03-05,2026-03-05,');
    expect((await workspace.storeferry('retry', String(dated['run']), '--json')).json()).toMatchObject({
      applied: 0,
      rejected: 1,
    });
    await writeFile(file, rejects.replace('2026-12-10 (date)', '8-12').replace('2026-03-02 (date)', '3-4'));
    expect((await workspace.storeferry('retry', String(dated['run']), '--json')).json()).toMatchObject({
      applied: 1,
      rejected: 0,
    });
  });

  it('sends a row whose key could not be read once it has one, unless the store knows that key', async () => {
    await using scene = await setup((catalog) => catalog.replace('product-2,', ','));
    await scene.save(scene.rejects.replace(/^,/m, 'product-1,').replaceAll('tbc', '21.00'));
    const { json } = await scene.retry();
    expect(json).toMatchObject({ applied: 1, rejected: 1 });
    const second = join(scene.workspace.dir, String(json['rejectsFile']));
    await writeFile(second, (await readFile(second, 'utf8')).replace(/^product-1,/m, 'product-2,'));
    expect((await scene.retry(String(json['run']))).json).toMatchObject({ status: 'done', applied: 1 });
    expect(scene.store.lastBody('product-2')).toContain('21');
  });

  it("refuses another shop's export in the place of the rejects file", async () => {
    await using scene = await setup();
    scene.store.forget();
    const others = manyProducts(3, 70);
    await scene.save(shopifyCatalog(others));
    const { json, code } = await scene.retry();
    expect(code).toBe(1);
    expect(json['error']).toContain('is not a rejects file of this run');

    // The same with our columns, as the rejects of another run have them.
    const lines = shopifyCatalog(others).trim().split('\n');
    const columns = lines.map(
      (line, row) => `${line},${row === 0 ? 'storeferry_reason,storeferry_line' : `x,${row + 2}`}`,
    );
    await scene.save(`${columns.join('\n')}\n`);
    const second = await scene.retry();
    expect([second.code, second.json]).toMatchObject([3, { applied: 0, rejected: 3 }]);
    expect(scene.store.requests).toHaveLength(0);
  });

  it('leaves out what a newer run has applied, counts it, and sends the rest', async () => {
    await using scene = await setup();
    const { workspace, store } = scene;
    const products = manyProducts(5).map((product, index) => ({
      ...product,
      price: index === 3 ? 'tbc' : product.price,
    }));
    await workspace.write('catalog.csv', shopifyCatalog(products));
    expect((await workspace.storeferry('run', 'nightly', '--json')).json()).toMatchObject({
      applied: 1,
      rejected: 1,
    });
    const applied = store.lastBody('product-2');

    await scene.save(scene.rejects.replaceAll('tbc', '77.00'));
    const { json } = await scene.retry();
    expect(json).toMatchObject({ status: 'done', records: 2, applied: 1, skipped: 1, rejected: 0 });
    expect(store.lastBody('product-2')).toBe(applied);
    expect(store.lastBody('product-4')).toContain('77');
    const { stdout } = await workspace.storeferry('runs', String(json['run']));
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      `1 record left out: another run has sent this key since run ${scene.run} rejected it, or has found it unchanged.`,
    );
  });

  it('sends what a newer run has tried and the store refused', async () => {
    await using scene = await setup();
    const { workspace, store } = scene;
    await workspace.write('catalog.csv', shopifyCatalog(manyProducts(5)));
    store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['product-2'] });
    expect((await workspace.storeferry('run', 'nightly', '--json')).json()).toMatchObject({
      applied: 1,
      rejected: 1,
    });
    store.behave();
    await scene.save(scene.rejects.replaceAll('tbc', '77.00'));
    expect((await scene.retry()).json).toMatchObject({ applied: 1, skipped: 1 });
    expect(store.lastBody('product-2')).toContain('77');
  });

  it('may be repeated, and does not count as a newer run while the store has taken nothing of it', async () => {
    await using scene = await setup();
    const { workspace } = scene;
    await workspace.write('catalog.csv', shopifyCatalog(manyProducts(3)));
    const planned = (await workspace.storeferry('plan', 'nightly', '--json')).json();
    const unedited = await scene.retry();
    expect(unedited).toMatchObject({ code: 3, json: { rejected: 2, requests: 0 } });
    expect((await scene.retry()).code).toBe(3);
    const approved = await workspace.storeferry('approve', String(planned['run']), '--json');
    expect(approved.json()).toMatchObject({ status: 'done' });

    await scene.save(scene.rejects.replace('tbc', '77.00'));
    expect((await scene.retry()).json).toMatchObject({ skipped: 1, rejected: 1 });
    await scene.save(scene.rejects.replaceAll('tbc', '77.00'));
    expect((await scene.retry()).json).toMatchObject({ status: 'done', applied: 1, skipped: 1 });
  });

  it('goes on where it stopped, and leaves out what it has sent when the file has been edited since', async () => {
    await using scene = await setup();
    const { store } = scene;
    await scene.save(scene.rejects.replaceAll('tbc', '77.00'));
    store.misbehave({ does: unauthorized, keys: ['product-4'] });
    const failed = await scene.retry();
    expect(failed.json).toMatchObject({ status: 'failed', applied: 1, unsent: 1 });
    store.behave();
    const continued = await scene.retry();
    expect(continued.json).toMatchObject({ run: failed.json['run'], status: 'done', applied: 2 });

    await scene.save(scene.rejects.replaceAll('tbc', '78.00'));
    expect((await scene.retry()).json).toMatchObject({ status: 'done', applied: 0, skipped: 2 });
    expect(store.lastBody('product-2')).toContain('77');
  });

  it('refuses rejects that do not say what was rejected', async () => {
    await using scene = await setup();
    const index = join(scene.workspace.dir, '.storeferry', 'artifacts', scene.run, 'rejects.json');
    const { keys: _, keyless: __, ...old } = JSON.parse(await readFile(index, 'utf8'));
    await writeFile(index, JSON.stringify(old));
    const { json, code } = await scene.retry();
    expect([code, json['error']]).toEqual([1, expect.stringContaining('Run the job again')]);
  });
});
