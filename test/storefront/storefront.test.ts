import { describe, expect, it } from 'vitest';
import { resetAfter, successFalse } from '../support/store/faults.ts';
import { connect, KEY, product, serve, setup, signal } from './setup.ts';

describe('the storefront, by the API document', () => {
  it('creates and updates products by url, and gives the id', async () => {
    const { store, storefront } = await setup();
    const first = await storefront.upsertProduct(product('mug'), { signal });
    const second = await storefront.upsertProduct(product('mug'), { signal });
    expect(first).toEqual({ kind: 'applied', id: expect.any(Number) });
    expect(second).toEqual(first);
    expect(store.figures()).toMatchObject({ requests: 2, duplicates: 0 });
    expect(store.requests[0]).toMatchObject({
      method: 'POST',
      target: '/api/site/products?update_existing_product_by_url=true',
    });
    expect(store.violations).toEqual([]);
  });

  it('sends the headers of section 5, and a content type only with a body', async () => {
    const { store, storefront } = await setup();
    await storefront.upsertProduct(product('mug'), { signal });
    await storefront.orders({ limit: 50, skip: 0 }, { signal });
    const [post, get] = store.requests;
    expect(post?.headers).toMatchObject({
      authorization: `Bearer ${KEY}`,
      'user-agent': 'storeferry/1.2.3',
      'content-type': 'application/json',
    });
    expect(get?.headers['content-type']).toBeUndefined();
    expect(get?.headers).not.toHaveProperty('content-length');
  });

  it('sends the very bytes of the body', async () => {
    const { store, storefront } = await setup();
    const body = '{ "url":"mug",  "title":"Tasse – 杯子 👩‍🚀" }';
    await storefront.upsertProduct({ url: 'mug', body }, { signal });
    expect(store.lastBody('mug')).toBe(body);
  });

  it('updates contacts, and rejects one that is not there', async () => {
    const { storefront } = await setup({ contacts: [7] });
    expect(await storefront.updateContact('7', '{"name":"Ann"}', { signal })).toEqual({
      kind: 'applied',
      id: 7,
    });
    expect(await storefront.updateContact('8', '{"name":"Bob"}', { signal })).toEqual({
      kind: 'rejected',
      absent: true,
      reason: { code: 'store-404', message: expect.stringMatching(/^Resource not found: .* crosswalk/) },
    });
  });

  it('deletes products, and takes one that is not there for deleted', async () => {
    const { store, storefront } = await setup();
    await storefront.upsertProduct(product('mug'), { signal });
    const [id = 0] = store.shop.products.keys();
    expect(await storefront.deleteProduct(id, { signal })).toEqual({ kind: 'applied', id: null });
    expect(await storefront.deleteProduct(id, { signal })).toEqual({ kind: 'applied', id: null });
    expect(store.shop.products.size).toBe(0);
    expect(store.violations).toEqual([]);
  });

  it('deletes once although the answer is lost', async () => {
    const { store, storefront } = await setup({ faults: [{ does: resetAfter, method: 'DELETE', times: 1 }] });
    await storefront.upsertProduct(product('mug'), { signal });
    const [id = 0] = store.shop.products.keys();
    expect(await storefront.deleteProduct(id, { signal })).toEqual({ kind: 'applied', id: null });
    expect(store.requests.map(({ status }) => status)).toEqual([200, null, 404]);
  });

  it.each([
    [200, '{"success":true,"message":""}'],
    [200, '{"message":""}'],
    [200, ''],
    [202, '{"id":7}'],
    [204, ''],
    [205, ''],
  ])('takes a product for deleted when the answer is %i %s', async (status, body) => {
    let requests = 0;
    const baseUrl = await serve((_, response) => {
      requests++;
      response.writeHead(status).end(body);
    });
    expect(await connect(baseUrl).deleteProduct(7, { signal })).toEqual({ kind: 'applied', id: null });
    expect(requests).toBe(1);
  });

  it.each([
    '{"success":false,"message":"no"}',
    '{"success":"false"}',
    '{"id":8}',
    '[]',
    'null',
    '<p>Back soon</p>',
    '{"success":tr',
  ])('does not take a product for deleted when the answer is 200 %s', async (body) => {
    const storefront = connect(await serve((_, response) => response.end(body)));
    expect(await storefront.deleteProduct(7, { signal })).toMatchObject({ kind: 'unsent', inDoubt: true });
  });

  it.each([
    ['<h1>404 Not Found</h1>', 'rejected'],
    ['', 'rejected'],
    ['{"message":"no such path"}', 'rejected'],
    ['{"success":false,"message":"Resource not found"}', 'applied'],
  ])('takes a product for deleted by a 404 of the API only: %s', async (body, kind) => {
    const storefront = connect(await serve((_, response) => response.writeHead(404).end(body)));
    const outcome = await storefront.deleteProduct(7, { signal });
    expect(outcome.kind).toBe(kind);
    if (outcome.kind === 'rejected') expect(outcome.reason.message).toContain('counts as not deleted');
  });

  it('gives no advice on a contact whose 404 is not of the API', async () => {
    const storefront = connect(await serve((_, response) => response.writeHead(404).end('<h1>No</h1>')));
    const outcome = await storefront.updateContact('7', '{"name":"Ann"}', { signal });
    expect(outcome).toMatchObject({ kind: 'rejected', reason: { code: 'store-404' } });
    expect(JSON.stringify(outcome)).not.toContain('crosswalk');
  });

  it('reads pages of orders', async () => {
    const { store, storefront } = await setup();
    for (let id = 0; id < 70; id++) store.shop.orders.push({ id, total: id / 2 });
    const page = await storefront.orders({ limit: 50, skip: 50 }, { signal });
    expect(page).toMatchObject({ totalCount: 70, limit: 50 });
    expect(page.items).toEqual(store.shop.orders.slice(50));
  });

  it('reads subscriber lists, bare or in an envelope', async () => {
    const lists = [{ id: 1, name: 'News' }];
    const bare = connect(await serve((_, response) => response.end(JSON.stringify(lists))));
    const wrapped = connect(
      await serve((_, response) =>
        response.end(JSON.stringify({ items: lists, totalCount: 1, limit: 30, skip: 0 })),
      ),
    );
    const page = await bare.subscriberLists({ signal });
    expect(page.texts()).toEqual(['{"id":1,"name":"News"}']);
    expect(page).toMatchObject({
      items: lists,
      totalCount: null,
      limit: null,
    });
    expect(await wrapped.subscriberLists({ signal })).toMatchObject({
      items: lists,
      totalCount: 1,
      limit: 30,
    });
  });

  it.each(['{"lists":[]}', '[1,2]', '"no"', 'null'])('refuses %s for a list', async (body) => {
    const storefront = connect(await serve((_, response) => response.end(body)));
    await expect(storefront.subscriberLists({ signal })).rejects.toMatchObject({ code: 'store-refused' });
  });

  it('keeps the path of a base URL', async () => {
    const paths: (string | undefined)[] = [];
    const baseUrl = await serve((request, response) => {
      paths.push(request.url);
      response.end('[]');
    });
    await connect(`${baseUrl}/shops/one/`).subscriberLists({ signal });
    expect(paths).toEqual(['/shops/one/api/site/subscriber-lists']);
  });

  it('keeps an id that is answered as text', async () => {
    const storefront = connect(
      await serve((_, response) => response.end('{"id":"17","url":"mug","title":"mug"}')),
    );
    expect(await storefront.upsertProduct(product('mug'), { signal })).toEqual({ kind: 'applied', id: 17 });
  });

  it('says which url the store made of the one that was sent', async () => {
    const storefront = connect(
      await serve((_, response) => response.end('{"id":17,"url":"cafe-mug-1","title":"Café Mug"}')),
    );
    expect(await storefront.upsertProduct(product('Café Mug'), { signal })).toEqual({
      kind: 'applied',
      id: 17,
      answeredUrl: 'cafe-mug-1',
    });
  });

  it('shows the answer that has acknowledged a product when asked for', async () => {
    const answers: unknown[] = [];
    const { storefront } = await setup({ faults: [{ does: successFalse, times: 1 }] });
    await storefront.upsertProduct(product('mug'), { signal, onAnswer: (answer) => answers.push(answer) });
    expect(answers).toEqual([{ id: expect.any(Number), url: 'mug', title: 'mug', type: 'physical' }]);
  });
});
