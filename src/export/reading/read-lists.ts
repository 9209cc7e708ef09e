import { StoreRefusedError } from '../../model/errors.ts';
import type { SubscriberList } from '../../model/subscriber-list.ts';
import type { PageItem, SendOptions, Storefront } from '../../storefront/storefront.ts';
import { itemPage } from './item-page.ts';
import { readAllItems } from './read-all-items.ts';
import { isPageSize, mayHaveMore, readingNotes } from './reading-notes.ts';

/** As many as the API gives at once (storefront-api.md, section 8). */
const LIMIT = 50;

/** Subscriber lists, and what a person should know about how they were read. */
export interface ListsRead {
  /** By id. */
  readonly lists: readonly SubscriberList[];
  readonly notes: readonly string[];
}

/**
 * All subscriber lists of a store (storefront-api.md, section 4.3). The API answers them bare and whole; whether
 * `limit` and `skip` affect it is unspecified. So more is asked for where the store counts more, and where it does not
 * count and gives exactly a page. StoreRefusedError for what is no list, and where the store counts lists that it does
 * not give.
 */
export async function readLists(
  storefront: Pick<Storefront, 'subscriberLists'>,
  options: SendOptions,
): Promise<ListsRead> {
  const first = await storefront.subscriberLists(options);
  const { items, totalCount, limit } = first;
  const lists = items.map(toList);
  if (totalCount !== null) {
    return items.length >= totalCount
      ? { lists: byId(lists), notes: [] }
      : await readByPages(storefront, options);
  }
  const isPage = isPageSize(items.length) || (limit !== null && items.length >= limit);
  if (!isPage) return { lists: byId(lists), notes: [] };
  const pages = await readByPages(storefront, options).catch((error: unknown) => {
    // A store may refuse a query that the API does not name for lists.
    if (error instanceof StoreRefusedError) return undefined;
    throw error;
  });
  if (pages === undefined)
    return { lists: byId(lists), notes: [mayHaveMore(lists.length, 'subscriber lists')] };
  // A store that takes `limit` and ignores `skip` may have given other items at first.
  const known = new Set(pages.lists.map(({ id }) => id));
  return { lists: byId([...pages.lists, ...lists.filter(({ id }) => !known.has(id))]), notes: pages.notes };
}

async function readByPages(
  storefront: Pick<Storefront, 'subscriberLists'>,
  options: SendOptions,
): Promise<ListsRead> {
  const lists: SubscriberList[] = [];
  const pages = readAllItems({
    fetch: async (skip) =>
      itemPage(await storefront.subscriberLists({ ...options, page: { limit: LIMIT, skip } }), skip),
    limit: LIMIT,
    concurrency: 1,
    what: 'subscriber lists',
  });
  for (;;) {
    const { value, done } = await pages.next();
    if (done === true) return { lists: byId(lists), notes: readingNotes(value, 'subscriber lists') };
    lists.push(...value.map(({ text }) => readKeptList(text)));
  }
}

function byId(lists: readonly SubscriberList[]): SubscriberList[] {
  return lists.toSorted((a, b) => a.id - b.id);
}

/** A list as `readLists` gave it, from the JSON it was kept as. */
export function readKeptList(json: string): SubscriberList {
  return toList(JSON.parse(json));
}

function toList(item: PageItem): SubscriberList {
  const { id, name, created, subscribers, opens, clicks } = item;
  if (typeof id !== 'number') {
    throw new StoreRefusedError('GET /api/site/subscriber-lists: a list came without a numeric id.');
  }
  return {
    id,
    name: typeof name === 'string' ? name : '',
    created: figure(created),
    subscribers: figure(subscribers),
    opens: figure(opens),
    clicks: figure(clicks),
  };
}

function figure(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
