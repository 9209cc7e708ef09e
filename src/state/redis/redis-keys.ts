/** All keys of the state in Redis; those of queues are in src/queue/queues.ts. Keys that are written together share the hash tag of their target. */
export type RedisKeys = ReturnType<typeof redisKeys>;

/** The keys under a prefix. */
export function redisKeys(prefix: string) {
  const of = (kind: string) => (name: string) => `${prefix}:${kind}:${name}`;
  const ofTarget = (name: string) => (tag: string) => `${prefix}:${tag}:${name}`;
  const ofRun = (name: string) => (tag: string, run: string) => `${prefix}:${tag}:run:${run}:${name}`;
  return {
    /** Hash: key of the ledger -> mark (redis-rows.ts). */
    marks: ofTarget('marks'),
    /** Hash: key of the ledger -> packed body. */
    bodies: ofTarget('bodies'),
    /** Sorted set without scores: `job NUL key`, so that the keys of a job are adjacent. */
    jobKeys: ofTarget('keys'),
    /** Hash: stored handle (product-handle.ts) -> the keys that have it, separated by NUL. */
    handles: ofTarget('handles'),
    /** Hash: key of the ledger -> its stored handles, separated by NUL. */
    handlesOfKeys: ofTarget('handles-of-keys'),
    /** Set: keys of the ledger whose handles are not up to date, if `indexed` exists. */
    unindexed: ofTarget('unindexed'),
    /** The state of the index: `begun`, or complete (WHOLE in redis-ledger.ts): each key outside `unindexed` is in the index. */
    indexed: ofTarget('indexed'),
    /** Hash: key of the ledger -> what answers have shown of its mark (observation.ts). */
    observations: ofTarget('observations'),
    /** Hash: key of the ledger in doubt -> its row (redis-rows.ts). */
    doubts: ofTarget('doubts'),
    /** Sorted set: the newest deleted keys of the ledger, by the serial at that time. */
    deletes: ofTarget('deletes'),
    /** Hash: sender -> its row (redis-doubts.ts). */
    senders: ofTarget('senders'),
    /** Hash: lineage, value, and the newest run at the time when everything was put in doubt. */
    serial: ofTarget('serial'),
    /** Hash: the fields of a Run, each as JSON. */
    run: (id: string) => `${prefix}:run:{${id}}`,
    /** Sorted set: run id by sequence. */
    runs: (job?: string): string => (job === undefined ? `${prefix}:runs` : `${prefix}:runs:${job}`),
    /** The sequence of the newest run, even if it was removed. */
    runSequence: () => `${prefix}:run-sequence`,
    /** Hash: shard -> one character per operation. */
    outcomes: ofRun('outcomes'),
    /** Hash: the fields of OutcomeTally, and the last call of each process. */
    tally: ofRun('tally'),
    /** Sorted set: Refusal as JSON, by shard and operation. */
    refusals: ofRun('refusals'),
    /** Hash: `shard:operation` -> Reason as JSON. */
    unsent: ofRun('unsent'),
    /** Sorted set: ChangedId as JSON, by shard and operation. */
    changedIds: ofRun('changed-ids'),
    /** The beginning of the names of lists of versions, oldest first, one for each key of the ledger (redis-history.ts). */
    versions: ofTarget('versions:'),
    /** List: the keys of the ledger of which the run wrote versions. */
    versionsOf: ofRun('versions'),
    /** Hash: run -> HistoryRun as JSON. */
    versionRuns: ofTarget('version-runs'),
    /** Hash: `run:versions` and `run:bytes` -> their sums. */
    versionSizes: ofTarget('version-sizes'),
    /** Hash with an expiry: token, job, run. */
    lock: of('lock'),
    /** The version of Storeferry's keys. */
    version: () => `${prefix}:version`,
    /**
     * Milliseconds during which nothing is sent to the store, with an expiry. Also the name of the channel that
     * announces it.
     */
    pause: of('pause'),
    /** AddressCheck as JSON, with an expiry. */
    checkedAddress: of('address'),
    /** Sorted set: AuditEntry as JSON, by time. */
    audit: () => `${prefix}:audit`,
    /** When the next request to the store may start, and when that was written, in microseconds by the clock of Redis. */
    startTimes: of('places'),
  };
}
