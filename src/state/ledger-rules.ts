import { isEdited, type Observation, observationText, parseObservation } from '../model/observation.ts';
import type { Applied, Operation, Outcome, PackedBody, Rejected, Unsent } from '../model/operation.ts';
import type { Run } from '../model/run.ts';
import {
  type Begun,
  type IdProof,
  IN_DOUBT,
  type LedgerMark,
  type OperationResult,
  type VersionKind,
} from './state.ts';
import { versionHead } from './stored-version.ts';

/*
 * The rules of docs/architecture.md, What the ledger may believe, for every state: facts of keys in, writes out. A state
 * reads the facts, asks a rule, and applies its writes in one step: only under the fence, and only if the facts are unchanged.
 */

/** In a write: the serial of the target at the moment when the write is applied. */
export const PRESENT_SERIAL = -1;

/** What is stored of a key in doubt. */
export interface Doubt {
  /** It was in doubt before the last attempt: only an acknowledgement ends this doubt. */
  readonly isPrior: boolean;
  /** A request of one of the senders may still run. */
  readonly isAtWork: boolean;
  readonly senders: readonly string[];
  /** The job that has sent the key since it is in doubt; null: several jobs have. */
  readonly job: string | null;
  /** Of the group that put it in doubt. */
  readonly serial: number;
  /** The top-level fields that its requests may have changed; null: any of them. */
  readonly fields: readonly string[] | null;
}

/**
 * A mark as it is stored, with the serial of the target at which it was written or confirmed. Its fingerprint is `IN_DOUBT` only where the state has
 * lost requests: the doubt about a single key stands beside it.
 */
export interface StoredMark extends LedgerMark {
  readonly serial: number;
}

/**
 * What a state has read of a key for a rule. Without a mark none is stored, or the caller did not read it (`needsMark` in
 * SQLite): `isDoubtedOnlyBy` needs those of keys in doubt, `beginKeys` those of `keysWithMarks`, all other rules about marks every one.
 */
export interface KeyFacts {
  readonly mark: StoredMark | null;
  readonly doubt: Doubt | null;
}

export const UNKNOWN: KeyFacts = { mark: null, doubt: null };

/** The facts of a group of keys; of a key without facts nothing is stored of what was asked for. */
export type FactsByKey = ReadonlyMap<string, KeyFacts>;

/** The same for rules whose states read doubts alone. */
export type DoubtsByKey = ReadonlyMap<string, Pick<KeyFacts, 'doubt'>>;

/** What a rule changes. */
export interface KeyWrites<Change extends MarkChange | LostMark = MarkChange | LostMark> {
  /** The keys with each doubt that is stored from now on; null: their doubts end. */
  readonly doubts: ReadonlyMap<Doubt | null, readonly string[]>;
  /** The fields to replace in marks. If there are none, the mark must still be as it was read. */
  readonly marks: ReadonlyMap<string, Change>;
}

/** The fields of a mark to replace. */
export interface MarkChange {
  readonly fingerprint?: never;
  readonly idProof?: Exclude<IdProof, 'proven'>;
  readonly serial?: number;
}

/** The change of a mark that also loses its memo. SQLite makes it for all marks at once. */
interface LostMark extends Required<Pick<MarkChange, 'idProof' | 'serial'>> {
  readonly fingerprint: typeof IN_DOUBT;
}

/** A group of operations that are about to be sent. No key is in it twice. */
export interface OperationGroup {
  readonly job: string;
  readonly sender: string;
  readonly keys: readonly string[];
  /** Of requests that change only a part of their record: its position, and the fields. */
  readonly parts: readonly (readonly [position: number, fields: readonly string[]])[];
  readonly deletes: readonly PlannedDelete[];
}

/** A delete of a group. */
interface PlannedDelete {
  /** Of its key in the group. */
  readonly position: number;
  readonly id: number;
  /** The store is asked for the id once more before it deletes. */
  readonly looksUpId: boolean;
}

/** The milliseconds until the last requests of other senders have certainly ended. */
export interface RunningRequests {
  /** By sender. */
  readonly bySender: ReadonlyMap<string, number>;
  /** Of senders that may have sent any key. */
  readonly ofAnyKey: number;
}

/** The keys of a group whose marks `beginKeys` looks at, besides those in doubt: states read no others. */
function keysWithMarks({ keys, deletes }: OperationGroup): ReadonlySet<string | undefined> {
  return new Set(deletes.map(({ position }) => keys[position]));
}

/**
 * Puts the keys of a group in doubt, except those of deletes that must not be sent (rules 1, 4 and 6). Facts have the marks of keys in
 * doubt and of `keysWithMarks`.
 */
function beginKeys(
  { job, sender, keys, parts, deletes }: OperationGroup,
  facts: FactsByKey,
  { bySender, ofAnyKey }: RunningRequests,
): Begun & { readonly writes: KeyWrites<MarkChange> } {
  const planned = new Map(deletes.map((operation) => [operation.position, operation]));
  const waitMs = new Array<number>(keys.length).fill(ofAnyKey);
  const overtaken = new Array<boolean>(keys.length).fill(false);
  const first: Doubt = {
    isPrior: false,
    isAtWork: true,
    senders: [sender],
    job,
    serial: PRESENT_SERIAL,
    fields: null,
  };
  const firstKeys: string[] = [];
  const doubts = new Map<Doubt, readonly string[]>([[first, firstKeys]]);
  const fieldsAt = new Map(parts);
  const marks = new Map<string, MarkChange>();
  for (const [position, key] of keys.entries()) {
    const known = facts.get(key) ?? UNKNOWN;
    const deletion = planned.get(position);
    if (deletion !== undefined && !mayDelete(job, deletion, known)) {
      overtaken[position] = true;
      continue;
    }
    const { mark, doubt } = known;
    if (deletion !== undefined) marks.set(key, {});
    const fields = fieldsAt.get(position) ?? null;
    if (doubt === null) {
      if (fields === null) firstKeys.push(key);
      else doubts.set({ ...first, fields }, [key]);
      continue;
    }
    const running = doubt.isAtWork
      ? doubt.senders.filter((other) => other !== sender && bySender.has(other))
      : [];
    waitMs[position] = Math.max(ofAnyKey, ...running.map((other) => bySender.get(other) ?? 0));
    const senders = [sender, ...running];
    const either =
      fields === null || doubt.fields === null ? null : [...new Set([...doubt.fields, ...fields])];
    doubts.set({ ...first, isPrior: true, senders, job: doubt.job === job ? job : null, fields: either }, [
      key,
    ]);
    // What is in doubt may be a delete: then this upsert creates the product again, with another id.
    if (deletion === undefined && mark !== null && isProven(mark)) marks.set(key, { idProof: 'once' });
  }
  return { waitMs, overtaken, writes: { doubts, marks } };
}

/** A delete needs ownership and a proven id: nobody else may have sent the key, and the id is the one in the ledger. */
function mayDelete(job: string, { id, looksUpId }: PlannedDelete, { mark, doubt }: KeyFacts) {
  if (doubt !== null && doubt.job !== job) return false;
  if (mark?.job !== job || mark.id !== id) return false;
  return mark.idProof === undefined || (mark.idProof === 'once' && looksUpId);
}

function isProven({ id, idProof }: LedgerMark) {
  return id !== null && idProof === undefined;
}

const NO_MARKS: KeyWrites<MarkChange>['marks'] = new Map();

/** Whether a request of this sender for a key in doubt may still run. SQLite has the same rule in SQL: change both. */
function mayRun(sender: string, { isAtWork, senders }: Doubt) {
  return isAtWork && senders.includes(sender);
}

/** Ends what `beginKeys` wrote for operations of this sender that were never sent (rule 3). */
function withdrawKeys(sender: string, facts: DoubtsByKey): KeyWrites<MarkChange> {
  const ended: string[] = [];
  const doubts = new Map<Doubt | null, readonly string[]>([[null, ended]]);
  for (const [key, { doubt }] of facts) {
    if (!doubt?.senders.includes(sender)) continue;
    const senders = doubt.senders.filter((other) => other !== sender);
    if (doubt.isPrior)
      doubts.set({ ...doubt, senders, isAtWork: doubt.isAtWork && senders.length > 0 }, [key]);
    else ended.push(key);
  }
  return { doubts, marks: NO_MARKS };
}

/** The effect of an outcome on the doubt about its key. */
type DoubtEffect =
  /** The operation is acknowledged: its key is no longer in doubt. */
  | 'end'
  /** The operation certainly had no effect: its key is in doubt only if it was before the operation began. */
  | 'restore'
  /** The operation may have arrived and its requests have ended: its key stays in doubt, and nothing waits for it. */
  | 'keep'
  /** The doubt is unchanged: the store may still be processing the operation, or the doubt belongs to another sender. */
  | 'keep-at-work'
  /** The store has nothing under the key, after a delete too: its mark is removed and its doubt ends. */
  | 'forget-key';

/** The changes of an outcome in the ledger, equal in SQLite and Redis. */
export interface OutcomeEffect {
  readonly doubt: DoubtEffect;
  /** The key of the operation, which the doubt is about. */
  readonly doubtedKey: string;
  /** That of mark, body and version: another one for a contact that had no id. */
  readonly key: string;
  /** For an applied upsert. */
  readonly acknowledged?: Acknowledged;
  /** The fields that it acknowledged; absent: the whole record. */
  readonly part?: readonly string[];
  /** The version that the history keeps of it, as `versionHead` makes it; absent where the ledger keeps its mark. */
  readonly version?: string;
}

/** What the ledger keeps of an applied upsert. */
export interface Acknowledged {
  readonly mark: LedgerMark;
  readonly body: string;
  /** Where the plan has packed it. */
  readonly packed: PackedBody | undefined;
  /** As `observationText` makes it; null: nothing is known of the answer. */
  readonly observation: string | null;
}

/** A verification repeats what was acknowledged, which is no later version: its marks keep their serials. */
function keepsSerials({ kind }: Run) {
  return kind === 'verify';
}

/** The effect of an operation of this job (rules 2 and 3). */
function outcomeEffect(job: string, { operation, outcome, observation }: OperationResult): OutcomeEffect {
  const doubt = doubtEffect(operation, outcome);
  const keys = { doubtedKey: operation.key, key: acknowledgedKey(operation, outcome) };
  const version = (kind: VersionKind, id: number | null, owner?: string) =>
    versionHead({
      kind,
      id,
      spans: operation.spans,
      owner,
      renamed: otherKey(operation),
      adopted: operation.kind === 'upsert-product' && operation.adopts,
    });
  if (doubt === 'forget-key') {
    return { doubt, ...keys, version: version(outcome.kind === 'applied' ? 'deleted' : 'absent', null) };
  }
  if (outcome.kind !== 'applied' || operation.kind === 'delete-product') return { doubt, ...keys };
  const { fingerprint, body, packed, memo } = operation;
  const { id, idProof } = acknowledgedId(operation, outcome);
  const owner = ownerAfter(job, operation);
  const mark = {
    fingerprint,
    id,
    job: owner,
    ...(idProof !== 'proven' && { idProof }),
    ...(memo !== undefined && { memo }),
  };
  return {
    doubt,
    ...keys,
    acknowledged: {
      mark,
      body,
      packed,
      observation: observation === undefined ? null : observationText(observation),
    },
    ...(outcome.part !== undefined && { part: outcome.part }),
    version: version('acknowledged', id, owner === job ? undefined : owner),
  };
}

function acknowledgedKey(operation: Operation, outcome: Outcome) {
  const isNew = operation.kind === 'upsert-contact' && outcome.kind === 'applied' && outcome.id !== null;
  return isNew ? String(outcome.id) : operation.key;
}

/** The key before of a product that is renamed, or the new one. */
function otherKey(operation: Operation) {
  switch (operation.kind) {
    case 'upsert-product':
      return operation.renames;
    case 'delete-product':
      return operation.renamedTo;
    case 'update-contact':
    case 'upsert-contact':
      return undefined;
    default:
      return operation satisfies never;
  }
}

function ownerAfter(job: string, operation: Operation) {
  return (operation.kind === 'upsert-product' ? operation.owner : undefined) ?? job;
}

function doubtEffect(operation: Operation, outcome: Outcome): DoubtEffect {
  switch (outcome.kind) {
    case 'applied':
      return operation.kind === 'delete-product' ? 'forget-key' : 'end';
    case 'left':
      return 'keep-at-work';
    case 'rejected':
      if (outcome.absent && !outcome.atWork) return 'forget-key';
      return unlessApplied(outcome);
    case 'unsent':
      return unlessApplied(outcome);
    default:
      return outcome satisfies never;
  }
}

function unlessApplied({ atWork, inDoubt }: Rejected | Unsent): DoubtEffect {
  if (atWork) return 'keep-at-work';
  return inDoubt ? 'keep' : 'restore';
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

/** Whether an effect changes a doubt into another one, so that the doubt must be read first. */
function dependsOnDoubt({ doubt, part }: SettledEffect) {
  return doubt === 'restore' || doubt === 'keep' || part !== undefined;
}

/** What an outcome says of the doubt about its key. */
export type SettledEffect = Pick<OutcomeEffect, 'doubt' | 'doubtedKey' | 'part'>;

/** The fields that stay in doubt when a part was acknowledged; null: any. */
function fieldsLeft(doubt: Doubt | null, part: readonly string[]): readonly string[] | null {
  if (doubt === null) return [];
  return doubt.fields === null ? null : doubt.fields.filter((field) => !part.includes(field));
}

/** The fields of which nobody knows what the store has; null: any of them. */
function doubtedFields({ mark, doubt }: KeyFacts) {
  if (mark?.fingerprint === IN_DOUBT) return null;
  return doubt === null ? [] : doubt.fields;
}

/** The doubts of keys after outcomes with these effects: the last effect of a key counts. */
function settleDoubts(effects: readonly SettledEffect[], facts: DoubtsByKey): KeyWrites<MarkChange> {
  if (effects.every(({ doubt, part }) => doubt === 'end' && part === undefined)) {
    return { doubts: new Map([[null, effects.map(({ doubtedKey }) => doubtedKey)]]), marks: NO_MARKS };
  }
  const ended: string[] = [];
  const doubts = new Map<Doubt | null, readonly string[]>([[null, ended]]);
  for (const [key, { doubt: effect, part }] of new Map(effects.map((one) => [one.doubtedKey, one]))) {
    const { doubt } = facts.get(key) ?? UNKNOWN;
    const left = part === undefined ? [] : fieldsLeft(doubt, part);
    if (effect === 'end' && left !== null && left.length === 0) ended.push(key);
    else if (effect === 'end' && doubt !== null)
      doubts.set({ ...doubt, isAtWork: false, fields: left }, [key]);
    else if (effect === 'forget-key') ended.push(key);
    else if (effect === 'keep-at-work' || doubt === null) continue;
    else if (effect === 'restore' && !doubt.isPrior) ended.push(key);
    else doubts.set({ ...doubt, isAtWork: false }, [key]);
  }
  return { doubts, marks: NO_MARKS };
}

/** A run has found the acknowledged versions of these keys in its source: they count as written now (rule 8). */
function confirmKeys(facts: FactsByKey): KeyWrites<MarkChange> {
  return changeMarks(facts, () => true, { serial: PRESENT_SERIAL });
}

/** Whether the store may have another version of the key than at this serial (rule 8). `deletedAt`: 0 if it was not deleted. */
function wasWrittenSince(serial: number, { mark, doubt }: KeyFacts, deletedAt: number) {
  return Math.max(mark?.serial ?? 0, doubt?.serial ?? 0, deletedAt) > serial;
}

/** Whether only this job has sent the key in doubt since it was acknowledged. Not of a mark that a loss put in doubt; without a mark ask `lostSince`, too. */
function isDoubtedOnlyBy(job: string, { mark, doubt }: KeyFacts) {
  return doubt?.job === job && mark?.fingerprint !== IN_DOUBT;
}

/** Whether the store may have the key, sent by this job or several, under an unknown id. SQLite has the same rule in SQL: change both. */
function isUnconfirmed(job: string, { mark, doubt }: KeyFacts) {
  return mark === null && doubt !== null && (doubt.job === null || doubt.job === job);
}

/** The marks of a state that has lost requests: any job may have sent their keys since, and their ids may be those of others. SQLite has the same rule in SQL: change both. */
function loseMarks(facts: FactsByKey, serial: number): KeyWrites<LostMark> {
  return changeMarks(facts, () => true, { fingerprint: IN_DOUBT, idProof: 'changed', serial });
}

/** What the store must answer again, after it has changed the id of any other key (rule 6). SQLite has the same rule in SQL: change both. */
function proveIdsAgain(facts: FactsByKey): KeyWrites<MarkChange> {
  return changeMarks(facts, isProven, { idProof: 'once' });
}

function changeMarks<Change extends MarkChange | LostMark>(
  facts: FactsByKey,
  isChanged: (mark: StoredMark) => boolean,
  change: Change,
): KeyWrites<Change> {
  const changed = [...facts].filter(([, { mark }]) => mark !== null && isChanged(mark));
  return { doubts: new Map(), marks: new Map(changed.map(([key]) => [key, change])) };
}

/** The key with its stored observation, where that has an edit. */
export function editedKey({
  key,
  content,
}: {
  readonly key: string;
  readonly content: string;
}): readonly { readonly key: string; readonly observation: Observation }[] {
  const observation = parseObservation(content);
  return observation !== undefined && isEdited(observation) ? [{ key, observation }] : [];
}

/** The rules, as the states ask them. */
export const ledgerRules = {
  keysWithMarks,
  beginKeys,
  mayRun,
  withdrawKeys,
  keepsSerials,
  outcomeEffect,
  dependsOnDoubt,
  doubtedFields,
  settleDoubts,
  confirmKeys,
  wasWrittenSince,
  isDoubtedOnlyBy,
  isUnconfirmed,
  loseMarks,
  proveIdsAgain,
};
