import type { Reason } from './reason.ts';

/** The store acknowledged the operation. `id` is the id it answered (null for a delete). */
export interface Applied {
  readonly kind: 'applied';
  readonly id: number | null;
}

/** The store refused the operation with a 4xx; it is not sent again by this run. */
export interface Rejected {
  readonly kind: 'rejected';
  readonly reason: Reason;
}

/** The store failed for too long, or never answered: the operation may have arrived, and is sent on continuing. */
export interface Unsent {
  readonly kind: 'unsent';
  readonly reason: Reason;
}

/** What became of an operation. */
export type Outcome = Applied | Rejected | Unsent;
