import { targetTag } from '../state.ts';

/** All keys of the state in Redis; those of queues are in src/queue/queues.ts. Keys that are written together share the hash tag of their target. */
export type RedisKeys = ReturnType<typeof redisKeys>;

/** The keys under a prefix. */
export function redisKeys(prefix: string) {
  const of = (kind: string) => (name: string) => `${prefix}:${kind}:${name}`;
  return {
    target: (target: Parameters<typeof targetTag>[0]) => targetKeys(`${prefix}:${targetTag(target)}`),
    /** Hash: the fields of a Run, each as JSON. */
    run: (id: string) => `${prefix}:run:{${id}}`,
    /** Sorted set: run id by sequence. */
    runs: (job?: string) => (job === undefined ? `${prefix}:runs` : `${prefix}:runs:${job}`),
    /** The sequence of the newest run, even if it was removed. */
    runSequence: `${prefix}:run-sequence`,
    /** Hash with an expiry: token, job, run. */
    lock: of('lock'),
    /** The version of Storeferry's keys. */
    version: `${prefix}:version`,
    /**
     * Milliseconds during which nothing is sent to the store, with an expiry. Also the name of the channel that
     * announces it.
     */
    pause: of('pause'),
    /** AddressCheck as JSON, with an expiry. */
    checkedAddress: of('address'),
    /** Sorted set: AuditEntry as JSON, by time. */
    audit: `${prefix}:audit`,
    /** When the next request to the store may start, and when that was written, in microseconds by the clock of Redis. */
    startTimes: of('places'),
  };
}

/** The keys of the outcomes of a run. */
export type OutcomeKeys = ReturnType<ReturnType<typeof targetKeys>['ofRun']>;

/** The keys of a target. */
function targetKeys(prefix: string) {
  const of = (name: string) => `${prefix}:${name}`;
  return {
    /** Hash: key of the ledger -> mark (redis-rows.ts). */
    marks: of('marks'),
    /** Hash: key of the ledger -> packed body. */
    bodies: of('bodies'),
    /** Sorted set without scores: `job NUL key`, so that the keys of a job are adjacent. */
    jobKeys: of('keys'),
    /** Hash: stored handle (product-handle.ts) -> the keys that have it, separated by NUL. */
    handles: of('handles'),
    /** Hash: key of the ledger -> its stored handles, separated by NUL. */
    handlesOfKeys: of('handles-of-keys'),
    /** Set: keys of the ledger whose handles are not up to date, if `indexed` exists. */
    unindexed: of('unindexed'),
    /** The state of the index: `begun`, or complete (WHOLE in redis-ledger.ts): each key outside `unindexed` is in the index. */
    indexed: of('indexed'),
    /** Hash: key of the ledger -> what answers have shown of its mark (observation.ts). */
    observations: of('observations'),
    /** Hash: key of the ledger in doubt -> its row (redis-rows.ts). */
    doubts: of('doubts'),
    /** Sorted set: the newest deleted keys of the ledger, by the serial at that time. */
    deletes: of('deletes'),
    /** Hash: sender -> its row (redis-rows.ts). */
    senders: of('senders'),
    /** Hash: lineage, value, and the newest run at the time when everything was put in doubt. */
    serial: of('serial'),
    /** The beginning of the names of lists of versions, oldest first, one for each key of the ledger (redis-ledger.ts). */
    versions: of('versions:'),
    /** List: the keys of the ledger of which the run wrote versions. */
    versionsOf: (run: string) => of(`run:${run}:versions`),
    /** Hash: run -> HistoryRun as JSON. */
    versionRuns: of('version-runs'),
    /** Hash: `run:versions` and `run:bytes` -> their sums. */
    versionSizes: of('version-sizes'),
    /** In the order in which RECORD_SCRIPT has them. */
    ofRun: (run: string) => ({
      /** Hash: shard -> one character per operation. */
      outcomes: of(`run:${run}:outcomes`),
      /** Hash: the fields of OutcomeTally, and the last call of each process. */
      tally: of(`run:${run}:tally`),
      /** Sorted set: Refusal as JSON, by shard and operation. */
      refusals: of(`run:${run}:refusals`),
      /** Hash: `shard:operation` -> Reason as JSON. */
      unsent: of(`run:${run}:unsent`),
      /** Sorted set: ChangedId as JSON, by shard and operation. */
      changedIds: of(`run:${run}:changed-ids`),
    }),
  };
}
