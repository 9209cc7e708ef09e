import { type JsonObject, member } from '../../model/json-object.ts';
import { isPriceMove, type Move, type Moves } from '../../model/safety-limits.ts';
import { type VariantPairs, variantName } from './field-changes.ts';

const MOVES_KEPT = 20;
const PRICES = ['price', 'regularPrice', 'salePrice'] as const;
const STOCKS = ['quantity'] as const;

/**
 * The largest changes of prices and of stock over all products, in constant memory. Only the largest of each kind
 * counts per product, because a product with a hundred variants would otherwise displace all others.
 */
export class MoveTally {
  /** Products with at least one price move. */
  priceMoves = 0;
  readonly #prices = new TopList<Move>(MOVES_KEPT, byLargestMove);
  readonly #stocks = new TopList<Move>(MOVES_KEPT, byLargestMove);

  /** Takes the variants of a product. A stock that appears or disappears does not count. */
  add(key: string, paired: VariantPairs): void {
    const price = largest([...movesOf(key, paired, PRICES), ...newPrices(key, paired)]);
    if (price !== null) {
      this.#prices.add(price);
      // The largest one is a price move if any of the product is: it has the largest factor.
      if (isPriceMove(price)) this.priceMoves++;
    }
    const stock = largest(movesOf(key, paired, STOCKS));
    if (stock !== null) this.#stocks.add(stock);
  }

  moves(): Moves {
    return { prices: this.#prices.items(), stocks: this.#stocks.items() };
  }
}

function largest(moves: readonly Move[]): Move | null {
  return moves.reduce<Move | null>(
    (most, move) => (most === null || byLargestMove(move, most) < 0 ? move : most),
    null,
  );
}

/** The numbers with these names that differ between common variants of both bodies. */
function movesOf(key: string, { pairs, isOnly }: VariantPairs, names: readonly string[]): Move[] {
  return pairs.flatMap(([before, after]) =>
    names.flatMap((name) => {
      const old = numberIn(before, name);
      const now = numberIn(after, name);
      if (old === undefined || now === undefined || old === now) return [];
      return [{ key, what: isOnly ? null : variantName(after), field: `variants.${name}`, old, new: now }];
    }),
  );
}

/**
 * Prices of variants without an acknowledged counterpart could hide that all prices moved: if most variants of a
 * product have other options and skus than before, or a sale begins. They are compared with the prices that they
 * replace, and count if even the nearest one is a price move away.
 */
function newPrices(key: string, { pairs, isOnly, removed, added }: VariantPairs): Move[] {
  // If only a few of many variants are new, each may be another thing: a sample that is replaced by a pallet.
  const mostGone = removed.length > pairs.length;
  const gone = mostGone ? removed.flatMap((variant) => numberIn(variant, 'price') ?? []) : [];
  const renamed = added.map((variant) => ({ variant, name: 'price', olds: gone }));
  const onSale = pairs
    .filter(([before]) => numberIn(before, 'salePrice') === undefined)
    .map(([before, variant]) => ({
      variant,
      name: 'salePrice',
      olds: [numberIn(before, 'price') ?? []].flat(),
    }));
  return [...renamed, ...onSale].flatMap(({ variant, name, olds }) => {
    const now = numberIn(variant, name);
    if (now === undefined || !olds.every((old) => isPriceMove({ old, new: now }))) return [];
    const [old] = olds.toSorted((one, other) => Math.abs(one - now) - Math.abs(other - now));
    const what = isOnly ? null : variantName(variant);
    return old === undefined ? [] : [{ key, what, field: `variants.${name}`, old, new: now }];
  });
}

function numberIn(variant: JsonObject, name: string): number | undefined {
  const value = member(variant, name);
  return typeof value === 'number' ? value : undefined;
}

/** If several fields of a variant change by the same factor, the field that buyers pay is named. */
const PRECEDENCE: readonly string[] = [
  'variants.price',
  'variants.regularPrice',
  'variants.salePrice',
  'variants.quantity',
];

/**
 * Orders changes: the largest factor first, of equal ones the larger difference; then by key, variant and field, so
 * that the result does not depend on the order of input.
 */
export function byLargestMove(one: Move, other: Move): number {
  const [ours, theirs] = [timesApart(one), timesApart(other)];
  if (ours !== theirs) return ours > theirs ? -1 : 1;
  const [by, otherBy] = [Math.abs(one.new - one.old), Math.abs(other.new - other.old)];
  if (by !== otherBy) return by > otherBy ? -1 : 1;
  return (
    compared(one.key, other.key) ||
    compared(one.what ?? '', other.what ?? '') ||
    PRECEDENCE.indexOf(one.field) - PRECEDENCE.indexOf(other.field) ||
    one.old - other.old
  );
}

/**
 * The factor between the two: 10 and 1000 are 100 apart, in both directions; from or to 0, and across it, infinitely.
 */
function timesApart({ old, new: now }: Move): number {
  if (old * now <= 0) return Number.POSITIVE_INFINITY;
  const one = Math.abs(old);
  const other = Math.abs(now);
  return Math.max(one, other) / Math.min(one, other);
}

function compared(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** The first few of many in an order, without storing all. */
export class TopList<Item> {
  readonly #most: number;
  readonly #order: (one: Item, other: Item) => number;
  /** In order. */
  readonly #items: Item[] = [];

  /** `order` as for sorting: below 0 if the first argument precedes the second. */
  constructor(most: number, order: (one: Item, other: Item) => number) {
    this.#most = most;
    this.#order = order;
  }

  add(item: Item): void {
    const last = this.#items.at(-1);
    const isFull = this.#items.length === this.#most;
    if (isFull && last !== undefined && this.#order(item, last) >= 0) return;
    if (isFull) this.#items.pop();
    const place = this.#items.findIndex((kept) => this.#order(item, kept) < 0);
    this.#items.splice(place === -1 ? this.#items.length : place, 0, item);
  }

  /** The first ones so far, in order. */
  items(): Item[] {
    return [...this.#items];
  }
}
