import { StoreRefusedError, StoreUnavailableError } from '../../model/storeferry-error.ts';
import { type FetchPage, type Item, type ItemKey, type ItemPage, PageAhead } from './page-ahead.ts';

/** How many items two neighbouring pages have in common if nothing changes between them. */
const OVERLAP = 2;
/** The most times that the whole list is read if its length does not match the items found. */
const MAX_PASSES = 4;
/** The most requests, relative to those that an unchanged list needs; above that the list changes too fast to be read. */
const MAX_REQUESTS = { factor: 6, more: 200 };

interface ReadAllOptions {
  readonly fetch: FetchPage;
  /** How many items are requested at once. */
  readonly limit: number;
  /** The most requests in flight. */
  readonly concurrency: number;
  /** The name of the items in messages: `orders`. */
  readonly what: string;
  /** Called with the number of known items and the expected number. */
  readonly onProgress?: (items: number, totalCount: number | null) => void;
}

/** The result after everything was read. */
export type AllRead = ReturnType<ChangingList['result']>;

/**
 * Reads a whole list by pages while items are added to it and removed from it. Yields each item that is in the list all
 * the time exactly once. The API specifies no order of items; this assumes only that items keep their relative order.
 *
 * Offsets alone are not reliable: if an item before an offset is removed between two requests, the later items move
 * forward, and one of them would be missed. So pages overlap by two items. A page counts as the next one only if it has
 * an item in common with the page before, whichever of the two was read first. The common item proves that nothing was
 * missed: an item that stays in the list is before or after the common item in both answers. If before, it is in the
 * first page or an earlier one; if after, in the second page or a later one. A chain of such pages from offset 0 to the
 * end has all items, so many pages may be requested at once. Without a common item, pages in between are read until
 * there is one; if there is none, reading starts again at offset 0. The keys of all items are kept, so that none is
 * yielded twice.
 *
 * The end is a page that is shorter than the others and, if the store counts, reaches its count. A short page alone is
 * not the end, because the store may return fewer items than requested. If the list changed, items may also have moved
 * to its beginning (in a list by time of change), so the beginning is read again up to a known item. If fewer items are
 * known than the store counts, the whole list is read again, until that finds no new item.
 *
 * Rejects with StoreRefusedError if the store ignores offsets, with StoreUnavailableError if the list changes faster
 * than it can be read, and with the errors of `fetch`.
 */
export async function* readAllItems(options: ReadAllOptions): AsyncGenerator<readonly Item[], AllRead> {
  const list = new ChangingList(options);
  yield* list.pass();
  if (list.changed) {
    yield* list.head();
    if (list.lacks()) yield* list.head();
    for (let passes = 1; list.lacks() && passes < MAX_PASSES; passes++) {
      const before = list.known;
      yield* list.pass();
      if (list.known === before) break;
    }
  }
  return list.result();
}

class ChangingList {
  readonly #options: ReadAllOptions;
  readonly #keys = new Set<ItemKey>();
  #withoutId = 0;
  #requests = 0;
  #step = 1;
  #totals = { first: null as number | null, last: null as number | null };
  changed = false;

  constructor(options: ReadAllOptions) {
    this.#options = options;
  }

  get known(): number {
    return this.#keys.size;
  }

  /** Whether fewer items are known than the store last counted, or it does not count. */
  lacks(): boolean {
    const { last } = this.#totals;
    return last === null || this.#keys.size < last;
  }

  result() {
    return {
      items: this.known,
      /** Those without an id: two completely equal ones count as one. */
      withoutId: this.#withoutId,
      /** Whether the list changed during the reading. */
      changed: this.changed,
      /** The store's count of items; null if there is none, or it changed too often to be compared. */
      totalCount: this.#totals.last,
      /** The store returned the same items for every offset: there may be more that cannot be requested. */
      ignoresOffsets: this.#ignoresOffsets,
    };
  }

  /** From the beginning to the end; yields items that were not known before. */
  async *pass(): AsyncGenerator<readonly Item[]> {
    const { limit, concurrency } = this.#options;
    const ahead = new PageAhead((skip) => this.#fetch(skip), concurrency);
    try {
      let page = await ahead.take(0);
      let size = page.items.length;
      const step = Math.max(1, size - OVERLAP);
      const counted = page.totalCount;
      this.#step = step;
      if (size < limit && counted !== null && size >= counted) {
        yield this.#unknownOf(page);
        return;
      }
      ahead.expect(step, step);
      let taken = 1;
      while (true) {
        yield this.#unknownOf(page);
        if (page.items.length === 0) return;
        size = Math.max(size, page.items.length);
        const isShort = page.items.length < size;
        if (isShort && page.totalCount !== null && reach(page) >= page.totalCount) return;
        // Without a count, as many items are requested ahead as are known, so that few requests are wasted.
        if (page.totalCount !== null) ahead.expectUntil(page.totalCount);
        else if (!isShort && (taken > 1 || size >= limit)) ahead.expectUntil(page.skip + taken * step + 1);
        taken++;
        // The beginning will be read again (`head`). Requested together with the last pages it takes no extra time.
        if (this.changed && this.#headAhead === null && ahead.allRequested) {
          this.#headAhead = this.#fetch(0);
          this.#headAhead.catch(() => {});
        }

        const precise = page.skip + Math.max(1, page.items.length - OVERLAP);
        const requested = ahead.requestedAfter(page.skip, page.skip + step);
        const skip = isShort && page.totalCount === null ? precise : (requested ?? precise);
        const next = await this.#joined(page, await ahead.take(skip), ahead);
        // Pages of one item cannot overlap, so nothing proves that no item was missed: as if the list had changed.
        if (size === 1 && next.items.length > 0) this.changed = true;
        if (next.skip === 0) ahead.expect(step, step);
        if (this.#isBehindEnd(page, next, size)) {
          yield this.#unknownOf(next);
          return;
        }
        if (isSamePage(page, next)) {
          await this.#refuseIfOffsetsAreIgnored(page, size);
          if (this.#ignoresOffsets) return;
        }
        page = next;
      }
    } finally {
      ahead.forget();
    }
  }

  /** Reads the beginning again, as far as it is unknown. */
  async *head(): AsyncGenerator<readonly Item[]> {
    for (let skip = 0; ; ) {
      const page = await (this.#headAhead ?? this.#fetch(skip));
      this.#headAhead = null;
      const unknown = this.#unknownOf(page);
      yield unknown;
      if (unknown.length === 0 || unknown.length < page.items.length) return;
      skip += Math.max(1, page.items.length - OVERLAP);
    }
  }

  #headAhead: Promise<ItemPage> | null = null;
  #ignoresOffsets = false;
  readonly #kept = new WeakSet<ItemPage>();

  /**
   * The requested page is the next one if it has an item in common with this one; otherwise the pages between are
   * read.
   */
  async #joined(page: ItemPage, asked: ItemPage, ahead: PageAhead): Promise<ItemPage> {
    this.#compare(page, asked);
    if (page.items.length === 1 || sharesItem(page, asked)) return asked;
    this.changed = true;
    const half = Math.ceil(page.items.length / 2);
    const shift =
      page.totalCount === null || asked.totalCount === null ? 0 : asked.totalCount - page.totalCount;
    const guess = page.skip + half + shift;
    for (const skip of [guess, guess - page.items.length, guess + page.items.length]) {
      if (skip <= 0) continue;
      const between = await this.#fetch(skip);
      if (!sharesItem(page, between)) continue;
      // Only once, because it may belong to another moment than later pages.
      if (sharesItem(between, asked) && !this.#kept.has(asked)) ahead.keep(asked);
      this.#kept.add(asked);
      return between;
    }
    ahead.forget();
    return await this.#fetch(0);
  }

  /** Whether `next` only repeats the end of `page`: it is not full, and the store counts no further items. */
  #isBehindEnd(page: ItemPage, next: ItemPage, size: number): boolean {
    const last = page.items.at(-1)?.key;
    if (next.totalCount !== null && reach(next) < next.totalCount) return false;
    return next.items.length < size && next.items.at(-1)?.key === last && next.skip > page.skip;
  }

  async #refuseIfOffsetsAreIgnored({ items, totalCount }: ItemPage, size: number): Promise<void> {
    const far = await this.#fetch(this.#keys.size + 1_000 * size);
    if (!isSamePage({ items }, far)) return;
    if (totalCount !== null && totalCount > items.length) {
      throw new StoreRefusedError(
        `The store answers with the same ${items.length} ${this.#options.what} at every offset, although it counts ${totalCount}: they cannot be read by pages.`,
      );
    }
    this.#ignoresOffsets = true;
  }

  async #fetch(skip: number): Promise<ItemPage> {
    this.#requests++;
    const { factor, more } = MAX_REQUESTS;
    const quiet = Math.max(this.#keys.size, this.#totals.last ?? 0) / this.#step;
    if (this.#requests > factor * quiet + more) {
      throw new StoreUnavailableError(
        `The ${this.#options.what} change faster than they can be read: after ${this.#requests - 1} requests the list was never complete.`,
        { hint: 'Run again when there is less activity in the store.' },
      );
    }
    const page = await this.#options.fetch(skip);
    const { totalCount } = page;
    if (totalCount !== null) {
      this.#totals.first ??= totalCount;
      if (totalCount !== this.#totals.first) this.changed = true;
      this.#totals.last = totalCount;
    }
    return page;
  }

  #unknownOf({ items }: ItemPage): Item[] {
    const unknown = items.filter(({ key, hasId }) => {
      if (this.#keys.has(key)) return false;
      this.#keys.add(key);
      if (!hasId) this.#withoutId++;
      return true;
    });
    this.#options.onProgress?.(this.known, this.#totals.last);
    return unknown;
  }

  /** Two neighbours that were read while nothing changed have the same items where they overlap. */
  #compare(page: ItemPage, next: ItemPage): void {
    const offset = next.skip - page.skip;
    const same = page.items
      .slice(offset)
      .every(({ key }, index) => index >= next.items.length || next.items[index]?.key === key);
    if (!same) this.changed = true;
  }
}

/** The end of the page. */
function reach({ skip, items }: ItemPage) {
  return skip + items.length;
}

function sharesItem(page: ItemPage, other: ItemPage) {
  const keys = new Set(page.items.map(({ key }) => key));
  return other.items.some(({ key }) => keys.has(key));
}

function isSamePage(page: Pick<ItemPage, 'items'>, other: Pick<ItemPage, 'items'>) {
  return (
    page.items.length === other.items.length &&
    page.items.every(({ key }, index) => other.items[index]?.key === key)
  );
}
