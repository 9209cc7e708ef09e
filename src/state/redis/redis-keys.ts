/** The names of all keys in Redis. Keys that are written together share the hash tag of their target. */
export type RedisKeys = ReturnType<typeof redisKeys>;

/** The keys under a prefix. */
export function redisKeys(prefix: string) {
  return {
    /** Hash: key of the ledger -> mark (redis-rows.ts). */
    marks: (tag: string) => `${prefix}:${tag}:marks`,
    /** Hash: key of the ledger -> packed body. */
    bodies: (tag: string) => `${prefix}:${tag}:bodies`,
    /** Sorted set without scores: `job NUL key`, so that the keys of a job are adjacent. */
    jobKeys: (tag: string) => `${prefix}:${tag}:keys`,
    /** Hash: stored handle (product-handle.ts) -> the keys that have it, separated by NUL. */
    handles: (tag: string) => `${prefix}:${tag}:handles`,
    /** Hash: key of the ledger -> its stored handles, separated by NUL. */
    handlesOfKeys: (tag: string) => `${prefix}:${tag}:handles-of-keys`,
    /** Set: keys of the ledger whose handles are not up to date, if `indexed` exists. */
    unindexed: (tag: string) => `${prefix}:${tag}:unindexed`,
    /** The state of the index: `begun`, or complete (WHOLE in redis-ledger.ts): each key outside `unindexed` is in the index. */
    indexed: (tag: string) => `${prefix}:${tag}:indexed`,
    /** Hash: key of the ledger -> what answers have shown of its mark (observation.ts). */
    observations: (tag: string) => `${prefix}:${tag}:observations`,
    /** Hash: key of the ledger in doubt -> its row (redis-rows.ts). */
    doubts: (tag: string) => `${prefix}:${tag}:doubts`,
    /** Sorted set: the newest deleted keys of the ledger, by the serial at that time. */
    deletes: (tag: string) => `${prefix}:${tag}:deletes`,
    /** Hash: sender -> its row (redis-doubts.ts). */
    senders: (tag: string) => `${prefix}:${tag}:senders`,
    /** Hash: lineage, value, and the newest run at the time when everything was put in doubt. */
    serial: (tag: string) => `${prefix}:${tag}:serial`,
    /** Hash: the fields of a Run, each as JSON. */
    run: (id: string) => `${prefix}:run:{${id}}`,
    /** Sorted set: run id by sequence. */
    runs: (job?: string): string => (job === undefined ? `${prefix}:runs` : `${prefix}:runs:${job}`),
    /** The sequence of the newest run, even if it was removed. */
    runSequence: () => `${prefix}:run-sequence`,
    /** Hash: shard -> one character per operation. */
    outcomes: (tag: string, run: string) => `${prefix}:${tag}:run:${run}:outcomes`,
    /** Hash: the fields of OutcomeTally, and the last call of each process. */
    tally: (tag: string, run: string) => `${prefix}:${tag}:run:${run}:tally`,
    /** Sorted set: Refusal as JSON, by shard and operation. */
    refusals: (tag: string, run: string) => `${prefix}:${tag}:run:${run}:refusals`,
    /** Hash: `shard:operation` -> Reason as JSON. */
    unsent: (tag: string, run: string) => `${prefix}:${tag}:run:${run}:unsent`,
    /** Sorted set: ChangedId as JSON, by shard and operation. */
    changedIds: (tag: string, run: string) => `${prefix}:${tag}:run:${run}:changed-ids`,
    /** The beginning of the names of lists of versions, oldest first, one for each key of the ledger (redis-history.ts). */
    versions: (tag: string) => `${prefix}:${tag}:versions:`,
    /** List: the keys of the ledger of which the run wrote versions. */
    versionsOf: (tag: string, run: string) => `${prefix}:${tag}:run:${run}:versions`,
    /** Hash: run -> HistoryRun as JSON. */
    versionRuns: (tag: string) => `${prefix}:${tag}:version-runs`,
    /** Hash: `run:versions` and `run:bytes` -> their sums. */
    versionSizes: (tag: string) => `${prefix}:${tag}:version-sizes`,
    /** Hash with an expiry: token, job, run. */
    lock: (name: string) => `${prefix}:lock:${name}`,
    /** The version of Storeferry's keys. */
    version: () => `${prefix}:version`,
    /**
     * Milliseconds during which nothing is sent to the store, with an expiry. Also the name of the channel that
     * announces it.
     */
    pause: (store: string) => `${prefix}:pause:${store}`,
    /** AddressCheck as JSON, with an expiry. */
    checkedAddress: (digest: string) => `${prefix}:address:${digest}`,
    /** Sorted set: AuditEntry as JSON, by time. */
    audit: () => `${prefix}:audit`,
    /** When the next request to the store may start, and when that was written, in microseconds by the clock of Redis. */
    startTimes: (store: string) => `${prefix}:places:${store}`,
  };
}
