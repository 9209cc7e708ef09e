import { describe, expect, it } from 'vitest';
import { setup } from './setup.ts';

const mug = {
  type: 'physical',
  title: 'Tideline Mug',
  description: '<p>Holds <b>350 ml</b>.</p>',
  url: 'tideline-mug',
  hidden: false,
  images: ['https://images.example/mug.jpg'],
  categories: [{ name: 'Mugs', url: 'mugs', parentCategory: 0 }],
  options: [{ name: 'Colour', values: ['Slate', 'Sand'], advanced: false }],
  variants: [
    {
      options: ['Slate'],
      price: 14.5,
      onSale: false,
      regularPrice: 14.5,
      quantity: 3,
      sku: 'M-1',
      weight: 0.4,
    },
    {
      options: ['Sand'],
      price: 11,
      onSale: true,
      regularPrice: 14.5,
      salePrice: 11,
      sku: 'M-2',
      weight: 0.4,
    },
  ],
};

describe('products', () => {
  it('answers a new product with 201, its id and exactly what was sent', async () => {
    await using store = await setup();
    const { status, body } = await store.upsert(mug);
    expect(status).toBe(201);
    expect(body).toEqual({ id: 1, ...mug });
    expect(await store.list('/_sandbox/products')).toEqual([body]);
  });

  it('updates the product that has the url, with 200 and the same id', async () => {
    await using store = await setup();
    const first = await store.upsert(mug);
    const second = await store.upsert({ ...mug, title: 'Tideline Cup', variants: [] });
    expect(second.status).toBe(200);
    expect(second.body).toEqual({ ...first.body, title: 'Tideline Cup', variants: [] });
    expect(await store.list('/_sandbox/products')).toHaveLength(1);
  });

  it('keeps the fields an update does not name', async () => {
    await using store = await setup();
    await store.upsert(mug);
    const { body } = await store.upsert({ title: 'Renamed', url: mug.url });
    expect(body).toEqual({ id: 1, ...mug, title: 'Renamed' });
  });

  it('creates a second product with a url of its own when not asked to update', async () => {
    await using store = await setup();
    await store.upsert(mug);
    const second = await store.send('POST', '/api/site/products', mug);
    const third = await store.send('POST', '/api/site/products?update_existing_product_by_url=false', mug);
    expect([second.status, third.status]).toEqual([201, 201]);
    expect([second.body.url, third.body.url]).toEqual(['tideline-mug-2', 'tideline-mug-3']);
  });

  it('makes the url of the title when there is none, again each time', async () => {
    await using store = await setup();
    const answers = [];
    for (const title of ['Crème brûlée: 2 Töpfe!', 'Crème brûlée: 2 Töpfe!', '茶 壺', '?!']) {
      answers.push(await store.upsert({ title }));
    }
    expect(answers.map(({ body }) => body.url)).toEqual([
      'crème-brûlée-2-töpfe',
      'crème-brûlée-2-töpfe-2',
      '茶-壺',
      'product',
    ]);
  });

  it('fills in what was not sent, and answers the period unit in upper case', async () => {
    await using store = await setup();
    const { body } = await store.upsert({
      title: 'Tea',
      url: 'tea',
      subscription: { cycles: 6, period: 1, periodUnit: 'weekly' },
    });
    expect(body).toEqual({
      id: 1,
      type: 'physical',
      title: 'Tea',
      description: '',
      url: 'tea',
      hidden: false,
      images: [],
      categories: [],
      options: [],
      variants: [],
      subscription: { cycles: 6, period: 1, periodUnit: 'WEEKLY' },
    });
  });

  it('answers a period unit when none was sent', async () => {
    await using store = await setup();
    const { body } = await store.upsert({ title: 'Tea', url: 'tea', subscription: { cycles: 6, period: 1 } });
    expect(body).toMatchObject({ subscription: { cycles: 6, period: 1, periodUnit: 'MONTHLY' } });
  });

  it('makes one product of fifty upserts of one url at the same time', async () => {
    await using store = await setup();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, number) => store.upsert({ ...mug, title: `Mug ${number}` })),
    );
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    const products = await store.list('/_sandbox/products');
    expect(products).toHaveLength(1);
    expect(answers.map(({ body }) => body.title)).toContain(products[0]?.title);
  });

  it('deletes a product once, and never gives its id again', async () => {
    await using store = await setup();
    await store.upsert(mug);
    const deleted = await store.send('DELETE', '/api/site/products/1', undefined, {
      'content-type': 'application/json',
    });
    expect([deleted.status, deleted.body]).toEqual([200, { success: true, message: '' }]);
    const again = await store.send('DELETE', '/api/site/products/1');
    expect(again.status).toBe(404);
    expect(again.body).toEqual({ success: false, message: expect.stringContaining('not found') });
    expect((await store.upsert(mug)).body.id).toBe(2);
  });

  it.each(['abc', '-1', '1.5', '%31x', '9'.repeat(30), '9'.repeat(300)])(
    'has no product %s to delete',
    async (id) => {
      await using store = await setup();
      expect(await store.send('DELETE', `/api/site/products/${id}`)).toMatchObject({
        status: 404,
        body: { success: false },
      });
    },
  );

  it.each([
    ['no title', { url: 'x' }, 'title: expected string, received undefined'],
    ['a blank title', { title: ' ' }, 'title: expected a title that is not blank'],
    ['a blank url', { title: 'A', url: '' }, 'url: expected a url that is not blank'],
    [
      'a control character in the url',
      { title: 'A', url: 'a\u0000b' },
      'url: expected a url without control characters',
    ],
    [
      'half a character in the url',
      { title: 'A', url: 'a\ud800' },
      'url: expected a url without control characters',
    ],
    [
      'a price in quotes',
      { title: 'A', variants: [{}, { price: '3' }] },
      'variants[1].price: expected number',
    ],
    [
      'a price beyond numbers',
      '{"title":"A","variants":[{"price":1e999}]}',
      'variants[0].price: expected number',
    ],
    ['null for a text', { title: 'A', description: null }, 'description: expected string'],
    ['an unknown type', { title: 'A', type: 'thing' }, 'type: Invalid option'],
    ['a number as image', { title: 'A', images: [1] }, 'images[0]: expected string'],
    [
      'a category id that is no integer',
      { title: 'A', categories: [{ id: 1.5 }] },
      'categories[0].id: expected int',
    ],
    ['a field the document does not name', { title: 'A', colour: 'red' }, 'body: Unrecognized key: "colour"'],
    ['a list', [mug], 'body: expected object, received array'],
    ['null', 'null', 'body: expected object, received null'],
  ])('refuses %s and names the field', async (_name, product, message) => {
    await using store = await setup();
    const answer = await store.upsert(product);
    expect([answer.status, answer.body.success]).toEqual([422, false]);
    expect(answer.body.message).toContain(message);
    expect(await store.list('/_sandbox/products')).toEqual([]);
  });

  it('names five wrong fields and counts the rest', async () => {
    await using store = await setup();
    const { body } = await store.upsert({ title: 'A', images: [1, 2, 3, 4, 5, 6, 7] });
    expect(body.message).toContain('images[4]');
    expect(body.message).not.toContain('images[5]');
    expect(body.message).toMatch(/and 2 more$/);
  });

  it('refuses a query value that is no boolean', async () => {
    await using store = await setup();
    const { status, body } = await store.send(
      'POST',
      '/api/site/products?update_existing_product_by_url=yes',
      mug,
    );
    expect([status, body.success]).toEqual([422, false]);
    expect(body.message).toContain('update_existing_product_by_url');
  });

  it('shows more products than fit into one batch, each once and by id', async () => {
    await using store = await setup();
    const count = 1203;
    for (let start = 0; start < count; start += 100) {
      const numbers = Array.from({ length: Math.min(100, count - start) }, (_, index) => start + index);
      await Promise.all(numbers.map((number) => store.upsert({ title: `P${number}`, url: `p-${number}` })));
    }
    const body = await store.list('/_sandbox/products');
    expect(body.map(({ id }) => id)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  });
});
