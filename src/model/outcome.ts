import type { Reason } from './reason.ts';

/**
 * The store's own answer proved the operation. `id` is the id it answered (null for a delete, or a store that answers
 * none). `answeredUrl`: the url it answered, where that is another spelling of the one that was sent; such an id is
 * used for a delete only once it was answered twice.
 */
export interface Applied {
  readonly kind: 'applied';
  readonly id: number | null;
  readonly answeredUrl?: string;
}

/** The store refused the operation with a 4xx; it is not sent again by this run. */
export interface Rejected {
  readonly kind: 'rejected';
  readonly reason: Reason;
  /** An earlier attempt may have taken effect all the same. */
  readonly inDoubt?: true;
  /** The store may still be at work on an earlier attempt. */
  readonly atWork?: true;
  /** The store says that it holds nothing under the key: whatever it acknowledged before is gone. */
  readonly absent?: true;
}

/** The store failed for too long, or never answered: the operation is sent when the run continues. */
export interface Unsent {
  readonly kind: 'unsent';
  readonly reason: Reason;
  /** An attempt may have taken effect. */
  readonly inDoubt?: true;
  /** The store may still be at work on an attempt. */
  readonly atWork?: true;
}

/** A delete that was not sent: by now the key is another job's, or has another id. */
export interface Left {
  readonly kind: 'left';
}

/** The result of an operation. */
export type Outcome = Applied | Rejected | Unsent | Left;
