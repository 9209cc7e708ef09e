import { FOLD_TARGETS } from './fold-targets.ts';

/**
 * The schema, one step per version: the database's `user_version` says how many of them it has. Never change a step
 * that was released; add one.
 *
 * - `marks` is what every record of every run is compared with, so its rows are small and lie in key order; bodies
 *   lie apart, in order of arrival, since only changed records need theirs; both tables refer to them by block and place (see bodies.ts).
 * - `journal` holds acknowledgements in order of arrival until they are merged into `marks` (see journal.ts); a row
 *   without fingerprint forgets its key.
 * - `memo` is of the rows that made the body; null in ledgers from before, and where rows do not always make it.
 * - `outcomes.kind`: 0 applied upsert, 1 applied delete, 2 rejected, 3 unsent, 4 left. `detail` is JSON for 2 and 3.
 * - `id_proof`: 0 proven, 1 once, 2 changed (IdProof).
 * - `doubts`: keys in doubt (doubts.ts); `senders`: when each process that sends was last seen. `targets.serial` grows with every
 *   group of keys that is put in doubt; `targets.doubted_at` is the number of the newest run when all of it was.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE targets (
    number INTEGER PRIMARY KEY, store TEXT NOT NULL, base_url TEXT NOT NULL, resource TEXT NOT NULL,
    UNIQUE (store, base_url, resource)
  ) STRICT;
  CREATE TABLE jobs (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

  CREATE TABLE marks (
    target INTEGER NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, id INTEGER, job INTEGER NOT NULL,
    body INTEGER NOT NULL,
    PRIMARY KEY (target, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE bodies (number INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT;
  CREATE TABLE journal (
    number INTEGER PRIMARY KEY, target INTEGER NOT NULL, key TEXT NOT NULL, fingerprint TEXT, id INTEGER,
    job INTEGER NOT NULL, body INTEGER
  ) STRICT;

  CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, job TEXT NOT NULL,
    started_at INTEGER NOT NULL, document TEXT NOT NULL
  ) STRICT;
  CREATE INDEX runs_by_start ON runs (started_at, number);
  CREATE INDEX runs_by_job ON runs (job, started_at, number);
  CREATE TABLE requests (run INTEGER PRIMARY KEY, count INTEGER NOT NULL) STRICT;
  CREATE TABLE outcomes (
    run INTEGER NOT NULL, shard INTEGER NOT NULL, operation INTEGER NOT NULL, kind INTEGER NOT NULL,
    rows INTEGER NOT NULL, detail TEXT,
    PRIMARY KEY (run, shard, operation)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX outcomes_not_applied ON outcomes (run, kind, shard, operation) WHERE kind >= 2;
  CREATE TABLE changed_ids (
    run INTEGER NOT NULL, shard INTEGER NOT NULL, operation INTEGER NOT NULL, key TEXT NOT NULL,
    known_id INTEGER NOT NULL, answered_id INTEGER NOT NULL,
    PRIMARY KEY (run, shard, operation)
  ) STRICT, WITHOUT ROWID;
  `,
  // Bodies in blocks (see bodies.ts): each that is there becomes a block of one.
  `
  ALTER TABLE bodies ADD COLUMN living INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE bodies ADD COLUMN packed INTEGER NOT NULL DEFAULT 1;
  UPDATE marks SET body = body * 16;
  UPDATE journal SET body = body * 16;
  `,
  `
  ALTER TABLE marks ADD COLUMN memo TEXT;
  ALTER TABLE journal ADD COLUMN memo TEXT;
  `,
  // Runs are ordered by their number alone: clocks are put forward and back.
  `
  DROP INDEX runs_by_start;
  DROP INDEX runs_by_job;
  CREATE INDEX runs_by_job ON runs (job, number);
  `,
  // A target was a name, an address and a resource; now it is an identity of a store and a resource.
  FOLD_TARGETS,
  // Who last took each lock, and by which file (locks.ts).
  `
  CREATE TABLE locks (
    name TEXT PRIMARY KEY, token TEXT, job TEXT NOT NULL, run TEXT NOT NULL, file TEXT NOT NULL
  ) STRICT;
  `,
  `
  ALTER TABLE marks ADD COLUMN id_proof INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE journal ADD COLUMN id_proof INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE targets ADD COLUMN serial INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE targets ADD COLUMN doubted_at INTEGER;
  CREATE TABLE lineage (id TEXT NOT NULL) STRICT;
  -- Earlier versions did not say which keys a run that died had on its way: all may be.
  UPDATE marks SET fingerprint = '?', memo = NULL WHERE EXISTS (
    SELECT 1 FROM runs WHERE document ->> 'kind' IN ('run', 'retry')
      AND document ->> 'status' IN ('running', 'failed', 'interrupted')
  );
  UPDATE journal SET fingerprint = '?', memo = NULL WHERE fingerprint IS NOT NULL AND EXISTS (
    SELECT 1 FROM marks WHERE fingerprint = '?'
  );
  CREATE TABLE doubts (
    target INTEGER NOT NULL, key TEXT NOT NULL, job INTEGER NOT NULL, sender TEXT NOT NULL,
    at_work INTEGER NOT NULL, prior INTEGER NOT NULL,
    PRIMARY KEY (target, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE senders (
    target INTEGER NOT NULL, sender TEXT NOT NULL, everything INTEGER NOT NULL,
    wall_ms INTEGER NOT NULL, boot_ms INTEGER NOT NULL, lasts_ms INTEGER NOT NULL,
    PRIMARY KEY (target, sender)
  ) STRICT, WITHOUT ROWID;
  `,
];
