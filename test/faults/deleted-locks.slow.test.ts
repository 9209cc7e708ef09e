import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { delay } from '../support/store/faults.ts';
import { startStore } from '../support/store.ts';
import { until } from '../support/until.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { SCALE } from './scale.ts';
import { spansOf } from './spans.ts';

const PRODUCTS = 200;

async function openShop() {
  const store = await startStore({ seed: 1, latencyMs: { min: 100, max: 300 } });
  const files = catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(PRODUCTS)));
  const others = shopifyCatalog(
    manyProducts(20).map((product) => ({ ...product, handle: `other-${product.handle}` })),
  );
  const { 'jobs/nightly.yaml': job = '' } = files;
  const workspace = await makeWorkspace(
    {
      ...files,
      'jobs/other.yaml': job.replace('catalog.csv', 'others.csv'),
      'others.csv': others,
    },
    { STORE_API_KEY: store.apiKey },
  );
  return {
    store,
    workspace,
    delete: (name: string) => rmSync(join(workspace.dir, name), { recursive: true, maxRetries: 9 }),
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

it.concurrent('deleting the locks of a run that is under way lets no other run begin', {
  timeout: SCALE.patienceMs,
}, async (context) => {
  await using shop = await openShop();
  const { store, workspace } = shop;
  const first = workspace.start('run', 'nightly', '--json');
  await until(() => store.requests.length > 5);
  shop.delete('.storeferry/locks');
  // So slow that the first run surely has its locks until the others have asked for them.
  store.misbehave({ does: delay(1_000) });
  const following = workspace.start('run', 'other', '--json');
  const again = await workspace.storeferry('run', 'nightly', '--json');
  store.behave();
  const [ended, other] = await Promise.all([first.ended, following.ended]);
  expect([ended.code, again.code, other.code], again.stderr + other.stderr).toEqual([0, 1, 0]);
  expect(again.stderr).toContain('already running');
  figure(context, {
    invariant: 28,
    seed: store.seed,
    fired: { 'locks deleted while held': 1 },
    measured: [
      none('requests within the span of another run', spansOf(store.requests, jobOf)),
      none('requests for a key beyond the first', store.requests.length - PRODUCTS - 20),
      none('duplicates', store.duplicates().size),
    ],
  });
});

it.concurrent('deleting the whole state ends the run that is under way, before another one begins', {
  timeout: SCALE.patienceMs,
}, async (context) => {
  await using shop = await openShop();
  const { store, workspace } = shop;
  const first = workspace.start('run', 'nightly', '--json');
  await until(() => store.requests.length > 5);
  shop.delete('.storeferry');
  const [ended, other] = await Promise.all([first.ended, workspace.storeferry('run', 'other', '--json')]);
  expect([ended.code, other.code], other.stderr).toEqual([1, 0]);
  expect(ended.stderr).toMatch(/state\.db was deleted or replaced while this process used it/);
  const again = await workspace.storeferry('run', 'nightly', '--json');
  expect(again.json()).toMatchObject({ status: 'done', applied: PRODUCTS });
  figure(context, {
    invariant: 28,
    seed: store.seed,
    fired: { 'state deleted while held': 1 },
    measured: [
      none('requests at once for one key beyond the first', store.figures().maxOverlap - 1),
      none('duplicates', store.duplicates().size),
    ],
  });
});

function jobOf({ key }: { readonly key: string | null }): string | null {
  if (key === null) return null;
  return key.startsWith('other-') ? 'other' : 'nightly';
}
