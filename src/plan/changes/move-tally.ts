import { isPriceMove, type Move, type Moves } from '../../model/move.ts';
import { type JsonObject, member } from '../json-value.ts';
import { TopList } from '../top-list.ts';
import { byLargestMove } from './largest-move.ts';
import type { VariantPairs } from './variant-changes.ts';
import { variantName } from './variant-name.ts';

const MOVES_KEPT = 20;
const PRICES = ['price', 'regularPrice', 'salePrice'] as const;
const STOCKS = ['quantity'] as const;

/**
 * The largest moves of prices and of stock over all products, in memory that does not grow with them. Of each product
 * only the largest of a kind counts: one with a hundred variants would leave no place for the others.
 */
export class MoveTally {
  /** Products of which at least one price moved so far that somebody must look at it. */
  priceMoves = 0;
  readonly #prices = new TopList<Move>(MOVES_KEPT, byLargestMove);
  readonly #stocks = new TopList<Move>(MOVES_KEPT, byLargestMove);

  /** Takes the variants of a product; a stock that appears or goes is no move. */
  add(key: string, paired: VariantPairs): void {
    const price = largest([...movesOf(key, paired, PRICES), ...newPrices(key, paired)]);
    if (price !== null) {
      this.#prices.add(price);
      // The largest is one, if any of the product is: it moves the most times.
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

/** The numbers of these names that differ in variants that stand in both bodies. */
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
 * Prices without an acknowledged one of their own would hide that all prices moved: those of a product most of
 * whose variants have other options and skus than before, and of a sale that begins. They are compared with the prices whose place they
 * take, and count where even the nearest is a price move away.
 */
function newPrices(key: string, { pairs, isOnly, removed, added }: VariantPairs): Move[] {
  // Of few among many, each may be another thing: a sample that gives way to a pallet.
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
