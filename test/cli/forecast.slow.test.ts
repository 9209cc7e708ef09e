import { expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { setupNightly } from '../support/nightly.ts';

const PRODUCTS = 60;

it('a plan says how long sending takes once the store is known, within the limit that holds now', async () => {
  await using shop = await setupNightly(PRODUCTS);
  const { workspace, store } = shop;
  const sending = async () => {
    const { stdout } = await workspace.storeferry('plan', 'nightly');
    return /Sending takes [^.]*\./.exec(stdout.replaceAll(/\s+/g, ' '))?.[0];
  };
  expect(await sending()).toBe(`Sending takes ${PRODUCTS} requests.`);
  expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);
  const dearer = manyProducts(PRODUCTS).map((product) => ({ ...product, price: '99.00' }));
  await workspace.write('catalog.csv', shopifyCatalog(dearer));
  expect(await sending()).toMatch(/60 requests: .*\d+ s, by the last run to this store\.$/);

  const stores = catalogWorkspace(store.baseUrl, '')['stores.yaml'] ?? '';
  await workspace.write('stores.yaml', stores.replace('concurrency: 16', 'requestsPerSecond: 2'));
  expect(await sending()).toBe('Sending takes 60 requests: 24 s to 38 s, by the last run to this store.');
});
