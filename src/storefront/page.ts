import { StoreRefusedError } from '../model/errors.ts';
import { arrayItemTexts } from './array-items.ts';
import { isDeeperThan } from './json-depth.ts';

/** Which items of a list: `limit` 1 to 50, `skip` from 0 (storefront-api.md, section 8). */
export interface PageQuery {
  readonly limit: number;
  readonly skip: number;
}

/** An item as the store sent it; only objects are taken. */
export type PageItem = Readonly<Record<string, unknown>>;

/** Items of a list. What the envelope says is null where the store sent none (a bare list). */
export interface Page {
  readonly items: readonly PageItem[];
  /** The items as the store wrote them, each on one line: numbers keep all their digits. */
  readonly texts: () => readonly string[];
  readonly totalCount: number | null;
  readonly limit: number | null;
  readonly skip: number | null;
}

function isItem(value: unknown): value is PageItem {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** Orders are a few levels deep; what reads and writes them goes down level by level. */
const MOST_LEVELS = 100;

/** Reads a list that came bare or in the envelope of section 8; StoreRefusedError when it is neither, or nests without end. */
export function readPage(value: unknown, text: string, path: string): Page {
  if (isDeeperThan(text, MOST_LEVELS)) {
    throw new StoreRefusedError(
      `GET ${path}: the answer has objects or lists more than ${MOST_LEVELS} levels within one another`,
    );
  }
  const envelope: PageItem = isItem(value) ? value : { items: value };
  const { items, totalCount, limit, skip } = envelope;
  if (!Array.isArray(items) || !items.every(isItem)) {
    throw new StoreRefusedError(
      `GET ${path}: expected a list of objects, bare or as "items", and got something else`,
    );
  }
  return {
    items,
    texts: () => arrayItemTexts(text),
    totalCount: count(totalCount),
    limit: count(limit),
    skip: count(skip),
  };
}
