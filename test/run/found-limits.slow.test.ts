import { expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

it('keeps with a run the limits that were found, to be shown later', async () => {
  await using store = await startStore({ capacity: { perSecond: 60 } });
  await using workspace = await makeWorkspace(
    catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(100))),
    { STORE_API_KEY: store.apiKey },
  );
  const run = await workspace.storeferry('run', 'nightly', '--json');
  expect(run.json()).toMatchObject({ status: 'done', applied: 100 });
  const shown = await workspace.storeferry('runs', String(run.json()['run']));
  expect(shown.stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /Concurrency at the end: \d+ requests? \(.+\); rate: [\d.]+ per second \(the store refused more\)\./,
  );
});
