import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openShop } from '../queue/workers-setup.ts';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { type Nightly, setupNightly } from '../support/nightly.ts';
import { describeWithRedis } from '../support/redis.ts';
import { readStaged } from '../tables/read-staged.ts';

const changes = z.array(
  z.looseObject({ field: z.string(), variant: z.string().nullable(), old: z.unknown(), new: z.unknown() }),
);
const history = z.looseObject({
  key: z.string(),
  versions: z.array(
    z.looseObject({
      run: z.string(),
      job: z.string(),
      kind: z.string(),
      place: z.string().nullable(),
      changes,
    }),
  ),
  history: z.object({ versions: z.number(), bytes: z.number() }),
});

const MIRROR = { mode: 'mirror', safety: '{ maxDeletes: off, maxPriceMoves: off }' };
type Opened = Pick<Nightly, 'workspace' | typeof Symbol.asyncDispose>;

/** A catalog sent once, and once more with another price for product-3, without product-9. */
async function twoRuns(open: (products: number, job: typeof MIRROR) => Promise<Opened>) {
  const setup = await open(9, MIRROR);
  const storeferry = (...typed: string[]) => setup.workspace.storeferry(...typed);
  const first = (await storeferry('run', 'nightly', '--json')).json()['run'];
  const products = manyProducts(8).map((product) =>
    product.handle === 'product-3' ? { ...product, price: '99.00' } : product,
  );
  await setup.workspace.write('catalog.csv', shopifyCatalog(products));
  const second = (await storeferry('run', 'nightly', '--json')).json()['run'];
  return { setup, storeferry, first: String(first), second: String(second) };
}

describe('history', () => {
  it('says when a price changed, by which run, from which file and line', async () => {
    const { setup, storeferry, first, second } = await twoRuns(setupNightly);
    await using _ = setup;
    const { code, stdout } = await storeferry('history', 'product-3', '--field', 'variants.price', '--json');
    expect(code).toBe(0);
    const { key, versions, history: size } = history.parse(JSON.parse(stdout));
    expect(key).toBe('product-3');
    expect(versions).toMatchObject([
      {
        run: second,
        job: 'nightly',
        place: 'catalog.csv:4',
        changes: [{ field: 'variants.price', old: 13, new: 99 }],
      },
      { run: first, place: 'catalog.csv:4', created: true, changes: [{ old: null, new: 13 }] },
    ]);
    expect(size.versions).toBe(11);
    const text = (await storeferry('history', 'SKU-product-3-1')).stdout;
    expect(text).toContain('catalog.csv:4');
    const misspelt = (await storeferry('history', 'product-3', '--field', 'variants.prize')).stdout;
    expect(misspelt).toContain('changed variants.prize. Changed were: description,');
    expect(misspelt).toContain('variants.price,');
    expect(text).toMatch(/has 11 versions: about .*bytes per version/);
    expect((await storeferry('history', 'product-9')).stdout).toMatch(/deleted/);
  });

  it('shows a record with the run that set each field, and what became of each record of a run', async () => {
    const { setup, storeferry, first, second } = await twoRuns(setupNightly);
    await using _ = setup;
    const shown = (await storeferry('show', 'product-3', '--json')).json();
    expect(shown).toMatchObject({ key: 'product-3', state: 'acknowledged', job: 'nightly', store: 'main' });
    const fields = z.array(z.looseObject({ field: z.string(), setBy: z.looseObject({ run: z.string() }) }));
    const setBy = new Map(fields.parse(shown['fields']).map(({ field, setBy }) => [field, setBy.run]));
    expect([setBy.get('variants.price'), setBy.get('title')]).toEqual([second, first]);
    const lines = (await storeferry('runs', second, '--records', '--json')).stdout.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line)).sort((a, b) => (a.key < b.key ? -1 : 1))).toMatchObject([
      { key: 'product-3', outcome: 'applied', created: false },
      { key: 'product-9', outcome: 'deleted' },
    ]);
    const out = join(setup.workspace.dir, 'records.xlsx');
    expect((await storeferry('runs', first, '--records', '--out', out)).stdout).toContain('are written to');
    const { header } = await readStaged('records.xlsx', await readFile(out));
    expect(header.join()).toBe('key,outcome,code,reason,place,at,id,changes');
    const csv = (await storeferry('runs', first, '--records', '--csv', '--outcome', 'applied')).stdout;
    expect(csv.split('\n')[0]).toBe('key,outcome,code,reason,place,at,id,changes');
    expect(csv.trim().split('\n')).toHaveLength(10);
  });

  it('lists the records that a part of a title means', async () => {
    const { setup, storeferry } = await twoRuns(setupNightly);
    await using _ = setup;
    const several = await storeferry('history', 'Product');
    expect(several.code).toBe(2);
    expect(several.stderr).toContain('8 records match "Product"');
    expect(several.stderr).toContain('product-3 (Product 3, id ');
    expect((await storeferry('show', 'nobody')).code).toBe(2);
  });
});

/** The catalog of a time between the two runs has what the second one changed and deleted. */
async function writesThePast({ setup, storeferry, second }: Awaited<ReturnType<typeof twoRuns>>) {
  const { startedAt } = (await storeferry('runs', second, '--json')).json();
  const out = join(setup.workspace.dir, 'before.jsonl');
  const written = await storeferry('catalog', '--as-of', String(startedAt), '--out', out);
  expect(written).toMatchObject({ code: 0, stderr: '' });
  const products = (await readFile(out, 'utf8')).trimEnd().split('\n');
  const bodies = products.map((line): unknown => JSON.parse(line));
  expect(bodies).toHaveLength(9);
  expect(bodies).toContainEqual(
    expect.objectContaining({ url: 'product-3', variants: [expect.objectContaining({ price: 13 })] }),
  );
  expect(bodies).toContainEqual(expect.objectContaining({ url: 'product-9' }));
}

describe('catalog', () => {
  it('is written as the store had acknowledged it at a time: before a change, a delete, and everything', async () => {
    const shop = await twoRuns(setupNightly);
    const { setup, storeferry } = shop;
    await using _ = setup;
    await writesThePast(shop);
    const now = (await storeferry('catalog')).stdout.trimEnd().split('\n');
    expect(now[0]).toMatch(/^url,type,title,.*,options,sku,price/);
    expect(now).toHaveLength(9);
    expect(now.filter((line) => line.startsWith('product-3,'))[0]).toContain(',99,');
    expect((await storeferry('catalog', '--as-of', '2001-01-01')).stdout.trimEnd().split('\n')).toHaveLength(
      1,
    );
    for (const wrong of ['2026-02-30', '2026-11-23junk', '2026-11-23T25:00', 'yesterday']) {
      expect((await storeferry('catalog', '--as-of', wrong)).code).toBe(2);
    }

    const workbook = await storeferry('catalog', '--out', join(setup.workspace.dir, 'now.xlsx'));
    expect(workbook.stdout).toContain('8 products written to');
    const bytes = await readFile(join(setup.workspace.dir, 'now.xlsx'));
    expect(bytes.subarray(0, 2).toString()).toBe('PK');
    expect((await storeferry('catalog', '--out', 'now.pdf')).stderr).toContain('.csv, .jsonl, .xlsx');
  });
});

it('data on standard output has the bytes of --out, also of characters that act on a terminal', async () => {
  await using setup = await setupNightly(1);
  const { workspace } = setup;
  const body = '<p>one\r\nline\u200btwo \u200fthree\u2028</p>';
  const products = manyProducts(2).map((product, index) =>
    index === 0 ? product : { ...product, handle: 'b\u200bad', price: 'free' },
  );
  const catalog = shopifyCatalog(products).replace('<p>About Product 1</p>', `"${body}"`);
  await workspace.write('catalog.csv', catalog);
  const run = String((await workspace.storeferry('run', 'nightly', '--json')).json()['run']);
  const written = async (name: string, ...command: string[]) => {
    const out = join(workspace.dir, name);
    expect((await workspace.storeferry(...command, '--out', out)).code).toBe(0);
    return await readFile(out, 'utf8');
  };
  const csv = await written('now.csv', 'catalog');
  expect(csv).toContain(body);
  expect((await workspace.storeferry('catalog')).stdout).toBe(csv);
  const records = ['runs', run, '--records'];
  const listed = await written('records.csv', ...records);
  expect(listed).toContain('\u200b');
  expect((await workspace.storeferry(...records, '--csv')).stdout).toBe(listed);
  expect((await workspace.storeferry(...records, '--json')).stdout).toBe(
    await written('records.jsonl', ...records),
  );
  expect((await workspace.storeferry(...records)).stdout).not.toContain('\u200b');
});

it('a catalog without a history says so, and only of an earlier time', async () => {
  await using setup = await setupNightly(3);
  const { workspace } = setup;
  const stores = await readFile(join(workspace.dir, 'stores.yaml'), 'utf8');
  await workspace.write('stores.yaml', `${stores.trimEnd()}\n  history: { keep: off }\n`);
  expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);
  expect(await workspace.storeferry('catalog')).toMatchObject({ code: 0, stderr: '' });
  const { code, stderr } = await workspace.storeferry('catalog', '--as-of', '2001-01-01');
  expect([code, stderr]).toEqual([0, 'No history of 3 products: they are written as they are now.\n']);
});

describeWithRedis('catalog with the state in Redis', () => {
  it('is written as the store had acknowledged it at a time', async () => {
    const shop = await twoRuns((products, job) => openShop({ products, job }));
    await using _ = shop.setup;
    await writesThePast(shop);
    const now = (await shop.storeferry('catalog')).stdout.trimEnd().split('\n');
    expect(now).toHaveLength(9);
    expect(
      (await shop.storeferry('catalog', '--as-of', '2001-01-01')).stdout.trimEnd().split('\n'),
    ).toHaveLength(1);
  });
});
