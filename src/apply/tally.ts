import type { Operation } from '../model/operation.ts';
import type { Outcome } from '../model/outcome.ts';
import type { OutcomeTally } from '../state/state.ts';

/** What has been recorded so far by one apply, in records and rows; `applied` counts upserts. */
export interface ApplyTally extends OutcomeTally {
  readonly unsent: number;
  readonly unsentRows: number;
}

/** Nothing recorded yet. */
export const EMPTY_TALLY: ApplyTally = {
  applied: 0,
  appliedRows: 0,
  rejected: 0,
  rejectedRows: 0,
  deleted: 0,
  left: 0,
  unsent: 0,
  unsentRows: 0,
  requests: 0,
};

interface Result {
  readonly operation: Operation;
  readonly outcome: Outcome;
}

/** The tally with these results added. */
export function addToTally(tally: ApplyTally, results: readonly Result[], requests: number): ApplyTally {
  const sum = { ...tally, requests: tally.requests + requests };
  for (const { operation, outcome } of results) {
    switch (outcome.kind) {
      case 'applied':
        if (operation.kind === 'delete-product') {
          sum.deleted++;
        } else {
          sum.applied++;
          sum.appliedRows += operation.rows;
        }
        break;
      case 'rejected':
        sum.rejected++;
        sum.rejectedRows += operation.rows;
        break;
      case 'unsent':
        sum.unsent++;
        sum.unsentRows += operation.rows;
        break;
      case 'left':
        sum.left++;
        break;
      default:
        throw new Error(`Unknown outcome: ${outcome satisfies never}`);
    }
  }
  return sum;
}
