import { createServer, type RequestListener } from 'node:http';
import { createServer as createSocketServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { UnauthorizedError } from '../../src/model/errors.ts';
import type { Attempt } from '../../src/storefront/events.ts';
import { createStorefront, type StorefrontOptions } from '../../src/storefront/storefront.ts';
import { hurriedClock } from '../support/hurried-clock.ts';
import {
  empty,
  errorAnswer,
  halfAnswer,
  hang,
  html,
  redirect,
  resetAfter,
  resetBefore,
  successFalse,
  trailing,
  unauthorized,
} from '../support/store/faults.ts';
import { type StoreOptions, startStore } from '../support/store.ts';

const KEY = 'k3y-of-the-store';
const { signal } = new AbortController();

/** A storefront whose retry delays pass five hundred times faster. */
function connect(baseUrl: string, options: Partial<StorefrontOptions> = {}) {
  const storefront = createStorefront({
    baseUrl,
    apiKey: KEY,
    userAgent: 'storeferry/1.2.3',
    limits: { concurrency: 8 },
    clock: hurriedClock(500),
    ...options,
  });
  onTestFinished(() => storefront.close());
  return storefront;
}

async function setup(storeOptions: StoreOptions = {}, options: Partial<StorefrontOptions> = {}) {
  const store = await startStore({ seed: 5, apiKey: KEY, ...storeOptions });
  onTestFinished(() => store.close());
  return { store, storefront: connect(store.baseUrl, options) };
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}`;
}

const product = (url: string) => JSON.stringify({ url, title: url });

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
    await storefront.upsertProduct(body, { signal });
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
      reason: { code: 'store-404', message: 'Resource not found' },
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

  it('reads pages of orders', async () => {
    const { store, storefront } = await setup();
    for (let id = 0; id < 70; id++) store.shop.orders.push({ id, total: id / 2 });
    const page = await storefront.orders({ limit: 50, skip: 50 }, { signal });
    expect(page).toMatchObject({ totalCount: 70, limit: 50, skip: 50 });
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
      skip: null,
    });
    expect(await wrapped.subscriberLists({ signal })).toMatchObject({
      items: lists,
      totalCount: 1,
      limit: 30,
      skip: 0,
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

  it('takes no id from an answer that gives none it could keep', async () => {
    const storefront = connect(await serve((_, response) => response.end('{"id":90071992547409931}')));
    expect(await storefront.upsertProduct(product('mug'), { signal })).toEqual({ kind: 'applied', id: null });
  });
});

describe('the storefront, before a store that misbehaves', () => {
  it.each([
    ['resets before it applies', resetBefore],
    ['resets after it applied', resetAfter],
    ['sends half an answer', halfAnswer],
    ['sends a page', html],
    ['sends nothing', empty],
    ['says success: false', successFalse],
    ['sends a word too many', trailing],
    ['answers 500', errorAnswer(500)],
    ['answers 503', errorAnswer(503)],
    ['answers 429', errorAnswer(429)],
    ['answers 408', errorAnswer(408)],
    ['redirects', redirect(307, '/api/site/products')],
  ])('sends again when it %s', async (_, does) => {
    const { store, storefront } = await setup({ faults: [{ does, times: 3 }] });
    expect(await storefront.upsertProduct(product('mug'), { signal })).toMatchObject({ kind: 'applied' });
    expect(store.figures()).toMatchObject({ requests: 4, duplicates: 0, maxOverlap: 1 });
    expect(storefront.stats()).toMatchObject({ requests: 4, retries: 3 });
  });

  it('gives up after eight retries, and says why', async () => {
    const { store, storefront } = await setup({ faults: [{ does: html }] });
    expect(await storefront.upsertProduct(product('mug'), { signal })).toEqual({
      kind: 'unsent',
      reason: { code: 'answer-unreadable', message: expect.stringContaining('without whole JSON') },
    });
    expect(store.figures().requests).toBe(9);
  });

  it.each([400, 404, 409, 422])('does not send again what the store refused with %i', async (status) => {
    const { store, storefront } = await setup({ faults: [{ does: errorAnswer(status, 'Too\u0007 dear') }] });
    expect(await storefront.upsertProduct(product('mug'), { signal })).toEqual({
      kind: 'rejected',
      reason: { code: `store-${status}`, message: 'Too dear' },
    });
    expect(store.figures().requests).toBe(1);
  });

  it.each([301, 302, 303, 307, 308])(
    'never follows a redirect (%i), and the key goes nowhere else',
    async (status) => {
      const other = await startStore({ seed: 5 });
      onTestFinished(() => other.close());
      const location = `${other.baseUrl}/api/site/products`;
      const { storefront } = await setup({ faults: [{ does: redirect(status, location) }] });
      expect(await storefront.upsertProduct(product('mug'), { signal })).toMatchObject({
        kind: 'unsent',
        reason: { code: 'store-redirect' },
      });
      expect(other.requests).toEqual([]);
    },
  );

  it('ends with one error when the key is revoked', async () => {
    const { store, storefront } = await setup({ faults: [{ does: unauthorized, from: 2 }] });
    await storefront.upsertProduct(product('a'), { signal });
    await expect(storefront.upsertProduct(product('b'), { signal })).rejects.toThrow(UnauthorizedError);
    expect(store.figures().requests).toBe(2);
  });

  it('never lets the key out, though the store echoes it', async () => {
    const { storefront } = await setup({
      faults: [
        { does: errorAnswer(422, `Bearer ${KEY} may not`), keys: ['a'] },
        { does: errorAnswer(401, `no such key: ${KEY}`), keys: ['b'] },
      ],
    });
    const outcome = await storefront.upsertProduct(product('a'), { signal });
    const error = await storefront.upsertProduct(product('b'), { signal }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(UnauthorizedError);
    const texts = [JSON.stringify(outcome), String(error), error instanceof Error ? (error.stack ?? '') : ''];
    for (const text of texts) expect(text).not.toContain(KEY);
    expect(texts[0]).toContain('Bearer [API key] may not');
  });

  it('does not wait for ever for an answer', async () => {
    const { storefront } = await setup(
      { faults: [{ does: hang, times: 1 }] },
      { timeouts: { headersMs: 200 } },
    );
    expect(await storefront.upsertProduct(product('mug'), { signal })).toMatchObject({ kind: 'applied' });
    expect(storefront.stats().retries).toBe(1);
  });

  it('does not wait for ever for an answer that drips in', async () => {
    let requests = 0;
    const baseUrl = await serve((_, response) => {
      requests++;
      if (requests > 1) {
        response.end('{"id":1}');
        return;
      }
      const drip = setInterval(() => response.write(' '), 10);
      response.once('close', () => clearInterval(drip));
    });
    const storefront = connect(baseUrl, { timeouts: { wholeMs: 100 } });
    expect(await storefront.upsertProduct(product('mug'), { signal })).toEqual({ kind: 'applied', id: 1 });
    expect(requests).toBe(2);
  });

  it('reads no answer that is too large', async () => {
    const baseUrl = await serve((_, response) => response.end(`["${'x'.repeat(17 * 1024 * 1024)}"]`));
    const storefront = connect(baseUrl);
    expect(await storefront.upsertProduct(product('mug'), { signal })).toMatchObject({
      kind: 'unsent',
      reason: { code: 'answer-too-large' },
    });
  });

  it('takes no second answer for that of the next request', async () => {
    const baseUrl = await new Promise<string>((resolve) => {
      const answer = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      const server = createSocketServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', () => socket.write(answer('{"id":1}') + answer('{"id":666}')));
      });
      onTestFinished(() => void server.close());
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        resolve(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
      });
    });
    const storefront = connect(baseUrl, { limits: { concurrency: 1 } });
    for (const url of ['a', 'b', 'c']) {
      expect(await storefront.upsertProduct(product(url), { signal })).toEqual({ kind: 'applied', id: 1 });
    }
  });

  it.each([
    ['nothing listens', 'http://127.0.0.1:9', 'connection-refused'],
    ['there is no such host', 'http://store.invalid', 'host-not-found'],
  ])('says it when %s', async (_, baseUrl, code) => {
    expect(await connect(baseUrl).upsertProduct(product('mug'), { signal })).toMatchObject({
      kind: 'unsent',
      reason: { code },
    });
  });
});

describe('the storefront, told to stop', () => {
  it('ends a request under way at once', async () => {
    const { storefront } = await setup({ faults: [{ does: hang }] });
    const controller = new AbortController();
    const sending = storefront.upsertProduct(product('mug'), { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 30);
    await expect(sending).rejects.toThrow('enough');
    expect(storefront.stats().inFlight).toBe(0);
  });

  it('lets a request under way end when it is only stopping, and begins no other', async () => {
    const { store, storefront } = await setup({ latencyMs: 50 }, { limits: { concurrency: 1 } });
    const stopping = new AbortController();
    const options = { signal, stopping: stopping.signal };
    const sent = Promise.allSettled(['a', 'b'].map((url) => storefront.upsertProduct(product(url), options)));
    setTimeout(() => stopping.abort(new Error('stopping')), 20);
    expect((await sent).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(store.figures().requests).toBe(1);
  });

  it('ends the wait for a retry', async () => {
    const { store, storefront } = await setup({
      faults: [{ does: errorAnswer(429, 'later', { 'retry-after': '600' }) }],
    });
    const controller = new AbortController();
    const sending = storefront.upsertProduct(product('mug'), { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 50);
    await expect(sending).rejects.toThrow('enough');
    expect(store.figures().requests).toBe(1);
  });

  it('turns away what waits when it is closed', async () => {
    const { storefront } = await setup({ latencyMs: 30 }, { limits: { concurrency: 1 } });
    const sent = Promise.allSettled(
      ['a', 'b'].map((url) => storefront.upsertProduct(product(url), { signal })),
    );
    await storefront.close();
    expect((await sent).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });
});

describe('whoever listens to its attempts', () => {
  it('is told each of them, under the id of their request, and what it is about', async () => {
    const { attempts, onAttempt } = collectAttempts();
    const { store, storefront } = await setup({}, { onAttempt });
    store.misbehave({ does: errorAnswer(503, 'Busy'), keys: ['mug'], times: 2 });
    store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['vase'] });
    await storefront.upsertProduct(product('mug'), { signal, about: 'run k3v9' });
    await storefront.upsertProduct(product('vase'), { signal });

    const [first, second, third, refused] = attempts;
    expect(attempts).toHaveLength(4);
    expect(first).toMatchObject({
      about: 'run k3v9',
      method: 'POST',
      attempt: 1,
      status: 503,
      failure: 'Busy',
    });
    expect(second).toMatchObject({ attempt: 2, status: 503, requestId: first?.requestId });
    expect(third).toMatchObject({ attempt: 3, status: 200, failure: null, requestId: first?.requestId });
    expect(refused).toMatchObject({ attempt: 1, status: 422, failure: null, about: undefined });
    expect(refused?.requestId).not.toBe(first?.requestId);
    expect(JSON.stringify(attempts)).not.toContain(KEY);
  });

  it('is told of one that got no answer', async () => {
    const { attempts, onAttempt } = collectAttempts();
    const { store, storefront } = await setup({}, { onAttempt });
    store.misbehave({ does: resetBefore, times: 1 });
    await storefront.upsertProduct(product('mug'), { signal });
    expect(attempts).toMatchObject([
      { attempt: 1, status: null, failure: expect.stringContaining('connection') },
      { attempt: 2, failure: null },
    ]);
  });
});

function collectAttempts() {
  const attempts: Attempt[] = [];
  return { attempts, onAttempt: (attempt: Attempt) => void attempts.push(attempt) };
}
