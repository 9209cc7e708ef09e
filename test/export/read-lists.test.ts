import { describe, expect, it } from 'vitest';
import { readLists } from '../../src/export/reading/read-lists.ts';
import { readPage } from '../../src/storefront/page.ts';
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

describe('reading subscriber lists', () => {
  it('takes a bare answer for all there are, by id', async () => {
    const lists = await readLists(
      answering(() => LISTS),
      options,
    );
    expect(lists).toEqual(LISTS.toReversed());
  });

  it('reads pages where an envelope says that there are more', async () => {
    const paged = answering((limit, skip) => ({
      items: LISTS.slice(skip, skip + limit),
      totalCount: LISTS.length,
      limit,
      skip,
    }));
    expect(await readLists(paged, options)).toEqual(LISTS.toReversed());
  });

  it('reads pages where a full envelope does not count', async () => {
    const paged = answering((limit, skip) => ({ items: LISTS.slice(skip, skip + limit), limit, skip }));
    expect(await readLists(paged, options)).toEqual(LISTS.toReversed());
  });

  it('gives nothing for figures that are none', async () => {
    const odd = answering(() => [{ id: 1, opens: 'many', created: null }]);
    expect(await readLists(odd, options)).toEqual([
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
