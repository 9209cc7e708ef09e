import type { SendOptions, Storefront } from '../../storefront/storefront.ts';
import { type Item, itemPage } from './item-page.ts';
import { type AllRead, readAllItems } from './read-all-items.ts';

/** As many as the API gives at once (storefront-api.md, section 8). */
const LIMIT = 50;
/** Beyond this many at once no store answers sooner, and pages waiting to be taken cost memory. */
const MOST_AT_ONCE = 64;

export interface ReadOrdersOptions extends SendOptions {
  /** The most requests in flight that the store is configured for; the client finds out how many are good. */
  readonly concurrency: number;
  readonly onProgress: (orders: number, totalCount: number | null) => void;
}

/** All orders of a store (storefront-api.md, section 4.5), each once: see `readAllItems`. */
export async function* readOrders(
  storefront: Pick<Storefront, 'orders' | 'expectPages'>,
  { concurrency, onProgress, ...options }: ReadOrdersOptions,
): AsyncGenerator<readonly Item[], AllRead> {
  // What was asked for ahead is called off when reading ends.
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  storefront.expectPages();
  try {
    return yield* readAllItems({
      fetch: async (skip) =>
        itemPage(await storefront.orders({ limit: LIMIT, skip }, { ...options, signal }), skip),
      limit: LIMIT,
      concurrency: Math.min(concurrency, MOST_AT_ONCE),
      what: 'orders',
      onProgress,
    });
  } finally {
    over.abort(new Error('reading the orders is over'));
  }
}
