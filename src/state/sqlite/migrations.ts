/**
 * The step that makes one target of all names and spellings of the address of a store. Rows of a single target are
 * not changed. If several become one, each may have changed or deleted what another acknowledged, so all of their
 * marks are put in doubt. A key that several jobs sent belongs to none of them (the job without a name) until it is
 * sent again, so that no job deletes it.
 * `store_id` is the function of store-identity.ts. The journal is merged first, as journal.ts did at this version.
 */
export const FOLD_TARGETS = `
  CREATE TEMP TABLE dead_bodies (body INTEGER PRIMARY KEY);
  INSERT INTO dead_bodies SELECT body FROM journal
    WHERE body IS NOT NULL AND number NOT IN (SELECT max(number) FROM journal GROUP BY target, key);
  DELETE FROM journal WHERE number NOT IN (SELECT max(number) FROM journal GROUP BY target, key);
  INSERT INTO dead_bodies SELECT marks.body FROM journal CROSS JOIN marks USING (target, key);
  DELETE FROM marks WHERE (target, key) IN (SELECT target, key FROM journal WHERE fingerprint IS NULL);
  INSERT INTO marks (target, key, fingerprint, id, job, memo, body)
    SELECT target, key, fingerprint, id, job, memo, body FROM journal WHERE fingerprint IS NOT NULL
    ON CONFLICT DO UPDATE SET
      fingerprint = excluded.fingerprint, id = excluded.id, job = excluded.job, memo = excluded.memo,
      body = excluded.body;
  DELETE FROM journal;

  CREATE TEMP TABLE folded AS
    SELECT number AS old, min(number) OVER same_store AS new, count(*) OVER same_store AS names,
      store_id(base_url) AS store_id, resource
    FROM targets WINDOW same_store AS (PARTITION BY store_id(base_url), resource);
  INSERT OR IGNORE INTO jobs (name) SELECT '' FROM folded WHERE names > 1;
  CREATE TEMP TABLE doubtful AS
    SELECT new AS target, key, max(id) AS id, max(body) AS body,
      iif(min(job) = max(job), job, (SELECT number FROM jobs WHERE name = '')) AS job
    FROM marks JOIN folded ON target = old WHERE names > 1 GROUP BY new, key;
  INSERT INTO dead_bodies SELECT body FROM marks
    WHERE target IN (SELECT old FROM folded WHERE names > 1) AND body NOT IN (SELECT body FROM doubtful);
  DELETE FROM marks WHERE target IN (SELECT old FROM folded WHERE names > 1);
  INSERT INTO marks (target, key, fingerprint, id, job, memo, body)
    SELECT target, key, '?', id, job, NULL, body FROM doubtful ORDER BY target, key;

  UPDATE bodies SET living = living - dead.bits FROM (
    SELECT body / 16 AS block, sum(1 << (body % 16)) AS bits FROM dead_bodies GROUP BY block
  ) AS dead WHERE bodies.number = dead.block;
  DELETE FROM bodies WHERE living = 0;

  DROP TABLE targets;
  CREATE TABLE targets (
    number INTEGER PRIMARY KEY, store_id TEXT NOT NULL, resource TEXT NOT NULL, UNIQUE (store_id, resource)
  ) STRICT;
  INSERT INTO targets SELECT DISTINCT new, store_id, resource FROM folded;
  UPDATE runs SET document = json_set(document, '$.storeId', store_id(document ->> 'baseUrl'));
  DROP TABLE dead_bodies;
  DROP TABLE folded;
  DROP TABLE doubtful;
`;

/**
 * The schema, one step per version: `user_version` of the database says how many steps it has. Never change a step that
 * was released; add one.
 *
 * - `marks` is what every record of every run is compared with, so its rows are small and in key order. Bodies are apart, in
 *   order of arrival, since only changed records need theirs; both tables refer to them by block and place (journal.ts).
 * - `journal` holds acknowledgements in order of arrival until they are merged into `marks` (journal.ts); a row without
 *   fingerprint removes its key.
 * - `memo` belongs to the rows that made the body; null in older ledgers, and where the same rows may make another body.
 * - `outcomes.kind`: 0 applied upsert, 1 applied delete, 2 rejected, 3 unsent, 4 left. `detail` is JSON for 2 and 3.
 * - `id_proof`: 0 proven, 1 once, 2 changed (IdProof).
 * - `handles`: by which SKU or id a product is found (product-handle.ts), where `targets.indexed` is not 0. Merging the journal puts the
 *   keys that it changes into `unindexed`, and the next look-up brings their handles up to date.
 * - `doubts`: keys in doubt (sqlite-doubts.ts); `senders`: the last heartbeat of each sender. `targets.serial` grows with every group
 *   of keys that is put in doubt; `targets.doubted_at` is the number of the newest run when the whole target was.
 * - `checked_addresses`: image addresses that were found good, by digest (sqlite-addresses.ts).
 * - `versions`: what `history` shows; `version_runs` are its runs, which it keeps when `runs` forgets them (sqlite-history.ts).
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
  // Bodies in blocks (journal.ts): each existing body becomes a block of one.
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
  // Runs are ordered only by number, because clocks are set forward and back.
  `
  DROP INDEX runs_by_start;
  DROP INDEX runs_by_job;
  CREATE INDEX runs_by_job ON runs (job, number);
  `,
  // A target was a name, an address and a resource; now it is the identity of a store and a resource.
  FOLD_TARGETS,
  // The last holder of each lock and its file (sqlite-locks.ts).
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
  -- Earlier versions did not record which keys a run was sending when it died: all may be.
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
  `
  ALTER TABLE targets ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE handles (
    target INTEGER NOT NULL, handle TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (target, handle, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX handles_by_key ON handles (target, key);
  CREATE TABLE unindexed (
    target INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY (target, key)
  ) STRICT, WITHOUT ROWID;
  `,
  // A row of the journal with a run becomes a version when it is merged (sqlite-history.ts).
  `
  ALTER TABLE journal ADD COLUMN run INTEGER;
  ALTER TABLE journal ADD COLUMN at INTEGER;
  ALTER TABLE journal ADD COLUMN head TEXT;
  CREATE TABLE version_keys (
    number INTEGER PRIMARY KEY, target INTEGER NOT NULL, key TEXT NOT NULL, UNIQUE (target, key)
  ) STRICT;
  CREATE TABLE version_runs (
    target INTEGER NOT NULL, run INTEGER NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, document TEXT NOT NULL,
    versions INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (target, run)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE versions (
    key INTEGER NOT NULL, number INTEGER NOT NULL, run INTEGER NOT NULL, at INTEGER NOT NULL, content BLOB NOT NULL,
    PRIMARY KEY (key, number)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX versions_by_run ON versions (run, key);
  `,
  // What the worker has to do (sqlite-queue.ts).
  `
  CREATE TABLE schedules (
    job TEXT PRIMARY KEY, cron TEXT NOT NULL, timezone TEXT NOT NULL, next INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE queue (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, job TEXT NOT NULL, resend INTEGER NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0, run TEXT, ended INTEGER NOT NULL DEFAULT 0, error TEXT
  ) STRICT;
  CREATE UNIQUE INDEX queue_open ON queue (job) WHERE ended = 0;
  `,
  `
  CREATE TABLE checked_addresses (
    address TEXT PRIMARY KEY, version TEXT, at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  // What people did (sqlite-audit.ts).
  `
  CREATE TABLE audit (number INTEGER PRIMARY KEY, at INTEGER NOT NULL, entry TEXT NOT NULL) STRICT;
  CREATE INDEX audit_by_time ON audit (at);
  `,
];
