import type { Outcome } from '../model/outcome.ts';

/** What an outcome leaves of the doubt about its key, as both kinds of state keep it. */
export const DOUBT_ENDS = 0;
/** As before the operation was begun. */
export const NOT_ARRIVED = 1;
export const MAY_HAVE_ARRIVED = 2;
/** The store may be at work on it; or it was never begun, and the doubt is others'. */
export const DOUBT_STAYS = 3;
/** The store holds nothing under the key: its mark goes, and the doubt with it. */
export const NOTHING_THERE = 4;

/** Which of them. */
export function doubtAfter(outcome: Outcome): number {
  switch (outcome.kind) {
    case 'applied':
      return DOUBT_ENDS;
    case 'left':
      return DOUBT_STAYS;
    case 'rejected':
      if (outcome.absent && !outcome.atWork) return NOTHING_THERE;
      if (outcome.atWork) return DOUBT_STAYS;
      return outcome.inDoubt ? MAY_HAVE_ARRIVED : NOT_ARRIVED;
    case 'unsent':
      if (outcome.atWork) return DOUBT_STAYS;
      return outcome.inDoubt ? MAY_HAVE_ARRIVED : NOT_ARRIVED;
    default:
      return outcome satisfies never;
  }
}
