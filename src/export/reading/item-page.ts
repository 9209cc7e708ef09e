import { createHash } from 'node:crypto';
import type { Page, PageItem } from '../../storefront/storefront.ts';
import { exactJson, exactText } from '../exact-json.ts';

/** Identifies an item in little memory: its id, or a digest of its whole content. */
export type ItemKey = number | string;

/** One item of a list, as it came. */
export interface Item {
  readonly key: ItemKey;
  /** Whether it has an id of its own; else only equal items are known to be the same. */
  readonly hasId: boolean;
  /** JSON on one line, every digit as the store wrote it. */
  readonly text: string;
}

/** A page with where it was read. */
export interface ItemPage {
  readonly skip: number;
  readonly items: readonly Item[];
  /** How many items the list has, by the same answer; null when it does not say. */
  readonly totalCount: number | null;
}

/** An answer of the store as a page that was asked for at `skip`. */
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

/** Ids that JavaScript's numbers do not hold exactly are compared by their digits. */
function numberKey(id: number, text: string): ItemKey {
  if (Number.isSafeInteger(id)) return id;
  const item = exactJson(text);
  const exact = typeof item === 'object' && item !== null && 'id' in item ? exactText(item.id) : undefined;
  return `n${exact ?? id}`;
}
