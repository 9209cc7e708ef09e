import type { Operation, Outcome } from '../../model/operation.ts';
import type { Refusal } from '../../model/reason.ts';
import type { ChangedId, Run } from '../../model/run.ts';
import { ledgerRules, type SettledEffect } from '../ledger-rules.ts';
import {
  changedId,
  type IdProof,
  importTarget,
  type LedgerTarget,
  type OperationResult,
  type OwnedKey,
} from '../state.ts';

/*
 * Data between the process and its database thread is passed as columns and JSON: cloning objects would cost the
 * event loop five times as much.
 */

/** `outcomes.kind`. */
export const APPLIED = 0;
export const DELETED = 1;
export const REJECTED = 2;
export const UNSENT = 3;
export const LEFT = 4;

/** `marks.id_proof`. */
export const ID_PROOFS: readonly IdProof[] = ['proven', 'once', 'changed'];
export const PROVEN = ID_PROOFS.indexOf('proven');
export const ONCE = ID_PROOFS.indexOf('once');
export const CHANGED = ID_PROOFS.indexOf('changed');

/** The stored proof of an id as a mark has it: omitted if the id is proven. */
export function proofOf(stored: number): Pick<OwnedKey, 'idProof'> {
  const idProof = ID_PROOFS[stored] ?? 'changed';
  return idProof === 'proven' ? {} : { idProof };
}

/** Replaces the fingerprint of a mark that is as expected; nothing else of that mark is transferred. */
export const SAME = '';

/** Marks in the order of the keys. */
export interface MarkColumns {
  /** Null if the key was never acknowledged. */
  readonly fingerprints: (string | null)[];
  readonly ids: (number | null)[];
  /** As in `marks.id_proof`. */
  readonly idProofs: number[];
  readonly jobs: (string | null)[];
  readonly memos: (string | null)[];
}

/**
 * Keys as a JSON array, which SQLite reads as a table. JSON keeps a lone surrogate, which SQLite would replace in a
 * bound text.
 */
export function keysJson(keys: readonly string[]): string {
  const json = JSON.stringify(keys);
  return json.includes('\\ud') ? JSON.stringify(keys.map((key) => key.toWellFormed())) : json;
}

/** One call of `Runs.record`. */
export interface OutcomeColumns {
  readonly run: string;
  readonly target: LedgerTarget;
  readonly job: string;
  readonly shard: number;
  readonly requests: number;
  /** As in the rules. */
  readonly keepsSerials: boolean;
  /** The time of the versions; null where none are kept. */
  readonly versionAt: number | null;
  readonly operations: number[];
  readonly kinds: number[];
  readonly rows: number[];
  readonly keys: string[];
  /** Where mark and version have another key (OutcomeEffect); null for the same. */
  readonly acknowledgedKeys: (string | null)[];
  readonly doubts: SettledEffect[];
  /** With `owners`, `ids`, `idProofs`, `memos` and `bodies`: set for an applied upsert. */
  readonly fingerprints: (string | null)[];
  readonly owners: (string | null)[];
  readonly ids: (number | null)[];
  readonly idProofs: number[];
  readonly memos: (string | null)[];
  readonly bodies: (string | null)[];
  /** Where an applied upsert has no body here: the position of its block in `blocks`, and its place in it. */
  readonly packed: (readonly [block: number, place: number] | null)[];
  readonly blocks: Uint8Array[];
  /** Which places of each block are in `packed`, one bit each. */
  readonly places: number[];
  /** Of an applied upsert: what its answer has shown, as the mark's; null: nothing is known. */
  readonly observations: (string | null)[];
  /** Set where the history gets a version (OutcomeEffect). */
  readonly versions: (string | null)[];
  /** JSON: the RejectionDetail of a rejection, the Reason of an unsent operation. */
  readonly details: (string | null)[];
  readonly changedIds: (ChangedId & { readonly operation: number })[];
}

/** The stored data of a rejection besides its shard, operation and rows. */
type RejectionDetail = Pick<Refusal, 'key' | 'spans' | 'reason'>;

/** The outcomes to record for a shard of an import run. */
export function outcomeColumns(
  run: Run,
  shard: number,
  results: readonly OperationResult[],
  requests: number,
  versionAt: number | null,
): OutcomeColumns {
  const columns: OutcomeColumns = {
    run: run.id,
    target: importTarget(run),
    job: run.job,
    shard,
    requests,
    versionAt,
    keepsSerials: ledgerRules.keepsSerials(run),
    operations: [],
    kinds: [],
    rows: [],
    keys: [],
    acknowledgedKeys: [],
    doubts: [],
    fingerprints: [],
    owners: [],
    ids: [],
    idProofs: [],
    memos: [],
    bodies: [],
    packed: [],
    blocks: [],
    places: [],
    observations: [],
    versions: [],
    details: [],
    changedIds: [],
  };
  for (const result of results) append(columns, result);
  return columns;
}

function append(columns: OutcomeColumns, result: OperationResult): void {
  const { operation, outcome } = result;
  const { doubt, part, key, acknowledged, version } = ledgerRules.outcomeEffect(columns.job, result);
  columns.operations.push(operation.index);
  columns.kinds.push(storedKind(result));
  columns.rows.push(operation.rows);
  columns.keys.push(operation.key);
  columns.acknowledgedKeys.push(key === operation.key ? null : key);
  columns.doubts.push(part === undefined ? { doubt } : { doubt, part });
  columns.fingerprints.push(acknowledged?.mark.fingerprint ?? null);
  columns.owners.push(acknowledged?.mark.job ?? null);
  columns.ids.push(acknowledged?.mark.id ?? null);
  columns.idProofs.push(ID_PROOFS.indexOf(acknowledged?.mark.idProof ?? 'proven'));
  columns.memos.push(acknowledged?.mark.memo ?? null);
  const packed = acknowledged === undefined ? null : packedIn(columns, operation);
  columns.packed.push(packed);
  columns.bodies.push(packed === null ? (acknowledged?.body ?? null) : null);
  columns.observations.push(acknowledged?.observation ?? null);
  columns.versions.push(version ?? null);
  columns.details.push(detail(operation, outcome));
  const changed = changedId(result);
  if (changed !== undefined) columns.changedIds.push({ operation: operation.index, ...changed });
}

/**
 * Block and place of the packed body; null if the place is taken, because each row needs its own body. Outcomes arrive
 * nearly in order, so there are few blocks to search.
 */
function packedIn(
  { blocks, places }: OutcomeColumns,
  operation: Operation,
): readonly [number, number] | null {
  if (operation.kind === 'delete-product' || operation.packed === undefined) return null;
  const { block, place } = operation.packed;
  const known = blocks.indexOf(block);
  const position = known === -1 ? blocks.push(block) - 1 : known;
  const taken = places[position] ?? 0;
  if ((taken & (1 << place)) !== 0) return null;
  places[position] = taken | (1 << place);
  return [position, place];
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

/** The outcome kind of a stored kind. */
export function outcomeKind(stored: number): Outcome['kind'] {
  switch (stored) {
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

function detail({ key, spans }: OperationResult['operation'], outcome: Outcome): string | null {
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
