import { expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { setupNightly } from '../support/nightly.ts';
import { resetAfter } from '../support/store/faults.ts';
import { until } from '../support/until.ts';

const PRODUCTS = 20;
const MIRROR = { mode: 'mirror', safety: '{ maxDeletes: off, minRows: 0 }' };

it('sends again what a killed run may have changed, when its source goes back to what was acknowledged', async () => {
  await using setup = await setupNightly(PRODUCTS);
  const { store, workspace } = setup;
  const original = shopifyCatalog(manyProducts(PRODUCTS));
  const priceOf = (url: string) =>
    [...store.shop.products.values()].find((product) => product.url === url)?.['variants'];
  await workspace.storeferry('run', 'nightly');
  const before = JSON.stringify(priceOf('product-7'));

  const wrong = manyProducts(PRODUCTS).map((product) => ({ ...product, price: '15.00' }));
  await workspace.write('catalog.csv', shopifyCatalog(wrong));
  store.forget();
  store.misbehave({ does: resetAfter, keys: ['product-7'] });
  const killed = workspace.start('run', 'nightly', '--json');
  await until(() => store.requests.some(({ key, endedAt }) => key === 'product-7' && endedAt));
  killed.process.kill('SIGKILL');
  await killed.ended;
  expect(JSON.stringify(priceOf('product-7'))).not.toBe(before);

  store.behave();
  await workspace.write('catalog.csv', original);
  const corrected = await workspace.storeferry('run', 'nightly', '--json');
  expect(corrected.json()).toMatchObject({ status: 'done', unsent: 0 });
  expect(JSON.stringify(priceOf('product-7'))).toBe(before);
  expect((await workspace.storeferry('run', 'nightly', '--json')).json()).toMatchObject({
    unchanged: PRODUCTS,
    requests: 0,
  });
});

it('creates again what a killed run may have deleted, when the source has it back', async () => {
  await using setup = await setupNightly(PRODUCTS, MIRROR);
  const { store, workspace } = setup;
  await workspace.storeferry('run', 'nightly');
  expect(store.shop.products.size).toBe(PRODUCTS);

  await workspace.write('catalog.csv', shopifyCatalog(manyProducts(PRODUCTS - 1)));
  store.forget();
  store.misbehave({ does: resetAfter, method: 'DELETE' });
  const killed = workspace.start('run', 'nightly', '--json');
  await until(() => store.shop.products.size < PRODUCTS);
  killed.process.kill('SIGKILL');
  await killed.ended;

  store.behave();
  await workspace.write('catalog.csv', shopifyCatalog(manyProducts(PRODUCTS)));
  expect((await workspace.storeferry('run', 'nightly', '--json')).json()).toMatchObject({ status: 'done' });
  expect(store.shop.products.size).toBe(PRODUCTS);
});
