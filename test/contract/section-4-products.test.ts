import { afterAll, describe, expect, it } from 'vitest';
import { expectRefusal } from './expect-refusal.ts';
import { deleteResult, product } from './shapes.ts';
import { openTarget } from './target.ts';

const target = await openTarget();
afterAll(() => target[Symbol.asyncDispose]());

const details = {
  type: 'physical',
  description: '<p>Made by a <b>test</b>.</p>',
  images: [],
  categories: [],
  options: [{ name: 'Size', values: ['S', 'M'], advanced: false }],
  variants: [
    { options: ['S'], price: 10, onSale: false, regularPrice: 10, quantity: 3, sku: 'CT-S', weight: 0.5 },
    {
      options: ['M'],
      price: 8.5,
      onSale: true,
      regularPrice: 10,
      salePrice: 8.5,
      quantity: 0,
      sku: 'CT-M',
      weight: 1,
    },
  ],
};

describe.skipIf(!target.mayWrite)('4.1 Create a product', () => {
  it('4.1 answers 2xx and the created product, with all product fields of section 2', async () => {
    const sent = { ...target.newProduct(), ...details };
    const { status, contentType, json } = await target.createProduct(sent);
    expect(Math.floor(status / 100)).toBe(2);
    expect(contentType).toMatch(/^application\/json\b/);
    const created = product.parse(json);
    expect(created).toMatchObject({ title: sent.title, url: sent.url, hidden: true, type: 'physical' });
    expect(created.options).toMatchObject(details.options);
    expect(created.variants).toMatchObject(details.variants);
  });

  it('4.1 updates the product that has the url when update_existing_product_by_url is true', async () => {
    const sent = { ...target.newProduct(), ...details };
    const created = product.parse((await target.createProduct(sent)).json);
    const answer = await target.createProduct({ ...sent, title: `${sent.title} (updated)` });
    const updated = product.parse(answer.json);
    expect(Math.floor(answer.status / 100)).toBe(2);
    expect(updated).toMatchObject({ id: created.id, url: sent.url, title: `${sent.title} (updated)` });
  });

  it('4.1 creates a product for each url', async () => {
    const first = product.parse((await target.createProduct({ ...target.newProduct(), ...details })).json);
    const second = product.parse((await target.createProduct({ ...target.newProduct(), ...details })).json);
    expect(second.id).not.toBe(first.id);
  });

  it('4.1 makes one product of several upserts of one url at the same time', async () => {
    const sent = { ...target.newProduct(), ...details };
    const answers = await Promise.all([1, 2, 3, 4].map(() => target.createProduct(sent)));
    expect(new Set(answers.map(({ json }) => product.parse(json).id)).size).toBe(1);
  });

  it('4.1, 2 answers a subscription with its periodUnit, which the request may leave out', async () => {
    const sent = { ...target.newProduct(), ...details, subscription: { cycles: 12, period: 1 } };
    const created = product.parse((await target.createProduct(sent)).json);
    expect(created.subscription).toMatchObject({ cycles: 12, period: 1, periodUnit: expect.any(String) });
  });

  it('4.1, 2 sells a file as a digital product', async () => {
    const sent = {
      ...target.newProduct(),
      ...details,
      type: 'digital',
      file: 'https://files.example/pattern.pdf',
    };
    const created = product.parse((await target.createProduct(sent)).json);
    expect(created).toMatchObject({ type: 'digital', file: 'https://files.example/pattern.pdf' });
  });
});

describe.skipIf(!target.mayWrite)('4.4 Delete a product', () => {
  it('4.4 answers success true and an empty message', async () => {
    const { id } = product.parse((await target.createProduct({ ...target.newProduct(), ...details })).json);
    const { status, json } = await target.send('DELETE', `/api/site/products/${id}`);
    expect(Math.floor(status / 100)).toBe(2);
    deleteResult.parse(json);
  });

  it('4.4, 7 answers a product that is gone with the error body, or with success', async () => {
    const { id } = product.parse((await target.createProduct({ ...target.newProduct(), ...details })).json);
    await target.send('DELETE', `/api/site/products/${id}`);
    const again = await target.send('DELETE', `/api/site/products/${id}`);
    if (again.status >= 400) expectRefusal(again);
    else deleteResult.parse(again.json);
  });

  it('4.4, 4.1 makes a new product of a url whose product was deleted', async () => {
    const sent = { ...target.newProduct(), ...details };
    const first = product.parse((await target.createProduct(sent)).json);
    await target.send('DELETE', `/api/site/products/${first.id}`);
    const second = product.parse((await target.createProduct(sent)).json);
    expect(second.url).toBe(sent.url);
  });
});
