/**
 * The step of the schema that makes one target of those of one store: its names, and the spellings of its address. Rows
 * of a target that stands alone stay as they are. Where several become one, each may have changed or deleted what
 * another acknowledged, so all of their marks are put in doubt. A key that several jobs sent belongs to none of them
 * (the job without a name) until it is sent again: none deletes what may be another's.
 *
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
