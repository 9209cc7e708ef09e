import type { Move, Plan } from '../model/plan.ts';

/** A price that changes so many times over, up or down, is more likely a slip than a sale. */
const UNUSUAL_FACTOR = 3;
const SHOWN = 3;

/** Whether a price moves so far that somebody should look at it; a price that becomes 0 always does. */
export function isUnusual({ old, new: now }: Pick<Move, 'old' | 'new'>): boolean {
  if (old === now) return false;
  if (now <= 0) return true;
  return old > 0 && (now / old >= UNUSUAL_FACTOR || old / now >= UNUSUAL_FACTOR);
}

/** The few prices to look at before a plan is approved, largest move first. */
export function unusualMoves({ moves }: Plan): Move[] {
  return moves.prices.filter(isUnusual).slice(0, SHOWN);
}
