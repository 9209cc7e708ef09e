import { StoreRefusedError } from '../../model/errors.ts';
import type { SubscriberList } from '../../model/subscriber-list.ts';
import type { PageItem } from '../../storefront/page.ts';
import type { SendOptions } from '../../storefront/send.ts';
import type { Storefront } from '../../storefront/storefront.ts';
import { itemPage } from './item-page.ts';
import { readAllItems } from './read-all-items.ts';

/** As many as the API gives at once (storefront-api.md, section 8). */
const LIMIT = 50;

/**
 * All subscriber lists of a store, by id (storefront-api.md, section 4.3). The API answers them bare and whole; a store
 * that answers a page of more in an envelope is read by pages. StoreRefusedError for what is no list.
 */
export async function readLists(
  storefront: Pick<Storefront, 'subscriberLists'>,
  options: SendOptions,
): Promise<SubscriberList[]> {
  const { items, totalCount, limit } = await storefront.subscriberLists(options);
  // An envelope that does not count may hold one page of many: a full one says no more than its limit.
  const isWhole = totalCount === null ? limit === null || items.length < limit : items.length >= totalCount;
  const lists = isWhole ? items.map(toList) : await readByPages(storefront, options);
  return lists.toSorted((a, b) => a.id - b.id);
}

async function readByPages(
  storefront: Pick<Storefront, 'subscriberLists'>,
  options: SendOptions,
): Promise<SubscriberList[]> {
  const lists: SubscriberList[] = [];
  const pages = readAllItems({
    fetch: async (skip) =>
      itemPage(await storefront.subscriberLists({ ...options, page: { limit: LIMIT, skip } }), skip),
    limit: LIMIT,
    concurrency: 1,
    what: 'subscriber lists',
  });
  for await (const batch of pages) lists.push(...batch.map(({ text }) => readKeptList(text)));
  return lists;
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
