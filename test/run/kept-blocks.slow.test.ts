import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CatalogProduct, catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { type Nightly, setupNightly } from '../support/nightly.ts';
import { errorAnswer } from '../support/store/faults.ts';

/** More than the first 64 KiB, which are always read. */
const PRODUCTS: readonly CatalogProduct[] = manyProducts(120).map((product) => ({
  ...product,
  title: `${product.title} ${'of linen '.repeat(60)}`,
}));
const LATE = 100;

function priced(price: string): CatalogProduct[] {
  return PRODUCTS.map((product, index) => (index === LATE ? { ...product, price } : product));
}

/** A run of the catalog with a new first product: otherwise an unchanged file would not be read at all. */
async function runWith({ workspace }: Nightly, products: readonly CatalogProduct[], added = 'none') {
  const first = { handle: added, title: 'Added', price: '3.00' };
  await workspace.write('catalog.csv', shopifyCatalog([first, ...products]));
  const { stdout, stderr, json } = await workspace.storeferry('run', 'nightly', '--json');
  if (stdout === '') throw new Error(stderr);
  return json();
}

describe('the blocks that a run keeps', () => {
  it('count no longer after another job has sent a key of theirs', async () => {
    await using setup = await setupNightly(0);
    const { store, workspace } = setup;
    expect(await runWith(setup, PRODUCTS)).toMatchObject({ applied: 121 });
    const job = catalogWorkspace('', '')['jobs/nightly.yaml'] ?? '';
    await workspace.write('jobs/other.yaml', job.replace('catalog.csv', 'other.csv'));
    await workspace.write('other.csv', shopifyCatalog(priced('77.00').slice(LATE, LATE + 1)));
    const other = await workspace.storeferry('run', 'other', '--json');
    expect(other.json()).toMatchObject({ applied: 1 });
    const handle = PRODUCTS[LATE]?.handle ?? '';
    expect(store.lastBody(handle)).toContain('77');
    expect(await runWith(setup, PRODUCTS, 'second')).toMatchObject({ applied: 2, unchanged: 119 });
    expect(store.lastBody(handle)).not.toContain('77');
  });

  it('do not have a record that the store refused, nor its key', async () => {
    await using setup = await setupNightly(0);
    const { store, workspace } = setup;
    await runWith(setup, PRODUCTS);
    const handle = PRODUCTS[LATE]?.handle ?? '';
    store.misbehave({ does: errorAnswer(422, 'no'), keys: [handle] });
    expect(await runWith(setup, priced('77.00'))).toMatchObject({ applied: 0, rejected: 1, unchanged: 120 });
    const seal = join(workspace.dir, '.storeferry', 'artifacts', 'blocks', 'nightly.json');
    const kept = await readFile(seal, 'utf8');
    expect(kept).toMatch(/"refused": ?\[\s*\{/);
    // The key of a contact may be its address, and `forget` does not look here.
    expect(kept).not.toContain(handle);
    store.behave();
    expect(await runWith(setup, priced('77.00'), 'second')).toMatchObject({ applied: 2, unchanged: 119 });
    expect(store.lastBody(handle)).toContain('77');
  });

  it('are not needed: where they cannot be written, the run is done and the next one reads everything', async () => {
    await using setup = await setupNightly(0);
    const blocks = join(setup.workspace.dir, '.storeferry', 'artifacts', 'blocks', 'nightly.bin');
    await mkdir(join(blocks, 'in the way'), { recursive: true });
    expect(await runWith(setup, PRODUCTS)).toMatchObject({ status: 'done', applied: 121 });
    expect(await runWith(setup, PRODUCTS, 'second')).toMatchObject({ applied: 1, unchanged: 120 });
  });
});

describe('a file that has not changed since the last run', () => {
  it('is not mapped again, until another job has sent one of its keys', async () => {
    await using setup = await setupNightly(0);
    const { store, workspace } = setup;
    const first = await runWith(setup, PRODUCTS);
    const again = await workspace.storeferry('run', 'nightly');
    expect(again.code).toBe(0);
    expect(again.stdout.replaceAll(/\s+/g, ' ')).toContain(
      `Nothing to do: all 121 products are unchanged. The source has not changed since run ${first['run']} read it.`,
    );
    const job = catalogWorkspace('', '')['jobs/nightly.yaml'] ?? '';
    await workspace.write('jobs/other.yaml', job.replace('catalog.csv', 'other.csv'));
    await workspace.write('other.csv', shopifyCatalog(priced('77.00').slice(LATE, LATE + 1)));
    expect((await workspace.storeferry('run', 'other', '--json')).json()).toMatchObject({ applied: 1 });
    expect(await runWith(setup, PRODUCTS)).toMatchObject({ applied: 1, unchanged: 120 });
    expect(store.lastBody(PRODUCTS[LATE]?.handle ?? '')).not.toContain('77');
    const resent = await workspace.storeferry('run', 'nightly', '--resend', '--json');
    expect(resent.json()).toMatchObject({ applied: 121 });
  });
});
