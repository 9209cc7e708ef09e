import type { Move, Moves } from '../../model/plan.ts';
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
  readonly #prices = new TopList<Move>(MOVES_KEPT, byLargestMove);
  readonly #stocks = new TopList<Move>(MOVES_KEPT, byLargestMove);

  /** Takes the variants of a product that stand in both bodies; values that appear or go are no moves. */
  add(key: string, { pairs, isOnly }: VariantPairs): void {
    const price = largestOf(key, pairs, isOnly, PRICES);
    if (price !== null) this.#prices.add(price);
    const stock = largestOf(key, pairs, isOnly, STOCKS);
    if (stock !== null) this.#stocks.add(stock);
  }

  moves(): Moves {
    return { prices: this.#prices.items(), stocks: this.#stocks.items() };
  }
}

function largestOf(
  key: string,
  pairs: VariantPairs['pairs'],
  isOnly: boolean,
  names: readonly string[],
): Move | null {
  let largest: Move | null = null;
  for (const [before, after] of pairs) {
    for (const name of names) {
      const move = moveOf(before, after, name);
      if (move === null) continue;
      const named = { key, what: isOnly ? null : variantName(after), field: `variants.${name}`, ...move };
      if (largest === null || byLargestMove(named, largest) < 0) largest = named;
    }
  }
  return largest;
}

function moveOf(before: JsonObject, after: JsonObject, name: string): { old: number; new: number } | null {
  const old = member(before, name);
  const now = member(after, name);
  return typeof old === 'number' && typeof now === 'number' && old !== now ? { old, new: now } : null;
}
