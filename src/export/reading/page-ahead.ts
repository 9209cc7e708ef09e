import { createHash } from 'node:crypto';
import type { Page, PageItem } from '../../storefront/storefront.ts';
import { exactJson, exactText } from '../exact-json.ts';

/** Identifies an item in little memory: by its id, or a digest of its whole content. */
export type ItemKey = number | string;

/** One item of a list as the store sent it. */
export interface Item {
  readonly key: ItemKey;
  /** Whether it has its own id; otherwise only completely equal items count as the same. */
  readonly hasId: boolean;
  /** JSON on one line, every digit as the store wrote it. */
  readonly text: string;
}

/** A page and its offset. */
export interface ItemPage {
  readonly skip: number;
  readonly items: readonly Item[];
  /** The length of the list according to the same answer; null if it does not say. */
  readonly totalCount: number | null;
}

/** An answer of the store as the page that was requested at `skip`. */
export function itemPage({ items, texts, totalCount }: Page, skip: number): ItemPage {
  const lines = texts();
  if (lines.length !== items.length)
    throw new Error(`${items.length} items, and ${lines.length} texts of items`);
  return { skip, items: items.map((item, index) => itemOf(item, lines[index] ?? '')), totalCount };
}

function itemOf(item: PageItem, text: string): Item {
  const id = Object.hasOwn(item, 'id') ? item['id'] : undefined;
  if (typeof id === 'number') return { key: numberKey(id, text), hasId: true, text };
  if (typeof id === 'string' && id !== '') return { key: `s${id}`, hasId: true, text };
  return { key: `#${createHash('sha1').update(text).digest('base64')}`, hasId: false, text };
}

/** Ids that JavaScript's numbers do not represent exactly are compared by their digits. */
function numberKey(id: number, text: string): ItemKey {
  if (Number.isSafeInteger(id)) return id;
  const item = exactJson(text);
  const exact = typeof item === 'object' && item !== null && 'id' in item ? exactText(item.id) : undefined;
  return `n${exact ?? id}`;
}

/** Gets the page at an offset. */
export type FetchPage = (skip: number) => Promise<ItemPage>;

/**
 * Requests pages before they are needed. These are guesses: the reader decides which page comes next, and a page that
 * was not requested ahead is requested when it is taken.
 */
export class PageAhead {
  readonly #fetch: FetchPage;
  readonly #concurrency: number;
  readonly #requested = new Map<number, Promise<ItemPage>>();
  #inFlight = 0;
  #next = 0;
  #step = 0;
  #until = 0;

  /** At most `concurrency` requests are in flight, and twice as many pages wait to be taken. */
  constructor(fetch: FetchPage, concurrency: number) {
    this.#fetch = fetch;
    this.#concurrency = concurrency;
  }

  /** From now on the pages at `from`, `from + step` and so on are expected, up to a limit that is set later. */
  expect(from: number, step: number): void {
    this.#next = from;
    this.#step = step;
    this.#until = 0;
  }

  /** Pages that begin before `until` are expected. */
  expectUntil(until: number): void {
    this.#until = Math.max(this.#until, until);
    this.#requestMore();
  }

  /** Whether all expected pages were requested. */
  get allRequested(): boolean {
    return this.#until > 0 && this.#next >= this.#until;
  }

  /** The offset of the first page after `after`, up to `most`, that was requested ahead. */
  requestedAfter(after: number, most: number): number | undefined {
    let nearest: number | undefined;
    for (const skip of this.#requested.keys()) {
      if (skip > after && skip <= most && (nearest === undefined || skip < nearest)) nearest = skip;
    }
    return nearest;
  }

  /** The page at `skip`: requested ahead, or now. Earlier expected pages are dropped. */
  async take(skip: number): Promise<ItemPage> {
    for (const passed of [...this.#requested.keys()]) if (passed < skip) this.#requested.delete(passed);
    if (skip === this.#next) this.#next += this.#step;
    const requested = this.#requested.get(skip) ?? this.#request(skip);
    this.#requested.delete(skip);
    this.#requestMore();
    return await requested;
  }

  /** A page that was taken too early: it may be taken again. */
  keep(page: ItemPage): void {
    this.#requested.set(page.skip, Promise.resolve(page));
  }

  /** Expects nothing any more. */
  forget(): void {
    this.#requested.clear();
    this.#until = 0;
  }

  #requestMore(): void {
    while (
      this.#next < this.#until &&
      this.#inFlight < this.#concurrency &&
      this.#requested.size < 2 * this.#concurrency
    ) {
      const skip = this.#next;
      this.#next += this.#step;
      this.#requested.set(skip, this.#request(skip));
    }
  }

  #request(skip: number): Promise<ItemPage> {
    this.#inFlight++;
    const page = this.#fetch(skip).finally(() => {
      this.#inFlight--;
      this.#requestMore();
    });
    // The failure reaches the reader when it takes the page; for other pages only the reading ahead ends.
    page.catch(() => this.forget());
    return page;
  }
}
