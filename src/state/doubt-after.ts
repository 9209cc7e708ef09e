import type { Outcome } from '../model/outcome.ts';

/** What an outcome leaves of the doubt about its key, as both kinds of state keep it. */
export const DOUBT_ENDS = 0;
/** As before the operation was begun. */
export const NOT_ARRIVED = 1;
export const MAY_HAVE_ARRIVED = 2;
export const MAY_BE_AT_WORK = 3;
/** The store holds nothing under the key: its mark goes, and the doubt with it. */
export const NOTHING_THERE = 4;

/** Which of them. */
export function doubtAfter(outcome: Outcome): number {
  switch (outcome.kind) {
    case 'applied':
      return DOUBT_ENDS;
    case 'left':
      return NOT_ARRIVED;
    case 'rejected':
      if (outcome.absent) return NOTHING_THERE;
      return outcome.inDoubt ? MAY_HAVE_ARRIVED : NOT_ARRIVED;
    case 'unsent':
      if (outcome.atWork) return MAY_BE_AT_WORK;
      return outcome.inDoubt ? MAY_HAVE_ARRIVED : NOT_ARRIVED;
    default:
      return outcome satisfies never;
  }
}
