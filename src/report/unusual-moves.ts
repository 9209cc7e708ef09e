import { isPriceMove, type Move } from '../model/move.ts';
import type { Plan } from '../model/plan.ts';

/** So many are named; where they stop the run, so many. */
const SHOWN = 3;
const SHOWN_OF_STOP = 10;

/** Prices to look at before a plan is approved. */
export interface UnusualMoves {
  /** The first few, largest move first. */
  readonly shown: readonly Move[];
  /** How many more products have one; as far as it is known, where the job has no limit on them. */
  readonly more: number;
}

/** The price moves of a plan. */
export function unusualMoves({ moves, safety }: Plan): UnusualMoves {
  const unusual = moves.prices.filter(isPriceMove);
  const verdict = safety.find(({ limit }) => limit === 'maxPriceMoves');
  const shown = unusual.slice(0, verdict?.exceeded === true ? SHOWN_OF_STOP : SHOWN);
  return { shown, more: Math.max(unusual.length, verdict?.figure ?? 0) - shown.length };
}
