import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { patience } from './pace.ts';
import {
  appliedButError,
  delay,
  errorAnswer,
  halfAnswer,
  hang,
  html,
  redirect,
  resetAfter,
  resetBefore,
  retryLater,
  trailing,
  unauthorized,
} from './store/faults.ts';
import { type Store, type StoreOptions, startStore } from './store.ts';
import { until } from './until.ts';

const UPSERT = '/api/site/products?update_existing_product_by_url=true';

async function setup(options: StoreOptions = {}) {
  const store = await startStore({ seed: 1, ...options });
  onTestFinished(() => store.close());
  return {
    store,
    ask: asker(store),
    upsert: (url: string, more = {}) => asker(store)('POST', UPSERT, { url, ...more }),
  };
}

function asker(store: Store) {
  return async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(store.baseUrl + path, {
      method,
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${store.apiKey}`,
        'user-agent': 'store-test/1',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) };
  };
}

describe('the store, by the API document', () => {
  it('creates a product, then updates it by url (4.1)', async () => {
    const { store, upsert } = await setup();
    const created = (await upsert('mug', { title: 'Mug', type: 'digital' })).json();
    expect(created).toMatchObject({ id: expect.any(Number), type: 'digital', title: 'Mug', url: 'mug' });
    expect((await upsert('mug', { title: 'Blue mug' })).json()).toEqual({ ...created, title: 'Blue mug' });
    expect(store.shop.products.size).toBe(1);
    expect(store.lastBody('mug')).toBe('{"url":"mug","title":"Blue mug"}');
  });

  it('creates a second product for a url when not asked to update', async () => {
    const { store, ask } = await setup();
    await ask('POST', '/api/site/products', { url: 'mug' });
    await ask('POST', '/api/site/products', { url: 'mug' });
    expect(store.duplicates()).toEqual(new Map([['mug', 2]]));
  });

  it('sets only non-empty fields of a contact (4.2)', async () => {
    const { ask } = await setup({ contacts: [7] });
    await ask('PUT', '/api/site/contacts/7', { name: 'Ann', subscribed: true, tags: ['a'] });
    const { json } = await ask('PUT', '/api/site/contacts/7', { name: '', subscribed: false, tags: [] });
    expect(json()).toMatchObject({ id: 7, name: 'Ann', subscribed: false, tags: ['a'] });
  });

  it('says that a contact is not there (4.2)', async () => {
    const { ask } = await setup();
    const { status, json } = await ask('PUT', '/api/site/contacts/8', { name: 'Bob' });
    expect({ status, body: json() }).toEqual({
      status: 404,
      body: { success: false, message: 'Resource not found' },
    });
  });

  it('lists subscriber lists bare (4.3)', async () => {
    const { store, ask } = await setup();
    store.shop.lists.push({
      id: 1,
      name: 'News',
      created: 1_700_000_000,
      subscribers: 3,
      opens: 0.5,
      clicks: 0.1,
    });
    expect((await ask('GET', '/api/site/subscriber-lists')).json()).toEqual(store.shop.lists);
  });

  it('deletes a product, and a second time finds none (4.4)', async () => {
    const { ask, upsert } = await setup();
    const { id } = (await upsert('mug')).json();
    expect((await ask('DELETE', `/api/site/products/${id}`)).json()).toEqual({ success: true, message: '' });
    expect((await ask('DELETE', `/api/site/products/${id}`)).status).toBe(404);
  });

  it('pages orders 30 at a time, 50 at most (8)', async () => {
    const { store, ask } = await setup();
    for (let id = 0; id < 60; id++) store.shop.orders.push({ id });
    const page = (await ask('GET', '/api/site/orders?skip=30')).json();
    expect(page).toMatchObject({ totalCount: 60, limit: 30, skip: 30 });
    expect(page.items).toHaveLength(30);
    expect((await ask('GET', '/api/site/orders?limit=51')).status).toBe(400);
  });

  it.each([
    ['a missing key', { authorization: '' }, 401],
    ['another key', { authorization: 'Bearer other' }, 401],
    ['a User-Agent without version', { 'user-agent': 'curl' }, 400],
  ])('refuses %s (5)', async (_, headers, status) => {
    const { ask } = await setup();
    const answer = await ask('GET', '/api/site/subscriber-lists', undefined, headers);
    expect(answer.status).toBe(status);
    expect(answer.json()).toMatchObject({ success: false, message: expect.any(String) });
  });

  it.each([
    ['a field of a response', { url: 'a', id: 3 }],
    [
      'a price in words',
      { url: 'a', variants: [{ options: [], price: '1', onSale: false, regularPrice: 1 }] },
    ],
    ['broken JSON', '{"url":'],
  ])('takes down %s as a violation', async (_, body) => {
    const { store, ask } = await setup();
    expect((await ask('POST', UPSERT, body)).status).toBe(400);
    expect(store.violations).toHaveLength(1);
    expect(store.shop.products.size).toBe(0);
  });
});

describe('the store, misbehaving', () => {
  it('makes two products of two requests at once for one url, and sees the overlap', async () => {
    // Long enough for both to arrive.
    const { store, upsert } = await setup({ latencyMs: patience(200) });
    await Promise.all([upsert('mug'), upsert('mug')]);
    expect(store.figures()).toMatchObject({ requests: 2, duplicates: 1, maxOverlap: 2 });
  });

  it.each([
    ['resets before applying', resetBefore, 0],
    ['resets after applying', resetAfter, 1],
    ['sends half an answer', halfAnswer, 1],
  ])('%s', async (_, does, products) => {
    const { store, upsert } = await setup({ faults: [{ does }] });
    await expect(upsert('mug')).rejects.toThrow();
    await until(() => store.requests[0]?.endedAt);
    expect(store.shop.products.size).toBe(products);
    expect(store.requests[0]).toMatchObject({
      key: 'mug',
      applied: products === 1,
      endedAt: expect.any(Number),
    });
  });

  it('answers errors, with Retry-After, and applies nothing unless asked to', async () => {
    const { store, upsert } = await setup();
    store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['a'] });
    store.misbehave({ does: retryLater('7'), keys: ['b'] });
    store.misbehave({ does: appliedButError(500), keys: ['c'] });
    expect((await upsert('a')).json()).toEqual({ success: false, message: 'Too dear' });
    expect((await upsert('b')).headers.get('retry-after')).toBe('7');
    expect((await upsert('c')).status).toBe(500);
    expect([...store.shop.products.values()].map(({ url }) => url)).toEqual(['c']);
    expect(store.fired()).toEqual({ '422': 1, '429': 1, '500 applied': 1 });
  });

  it('sends pages, redirects, and words after the answer', async () => {
    const { store, upsert } = await setup();
    store.misbehave({ does: html, times: 1 });
    store.misbehave({ does: redirect(308, 'http://127.0.0.1:1/'), times: 1 });
    store.misbehave({ does: trailing, times: 1 });
    expect((await upsert('a')).text).toContain('<!doctype html>');
    expect((await upsert('a')).headers.get('location')).toBe('http://127.0.0.1:1/');
    await expect(upsert('a').then(({ json }) => json())).rejects.toThrow(SyntaxError);
  });

  it('revokes the key from the nth request on', async () => {
    const { upsert } = await setup({ faults: [{ does: unauthorized, from: 2 }] });
    expect([(await upsert('a')).status, (await upsert('b')).status, (await upsert('c')).status]).toEqual([
      200, 401, 401,
    ]);
  });

  it('swallows a request', async () => {
    const { store, upsert } = await setup({ faults: [{ does: hang }] });
    void upsert('a').catch(() => {});
    await until(() => store.requests[0]);
    await sleep(30);
    expect(store.requests[0]).toMatchObject({ status: null, endedAt: null });
  });

  it('strikes with a probability that the seed repeats', async () => {
    const statuses = async () => {
      const { upsert } = await setup({ seed: 42, faults: [{ does: errorAnswer(503), probability: 0.5 }] });
      const seen: number[] = [];
      for (let n = 0; n < 12; n++) seen.push((await upsert(`p${n}`)).status);
      return seen;
    };
    const first = await statuses();
    expect(new Set(first)).toEqual(new Set([200, 503]));
    expect(await statuses()).toEqual(first);
  });

  it('waits before it behaves, for a time or until it behaves again', async () => {
    const { store, upsert } = await setup({ faults: [{ does: delay(30), times: 1 }] });
    const started = performance.now();
    expect((await upsert('a')).status).toBe(200);
    expect(performance.now() - started).toBeGreaterThan(28);
    store.misbehave({ does: delay(3_600_000) });
    const held = upsert('b');
    await until(() => store.requests.length === 2);
    expect(store.requests[1]?.endedAt).toBeNull();
    store.behave();
    expect((await held).status).toBe(200);
  });

  it('refuses what is too much at once', async () => {
    const { store, upsert } = await setup({
      latencyMs: patience(1_000),
      capacity: { atOnce: 2, refusal: { status: 503, retryAfter: '1' } },
    });
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((url) => upsert(url)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 503, 503]);
    expect(store.figures().maxOpen).toBeGreaterThanOrEqual(3);
  });

  it('refuses what is too much in a second', async () => {
    const { upsert } = await setup({ capacity: { perSecond: 0.001, burst: 3 } });
    const statuses: number[] = [];
    for (let n = 0; n < 6; n++) statuses.push((await upsert(`p${n}`)).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429, 429]);
  });

  it('answers the slower the more is asked of it', async () => {
    // Long enough for all three to arrive while the first is worked on.
    const serviceMs = patience(300);
    const { store, upsert } = await setup({ capacity: { workers: 1, serviceMs } });
    await Promise.all(['a', 'b', 'c'].map((url) => upsert(url)));
    const took = store.requests.map(({ startedAt, endedAt }) => (endedAt ?? 0) - startedAt);
    expect(Math.max(...took)).toBeGreaterThan(1.5 * serviceMs);
  });
});
