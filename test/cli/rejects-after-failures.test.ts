import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { errorAnswer, unauthorized } from '../support/store/faults.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

async function setup(count: number) {
  const store = await startStore({ seed: 3 });
  const catalog = shopifyCatalog(manyProducts(count));
  const workspace = await makeWorkspace(catalogWorkspace(store.baseUrl, catalog), {
    STORE_API_KEY: store.apiKey,
  });
  return {
    store,
    workspace,
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

describe('the rejects of a run', () => {
  it('can still be retried when a later night could not read its source', async () => {
    await using night = await setup(20);
    const { store, workspace } = night;
    store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['product-5'] });
    const run = await workspace.storeferry('run', 'nightly', '--json');
    store.behave();
    await rm(join(workspace.dir, 'catalog.csv'));
    expect((await workspace.storeferry('run', 'nightly')).code).toBe(1);

    const retry = await workspace.storeferry('retry', String(run.json()['run']), '--json');
    expect(retry.json()).toMatchObject({ status: 'done', applied: 1 });
  });

  it('are kept as corrected when the run is continued', async () => {
    await using night = await setup(40);
    const { store, workspace } = night;
    store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['product-1'] });
    store.misbehave({ does: unauthorized, from: 30 });
    const failed = await workspace.storeferry('run', 'nightly', '--json');
    expect(failed.json()).toMatchObject({ status: 'failed', rejected: 1 });
    const rejects = join(workspace.dir, String(failed.json()['rejectsFile']));
    await writeFile(rejects, (await readFile(rejects, 'utf8')).replaceAll('11.00', '9.50'));
    store.behave();
    store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['product-1'] });

    const continued = await workspace.storeferry('run', 'nightly', '--json');
    expect(continued.json()).toMatchObject({ status: 'done-with-rejects', run: failed.json()['run'] });
    const kept = await readFile(join(dirname(rejects), 'rejects-corrected.csv'), 'utf8');
    expect(kept).toContain('9.50');
  });
});
