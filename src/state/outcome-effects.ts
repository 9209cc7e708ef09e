import type { Outcome } from '../model/outcome.ts';
import type { ChangedId, IdProof, OperationResult } from './state.ts';

/** The operation is acknowledged: its key is no longer in doubt. */
export const END_DOUBT = 0;
/** The operation had certainly no effect: its key is in doubt only if it was before the operation began. */
export const RESTORE_PREVIOUS = 1;
/** The operation may have arrived and its requests are over: its key stays in doubt, and nothing waits for it. */
export const KEEP_IN_DOUBT = 2;
/** The doubt stays as it is: the store may still be at work on the operation, or another sender's doubt is meant. */
export const KEEP_AT_WORK = 3;
/** The store holds nothing under the key: its mark is removed and its doubt ends. */
export const FORGET_KEY = 4;

/** The effect of an outcome on the doubt about its key, as both kinds of state receive it. */
export type DoubtEffect =
  | typeof END_DOUBT
  | typeof RESTORE_PREVIOUS
  | typeof KEEP_IN_DOUBT
  | typeof KEEP_AT_WORK
  | typeof FORGET_KEY;

/** The effect of this outcome. */
export function doubtEffect(outcome: Outcome): DoubtEffect {
  switch (outcome.kind) {
    case 'applied':
      return END_DOUBT;
    case 'left':
      return KEEP_AT_WORK;
    case 'rejected':
      if (outcome.absent && !outcome.atWork) return FORGET_KEY;
      if (outcome.atWork) return KEEP_AT_WORK;
      return outcome.inDoubt ? KEEP_IN_DOUBT : RESTORE_PREVIOUS;
    case 'unsent':
      if (outcome.atWork) return KEEP_AT_WORK;
      return outcome.inDoubt ? KEEP_IN_DOUBT : RESTORE_PREVIOUS;
    default:
      return outcome satisfies never;
  }
}

/** The id the ledger knows after an applied upsert; an answer without an id does not make it forget. */
export function acknowledgedId({ operation, outcome }: OperationResult): {
  readonly id: number | null;
  readonly idProof: IdProof;
} {
  if (outcome.kind !== 'applied') return { id: null, idProof: 'proven' };
  const knownId = operation.kind === 'upsert-product' ? operation.knownId : null;
  if (outcome.id === null || outcome.id === knownId) return { id: knownId, idProof: 'proven' };
  if (knownId !== null) return { id: outcome.id, idProof: 'changed' };
  return { id: outcome.id, idProof: outcome.answeredUrl === undefined ? 'proven' : 'once' };
}

/** Set when the store answered another id for a url than it did before. */
export function changedId({ operation, outcome }: OperationResult): ChangedId | undefined {
  if (operation.kind !== 'upsert-product' || outcome.kind !== 'applied') return undefined;
  const { key, knownId } = operation;
  if (knownId === null || outcome.id === null || outcome.id === knownId) return undefined;
  return { key, knownId, answeredId: outcome.id };
}
