/** The names of all keys in Redis. Keys that are written together share the hash tag of their target. */
export interface RedisKeys {
  /** Hash: key of the ledger -> mark. */
  marks(tag: string): string;
  /** Hash: key of the ledger -> packed body. */
  bodies(tag: string): string;
  /** Sorted set without scores: `job NUL key`, so that the keys of a job are adjacent. */
  jobKeys(tag: string): string;
  /** Hash: stored handle (product-handle.ts) -> the keys that have it, separated by NUL. */
  handles(tag: string): string;
  /** Hash: key of the ledger -> its stored handles, separated by NUL. */
  handlesOfKeys(tag: string): string;
  /** Set: keys of the ledger whose handles are not up to date, where `indexed` is there. */
  unindexed(tag: string): string;
  /** `begun` or `whole`: whether every key that is not in `unindexed` is in the index. */
  indexed(tag: string): string;
  /** Hash: key of the ledger in doubt -> its row (redis-doubts.ts). */
  doubts(tag: string): string;
  /** Hash: sender -> its row (redis-doubts.ts). */
  senders(tag: string): string;
  /** Hash: lineage, value, and the newest run at the time when everything was put in doubt. */
  serial(tag: string): string;
  /** Hash: the fields of a Run, each as JSON. */
  run(id: string): string;
  /** Sorted set: run id by sequence; by start time, which is lower, for runs of earlier versions. */
  runs(job?: string): string;
  /** The sequence of the newest run, even if it was removed. */
  runSequence(): string;
  /** Hash: shard -> one character per operation. */
  outcomes(tag: string, run: string): string;
  /** Hash: the fields of OutcomeTally, and the last call of each process. */
  tally(tag: string, run: string): string;
  /** Sorted set: Refusal as JSON, by shard and operation. */
  refusals(tag: string, run: string): string;
  /** Hash: `shard:operation` -> Reason as JSON. */
  unsent(tag: string, run: string): string;
  /** Sorted set: ChangedId as JSON, by shard and operation. */
  changedIds(tag: string, run: string): string;
  /** The beginning of the names of lists of versions, oldest first, one for each key of the ledger (redis-history.ts). */
  versions(tag: string): string;
  /** List: the keys of the ledger of which the run wrote versions. */
  versionsOf(tag: string, run: string): string;
  /** Hash: run -> HistoryRun as JSON. */
  versionRuns(tag: string): string;
  /** Hash: `run:versions` and `run:bytes` -> their sums. */
  versionSizes(tag: string): string;
  /** Hash with an expiry: token, job, run. */
  lock(name: string): string;
  /** The version of Storeferry's keys (upgrade-redis.ts). */
  version(): string;
  /**
   * Milliseconds during which nothing is sent to the store, with an expiry. Also the name of the channel that
   * announces it.
   */
  pause(store: string): string;
  /** AddressCheck as JSON, with an expiry. */
  checkedAddress(digest: string): string;
  /** Sorted set: AuditEntry as JSON, by time. */
  audit(): string;
  /** When the next request to the store may start, and when that was written, in microseconds by the clock of Redis. */
  line(store: string): string;
}

/** The keys under a prefix. */
export function redisKeys(prefix: string): RedisKeys {
  return {
    marks: (tag) => `${prefix}:${tag}:marks`,
    bodies: (tag) => `${prefix}:${tag}:bodies`,
    jobKeys: (tag) => `${prefix}:${tag}:keys`,
    handles: (tag) => `${prefix}:${tag}:handles`,
    handlesOfKeys: (tag) => `${prefix}:${tag}:handles-of-keys`,
    unindexed: (tag) => `${prefix}:${tag}:unindexed`,
    indexed: (tag) => `${prefix}:${tag}:indexed`,
    doubts: (tag) => `${prefix}:${tag}:doubts`,
    senders: (tag) => `${prefix}:${tag}:senders`,
    serial: (tag) => `${prefix}:${tag}:serial`,
    run: (id) => `${prefix}:run:{${id}}`,
    runs: (job) => (job === undefined ? `${prefix}:runs` : `${prefix}:runs:${job}`),
    runSequence: () => `${prefix}:run-sequence`,
    outcomes: (tag, run) => `${prefix}:${tag}:run:${run}:outcomes`,
    tally: (tag, run) => `${prefix}:${tag}:run:${run}:tally`,
    refusals: (tag, run) => `${prefix}:${tag}:run:${run}:refusals`,
    unsent: (tag, run) => `${prefix}:${tag}:run:${run}:unsent`,
    changedIds: (tag, run) => `${prefix}:${tag}:run:${run}:changed-ids`,
    versions: (tag) => `${prefix}:${tag}:versions:`,
    versionsOf: (tag, run) => `${prefix}:${tag}:run:${run}:versions`,
    versionRuns: (tag) => `${prefix}:${tag}:version-runs`,
    versionSizes: (tag) => `${prefix}:${tag}:version-sizes`,
    lock: (name) => `${prefix}:lock:${name}`,
    version: () => `${prefix}:version`,
    pause: (store) => `${prefix}:pause:${store}`,
    checkedAddress: (digest) => `${prefix}:address:${digest}`,
    audit: () => `${prefix}:audit`,
    line: (store) => `${prefix}:places:${store}`,
  };
}
