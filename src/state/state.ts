import { hash } from 'node:crypto';
import type { AuditLog, JobAction } from '../model/action.ts';
import type { Resource } from '../model/mapped-record.ts';
import type { Observation } from '../model/observation.ts';
import type { Operation, Outcome } from '../model/operation.ts';
import type { Reason, Refusal } from '../model/reason.ts';
import type { RowSpan } from '../model/row.ts';
import type { ChangedId, Run, RunKind, RunStatus, StateLoss } from '../model/run.ts';
import type { StateError } from '../model/storeferry-error.ts';
import type { Artifacts } from './artifacts.ts';
import type { ProductHandle } from './product-handle.ts';
import type { HistoryRun } from './unreadable-record.ts';

export { verifyAuditChain } from './chain-audit-entry.ts';
export { bodiesIn, MAX_BODY_BYTES, packBodies } from './encode-body.ts';
export type { HistoryRun };

/**
 * Everything that Storeferry stores between processes: embedded in SQLite (sqlite/), or shared in Redis (redis/).
 * docs/architecture.md defines the terms: doubt, serial, lineage, witness, heartbeat, lease.
 */
export interface State extends AsyncDisposable {
  ledger(target: LedgerTarget): Ledger;
  /** The versions of a target's records that the store acknowledged. */
  history(target: LedgerTarget): History;
  readonly runs: Runs;
  readonly locks: Locks;
  /** Opens the sending of an import run to its target; one process may have several. */
  sending(options: SendingOptions): Promise<Sending>;
  /** The last successful checks of image addresses. */
  readonly checkedAddresses: CheckedAddresses;
  /** The log of what users did. */
  readonly audit: AuditLog;
  /**
   * Gives what is known of a job another name: its runs, its schedule, and the keys of these targets that it sent. An interrupted call is
   * finished by the next one. Call it while both jobs are locked, and only if nothing is known under the new name.
   */
  renameJob(from: string, to: string, targets: readonly LedgerTarget[]): Promise<void>;
  /** The shared facts about the store with this identity; undefined if the state is embedded. */
  sharedStore(storeId: string): SharedStore | undefined;
  /** Schedules, and runs that wait for the worker; absent in a shared state, where BullMQ keeps them in Redis. */
  readonly queue?: StateQueue;
}

/** A successful check of an image address. */
export interface AddressCheck {
  /** The validators that the server sent (ETag, Last-Modified), for the next request; null if it sent none. */
  readonly version: string | null;
  /** In milliseconds since the epoch. */
  readonly at: number;
}

/** A successful check to store. `address` is the digest of the address. */
export interface AddressToRemember extends Pick<AddressCheck, 'version'> {
  readonly address: string;
}

/** Checks of image addresses are removed after this time, in milliseconds. */
export const CHECK_KEPT_MS = 365 * 86_400_000;

/** Entries of the audit log are removed after this time, in milliseconds. */
export const AUDIT_KEPT_MS = 400 * 86_400_000;
/** The maximum number of entries of the audit log; the oldest are removed. */
export const MAX_AUDIT_ENTRIES = 50_000;

/** Checks by the digests of their addresses. If one is lost, the address is requested again. */
export interface CheckedAddresses {
  /** In the order of the addresses; undefined if there is none. */
  find(addresses: readonly string[]): Promise<readonly (AddressCheck | undefined)[]>;
  /** `at`: in milliseconds since the epoch. */
  remember(checks: readonly AddressToRemember[], at: number): Promise<void>;
}

/** Identifies a ledger: there is one per store and resource. */
export interface LedgerTarget {
  /** The identity of the store (`storeIdentity`), not its name. */
  readonly storeId: string;
  readonly resource: Resource;
}

/** The ledger that an import run writes to. An export has none: a TypeError, because the request is a bug. */
export function importTarget({ id, storeId, resource }: Run): LedgerTarget {
  switch (resource) {
    case 'products':
    case 'contacts':
      return { storeId, resource };
    case 'subscriber-lists':
    case 'orders':
      throw new TypeError(`run ${id} exports ${resource}: it has no ledger`);
    default:
      return resource satisfies never;
  }
}

/**
 * The certainty that an id belongs to its key; a delete needs a proven one. `proven`: answered for exactly the url
 * that was sent, or twice for the key. `once`: must be answered again, because it was answered for another spelling
 * of the url, before a delete that may have been executed, or before the store changed other ids. `changed`: another
 * id was answered before.
 */
export type IdProof = 'proven' | 'once' | 'changed';

/** What the store last acknowledged for a key. The body is read separately, because only changed records need it. */
export interface LedgerMark {
  /** Of the acknowledged body; `IN_DOUBT` while a later request may have arrived. */
  readonly fingerprint: string;
  /** The id in the store's last answer; null if it never answered one. */
  readonly id: number | null;
  /** Default: `proven`. */
  readonly idProof?: Exclude<IdProof, 'proven'>;
  /**
   * The owner: the job that last sent the key, other than with `mode: update`; only that job deletes it. Which job got the last
   * acknowledgement is not in the mark.
   */
  readonly job: string;
  /** The memo (DeferredRecord) of the rows that made the body; absent if the same rows may make another body. */
  readonly memo?: string;
}

/** Keys with the memos of their rows, by position; null if there is none. */
export interface CompareQuery {
  /** Marks of other jobs are never `same`. */
  readonly job: string;
  readonly keys: readonly string[];
  readonly memos: readonly (string | null)[];
}

/** The rows with this memo always give the body with this fingerprint for this key. */
export interface MemoFact {
  readonly key: string;
  readonly fingerprint: string;
  readonly memo: string;
}

/** What is known of what the store holds under a key, beside its acknowledged body. */
export interface StoredView {
  /** Undefined where no answer was observed since the body was acknowledged. */
  readonly observation: Observation | undefined;
  /** The fields in doubt: none, some, or null for any of them. */
  readonly doubted: readonly string[] | null;
}

/** What a read has shown of a key, whose mark had this fingerprint. */
export interface ObservedKey {
  readonly key: string;
  readonly fingerprint: string;
  readonly observation: Observation;
}

/** The fingerprint of a mark in doubt; no body has it. */
export const IN_DOUBT = '?';

/** A key that a job owns, with the data for its delete. */
export interface OwnedKey extends Pick<LedgerMark, 'id' | 'idProof'> {
  readonly key: string;
}

/**
 * The knowledge about the keys of a store's resource: acknowledged, in doubt or unknown (docs/architecture.md, What
 * the ledger may believe). A key in doubt has a mark with the fingerprint `IN_DOUBT`, or no mark if nothing was
 * acknowledged before. `Sending.begin` writes doubt, and `Runs.record` what was acknowledged.
 */
export interface Ledger {
  /** Marks in the order of the keys; undefined if the key was never acknowledged. */
  marks(keys: readonly string[]): Promise<(LedgerMark | undefined)[]>;
  /**
   * Like `marks`, with `same` for each mark that has the memo and the job of the question. In most runs these are all
   * marks, and a mark costs more to transfer and parse than to look up.
   */
  compare(question: CompareQuery): Promise<(LedgerMark | 'same' | undefined)[]>;
  /** Adds memos to marks that still have the fingerprint; other marks are not changed. */
  remember(facts: readonly MemoFact[]): Promise<void>;
  /** Last acknowledged request bodies in the order of the keys. */
  bodies(keys: readonly string[]): Promise<(string | undefined)[]>;
  /** What is known of the fields of each key, in the order of the keys. */
  views(keys: readonly string[]): Promise<StoredView[]>;
  /** Keeps what reads have shown of marks that still have the fingerprint. Call it under the lock of the target. */
  observe(observed: readonly ObservedKey[]): Promise<void>;
  /** The keys with fields that somebody edited in the store, in batches, each once, in no particular order. */
  edited(): AsyncIterable<readonly { readonly key: string; readonly observation: Observation }[]>;
  /**
   * For each SKU or id, in their order, the keys of the products that have it in their acknowledged body: none, one or several.
   * The first call builds the index; later calls update it. For products only.
   */
  keysBy(handle: ProductHandle, values: readonly string[]): Promise<(readonly string[])[]>;
  /** Up to `limit` keys of products whose key or title contains the text, regardless of case. Uses the same index. */
  keysNamed(part: string, limit: number): Promise<readonly string[]>;
  /** All keys with the body that the store last acknowledged, in batches, in no particular order, each once. */
  allBodies(): AsyncIterable<readonly { readonly key: string; readonly body: string }[]>;
  /**
   * Replaces the acknowledged body of the key by `FORGOTTEN_BODY`, and removes its versions. The mark stays. Call it under the lock
   * of the target. True where their values then are nowhere in the state, not even in unused space of the database; false while
   * another process reads the database, so that its log keeps them: repeat it later. The files of Redis are its own.
   */
  forget(key: string): Promise<boolean>;
  /** The number of keys that this job owns. */
  count(job: string): Promise<number>;
  /** The keys that this job owns, in batches, each once, in no particular order. */
  keysOf(job: string): AsyncIterable<readonly OwnedKey[]>;
  /** Those of the ids that the store answered for several keys, of any job, with these keys. */
  sharedIds(ids: ReadonlySet<number>): Promise<ReadonlyMap<number, readonly string[]>>;
  /**
   * Call it if the store answered another id for any key: it may have been restored and may have given earlier ids to
   * other products. No id is proven until it is answered again.
   */
  proveIdsAgain(): Promise<void>;
  /** Keys in doubt without a mark that this job, or several, sent: the store may have them under an unknown id. */
  unconfirmed(job: string): AsyncIterable<readonly string[]>;
  /**
   * Those of these keys in doubt to which only this job has sent requests since their body was acknowledged, if one was. Without keys whose
   * mark a loss of data put in doubt: others may have sent them. Of a key without a mark ask `lostSince`, too.
   */
  doubtedOnlyBy(job: string, keys: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Changes whenever a request may change any mark: as long as it is the same and no key is in doubt, all marks are the
   * same. Empty if nothing was sent yet.
   */
  position(): Promise<string>;
  /**
   * Those of the keys that may have another version in the store than at this earlier position: some run has begun a request for them since
   * (a verification, which repeats what was acknowledged, does not count), or has confirmed them. All of them at a position of another state; if
   * this one has lost data since (`lostSince`), keys without a mark are not known. Of deletes, the newest `MAX_DELETES_KEPT` of the state are known.
   */
  writtenSince(position: string, keys: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * A run found the acknowledged versions of these keys in its source, after an earlier run had rejected or held another version: they
   * count as written now.
   */
  confirm(keys: readonly string[]): Promise<void>;
  /** Whether single keys are in doubt; `lostSince` shows whether all were put in doubt. */
  hasDoubts(): Promise<boolean>;
  /**
   * Whether the state has lost data since the run was created, whether or not `reconcile` has found it: unchanged
   * records of the run may be in doubt, and its end may be outdated.
   */
  lostSince(run: Run): Promise<boolean>;
  /**
   * Compares the state with its witnesses. A state that is older than the last requests, or has no witness, is put in
   * doubt as a whole; the loss is returned once, null if there is none. Another job may have sent any key in the lost
   * part, so no earlier id deletes anything until the store answers it again. `witnessed-only`: a state without any
   * witness is no loss, because its witnesses may be on another machine.
   */
  reconcile(mode?: 'witnessed-only'): Promise<StateLoss | null>;
}

/** An older delete is forgotten: then a key looks as if it had never been sent. */
export const MAX_DELETES_KEPT = 100_000;

/** Replaces a body whose values were removed on request: a contact without fields. */
export const FORGOTTEN_BODY = '{}';
/** Replaces the message of a store about a record whose values were removed on request. */
export const FORGOTTEN_MESSAGE = 'forgotten on request';

/** The outcome for a record: an acknowledged body, an acknowledged delete, or the store said that it holds none. */
export type VersionKind = 'acknowledged' | 'deleted' | 'absent';

/** One acknowledged version of a record. */
export interface Version {
  readonly kind: VersionKind;
  readonly run: HistoryRun;
  /** When the acknowledgement was recorded, in milliseconds since the epoch. */
  readonly at: number;
  /** The id that the ledger knew from then on; null where there was none. */
  readonly id: number | null;
  readonly spans: readonly RowSpan[];
  /** The acknowledged body; null after a delete. Undefined where the history that leads to it is damaged. */
  readonly body: string | null | undefined;
  /** The body that it replaced; null where the ledger knew none. */
  readonly before: string | null | undefined;
  /** The job that the record belongs to from then on; absent where it is that of the run. */
  readonly owner?: string | undefined;
  /** The other key of a renamed product: the one before of a new key, and the new one of a deleted key. */
  readonly renamed?: string | undefined;
  /** The store had the product before the first import: nobody knows what this version replaced. */
  readonly adopted?: boolean | undefined;
}

/** How much the history of a target holds; `bytes` is an estimate of its size in the state. */
export interface HistorySize {
  readonly versions: number;
  readonly bytes: number;
}

/**
 * What the store acknowledged of the records of a target, over time. `Runs.record` writes a version in the transaction of
 * the acknowledgement, as the difference to the body that it replaces: the newest body is the ledger's own.
 */
export interface History {
  /** Stores the run and its files. Call it before the first version of the run is recorded; later calls change nothing. */
  begin(run: Run, at: number, files: HistoryRun['files']): Promise<void>;
  /** The versions of each key, newest first. */
  versions(keys: readonly string[]): Promise<readonly (readonly Version[])[]>;
  /** The keys of which the run wrote versions, in batches; a key may come twice. */
  keysOf(run: string): AsyncIterable<readonly string[]>;
  /** The runs that have versions, newest first. */
  runs(): Promise<readonly HistoryRun[]>;
  /** Removes the versions of runs that began before this moment, and all that are older in the same records. */
  prune(before: number): Promise<void>;
  size(): Promise<HistorySize>;
}

/** The result of `Sending.begin` for each operation, in their order. */
export interface Begun {
  /**
   * Milliseconds until the store can no longer be processing a request for the key from a process that died or was
   * stopped; 0: the operation may be sent now.
   */
  readonly waitMs: readonly number[];
  /**
   * True for a delete, or a change of a url, that must not be sent: another job sent the key or may have, or the id changed or is no longer
   * proven.
   */
  readonly overtaken: readonly boolean[];
}

/**
 * The sending of one run by one process. While it is open it writes heartbeats, and `permit` allows a request only
 * while the last one is fresh (docs/architecture.md, rule 4).
 */
export interface Sending extends AsyncDisposable {
  /** Puts the keys in doubt before any of them is sent. LockedError if the lock of the fence is lost. */
  begin(operations: readonly Operation[]): Promise<Begun>;
  /** Call before each request; await the promise if it returns one. Throws like `begin`. */
  permit(): Promise<void> | undefined;
  /** Ends the doubt that `begin` wrote for operations that were never sent. */
  withdraw(operations: readonly Operation[]): Promise<void>;
}

/** The run that sends, the longest duration of an attempt, and the lock that allows it. */
export interface SendingOptions {
  readonly run: Run;
  /** The deadline of one attempt, from the request to the end of its answer. */
  readonly attemptMs: number;
  readonly fence?: Fence;
}

/** An operation with its outcome. */
export interface OperationResult {
  readonly operation: Operation;
  readonly outcome: Outcome;
  /** What the answer has shown of an applied upsert; left out: nothing is known of it. */
  readonly observation?: Observation;
}

/** Set if the store answered another id for a url than before. */
export function changedId({ operation, outcome }: OperationResult): ChangedId | undefined {
  if (operation.kind !== 'upsert-product' || outcome.kind !== 'applied') return undefined;
  const { key, knownId } = operation;
  if (knownId === null || outcome.id === null || outcome.id === knownId) return undefined;
  return { key, knownId, answeredId: outcome.id };
}

/** Sums over the final outcomes of a run, in records and in rows. */
export interface OutcomeTally {
  readonly applied: number;
  readonly appliedRows: number;
  readonly rejected: number;
  readonly rejectedRows: number;
  readonly deleted: number;
  /** Deletes that were not sent, because the product no longer belongs to this job. */
  readonly left: number;
  readonly requests: number;
}

/** The names of all sums. */
export const TALLY_FIELDS = [
  'applied',
  'appliedRows',
  'rejected',
  'rejectedRows',
  'deleted',
  'left',
  'requests',
] as const satisfies readonly (keyof OutcomeTally)[];

/** Selects runs; an omitted field selects all. Few runs of a job are kept, so all of them may be listed. */
export interface RunsFilter {
  readonly job?: string;
  readonly kinds?: readonly RunKind[];
  readonly statuses?: readonly RunStatus[];
  /** At most this many, the newest. */
  readonly limit?: number;
}

/** The fields of a run that may change: not its identity, nor its place in the order. */
export type RunChanges = Partial<Omit<Run, 'id' | 'job' | 'sequence' | 'endSequence'>>;

/** Runs and their progress. */
export interface Runs {
  /** Stores the run with a new `sequence`, which replaces its own. */
  create(run: Run): Promise<void>;
  /**
   * Merges the changes into the run and returns it; StateError if there is no such run. A change that sets
   * `finishedAt` also sets `endSequence`.
   */
  update(id: string, changes: RunChanges): Promise<Run>;
  get(id: string): Promise<Run | undefined>;
  /** Newest first, by sequence. */
  list(filter: RunsFilter): Promise<Run[]>;
  /** Removes the run and its outcomes; the ledger keeps what was acknowledged. */
  remove(id: string): Promise<void>;

  /**
   * Writes outcomes of one shard, atomically with the ledger: an applied upsert sets the mark and body of its key, an
   * applied delete removes them, and both end the doubt about the key; an operation that certainly did not arrive ends the
   * doubt that `begin` wrote for it, but no earlier one. Survives the death of the process when the promise resolves. An
   * outcome replaces an earlier one of the same operation. `requests` (attempts sent) adds to the tally of the run.
   * With a fence nothing is written once its lock is lost: LockedError. `versionAt` is
   * the time of the versions that are added to the history; null adds none, and removes the history of the keys, which
   * would lack this one.
   */
  record(
    run: Run,
    shard: number,
    results: readonly OperationResult[],
    requests: number,
    fence?: Fence,
    versionAt?: number | null,
  ): Promise<void>;
  /** The outcome kinds of a shard so far, by operation index; `isFinal` tells which may still change. */
  outcomes(id: string, shard: number): Promise<ReadonlyMap<number, Outcome['kind']>>;
  tally(id: string): Promise<OutcomeTally>;
  /** Records that the store refused, by shard and index. */
  refusals(id: string): AsyncIterable<readonly Refusal[]>;
  /** Replaces the message of the store about a record by `FORGOTTEN_MESSAGE`. */
  forgetRefusals(run: Run, key: string): Promise<void>;
  /** Why operations are unsent, with counts. */
  unsentReasons(id: string): Promise<readonly { readonly reason: Reason; readonly count: number }[]>;
  /** The first ones up to the limit, by shard and index. */
  changedIds(id: string, limit: number): Promise<readonly ChangedId[]>;
  changedIdCount(id: string): Promise<number>;
}

/** The holder of a lock, for messages. */
export interface LockHolder {
  readonly job: string;
  readonly run: string;
}

/**
 * Proof that a process holds a lock, for `Runs.record` and `State.sending`. In Redis the check is atomic with the
 * write, so a process that was stopped for longer than its lease writes nothing when it continues.
 */
export interface Fence {
  readonly name: string;
  readonly token: string;
}

/** A held lock. */
export interface Lock extends AsyncDisposable {
  readonly fence: Fence;
  /**
   * Aborts if the lock is lost, for example because its lease expired while the process was stopped: write nothing
   * after that.
   */
  readonly lost: AbortSignal;
  /**
   * Whether the lock is certainly held now. The call is cheap: call it before each write to the store, because a
   * process that was stopped receives answers before its timers fire. Aborts `lost` if the lock is not held.
   */
  isHeld(): boolean;
  /** Frees the lock for all processes that share it. */
  release(): Promise<void>;
  /**
   * Stops holding it for this caller. Others of the same run continue to hold it. After the last one an embedded lock is free at
   * once, and a shared one when its lease expires.
   */
  leave(): Promise<void>;
}

/** Options for holding a lock. */
interface LockOptions {
  /**
   * All processes of the holder's run share it, also one that continues the run. Without it each call is a separate
   * holder. Embedded locks are shared within one process only.
   */
  readonly together?: boolean;
}

/** Mutual exclusion between processes and machines. The functions below make the names. */
export interface Locks {
  /** How long a lock remains after the death of its process; undefined if it is free at once. */
  readonly leaseMs?: number;
  /** The lock, or its holder. Never waits. */
  tryAcquire(
    name: string,
    holder: LockHolder,
    options?: LockOptions,
  ): Promise<Lock | { readonly heldBy: LockHolder | null }>;
  /** The present holder of the lock: null if unknown, undefined if the lock is free. */
  holderOf(name: string): Promise<LockHolder | null | undefined>;
  /** Waits for the lock; `onWait` is called once, with its holder. Rejects with the signal's reason if aborted. */
  acquire(
    name: string,
    holder: LockHolder,
    options: LockOptions & {
      readonly signal: AbortSignal;
      readonly onWait: (heldBy: LockHolder | null) => void;
    },
  ): Promise<Lock>;
}

/**
 * The short name of a store's resource within keys and lock names. In braces: keys with the same tag are on the same
 * node of a Redis Cluster, so that a script can write a run's outcomes and the ledger and check the fence atomically.
 */
export function targetTag({ storeId, resource }: Readonly<Record<keyof LedgerTarget, string>>): string {
  const digest = hash('sha256', JSON.stringify([storeId, resource]), 'base64url');
  const readable = storeId.replaceAll(/[^\w-]+/g, '_').slice(0, 64);
  return `{${readable}-${resource}-${digest.slice(0, 12)}}`;
}

/** Held by a run of a job: a second run is refused. */
export function jobLockName(job: string): string {
  return `job:${job}`;
}

/** Held while a plan of a job is made: a second plan waits. */
export function planLockName(job: string): string {
  return `plan:${job}`;
}

/** Held by the run that writes to a store's resource: others wait. */
export function targetLockName(target: LedgerTarget): string {
  return `target:${targetTag(target)}`;
}

/** Held by the one process that sends a shard of a run. */
export function shardLockName(target: LedgerTarget, run: string, shard: number): string {
  return `shard:${targetTag(target)}:${run}:${shard}`;
}

/**
 * Held by an export from before it reads its destination until it has written it, because two jobs may name one file.
 */
export function destinationLockName(location: string): string {
  return `destination:${hash('sha256', location, 'base64url')}`;
}

/**
 * The agreement of all processes that send to one store, through the shared state. Durations only, because clocks of
 * machines differ.
 */
export interface SharedStore {
  /** Asks all other processes to send nothing for this time. Never fails: without Redis sending soon ends anyway. */
  announce(forMs: number): void;
  /** Calls back for each such request of another process, and for one that is still valid. */
  listen(onPause: (forMs: number) => void): () => void;
  /**
   * Reserves start times for so many requests to the store, `perSecond` of them per second. Gives the milliseconds until the first
   * one; the others follow at that rate.
   */
  reserve(perSecond: number, requests: number): Promise<number>;
}

/** The kind of state to open, and its location. */
export interface StateOptions {
  /** `REDIS_URL`: the shared state. Undefined or empty: the state is embedded, in SQLite. */
  readonly redisUrl?: string | undefined;
  /** The workspace's `.storeferry` folder, for the embedded state. */
  readonly dir: string;
  /** The location of witnesses. Default for the embedded state: beside it; with Redis there are none then, and a loss goes unnoticed. */
  readonly artifacts?: Artifacts | undefined;
  /** The prefix of every key in Redis; default: that of the address. */
  readonly prefix?: string;
  /** How long a shared lock remains after its last renewal; undefined: the default. */
  readonly leaseMs?: number | undefined;
  /** How long a command waits for Redis; undefined: ten seconds. */
  readonly commandTimeoutMs?: number | undefined;
  /** Called while the state opens: starting SQLite's thread takes as long as loading the modules of a run. */
  readonly meanwhile?: (() => Promise<unknown>) | undefined;
  /** Opens SQLite without a thread of its own, which takes 50 ms of CPU and 17 MiB: for commands that read and end. */
  readonly withoutThread?: boolean | undefined;
  /** Called with the problem of each shared record that cannot be read and is ignored. */
  readonly onUnreadable?: ((problem: StateError) => void) | undefined;
}

/** A schedule that the worker keeps. */
export interface StoredSchedule {
  readonly job: string;
  readonly cron: string;
  readonly timezone: string;
  /** When its next tick is due: milliseconds since the epoch. */
  readonly next: number;
}

/** A run that waits for the worker, that the worker executes, or that has ended. */
export interface QueueEntry {
  /** The id of the run that it starts, unless it continues an earlier run. */
  readonly id: string;
  readonly action: JobAction;
  /** Whether a worker has taken it. Remains true after the death of that worker, until the next one releases it. */
  readonly taken: boolean;
  /** The run that it started or continued; null before that. */
  readonly run: string | null;
  readonly ended: boolean;
  /** Why the run could not begin, or why it failed. */
  readonly error: string | null;
}

/** The queue executes a run with such a status again if a worker leaves it, unless its end was requested. */
export const OPEN_STATUSES: readonly RunStatus[] = ['running', 'interrupted'];

/** Whether the queue does not execute a run again: what is queued now may not wait for it. */
export function isOver({ status, interruptAskedAt }: Pick<Run, 'status' | 'interruptAskedAt'>): boolean {
  return interruptAskedAt != null || !OPEN_STATUSES.includes(status);
}

/** Whether it is a run of the whole job: of these a job has at most one that has not ended. */
export function isWholeRun(action: JobAction): boolean {
  return action.does === 'run' && action.sample === undefined;
}

/**
 * What the worker of an embedded state has to do. At most one run of each whole job is not over (`isOver`). Each call is one transaction, so
 * that a worker that is killed at any moment loses no tick and runs none twice.
 */
export interface StateQueue {
  schedules(): Promise<StoredSchedule[]>;
  /** Sets the schedule of its job. `overdue`: the id of an entry to add with it, for the tick that the change discards. */
  setSchedule(schedule: StoredSchedule, overdue: string | null): Promise<void>;
  removeSchedule(job: string): Promise<void>;
  /**
   * Moves a schedule from the tick that is due to its next one, and adds an entry with this id. `dropped`: the job runs or waits
   * already. `changed`: the tick is no longer due, and nothing was done.
   */
  tick(due: StoredSchedule, next: number, id: string): Promise<'added' | 'dropped' | 'changed'>;
  /**
   * Adds an entry, unless it is known by its id, or is a run of a whole job of which one is not over. Returns the id of the one
   * that there is then.
   */
  addEntry(entry: Pick<QueueEntry, 'id' | 'action'>): Promise<string>;
  entry(id: string): Promise<QueueEntry | undefined>;
  /** Those that have not ended, oldest first. */
  openEntries(): Promise<QueueEntry[]>;
  /** False if it is taken, has ended, or was removed. */
  takeEntry(id: string): Promise<boolean>;
  beginEntry(id: string, run: string): Promise<void>;
  /** Lets an entry wait again; without an id, all entries that a dead worker had taken. */
  releaseEntry(id?: string): Promise<void>;
  endEntry(id: string, end: Pick<QueueEntry, 'run' | 'error'>): Promise<void>;
  /** Removes a waiting entry; false if none waits under this id. */
  removeEntry(id: string): Promise<boolean>;
}

/** Items in groups, of which each is one query. */
export function* chunksOf<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

/** All keys that a run of the job may have sent when it died. */
export async function unconfirmedKeys(
  ledger: Pick<Ledger, 'unconfirmed'>,
  job: string,
): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  for await (const batch of ledger.unconfirmed(job)) for (const key of batch) keys.add(key);
  return keys;
}

/** Held by the worker of an embedded state. */
export const WORKER_LOCK = 'worker';
