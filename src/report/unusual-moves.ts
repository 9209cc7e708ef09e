import { isPriceMove, type Move } from '../model/move.ts';
import type { Plan } from '../model/plan.ts';

/** So many are named; where they stop the run, so many. */
const SHOWN = 3;
const SHOWN_OF_STOP = 10;

/** Prices to look at before a plan is approved. */
export interface UnusualMoves {
  /** The first few, largest move first. */
  readonly shown: readonly Move[];
  /** How many more products have one. */
  readonly more: number;
}

/** The price moves of a plan. */
export function unusualMoves({ moves, priceMoves, safety }: Plan): UnusualMoves {
  const unusual = moves.prices.filter(isPriceMove);
  const stops = safety.some(({ limit, exceeded }) => limit === 'maxPriceMoves' && exceeded);
  const shown = unusual.slice(0, stops ? SHOWN_OF_STOP : SHOWN);
  // Plans of earlier versions did not count them.
  return { shown, more: Math.max(unusual.length, priceMoves) - shown.length };
}
