import type { Outcome } from '../../model/outcome.ts';
import type { Run } from '../../model/run.ts';
import { importTarget } from '../import-target.ts';
import { acknowledgedId, changedId, type DoubtEffect, doubtEffect } from '../outcome-effects.ts';
import type { ChangedId, IdProof, LedgerTarget, OperationResult, Refusal } from '../state.ts';

/** `outcomes.kind`. */
export const APPLIED = 0;
export const DELETED = 1;
export const REJECTED = 2;
export const UNSENT = 3;
export const LEFT = 4;

/** The outcome kind of a stored kind. */
export function outcomeKind(kind: number): Outcome['kind'] {
  switch (kind) {
    case REJECTED:
      return 'rejected';
    case UNSENT:
      return 'unsent';
    case LEFT:
      return 'left';
    default:
      return 'applied';
  }
}

/** `marks.id_proof`. */
export const ID_PROOFS: readonly IdProof[] = ['proven', 'once', 'changed'];

/** What is stored of a rejection besides its shard, operation and rows. */
export type RejectionDetail = Pick<Refusal, 'key' | 'spans' | 'reason'>;

/**
 * One call of `Runs.record` in columns, on its way to the thread of the database: cloning objects would cost the
 * event loop five times as much.
 */
export interface OutcomeColumns {
  readonly run: string;
  readonly target: LedgerTarget;
  readonly job: string;
  readonly shard: number;
  readonly requests: number;
  readonly operations: number[];
  readonly kinds: number[];
  readonly rows: number[];
  readonly keys: string[];
  /** The effect on the doubt about each key. */
  readonly doubts: DoubtEffect[];
  /** With `ids`, `idProofs`, `memos` and `bodies`: set for an applied upsert. */
  readonly fingerprints: (string | null)[];
  readonly ids: (number | null)[];
  readonly idProofs: number[];
  readonly memos: (string | null)[];
  readonly bodies: (string | null)[];
  /** JSON: the RejectionDetail of a rejection, the Reason of an unsent one. */
  readonly details: (string | null)[];
  readonly changedIds: (ChangedId & { readonly operation: number })[];
}

/** What is to be recorded for a shard of an import run. */
export function outcomeColumns(
  run: Run,
  shard: number,
  results: readonly OperationResult[],
  requests: number,
): OutcomeColumns {
  const columns: OutcomeColumns = {
    run: run.id,
    target: importTarget(run),
    job: run.job,
    shard,
    requests,
    operations: [],
    kinds: [],
    rows: [],
    keys: [],
    doubts: [],
    fingerprints: [],
    ids: [],
    idProofs: [],
    memos: [],
    bodies: [],
    details: [],
    changedIds: [],
  };
  for (const result of results) append(columns, result);
  return columns;
}

function append(columns: OutcomeColumns, result: OperationResult): void {
  const { operation, outcome } = result;
  const acknowledged = outcome.kind === 'applied' && operation.kind !== 'delete-product';
  columns.operations.push(operation.index);
  columns.kinds.push(storedKind(result));
  columns.rows.push(operation.rows);
  columns.keys.push(operation.key);
  columns.doubts.push(doubtEffect(outcome));
  columns.fingerprints.push(acknowledged ? operation.fingerprint : null);
  const { id, idProof } = acknowledgedId(result);
  columns.ids.push(acknowledged ? id : null);
  columns.idProofs.push(ID_PROOFS.indexOf(idProof));
  columns.memos.push(acknowledged ? (operation.memo ?? null) : null);
  columns.bodies.push(acknowledged ? operation.body : null);
  columns.details.push(detail(result));
  const changed = changedId(result);
  if (changed !== undefined) columns.changedIds.push({ operation: operation.index, ...changed });
}

function storedKind({ operation, outcome }: OperationResult): number {
  switch (outcome.kind) {
    case 'applied':
      return operation.kind === 'delete-product' ? DELETED : APPLIED;
    case 'rejected':
      return REJECTED;
    case 'unsent':
      return UNSENT;
    case 'left':
      return LEFT;
    default:
      return outcome satisfies never;
  }
}

function detail({ operation: { key, spans }, outcome }: OperationResult): string | null {
  switch (outcome.kind) {
    case 'applied':
    case 'left':
      return null;
    case 'rejected':
      return JSON.stringify({ key, spans, reason: outcome.reason } satisfies RejectionDetail);
    case 'unsent':
      return JSON.stringify(outcome.reason);
    default:
      return outcome satisfies never;
  }
}
