import { StoreRefusedError } from '../model/errors.ts';
import type { SubscriberList } from '../model/subscriber-list.ts';
import type { PageItem } from '../storefront/page.ts';
import type { SendOptions } from '../storefront/send.ts';
import type { Storefront } from '../storefront/storefront.ts';

/** All subscriber lists of a store, by id (storefront-api.md, section 4.3). StoreRefusedError for what is none. */
export async function readLists(
  storefront: Pick<Storefront, 'subscriberLists'>,
  options: SendOptions,
): Promise<SubscriberList[]> {
  const { items } = await storefront.subscriberLists(options);
  return items.map(toList).toSorted((a, b) => a.id - b.id);
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
