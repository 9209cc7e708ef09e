import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Profile } from '../../src/sandbox/profiles.ts';
import {
  MAX_PROBE_REQUESTS,
  type ProbeTraces,
  probeProperties,
  type StoreProperties,
} from '../../src/storefront/storefront.ts';
import { API_KEY, type Client, setup } from '../sandbox/setup.ts';

const NO_TRACES: ProbeTraces = { urls: [], contact: null };

/** Probes with what an earlier probe left, and gives what this one leaves. */
async function probe(
  store: Client,
  {
    traces = NO_TRACES,
    contactId = null as string | null,
    signal = new AbortController().signal,
    unique = 'a1',
  } = {},
) {
  let kept = traces;
  const probed = probeProperties({
    baseUrl: store.url,
    apiKey: API_KEY,
    userAgent: 'storeferry/test',
    attemptMs: 10_000,
    signal,
    contactId,
    traces,
    keepTraces: async (now) => {
      kept = now;
    },
    unique,
    wait: async () => {},
    now: () => 0,
  });
  return { probed: await probed.catch(() => undefined), kept: () => kept };
}

const ALONE: StoreProperties = {
  readsProducts: false,
  readsContacts: false,
  readsCategories: false,
  searchesContactsByEmail: false,
  upsertsContactsByEmail: false,
  updatesProductById: false,
  absentFieldsStay: true,
  advancedKeepsVariantPrices: true,
  plainKeepsVariantPrices: true,
  nullQuantity: false,
  categoryForm: null,
  emptyListClears: false,
  partialProductAnswersWhole: true,
  emptyContactPutAnswersWhole: true,
  htmlAltered: false,
  pricesAltered: false,
  idSurvivesRecreation: false,
  unknownDeleteStatus: 404,
  listPageLimit: false,
  retryAfterOn503: null,
};

const EXTENDED: StoreProperties = {
  ...ALONE,
  readsProducts: true,
  readsContacts: true,
  readsCategories: true,
  searchesContactsByEmail: true,
  upsertsContactsByEmail: true,
  updatesProductById: true,
  nullQuantity: true,
  categoryForm: 'both',
};

describe('the properties of a store', () => {
  it.each<[readonly Profile[], StoreProperties]>([
    [[], ALONE],
    [['extended'], EXTENDED],
    [['replace-whole'], { ...ALONE, absentFieldsStay: false }],
    [['extended', 'replace-whole'], { ...EXTENDED, absentFieldsStay: false, updatesProductById: false }],
    [['clears-lists'], { ...ALONE, emptyListClears: true }],
    [['extended', 'clears-lists'], { ...EXTENDED, emptyListClears: true }],
    [
      ['refuses-empty-put'],
      { ...ALONE, emptyContactPutAnswersWhole: false, emptyListClears: null, upsertsContactsByEmail: null },
    ],
    [['extended', 'refuses-empty-put'], { ...EXTENDED, emptyContactPutAnswersWhole: false }],
    [['flattens-variants'], { ...ALONE, plainKeepsVariantPrices: false }],
    [
      ['extended', 'replace-whole', 'clears-lists', 'refuses-empty-put', 'flattens-variants'],
      {
        ...EXTENDED,
        absentFieldsStay: false,
        updatesProductById: false,
        emptyListClears: true,
        emptyContactPutAnswersWhole: false,
        plainKeepsVariantPrices: false,
      },
    ],
  ])('are seen in the profile %j, and nothing is left', async (profiles, expected) => {
    await using store = await setup({ profiles });
    await store.send('PUT', '/api/site/contacts/1001', { tags: ['a', 'b'] });
    const contacts = await store.list('/_sandbox/contacts');
    const { probed, kept } = await probe(store, { contactId: '1001' });
    expect(probed?.properties).toEqual(expected);
    expect(probed?.left).toEqual([]);
    expect(probed?.requests).toBeLessThanOrEqual(MAX_PROBE_REQUESTS);
    expect(kept()).toEqual(NO_TRACES);
    expect(await store.list('/_sandbox/products')).toEqual([]);
    expect(await store.list('/_sandbox/contacts')).toEqual(contacts);
  });

  it('of contacts are unknown without one', async () => {
    await using store = await setup();
    const { probed } = await probe(store);
    expect(probed?.properties).toEqual({
      ...ALONE,
      emptyListClears: null,
      emptyContactPutAnswersWhole: null,
      upsertsContactsByEmail: null,
    });
  });

  it('are learned from a store that fails, within the requests, and nothing is left', async () => {
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      await using store = await setup({ profiles: ['extended'], failRate: 0.3, seed });
      const first = await probe(store, { unique: 'a1' });
      expect(first.probed?.requests).toBeLessThanOrEqual(MAX_PROBE_REQUESTS);
      // A store that fails again and again may keep a product until the next probe.
      let traces = first.kept();
      expect(first.probed?.left).toEqual(traces.urls);
      for (let again = 0; traces.urls.length > 0 && again < 5; again += 1) {
        traces = (await probe(store, { traces, unique: `b${again}` })).kept();
      }
      expect([seed, await store.list('/_sandbox/products')]).toEqual([seed, []]);
    }
  });

  it('shows no value of a contact as evidence', async () => {
    await using store = await setup({ profiles: ['extended'] });
    const { probed } = await probe(store, { contactId: '1001' });
    expect(JSON.stringify(probed)).not.toMatch(/@|%40/);
  });
});

describe('a probe that dies', () => {
  it('at any of its requests leaves nothing after the next one', async () => {
    await using store = await setup({ profiles: ['extended', 'clears-lists'] });
    await store.send('PUT', '/api/site/contacts/1001', { tags: ['a', 'b'] });
    const contacts = await store.list('/_sandbox/contacts');
    const { probed: whole } = await probe(store, { contactId: '1001' });
    for (let count = 1; count < (whole?.requests ?? 0); count += 1) {
      for (const isAnswered of [true, false]) {
        const died = await dieAt(store, count, isAnswered);
        const { probed, kept } = await probe(store, { traces: died, contactId: '1001', unique: `n${count}` });
        expect([count, probed?.left, kept()]).toEqual([count, [], NO_TRACES]);
        expect([count, await store.list('/_sandbox/products')]).toEqual([count, []]);
        expect([count, await store.list('/_sandbox/contacts')]).toEqual([count, contacts]);
      }
    }
  });
});

/** The traces that a process leaves which dies before, or right after, its request of this number takes effect. */
async function dieAt(store: Client, count: number, isAnswered: boolean): Promise<ProbeTraces> {
  let kept = NO_TRACES;
  let sent = 0;
  const died = Promise.withResolvers<never>();
  const line = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      sent += 1;
      if (sent > count || (sent === count && !isAnswered)) return died.reject(new Error('died'));
      const headers = new Headers();
      for (const name of ['authorization', 'user-agent', 'content-type']) {
        const value = request.headers[name];
        if (typeof value === 'string') headers.set(name, value);
      }
      const answer = await fetch(`${store.url}${request.url}`, {
        method: request.method ?? 'GET',
        headers,
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      });
      const body = await answer.text();
      if (sent === count) return died.reject(new Error('died'));
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(body);
    });
  });
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve));
  const address = line.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const probing = probeProperties({
    baseUrl: `http://127.0.0.1:${port}`,
    apiKey: API_KEY,
    userAgent: 'storeferry/test',
    attemptMs: 10_000,
    signal: new AbortController().signal,
    contactId: '1001',
    traces: NO_TRACES,
    // What is kept after the death is not.
    keepTraces: async (traces) => {
      if (sent < count) kept = traces;
    },
    unique: `d${count}${isAnswered}`,
    wait: async () => {},
    now: () => 0,
  });
  await Promise.race([probing, died.promise]).catch(() => {});
  line.closeAllConnections();
  line.close();
  await probing.catch(() => {});
  return kept;
}
