import { describe, expect, it } from 'vitest';
import type { ItemPage } from '../../src/export/reading/page-ahead.ts';
import { readAllItems } from '../../src/export/reading/read-all-items.ts';
import { ChangingStore } from './changing-store.ts';

const ids = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

async function readAll(
  fetch: (skip: number, limit: number) => Promise<ItemPage>,
  limit = 50,
  concurrency = 8,
) {
  const given: number[] = [];
  const reading = readAllItems({ fetch: (skip) => fetch(skip, limit), limit, concurrency, what: 'orders' });
  for (;;) {
    const { done, value } = await reading.next();
    if (done === true) return { given, all: value };
    for (const { key } of value) given.push(Number(key));
  }
}

describe('reading a whole list', () => {
  it('takes hardly more requests than pages when nothing changes', async () => {
    const store = new ChangingStore({ ids: ids(2_340), changes: [] });
    const { given, all } = await readAll(store.fetch);
    expect(given).toEqual(ids(2_340));
    expect(all).toEqual({
      items: 2_340,
      withoutId: 0,
      changed: false,
      totalCount: 2_340,
      ignoresOffsets: false,
    });
    expect(store.requests).toBe(49);
  });

  it.each([0, 1, 49, 50, 51, 98, 99])('reads %i items, counted or not', async (count) => {
    for (const counts of [true, false]) {
      const store = new ChangingStore({ ids: ids(count), changes: [], counts });
      expect((await readAll(store.fetch)).given).toEqual(ids(count));
      expect(store.requests).toBeLessThanOrEqual(Math.ceil(count / 48) + 3);
    }
  });

  it.each([1, 2, 7, 30])('reads from a store that gives %i at once, whatever is asked for', async (cap) => {
    for (const counts of [true, false]) {
      const store = new ChangingStore({ ids: ids(100), changes: [], cap, counts });
      expect((await readAll(store.fetch)).given).toEqual(ids(100));
    }
  });

  it('reads from a store that gives more than was asked for, or everything at once', async () => {
    const store = new ChangingStore({ ids: ids(300), changes: [] });
    expect((await readAll((skip) => store.fetch(skip, 120))).given).toEqual(ids(300));
    expect((await readAll((skip) => store.fetch(skip, 1_000))).given).toEqual(ids(300));
  });

  it.each([20, 50, 200])(
    'takes the %i items of a store that knows no offsets for all there are',
    async (count) => {
      const store = new ChangingStore({ ids: ids(count), changes: [], counts: false });
      expect((await readAll(() => store.fetch(0, 1_000))).given).toEqual(ids(count));
    },
  );

  it('refuses a store that gives the same page for ever and counts more', async () => {
    const store = new ChangingStore({ ids: ids(300), changes: [] });
    await expect(readAll(() => store.fetch(0, 50))).rejects.toMatchObject({
      code: 'store-refused',
      message: expect.stringContaining('the same 50 orders'),
    });
  });

  it('finds what moved to the beginning while it was read', async () => {
    const store = new ChangingStore({ ids: ids(400), changes: [] });
    const { given } = await readAll(
      async (skip, limit) => {
        const page = await store.fetch(skip, limit);
        if (store.requests === 3) store.list.unshift(...store.list.splice(350, 1));
        return page;
      },
      50,
      1,
    );
    expect(given.toSorted((a, b) => a - b)).toEqual(ids(400));
  });

  it('takes no short page for the end while the store counts further', async () => {
    const store = new ChangingStore({ ids: ids(400), changes: [] });
    const { given } = await readAll(async (skip, limit) => {
      const page = await store.fetch(skip, limit);
      return skip === 96 ? { ...page, items: page.items.slice(0, 2) } : page;
    });
    expect(given.toSorted((a, b) => a - b)).toEqual(ids(400));
  });

  it('says when the store counts what it does not show', async () => {
    const store = new ChangingStore({ ids: ids(120), changes: [] });
    const { given, all } = await readAll(async (skip, limit) => {
      const page = await store.fetch(skip, limit);
      return { ...page, totalCount: 125 };
    });
    expect(given).toEqual(ids(120));
    expect(all).toMatchObject({ items: 120, changed: false, totalCount: 125 });
  });

  it('gives up on a list that is another at each request', async () => {
    let next = 0;
    const shuffled = async (skip: number): Promise<ItemPage> => ({
      skip,
      items: Array.from({ length: 50 }, () => ({ key: ++next, hasId: true, text: '{}' })),
      totalCount: 500,
    });
    await expect(readAll(shuffled)).rejects.toMatchObject({ code: 'store-unavailable' });
  });

  it('passes on what a page fails with, and asks for nothing more', async () => {
    const store = new ChangingStore({ ids: ids(2_000), changes: [] });
    const failing = readAll(async (skip, limit) => {
      if (skip === 480) throw new Error('gone');
      return await store.fetch(skip, limit);
    });
    await expect(failing).rejects.toThrow('gone');
    const asked = store.requests;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(store.requests).toBe(asked);
  });
});
