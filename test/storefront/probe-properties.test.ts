import { describe, expect, it } from 'vitest';
import type { ProbedProperties } from '../../src/model/probed-properties.ts';
import type { Profile } from '../../src/sandbox/start-sandbox.ts';
import { MAX_PROBE_REQUESTS } from '../../src/storefront/storefront.ts';
import { setup } from '../sandbox/setup.ts';
import { lyingStore } from '../support/lying-store.ts';
import { forwarding, NO_TRACES, probe } from './probe-setup.ts';

const ALONE: ProbedProperties = {
  readsProducts: false,
  readsContacts: false,
  readsSingleContacts: false,
  readsCategories: false,
  readsOrdersSince: false,
  searchesContactsByEmail: false,
  upsertsContactsByEmail: false,
  updatesProductById: false,
  absentFieldsStay: true,
  advancedKeepsVariantPrices: true,
  plainKeepsVariantPrices: true,
  nullQuantity: false,
  categoryForm: null,
  emptyListClears: null,
  partialProductAnswersWhole: true,
  emptyContactPutAnswersWhole: true,
  htmlAltered: false,
  pricesAltered: false,
  idSurvivesRecreation: false,
  unknownDeleteStatus: 404,
  listPageLimit: false,
  retryAfterOn503: null,
};

const EXTENDED: ProbedProperties = {
  ...ALONE,
  readsProducts: true,
  readsContacts: true,
  readsSingleContacts: true,
  readsCategories: true,
  readsOrdersSince: true,
  searchesContactsByEmail: true,
  upsertsContactsByEmail: true,
  emptyListClears: false,
  updatesProductById: true,
  nullQuantity: true,
  categoryForm: 'both',
};

describe('the properties of a store', () => {
  it.each<[readonly Profile[], ProbedProperties]>([
    [[], ALONE],
    [['extended'], EXTENDED],
    [['replace-whole'], { ...ALONE, absentFieldsStay: false }],
    [['extended', 'replace-whole'], { ...EXTENDED, absentFieldsStay: false, updatesProductById: false }],
    [['clears-lists'], ALONE],
    [['extended', 'clears-lists'], { ...EXTENDED, emptyListClears: true }],
    [
      ['refuses-empty-put'],
      {
        ...ALONE,
        readsSingleContacts: null,
        emptyContactPutAnswersWhole: false,
        upsertsContactsByEmail: null,
      },
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

  it('are learned without a change to the contact that is named', async () => {
    await using store = await setup({ profiles: ['extended', 'clears-lists'] });
    await store.send('PUT', '/api/site/contacts/1001', { tags: ['a', 'b'] });
    const writes: unknown[] = [];
    await using line = await forwarding(store.url, ({ method, path, body }) => {
      if (method === 'PUT' && path === '/api/site/contacts/1001') writes.push(JSON.parse(body));
      return undefined;
    });
    const { probed } = await probe(line, { contactId: '1001' });
    expect(probed?.properties.emptyListClears).toBe(true);
    expect(writes).toEqual([{}]);
  });

  it('take no contact of their own where the store answers another one', async () => {
    await using store = await setup({ profiles: ['extended'] });
    const deleted: string[] = [];
    await using line = await forwarding(store.url, ({ method, path, body }) => {
      if (method === 'DELETE' && path.startsWith('/api/site/contacts/')) deleted.push(path);
      const isOurs = method === 'POST' && path === '/api/site/contacts' && body.includes('storeferry-probe');
      return isOurs
        ? { status: 200, json: { id: 1001, email: 'ann@mail.example', tags: ['vip'] } }
        : undefined;
    });
    const { probed, kept } = await probe(line, { contactId: '1001' });
    expect(probed?.properties).toMatchObject({ upsertsContactsByEmail: true, emptyListClears: null });
    expect(deleted).toEqual([]);
    const email = 'storeferry-probe-a1@storeferry.example';
    expect([probed?.left, kept()]).toEqual([[email], [email]]);
  });

  it('name a contact of their own that the store does not remove, once', async () => {
    await using store = await setup({ profiles: ['extended'] });
    await using line = await forwarding(store.url, ({ method, path }) =>
      method === 'DELETE' && path.startsWith('/api/site/contacts/')
        ? { status: 404, json: { success: false, message: 'No' } }
        : undefined,
    );
    const { probed, kept } = await probe(line, { contactId: '1001' });
    expect(probed?.left).toEqual([expect.stringMatching(/^contact \d+$/)]);
    expect(kept()).toEqual([]);
  });

  it('of contacts are unknown without one', async () => {
    await using store = await setup();
    const { probed } = await probe(store);
    expect(probed?.properties).toEqual({
      ...ALONE,
      readsSingleContacts: null,
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
      expect(first.probed?.left).toEqual(traces);
      for (let again = 0; traces.length > 0 && again < 5; again += 1) {
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

  it.each([true, false])(
    'do not keep a contact that the store makes of a known address, if it removes contacts (%s)',
    async (removes) => {
      await using store = await setup({ profiles: ['extended'] });
      const deleted: string[] = [];
      await using line = await forwarding(store.url, ({ method, path, body }) => {
        if (method === 'POST' && path === '/api/site/contacts')
          return { status: 200, json: { id: 9000, ...JSON.parse(body), name: '', tags: [], createdOn: 0 } };
        if (method !== 'DELETE' || !path.startsWith('/api/site/contacts/')) return undefined;
        deleted.push(path);
        return removes
          ? { status: 200, json: { success: true, message: '' } }
          : { status: 404, json: { success: false, message: 'No' } };
      });
      const { probed } = await probe(line, { contactId: '1001' });
      expect(probed?.properties.upsertsContactsByEmail).toBe(false);
      expect(deleted).toEqual(['/api/site/contacts/9000']);
      expect(probed?.left).toEqual(removes ? [] : ['contact 9000']);
    },
  );
});

describe('a probe of a store that lies', () => {
  it.each([
    ['another product', { id: 42, url: 'best-seller', title: 'Best seller' }],
    ['an id without the product', { id: 42 }],
    ['a failure with an id', { id: 42, success: false }],
    ['prototype keys', '{"__proto__":{"ok":true},"id":42,"url":{"a":1},"constructor":{"name":"x"}}'],
  ])('renames and deletes no product of the shop: %s', async (_, answer) => {
    await using store = await lyingStore((method, path) => {
      if (method === 'POST' && path.startsWith('/api/site/products')) return answer;
      if (method === 'GET' && path.startsWith('/api/site/products')) return { items: [{ id: 42 }] };
      return undefined;
    });
    const { probed, kept } = await probe(store);
    expect(probed?.left).toEqual(['storeferry-probe-a1']);
    expect(kept()).toEqual(['storeferry-probe-a1']);
    expect(store.sent.filter((line) => /^(PUT|DELETE|PATCH)/.test(line))).toEqual([]);
  });

  it('removes no contact of another address', async () => {
    const named = { id: 1001, email: 'ann@mail.example', tags: [] };
    await using store = await lyingStore((method, path) => {
      if (method === 'PUT' && path.endsWith('/contacts/1001')) return named;
      if (method !== 'POST' || !path.endsWith('/contacts')) return undefined;
      return { id: 5, email: 'bob@mail.example', createdOn: 0 };
    });
    const { probed } = await probe(store, { contactId: '1001' });
    expect(probed?.properties.upsertsContactsByEmail).toBe(false);
    expect(store.sent.filter((line) => line.startsWith('DELETE'))).toEqual([]);
  });

  it.each(['null', '', '"found"', '{"success":true}', '[]'])(
    'sees no search in the answer %j',
    async (found) => {
      await using store = await lyingStore((method, path) => {
        if (method === 'PUT' && path.endsWith('/contacts/1001'))
          return { email: 'ann@mail.example', tags: [] };
        return path.includes('/search-by-email') ? found : undefined;
      });
      const { probed } = await probe(store, { contactId: '1001' });
      expect(probed?.properties.searchesContactsByEmail).toBe(false);
    },
  );

  it('keeps nothing that the next one cannot read, and believes no page of HTML', async () => {
    await using store = await lyingStore((_, path) => {
      if (path.includes('/search-by-email')) return '<html>Welcome</html>';
      if (path.endsWith('/subscriber-lists')) return { items: [{ id: 1 }, { id: 2 }], limit: 1.5 };
      return path.includes('/subscriber-lists?') ? { items: [{ id: 1 }], limit: 1.5 } : undefined;
    });
    const { probed } = await probe(store);
    expect(probed?.properties).toMatchObject({ listPageLimit: 2, searchesContactsByEmail: false });
  });
});
