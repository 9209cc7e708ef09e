import type { Operation } from '../model/operation.ts';
import type { Outcome } from '../model/outcome.ts';
import type { Reason } from '../model/reason.ts';
import type { Resource } from '../model/record.ts';
import type { RowSpan } from '../model/row.ts';
import type { Run, RunKind, RunStatus, StateLoss } from '../model/run.ts';

/** Which ledger: one per store and resource. */
export interface LedgerTarget {
  /** The identity of the store (store-identity.ts), not its name. */
  readonly storeId: string;
  readonly resource: Resource;
}

/**
 * How sure it is that an id belongs to its key. `proven`: answered for exactly the url that was sent, or twice for it.
 * `once`: to be answered once more; it was answered for another spelling of the url, before a delete that may have been done, or before the store changed other ids. `changed`: another id was answered before; nothing is
 * deleted by it until it is answered again.
 */
export type IdProof = 'proven' | 'once' | 'changed';

/** What the store last acknowledged for a key. The body is read separately, since only changed records need it. */
export interface LedgerMark {
  /** Of the acknowledged body; `IN_DOUBT` while something else may have arrived since. */
  readonly fingerprint: string;
  /** The id that the store last answered; null when it never answered one. */
  readonly id: number | null;
  /** Left out: `proven`. */
  readonly idProof?: Exclude<IdProof, 'proven'>;
  /** The job that last sent the key; only that job deletes it. */
  readonly job: string;
  /** The memo (DeferredRecord) of the rows that made the body, where they always make it. */
  readonly memo?: string;
}

/** Keys with the memos of their rows, by position; null where there is none. `job` asks. */
export interface MemoQuestion {
  readonly job: string;
  readonly keys: readonly string[];
  readonly memos: readonly (string | null)[];
}

/** States that the rows of this memo always make the body of this fingerprint for this key. */
export interface MemoFact {
  readonly key: string;
  readonly fingerprint: string;
  readonly memo: string;
}

/** The fingerprint of a mark that is in doubt; no body has it. */
export const IN_DOUBT = '?';

/** A key that a job sent, and what a delete of it needs. */
export interface OwnedKey extends Pick<LedgerMark, 'id' | 'idProof'> {
  readonly key: string;
}

/**
 * What is known about the keys of a store's resource: acknowledged, in doubt or unknown (docs/architecture.md, What the
 * ledger may believe). A key in doubt has a mark with the fingerprint `IN_DOUBT`, or no mark where nothing was acknowledged
 * before. `Sending.begin` writes doubt; everything else but memos is written by `Runs.record`.
 */
export interface Ledger {
  /** Marks in the order of the keys; undefined where the key was never acknowledged. */
  marks(keys: readonly string[]): Promise<(LedgerMark | undefined)[]>;
  /**
   * The same, with `same` instead of marks that have the memo and the job of the question: in most runs that is the whole
   * answer, and marks cost more to transfer and to parse than to look up.
   */
  compare(question: MemoQuestion): Promise<(LedgerMark | 'same' | undefined)[]>;
  /** Adds memos to marks that still have the fingerprint; other marks stay as they are. */
  remember(facts: readonly MemoFact[]): Promise<void>;
  /** Last acknowledged request bodies in the order of the keys. */
  bodies(keys: readonly string[]): Promise<(string | undefined)[]>;
  /** The number of keys that this job last sent. */
  count(job: string): Promise<number>;
  /** The keys that this job last sent, in batches, in no particular order, each once. */
  keysOf(job: string): AsyncIterable<readonly OwnedKey[]>;
  /** Of these ids those that the store answered for several keys of any job, with the keys. */
  sharedIds(ids: ReadonlySet<number>): Promise<ReadonlyMap<number, readonly string[]>>;
  /**
   * To be called when the store answered another id for any key: it may have been restored, and have given earlier ids to
   * other products. No id is proven any more until it is answered again.
   */
  proveIdsAgain(): Promise<void>;
  /**
   * Keys in doubt without a mark that this job, or several, sent: the store may hold them, under an unknown id.
   */
  unconfirmed(job: string): AsyncIterable<readonly string[]>;
  /** Whether any key is in doubt by itself; `lostSince` says whether all were put in doubt. */
  hasDoubts(): Promise<boolean>;
  /** Whether the state lost something since the run was created: what the run found unchanged may be in doubt. */
  lostSince(run: Run): Promise<boolean>;
  /**
   * Compares the state with its witness (witness.ts). A state that is older than what was sent, or has lost its witness,
   * is put in doubt as a whole; the loss is returned once, null when there is none. Another job may have taken over any
   * key in what is lost: nothing is deleted by an id from before until the store answers it again. `witnessed-only`: a
   * state without any witness is no loss; its witnesses may be on another machine.
   */
  reconcile(mode?: 'witnessed-only'): Promise<StateLoss | null>;
}

/** What `Sending.begin` returns for each operation, in their order. */
export interface Begun {
  /**
   * Milliseconds until the store can no longer be at work on a request for the key by a process that died or was stopped;
   * 0: the operation may be sent now.
   */
  readonly waitMs: readonly number[];
  /**
   * True for a delete that must not be sent: the key is no longer this job's, another job may have sent it since, or its id
   * is another or no longer proven.
   */
  readonly overtaken: readonly boolean[];
}

/**
 * A process that sends to a store's resource, as the state knows it. While it is open it writes heartbeats, and `permit`
 * allows a request only while the last one is fresh (docs/architecture.md, rule 4).
 */
export interface Sending extends AsyncDisposable {
  /** Puts the keys in doubt, durably, before any of them is sent. LockedError when the lock of the fence is lost. */
  begin(operations: readonly Operation[]): Promise<Begun>;
  /** Call before each request, and await the promise that it may return. Throws as `begin`. */
  permit(): Promise<void> | undefined;
  /** Ends the doubt that `begin` wrote for operations that were never sent. */
  withdraw(operations: readonly Operation[]): Promise<void>;
}

/** Which run sends, how long an attempt may last, and the lock that allows it. */
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
}

/** A record that the store refused, with the rows to put into the rejects file. */
export interface Refusal {
  readonly shard: number;
  readonly index: number;
  readonly key: string;
  readonly rows: number;
  readonly spans: readonly RowSpan[];
  readonly reason: Reason;
}

/** An upsert whose answered id differs from the ledger's id for its url: the store may hold it twice. */
export interface ChangedId {
  readonly key: string;
  readonly knownId: number;
  readonly answeredId: number;
}

/** Sums over the final outcomes of a run, in records and in rows. */
export interface OutcomeTally {
  readonly applied: number;
  readonly appliedRows: number;
  readonly rejected: number;
  readonly rejectedRows: number;
  readonly deleted: number;
  /** Deletes that were not sent, since the product is no longer this job's. */
  readonly left: number;
  readonly requests: number;
}

/** Selects runs; a member that is left out selects all. So few are kept that one may ask for all runs of a job. */
export interface RunsFilter {
  readonly job?: string;
  readonly kinds?: readonly RunKind[];
  readonly statuses?: readonly RunStatus[];
  /** At most so many, the newest. */
  readonly limit?: number;
}

/** What may change of a run: not its identity, nor its place in the order. */
export type RunChanges = Partial<Omit<Run, 'id' | 'job' | 'sequence' | 'endSequence'>>;

/** Runs and their progress. */
export interface Runs {
  /** Stores the run with a new `sequence` in place of its own. */
  create(run: Run): Promise<void>;
  /**
   * Merges the changes into the run and gives it back; StateError when there is no such run. A change that sets
   * `finishedAt` sets `endSequence` too.
   */
  update(id: string, changes: RunChanges): Promise<Run>;
  get(id: string): Promise<Run | undefined>;
  /** Newest first, by sequence. */
  list(filter: RunsFilter): Promise<Run[]>;
  /** Removes the run and its outcomes; the ledger keeps what was acknowledged. */
  remove(id: string): Promise<void>;

  /**
   * Writes outcomes of one shard, atomically with the ledger: an applied upsert sets its key's mark and body, an
   * applied delete forgets its key, and both end its doubt; what certainly did not arrive ends the doubt that `begin`
   * wrote for it, but none from before. Durable against the death of the process when the promise resolves. An outcome
   * replaces an earlier one of the same operation. `requests` (attempts on the wire) adds to the run's tally.
   * With a fence nothing is written once its lock is lost: LockedError. Simultaneous calls share a commit.
   */
  record(
    run: Run,
    shard: number,
    results: readonly OperationResult[],
    requests: number,
    fence?: Fence,
  ): Promise<void>;
  /** The outcome kinds of a shard so far, by operation index: applied and rejected are final. */
  outcomes(id: string, shard: number): Promise<ReadonlyMap<number, Outcome['kind']>>;
  tally(id: string): Promise<OutcomeTally>;
  /** Records the store refused, by shard and index. */
  refusals(id: string): AsyncIterable<readonly Refusal[]>;
  /** Why operations are unsent, with counts. */
  unsentReasons(id: string): Promise<readonly { readonly reason: Reason; readonly count: number }[]>;
  /** The first so many, by shard and index. */
  changedIds(id: string, limit: number): Promise<readonly ChangedId[]>;
  changedIdCount(id: string): Promise<number>;
}

/** Who holds a lock, for messages to those that wait. */
export interface LockHolder {
  readonly job: string;
  readonly run: string;
}

/**
 * Proof of holding a lock, for `Runs.record`. Plain data: it may travel to the workers of a run. In Redis the check
 * is atomic with the write, so a process that was stopped for longer than its lease writes nothing when it wakes.
 */
export interface Fence {
  readonly name: string;
  readonly token: string;
}

/** A held lock. */
export interface Lock extends AsyncDisposable {
  readonly fence: Fence;
  /** Aborts when the lock is lost (a lease ran out while the process was stopped): nothing may be written after. */
  readonly lost: AbortSignal;
  /**
   * Whether the lock is surely held at this moment. Cheap; call it before each write to the store, since a process that
   * was stopped gets its answers before its timers. Aborts `lost` when it is not held.
   */
  isHeld(): boolean;
  /** Frees the lock, for all that hold it together. */
  release(): Promise<void>;
  /** Stops holding without freeing: others of the run go on holding it together, or the lease runs out. */
  leave(): Promise<void>;
}

/** How to hold a lock. */
export interface LockOptions {
  /**
   * All processes of the holder's run hold it together, and so may a process that takes the run over. Without it
   * each call is a holder of its own. Embedded locks are held together within one process only.
   */
  readonly together?: boolean;
}

/** Mutual exclusion between processes and machines. Names come from lock-names.ts. */
export interface Locks {
  /** How long a lock outlives a process that died; undefined where it is free at once. */
  readonly leaseMs?: number;
  /** The lock, or its holder when another one has it. Never waits. */
  tryAcquire(
    name: string,
    holder: LockHolder,
    options?: LockOptions,
  ): Promise<Lock | { readonly heldBy: LockHolder | null }>;
  /** Who has the lock at this moment: null when that is unknown, undefined when it is free. */
  holderOf(name: string): Promise<LockHolder | null | undefined>;
  /** Waits for the lock; `onWait` is called once, with its holder. Rejects with the signal's reason when aborted. */
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
 * What all processes that send to one store agree on through the shared state. Durations only: the clocks of machines
 * differ.
 */
export interface SharedStore {
  /** Asks all other processes to send nothing for so long. Never fails: without Redis nothing is sent for long. */
  announce(forMs: number): void;
  /** Calls back for each such request of another process, and for one that is still in force. */
  listen(onPause: (forMs: number) => void): () => void;
  /**
   * Takes up to `most` places in the line of requests to the store, which moves at so many places a second: how many
   * were taken (at least one), and how long until the first of them may be used. The others follow at that pace.
   */
  reserve(perSecond: number, most: number): Promise<{ readonly places: number; readonly afterMs: number }>;
}

/** Everything Storeferry remembers: embedded in SQLite, or shared in Redis. */
export interface State extends AsyncDisposable {
  ledger(target: LedgerTarget): Ledger;
  readonly runs: Runs;
  readonly locks: Locks;
  /** Opens the sending of an import run to its target; several may be open at the same time in one process. */
  sending(options: SendingOptions): Promise<Sending>;
  /** What processes agree on about the store of this identity; undefined where state is embedded. */
  sharedStore(storeId: string): SharedStore | undefined;
}
