import { expect, it } from 'vitest';
import { createStorefront } from '../../src/storefront/storefront.ts';
import { API_KEY, setup } from '../sandbox/setup.ts';

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
