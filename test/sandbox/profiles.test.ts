import { describe, expect, it } from 'vitest';
import { setup } from './setup.ts';

const PRODUCTS = '/api/site/products';
const MUG = {
  type: 'physical',
  title: 'Mug',
  url: 'mug',
  description: '<p>Blue</p>',
  images: ['https://images.example/mug.jpg'],
  options: [{ name: 'Size', values: ['S', 'L'], advanced: false }],
  variants: [
    { options: ['S'], price: 10, quantity: 3 },
    { options: ['L'], price: 12, quantity: 4 },
  ],
};

describe('the document alone', () => {
  it('has none of the further addresses', async () => {
    await using store = await setup();
    for (const path of [
      PRODUCTS,
      `${PRODUCTS}/1`,
      '/api/site/contacts',
      '/api/site/orders/70001',
      '/api/site/webhooks',
    ]) {
      expect([path, (await store.send('GET', path)).status >= 404]).toEqual([path, true]);
    }
  });
});

describe('the profile extended', () => {
  it('reads, finds and changes products', async () => {
    await using store = await setup({ profiles: ['extended'] });
    const { body: created } = await store.upsert({ ...MUG, categories: [2] });
    expect(created).toMatchObject({ categories: [{ id: 2, name: 'Clothing' }] });
    await store.upsert({ ...MUG, url: 'cup', title: 'Cup', categories: [{ name: 'Tables' }] });
    expect((await store.send('GET', `${PRODUCTS}/${created.id}`)).body).toEqual(created);
    expect((await store.send('GET', `${PRODUCTS}?category_id=2`)).body).toMatchObject({
      items: [{ url: 'mug' }],
      totalCount: 1,
    });
    expect((await store.send('GET', `${PRODUCTS}?title=cu`)).body.items).toMatchObject([{ url: 'cup' }]);
    expect((await store.list(`${PRODUCTS}/categories?parent=0`)).map(({ id }) => id)).toEqual([1, 2, 3, 4]);
    const changed = await store.send('PUT', `${PRODUCTS}/${created.id}`, {
      variants: [{ price: 9, quantity: null }],
    });
    expect(changed.body).toEqual({ ...created, variants: [{ price: 9, quantity: null }] });
    expect((await store.send('PUT', `${PRODUCTS}/999`, { title: 'A' })).status).toBe(404);
  });

  it('creates and updates contacts by e-mail, finds and deletes them', async () => {
    await using store = await setup({ profiles: ['extended'], clock: () => 1_800_000_000_000 });
    const path = '/api/site/contacts';
    const { body: made } = await store.send('POST', path, {
      email: 'ann@mail.example',
      name: 'Ann',
      tags: ['a'],
    });
    expect(made).toMatchObject({ createdOn: 1_800_000_000, name: 'Ann', tags: ['a'] });
    const { status, body } = await store.send('POST', path, { email: 'Ann@mail.example', phone: '1' });
    expect([status, body]).toEqual([200, { ...made, email: 'Ann@mail.example', phone: '1' }]);
    expect((await store.send('GET', `${path}/search-by-email?email=ann@mail.example`)).body).toEqual(body);
    expect((await store.send('GET', `${path}?created_at_min=1800000000`)).body.items).toEqual([body]);
    expect((await store.send('DELETE', `${path}/${made.id}`)).status).toBe(200);
    expect((await store.send('GET', `${path}/${made.id}`)).status).toBe(404);
    expect((await store.send('GET', `${path}/search-by-email?email=ann@mail.example`)).status).toBe(404);
  });

  it('reads single orders and periods, lists and webhooks', async () => {
    await using store = await setup({ profiles: ['extended'] });
    const { body: page } = await store.send('GET', '/api/site/orders?limit=1');
    const [newest] = page.items ?? [];
    expect(page.totalCount).toBe(240);
    const path = `/api/site/orders/${newest?.id}`;
    expect((await store.send('GET', path)).body).toEqual(newest);
    expect((await store.send('PUT', path, { status: 'SHIPPED', notifyCustomer: true })).body).toEqual({
      ...newest,
      status: 'shipped',
    });
    const { body: list } = await store.send('POST', '/api/site/subscriber-lists', { name: 'New' });
    expect(
      (await store.send('PUT', `/api/site/subscriber-lists/${list.id}`, { name: 'Old' })).body,
    ).toMatchObject({
      id: list.id,
      name: 'Old',
    });
    const { body: hook } = await store.send('POST', '/api/site/webhooks', {
      target: 'https://hooks.example/orders',
      events: ['order_created'],
      secret: 'hidden',
    });
    expect(JSON.stringify(await store.list('/api/site/webhooks'))).not.toContain('hidden');
    expect((await store.send('DELETE', `/api/site/webhooks/${hook.id}`)).status).toBe(200);
  });
});

it('replaces whole products in the profile replace-whole', async () => {
  await using store = await setup({ profiles: ['extended', 'replace-whole'] });
  const { body: created } = await store.upsert(MUG);
  const emptied = {
    id: created.id,
    url: 'mug',
    title: 'Mug',
    description: '',
    images: [],
    variants: [],
    options: [],
  };
  expect((await store.upsert({ url: 'mug', title: 'Mug' })).body).toMatchObject(emptied);
  await store.upsert(MUG);
  expect((await store.send('PUT', `${PRODUCTS}/${created.id}`, { title: 'Mug' })).body).toMatchObject(
    emptied,
  );
});

it('clears lists of contacts in the profile clears-lists, and no text', async () => {
  await using store = await setup({ profiles: ['clears-lists'] });
  const sent = { tags: ['a'], note: 'kept' };
  const { body: before } = await store.send('PUT', '/api/site/contacts/1001', sent);
  const { body: after } = await store.send('PUT', '/api/site/contacts/1001', { tags: [], note: '' });
  expect(after).toEqual({ ...before, tags: [] });
});

it.each([[{}], [{ email: '' }], [{ tags: [] }]])(
  'refuses %j in the profile refuses-empty-put',
  async (body) => {
    await using store = await setup({ profiles: ['refuses-empty-put'] });
    expect((await store.send('PUT', '/api/site/contacts/1001', body)).status).toBe(422);
    expect((await store.send('PUT', '/api/site/contacts/1001', { name: 'Ann' })).status).toBe(200);
  },
);

it('keeps prices of variants only with `advanced` in the profile flattens-variants', async () => {
  await using store = await setup({ profiles: ['flattens-variants'] });
  expect((await store.upsert(MUG)).body).toMatchObject({
    variants: [{ price: 10 }, { options: ['L'], price: 10, quantity: 3 }],
  });
  const advanced = { ...MUG, options: [{ name: 'Size', values: ['S', 'L'], advanced: true }] };
  expect((await store.upsert(advanced)).body).toMatchObject({
    variants: [{ price: 10 }, { price: 12, quantity: 4 }],
  });
});
