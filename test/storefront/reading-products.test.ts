import { expect, it } from 'vitest';
import { createStorefront } from '../../src/storefront/storefront.ts';
import { API_KEY, setup } from '../sandbox/setup.ts';
import { lyingStore } from '../support/lying-store.ts';

it('reads products by page and by id where the store has more than the document', async () => {
  await using store = await setup({ profiles: ['extended'] });
  for (const url of ['mug', 'cup']) await store.upsert({ url, title: url, type: 'physical' });
  await using client = createStorefront({
    baseUrl: store.url,
    apiKey: API_KEY,
    userAgent: 'storeferry/test',
    limits: { concurrency: 1 },
    attemptMs: 60_000,
  });
  const { signal } = new AbortController();
  const page = await client.products({ limit: 1, skip: 1 }, { signal });
  expect(page).toMatchObject({ totalCount: 2, items: [{ url: 'cup' }] });
  const [cup] = page.items;
  const id = Number(cup?.['id']);
  expect(await client.product(id, { signal })).toMatchObject({ id, url: 'cup' });
  expect(await client.product(id + 1, { signal })).toBeNull();
});

it.each([
  ['answers changes of no product any more', ['GET'], undefined],
  ['has lost all that it had beyond the document', [], undefined],
  ['no longer has the product', ['GET', 'PUT'], true],
])('a store that %s: whether the product is gone', async (_, methods, absent) => {
  await using store = await lyingStore((method, path) => {
    const isThere = methods.includes(method) && (absent !== true || path.includes('?'));
    if (!isThere) return undefined;
    return path.includes('?') ? { items: [], totalCount: 0, limit: 1, skip: 0 } : { id: 7, url: 'mug' };
  });
  await using client = createStorefront({
    baseUrl: store.url,
    apiKey: API_KEY,
    userAgent: 'storeferry/test',
    limits: { concurrency: 1 },
    attemptMs: 60_000,
  });
  const { signal } = new AbortController();
  const outcome = await client.upsertProduct({ url: 'cup', body: '{"url":"cup"}', id: 7 }, { signal });
  expect(outcome).toMatchObject({ kind: 'rejected', reason: { code: 'store-404' } });
  expect(Reflect.get(outcome, 'absent')).toBe(absent);
});
