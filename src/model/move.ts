/** A number of a product that changes, with what it was and what it becomes. */
export interface Move {
  readonly key: string;
  /** Which variant, where the product has several: its option values, else its sku; null where there is but one. */
  readonly what: string | null;
  /** With its path: `variants.price`, `variants.quantity`. */
  readonly field: string;
  readonly old: number;
  readonly new: number;
}

/**
 * The numbers that change most for their size, largest change first; at most twenty of each kind, and of each product
 * the largest only.
 */
export interface Moves {
  readonly prices: readonly Move[];
  readonly stocks: readonly Move[];
}

/** A price that becomes so many times the acknowledged one, or at most so small a part of it, is a price move. */
const FACTOR = 3;
/** 0.3 is three times 0.1, though not in binary. */
const ROUNDING = 1e-9;

/** What a price move is, after 'a price that becomes'. */
export const PRICE_MOVE = `at least ${FACTOR} times as high, at most a third, or 0`;

/**
 * Whether a price becomes at least 3 times or at most a third of the acknowledged one, or 0: more likely an error than
 * a sale. From 0 every price is: it is at least 3 times 0.
 */
export function isPriceMove({ old, new: now }: Pick<Move, 'old' | 'new'>): boolean {
  if (old === now) return false;
  return now <= 0 || atLeast(now, FACTOR * old) || atLeast(old, FACTOR * now);
}

function atLeast(value: number, bound: number): boolean {
  return value >= bound * (1 - ROUNDING);
}

/** A price with its cents: `1,000.00`. */
export function priceText(price: number): string {
  return price.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 4 });
}

const LONGEST_NAME = 40;

/** `lamp (Red / L): price 10.00 → 1,000.00`, on one line; names are cut. */
export function priceMoveText({ key, what, field, old, new: now }: Move): string {
  const name = what === null ? cut(key) : `${cut(key)} (${cut(what)})`;
  return `${name}: ${field.split('.').at(-1) ?? field} ${priceText(old)} → ${priceText(now)}`;
}

function cut(name: string): string {
  const line = name.replaceAll(/\p{Cc}+/gu, ' ');
  return line.length <= LONGEST_NAME ? line : `${line.slice(0, LONGEST_NAME - 1).toWellFormed()}…`;
}
