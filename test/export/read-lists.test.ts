import { describe, expect, it } from 'vitest';
import { readLists } from '../../src/export/reading/read-items.ts';
import { StoreRefusedError } from '../../src/model/storeferry-error.ts';
import { readPage } from '../../src/storefront/read-page.ts';
import type { Storefront } from '../../src/storefront/storefront.ts';
import { aList } from '../support/exports.ts';

const options = { signal: new AbortController().signal };
const LISTS = Array.from({ length: 120 }, (_, index) => aList(120 - index, `List ${120 - index}`));

/** A store that answers with what it is given. */
function answering(answer: (limit: number, skip: number) => unknown): Pick<Storefront, 'subscriberLists'> {
  return {
    async subscriberLists({ page }) {
      const value = answer(page?.limit ?? 30, page?.skip ?? 0);
      return readPage(value, JSON.stringify(value), '/api/site/subscriber-lists');
    },
  };
}

/** The same, with whether a page was asked for; `refused` is a 400. Counts the requests. */
function counting(answer: (limit: number, skip: number, isAsked: boolean) => unknown) {
  let requests = 0;
  const store: Pick<Storefront, 'subscriberLists'> = {
    async subscriberLists({ page }) {
      requests++;
      const value = answer(page?.limit ?? 30, page?.skip ?? 0, page !== undefined);
      if (value === 'refused')
        throw new StoreRefusedError('GET /api/site/subscriber-lists: unknown query (400)');
      return readPage(value, JSON.stringify(value), '/api/site/subscriber-lists');
    },
  };
  return { store, requests: () => requests };
}

describe('reading subscriber lists', () => {
  it('takes a bare answer for all there are, by id', async () => {
    const read = await readLists(
      answering(() => LISTS),
      options,
    );
    expect(read).toEqual({ lists: LISTS.toReversed(), notes: [] });
  });

  it('reads pages where an envelope says that there are more', async () => {
    const paged = answering((limit, skip) => ({
      items: LISTS.slice(skip, skip + limit),
      totalCount: LISTS.length,
      limit,
      skip,
    }));
    expect(await readLists(paged, options)).toEqual({ lists: LISTS.toReversed(), notes: [] });
  });

  it('reads pages where a full envelope does not count', async () => {
    const paged = answering((limit, skip) => ({ items: LISTS.slice(skip, skip + limit), limit, skip }));
    expect(await readLists(paged, options)).toEqual({ lists: LISTS.toReversed(), notes: [] });
  });

  it.each([30, 50])(
    'asks for more where a bare answer is exactly a page of %i, and stops at the end',
    async (size) => {
      for (const total of [size, size + 1, 2 * size, 75, 120]) {
        const all = LISTS.slice(0, total);
        const cut = counting((limit, skip, isAsked) => {
          const most = isAsked ? Math.min(limit, size) : size;
          return all.slice(skip, skip + most);
        });
        expect(await readLists(cut.store, options)).toEqual({ lists: all.toReversed(), notes: [] });
        expect(cut.requests()).toBeLessThanOrEqual(4 + Math.ceil(total / (size - 2)));
      }
    },
  );

  it('asks once where a bare answer is no page', async () => {
    for (const total of [0, 1, 29, 31, 49, 51, 120]) {
      const whole = counting(() => LISTS.slice(0, total));
      expect(await readLists(whole.store, options)).toMatchObject({ notes: [] });
      expect(whole.requests()).toBe(1);
    }
  });

  it.each([
    ['ignores the query', () => LISTS.slice(0, 30)],
    ['refuses the query', (isAsked: boolean) => (isAsked ? 'refused' : LISTS.slice(0, 30))],
  ])('says that there may be more where a store gives exactly a page and %s', async (_name, answer) => {
    const { store } = counting((_limit, _skip, isAsked) => answer(isAsked));
    const { lists, notes } = await readLists(store, options);
    expect(lists).toHaveLength(30);
    expect(notes).toEqual([expect.stringMatching(/exactly 30 subscriber lists.*there may be more/)]);
  });

  it('keeps what came first where a store gives another page for the same question', async () => {
    const { store } = counting((_limit, _skip, isAsked) =>
      isAsked ? LISTS.slice(20, 70) : LISTS.slice(0, 30),
    );
    const { lists, notes } = await readLists(store, options);
    expect(lists).toEqual(LISTS.slice(0, 70).toReversed());
    expect(notes).toEqual([expect.stringContaining('there may be more')]);
  });

  it('fails where a store counts more lists than it gives, wherever it is asked to begin', async () => {
    const stuck = answering(() => ({ items: LISTS.slice(0, 30), totalCount: 75, limit: 30, skip: 0 }));
    await expect(readLists(stuck, options)).rejects.toThrow(/same 30 subscriber lists.*counts 75/);
  });

  it('says so where a store counts more lists than its pages hold', async () => {
    const short = answering((limit, skip) => ({
      items: LISTS.slice(skip, Math.min(skip + limit, 60)),
      totalCount: 75,
      limit,
      skip,
    }));
    const { lists, notes } = await readLists(short, options);
    expect(lists).toHaveLength(60);
    expect(notes).toEqual([expect.stringContaining('counts 75 subscriber lists but returns only 60')]);
  });

  it('gives nothing for figures that are none', async () => {
    const odd = answering(() => [{ id: 1, opens: 'many', created: null }]);
    expect((await readLists(odd, options)).lists).toEqual([
      { id: 1, name: '', created: null, subscribers: null, opens: null, clicks: null },
    ]);
  });

  it('refuses a list without an id', async () => {
    await expect(
      readLists(
        answering(() => [{ name: 'News' }]),
        options,
      ),
    ).rejects.toMatchObject({
      code: 'store-refused',
    });
  });
});
