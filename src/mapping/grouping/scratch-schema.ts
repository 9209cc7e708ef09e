import type { LinkKind } from './row-scratch.ts';

/** Rows as they come, and what they say of each other. `members` is filled once all are there. */
export const SCHEMA = `
  PRAGMA journal_mode = OFF;
  PRAGMA synchronous = OFF;
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA cache_size = -32768;
  CREATE TABLE rows (
    seq INTEGER PRIMARY KEY, source INTEGER, line INTEGER, cells TEXT, belongs TEXT, misaligned TEXT,
    wanting INTEGER DEFAULT 0, silent INTEGER DEFAULT 0, alone INTEGER DEFAULT 0, stray INTEGER DEFAULT 0
  );
  CREATE TABLE names (name TEXT, seq INTEGER);
  CREATE TABLE wants (seq INTEGER, pos INTEGER, name TEXT);
  CREATE TABLE members (record INTEGER, pos INTEGER, seq INTEGER, PRIMARY KEY (record, pos, seq)) WITHOUT ROWID;
  CREATE TABLE charges (record INTEGER PRIMARY KEY, reason TEXT, key_known INTEGER);
`;

const AMBIGUOUS = `
  CREATE INDEX names_by_name ON names (name, seq);
  CREATE INDEX names_by_seq ON names (seq);
  CREATE TABLE shared AS SELECT name FROM names GROUP BY name HAVING count(DISTINCT seq) > 1;
  CREATE INDEX shared_by_name ON shared (name);
`;

/** Rows with the same key are a record, which begins with the first of them; those that stand alone are one each. */
const BY_KEY = `
  CREATE TABLE firsts (belongs TEXT PRIMARY KEY, seq INTEGER) WITHOUT ROWID;
  INSERT INTO firsts SELECT belongs, min(seq) FROM rows WHERE belongs IS NOT NULL GROUP BY belongs;
  INSERT INTO members SELECT f.seq, 1, r.seq FROM rows r JOIN firsts f ON f.belongs = r.belongs;
  DROP TABLE firsts;
  INSERT INTO members SELECT seq, 1, seq FROM rows WHERE belongs IS NULL AND alone;
`;

/** A child belongs to the row that bears the name it gives; without one, to a record that cannot be read. */
const BY_PARENT = `
  ${AMBIGUOUS}
  INSERT INTO members SELECT seq, 0, seq FROM rows WHERE belongs IS NULL AND NOT stray;
  INSERT OR IGNORE INTO charges
    SELECT n.seq, json_object('code', 'parent-ambiguous', 'line', h.line,
      'message', 'another product has the same name ' || json_quote(c.belongs) || ', to which the row in line ' || c.line || ' refers'), 1
    FROM rows c JOIN shared s ON s.name = c.belongs JOIN names n ON n.name = s.name JOIN rows h ON h.seq = n.seq;
  INSERT INTO members
    SELECT coalesce((SELECT min(n.seq) FROM names n WHERE n.name = c.belongs),
      min(seq) OVER (PARTITION BY belongs)), 1, seq
    FROM rows c WHERE belongs IS NOT NULL;
  INSERT OR IGNORE INTO charges
    SELECT seq, json_object('code', 'parent-missing', 'line', line,
      'message', 'the parent ' || json_quote(belongs) || ' is not in the source'), 0
    FROM rows c WHERE belongs IS NOT NULL AND NOT EXISTS (SELECT 1 FROM names n WHERE n.name = c.belongs);
`;

/** A row that lists others is a record with them; so is one that nobody lists, and one that is sold alone as well. */
const BY_CHILDREN = `
  CREATE INDEX wants_by_name ON wants (name);
  ${AMBIGUOUS}
  INSERT INTO members SELECT seq, 0, seq FROM rows r
    WHERE NOT stray AND NOT silent AND (wanting OR alone OR NOT EXISTS (
      SELECT 1 FROM names n JOIN wants w ON w.name = n.name WHERE n.seq = r.seq AND w.seq <> r.seq));
  INSERT OR IGNORE INTO members
    SELECT w.seq, w.pos + 1, n.seq FROM wants w JOIN names n ON n.name = w.name WHERE n.seq <> w.seq;
  INSERT OR IGNORE INTO charges
    SELECT w.seq, json_object('code', 'child-missing', 'line', r.line,
      'message', 'the child ' || json_quote(w.name) || ' is not in the source'), 1
    FROM wants w JOIN rows r ON r.seq = w.seq WHERE NOT EXISTS (SELECT 1 FROM names n WHERE n.name = w.name);
  INSERT OR IGNORE INTO charges
    SELECT w.seq, json_object('code', 'child-ambiguous', 'line', r.line,
      'message', 'several rows bear the name ' || json_quote(w.name)), 1
    FROM wants w JOIN shared s ON s.name = w.name JOIN rows r ON r.seq = w.seq;
  INSERT OR IGNORE INTO members
    SELECT m.record, 1000000, r.seq FROM rows r JOIN names n ON n.name = r.belongs
    JOIN members m ON m.seq = n.seq WHERE r.silent;
  INSERT OR IGNORE INTO members SELECT min(seq) OVER (PARTITION BY belongs), 1000000, seq FROM rows r
    WHERE silent AND NOT EXISTS (SELECT 1 FROM names n WHERE n.name = r.belongs);
  INSERT OR IGNORE INTO charges
    SELECT min(seq), json_object('code', 'parent-missing', 'line', min(line),
      'message', 'no row describes ' || json_quote(belongs) || ', which this one adds to'), 0
    FROM rows r WHERE silent AND NOT EXISTS (SELECT 1 FROM names n WHERE n.name = r.belongs) GROUP BY belongs;
`;

/** What fills `members` and `charges`, by how rows refer to each other. */
export const RESOLVE: Readonly<Record<LinkKind, string>> = {
  key: BY_KEY,
  parent: BY_PARENT,
  children: BY_CHILDREN,
};
