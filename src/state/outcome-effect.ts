import type { Applied, Operation, Outcome, Rejected, Unsent } from '../model/operation.ts';
import type { IdProof, LedgerMark, OperationResult, VersionKind } from './state.ts';
import { versionHead } from './stored-version.ts';

/** The operation is acknowledged: its key is no longer in doubt. */
export const END_DOUBT = 0;
/** The operation certainly had no effect: its key is in doubt only if it was before the operation began. */
export const RESTORE_PREVIOUS = 1;
/** The operation may have arrived and its requests have ended: its key stays in doubt, and nothing waits for it. */
export const KEEP_IN_DOUBT = 2;
/** The doubt is unchanged: the store may still be processing the operation, or the doubt belongs to another sender. */
export const KEEP_AT_WORK = 3;
/** The store has nothing under the key: its mark is removed and its doubt ends. */
export const FORGET_KEY = 4;

/**
 * The effect of an outcome on the doubt about its key; numbers, because they are passed to the database thread and to
 * Redis.
 */
export type DoubtEffect =
  | typeof END_DOUBT
  | typeof RESTORE_PREVIOUS
  | typeof KEEP_IN_DOUBT
  | typeof KEEP_AT_WORK
  | typeof FORGET_KEY;

/** The changes of an outcome in the ledger, equal in SQLite and Redis. */
export interface OutcomeEffect {
  readonly doubt: DoubtEffect;
  /** For an applied upsert. */
  readonly acknowledged?: { readonly mark: LedgerMark; readonly body: string };
  /** The version that the history keeps of it, as `versionHead` makes it; absent where the ledger keeps its mark. */
  readonly version?: string;
}

/** The effect of an operation of this job. */
export function outcomeEffect(job: string, { operation, outcome }: OperationResult): OutcomeEffect {
  const doubt = doubtEffect(outcome);
  const version = (kind: VersionKind, id: number | null, owner?: string) =>
    versionHead({ kind, id, spans: operation.spans, owner });
  if (doubt === FORGET_KEY) return { doubt, version: version('absent', null) };
  if (outcome.kind !== 'applied') return { doubt };
  if (operation.kind === 'delete-product') return { doubt, version: version('deleted', null) };
  const { fingerprint, body, memo } = operation;
  const { id, idProof } = acknowledgedId(operation, outcome);
  const owner = ownerAfter(job, operation);
  const mark = {
    fingerprint,
    id,
    job: owner,
    ...(idProof === 'proven' ? {} : { idProof }),
    ...(memo === undefined ? {} : { memo }),
  };
  return {
    doubt,
    acknowledged: { mark, body },
    version: version('acknowledged', id, owner === job ? undefined : owner),
  };
}

function ownerAfter(job: string, operation: Operation): string {
  return (operation.kind === 'upsert-product' ? operation.owner : undefined) ?? job;
}

function doubtEffect(outcome: Outcome): DoubtEffect {
  switch (outcome.kind) {
    case 'applied':
      return END_DOUBT;
    case 'left':
      return KEEP_AT_WORK;
    case 'rejected':
      if (outcome.absent && !outcome.atWork) return FORGET_KEY;
      return unlessApplied(outcome);
    case 'unsent':
      return unlessApplied(outcome);
    default:
      return outcome satisfies never;
  }
}

function unlessApplied({ atWork, inDoubt }: Rejected | Unsent): DoubtEffect {
  if (atWork) return KEEP_AT_WORK;
  return inDoubt ? KEEP_IN_DOUBT : RESTORE_PREVIOUS;
}

/** The id in the ledger after an applied upsert; an answer without an id keeps the known one. */
function acknowledgedId(
  operation: Operation,
  { id, answeredUrl }: Applied,
): { readonly id: number | null; readonly idProof: IdProof } {
  const knownId = operation.kind === 'upsert-product' ? operation.knownId : null;
  if (id === null || id === knownId) return { id: knownId, idProof: 'proven' };
  if (knownId !== null) return { id, idProof: 'changed' };
  return { id, idProof: answeredUrl === undefined ? 'proven' : 'once' };
}
