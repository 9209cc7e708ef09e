import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import {
  type LinkKind,
  type RowLinks,
  type RowScratch,
  recordFaultSchema,
} from '../../model/mapped-record.ts';
import { StateError } from '../../model/storeferry-error.ts';

/** The rows in order, and their relations. `members` is filled after all rows were added. */
const SCHEMA = `
  CREATE TABLE rows (
    seq INTEGER PRIMARY KEY, line INTEGER, text TEXT, belongs TEXT,
    wanting INTEGER DEFAULT 0, silent INTEGER DEFAULT 0, alone INTEGER DEFAULT 0, stray TEXT
  );
  CREATE TABLE names (name TEXT, seq INTEGER);
  CREATE TABLE wants (seq INTEGER, pos INTEGER, name TEXT);
  CREATE TABLE members (record INTEGER, pos INTEGER, seq INTEGER, PRIMARY KEY (record, pos, seq)) WITHOUT ROWID;
  CREATE TABLE faults (record INTEGER PRIMARY KEY, fault TEXT, key_known INTEGER);
`;

const AMBIGUOUS = `
  CREATE INDEX names_by_name ON names (name, seq);
  CREATE INDEX names_by_seq ON names (seq);
  CREATE TABLE shared AS SELECT name FROM names GROUP BY name HAVING count(DISTINCT seq) > 1;
  CREATE INDEX shared_by_name ON shared (name);
`;

/** Rows with the same key are a record, which begins with the first of them; each row that is `alone` is a record. */
const BY_KEY = `
  CREATE TABLE firsts (belongs TEXT PRIMARY KEY, seq INTEGER) WITHOUT ROWID;
  INSERT INTO firsts SELECT belongs, min(seq) FROM rows WHERE belongs IS NOT NULL GROUP BY belongs;
  INSERT INTO members SELECT f.seq, 1, r.seq FROM rows r JOIN firsts f ON f.belongs = r.belongs;
  DROP TABLE firsts;
  INSERT INTO members SELECT seq, 1, seq FROM rows WHERE belongs IS NULL AND alone;
`;

/** A child belongs to the row with the name of its parent; without such a row, to a record that cannot be read. */
const BY_PARENT = `
  ${AMBIGUOUS}
  INSERT INTO members SELECT seq, 0, seq FROM rows WHERE belongs IS NULL AND stray IS NULL;
  INSERT OR IGNORE INTO faults
    SELECT n.seq, ${linkFault('parent-ambiguous', 'c.belongs', 'h.line', 'c.line')}, 1
    FROM (SELECT belongs, line, min(seq) FROM rows WHERE belongs IN (SELECT name FROM shared) GROUP BY belongs) c
    JOIN names n ON n.name = c.belongs JOIN rows h ON h.seq = n.seq;
  INSERT INTO members
    SELECT coalesce((SELECT min(n.seq) FROM names n WHERE n.name = c.belongs),
      min(seq) OVER (PARTITION BY belongs)), 1, seq
    FROM rows c WHERE belongs IS NOT NULL;
  INSERT OR IGNORE INTO faults
    SELECT seq, ${linkFault('parent-missing', 'belongs', 'line')}, 0
    FROM rows c WHERE belongs IS NOT NULL AND NOT EXISTS (SELECT 1 FROM names n WHERE n.name = c.belongs);
`;

/**
 * A row that lists others is a record with them. So is a row that no row lists, and one that is sold alone as well. A row whose name is
 * listed in other case, and nobody's, is rejected with the record that lists it. Rows that share a name belong to the first record alone
 * that lists it, since all of these are rejected: each with each would be quadratic in a hostile file.
 */
const BY_CHILDREN = `
  CREATE INDEX wants_by_name ON wants (name);
  ${AMBIGUOUS}
  CREATE TABLE missing (seq INTEGER, pos INTEGER, name TEXT COLLATE NOCASE);
  INSERT INTO missing SELECT * FROM wants w WHERE NOT EXISTS (SELECT 1 FROM names n WHERE n.name = w.name);
  CREATE INDEX missing_by_name ON missing (name);
  CREATE TABLE near AS SELECT m.record, m.pos, n.seq
    FROM names n JOIN (SELECT name, min(seq) AS record, pos FROM missing GROUP BY name) m ON m.name = n.name;
  CREATE INDEX near_by_seq ON near (seq);
  INSERT INTO members SELECT seq, 0, seq FROM rows r
    WHERE stray IS NULL AND NOT silent AND (wanting OR alone OR NOT EXISTS (
      SELECT 1 FROM names n JOIN wants w ON w.name = n.name WHERE n.seq = r.seq AND w.seq <> r.seq
      UNION ALL SELECT 1 FROM near WHERE near.seq = r.seq AND near.record <> r.seq));
  INSERT OR IGNORE INTO members
    SELECT w.seq, w.pos + 1, n.seq FROM wants w JOIN names n ON n.name = w.name
    WHERE n.seq <> w.seq AND (w.name NOT IN (SELECT name FROM shared)
      OR w.rowid = (SELECT min(rowid) FROM wants f WHERE f.name = w.name));
  INSERT OR IGNORE INTO members SELECT record, pos + 1, seq FROM near WHERE seq <> record;
  INSERT OR IGNORE INTO faults
    SELECT w.seq, ${linkFault('child-missing', 'w.name', 'r.line')}, 1
    FROM missing w JOIN rows r ON r.seq = w.seq;
  INSERT OR IGNORE INTO faults
    SELECT w.seq, ${linkFault('child-ambiguous', 'w.name', 'r.line')}, 1
    FROM wants w JOIN shared s ON s.name = w.name JOIN rows r ON r.seq = w.seq;
  INSERT OR IGNORE INTO members
    SELECT o.record, 1000000, r.seq FROM rows r JOIN (
      SELECT n.name, min(m.record) AS record FROM names n JOIN members m ON m.seq = n.seq
      WHERE n.name IN (SELECT belongs FROM rows WHERE silent) GROUP BY n.name
    ) o ON o.name = r.belongs WHERE r.silent;
  INSERT OR IGNORE INTO members SELECT min(seq) OVER (PARTITION BY belongs), 1000000, seq FROM rows r
    WHERE silent AND NOT EXISTS (SELECT 1 FROM names n WHERE n.name = r.belongs);
  INSERT OR IGNORE INTO faults
    SELECT min(seq), ${linkFault('undescribed', 'belongs', 'min(line)')}, 0
    FROM rows r WHERE silent AND NOT EXISTS (SELECT 1 FROM names n WHERE n.name = r.belongs) GROUP BY belongs;
`;

/** The statements that fill `members` and `faults`, by kind of reference. */
const RESOLVE: Readonly<Record<LinkKind, string>> = { key: BY_KEY, parent: BY_PARENT, children: BY_CHILDREN };

function linkFault(problem: string, name: string, line: string, from = 'NULL') {
  return `json_object('problem', '${problem}', 'name', ${name}, 'line', ${line}, 'from', ${from})`;
}

/**
 * A database for one process, within a transaction that never ends. Without a path SQLite keeps it in memory while it is small, and in
 * an unnamed file when it grows, which is gone with the process.
 */
export function openTemporaryDatabase(schema: string, path = ''): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA cache_size = -32768;
    ${schema}
    BEGIN;
  `);
  return database;
}

/**
 * A scratch in a temporary database.
 * @throws StateError when it cannot be written.
 */
export function openRowScratch(kind: LinkKind, path = ''): RowScratch {
  return orStateError(() => rowScratch(openTemporaryDatabase(SCHEMA, path), kind));
}

function rowScratch(database: DatabaseSync, kind: LinkKind): RowScratch {
  const insertRow = database.prepare('INSERT INTO rows (seq, line, text, belongs) VALUES (?, ?, ?, ?)');
  const flagRow = database.prepare(
    'UPDATE rows SET wanting = ?, silent = ?, alone = ?, stray = ? WHERE seq = ?',
  );
  const insertName = database.prepare('INSERT INTO names VALUES (?, ?)');
  const insertWant = database.prepare('INSERT INTO wants VALUES (?, ?, ?)');
  let selectFault: StatementSync | undefined;
  /** Whether there are rows whose record is unknown. */
  let hasStrays = false;

  /** Forms the records; returns their rows in order. */
  const resolve = (): Iterator<Readonly<Record<string, SQLOutputValue>>> => {
    database.exec(RESOLVE[kind]);
    database.exec('CREATE INDEX members_by_seq ON members (seq, record)');
    if (hasStrays) placeStrays(database);
    if (database.prepare('SELECT 1 FROM faults LIMIT 1').get() !== undefined) {
      selectFault = database.prepare('SELECT fault, key_known FROM faults WHERE record = ?');
    }
    // Only children may belong to two records; this question for each row would double the time of the others.
    const first =
      kind === 'children' ? '(SELECT min(f.record) FROM members f WHERE f.seq = m.seq)' : 'm.record';
    const statement = database.prepare(`
      SELECT m.record, m.pos, ${first}, r.seq, r.text
      FROM members m JOIN rows r ON r.seq = m.seq ORDER BY m.record, m.pos, m.seq`);
    statement.setReturnArrays(true);
    return statement.iterate();
  };
  return {
    add: ({ seq, line, text }, { belongs, names, wants, silent, alone, stray }) =>
      orStateError(() => {
        insertRow.run(seq, line, text, belongs);
        if (wants.length > 0 || silent || alone || stray !== undefined) {
          const written = stray === undefined ? null : JSON.stringify(stray);
          flagRow.run(Number(wants.length > 0), Number(silent), Number(alone), written, seq);
        }
        for (const name of new Set(names)) insertName.run(name, seq);
        for (const [pos, name] of wants.entries()) insertWant.run(seq, pos, name);
        hasStrays ||= stray !== undefined;
      }),
    *members() {
      const rows = orStateError(resolve);
      for (;;) {
        const { done, value } = orStateError(() => rows.next());
        if (done === true) return;
        const [record, pos, first, seq, text] = Object.values(value);
        yield {
          record: Number(record),
          seq: Number(seq),
          text: String(text),
          isHead: pos === 0,
          isCounted: first === record,
        };
      }
    },
    faultOf(record) {
      const found = selectFault?.get(record);
      if (found === undefined) return undefined;
      const fault: unknown = JSON.parse(String(found['fault']));
      return recordFaultSchema.parse({ fault, keyIsKnown: found['key_known'] === 1 });
    },
    [Symbol.dispose]() {
      database.close();
    },
  };
}

/** Assigns each row with an unknown record to the records that its cells name, or puts both its neighbours in doubt. */
function placeStrays(database: DatabaseSync) {
  database.exec('CREATE INDEX rows_by_key ON rows (belongs)');
  const addFault = database.prepare('INSERT OR IGNORE INTO faults VALUES (?, ?, ?)');
  // A misaligned row of the record is a better reason than a missing row.
  const explain = database.prepare('INSERT OR REPLACE INTO faults VALUES (?, ?, ?)');
  const join = database.prepare('INSERT OR IGNORE INTO members VALUES (?, 2000000, ?)');
  const [before, after] = [
    '< ? AND r.stray IS NULL ORDER BY m.seq DESC',
    '> ? AND r.stray IS NULL ORDER BY m.seq',
  ].map((rest) =>
    database.prepare(
      `SELECT m.record FROM members m JOIN rows r ON r.seq = m.seq WHERE m.seq ${rest} LIMIT 1`,
    ),
  );
  const called = database.prepare(`
    SELECT m.record FROM members m JOIN rows r ON r.seq = m.seq WHERE r.belongs = :name
    UNION SELECT m.record FROM members m JOIN names n ON n.seq = m.seq WHERE n.name = :name`);
  const strays = database.prepare('SELECT seq, stray FROM rows WHERE stray IS NOT NULL ORDER BY seq');
  for (const found of strays.iterate()) {
    const seq = Number(found['seq']);
    const { names, reason, ofNeighbours }: NonNullable<RowLinks['stray']> = JSON.parse(
      String(found['stray']),
    );
    const near = [before, after].flatMap((statement) => recordIn(statement?.get(seq)));
    const records = new Set(names.flatMap((name) => called.all({ name }).flatMap(recordIn)));
    const [previous, next] = near;
    const home =
      previous !== undefined && previous === next ? previous : near.find((one) => records.has(one));
    const text = JSON.stringify(reason);
    if (home !== undefined) records.add(home);
    for (const record of records) explain.run(record, text, 1);
    join.run(home ?? seq, seq);
    if (home !== undefined) continue;
    addFault.run(seq, text, 0);
    if (ofNeighbours !== undefined && records.size === 0) {
      for (const record of near) addFault.run(record, JSON.stringify(ofNeighbours), 1);
    }
  }
}

function recordIn(row: Readonly<Record<string, SQLOutputValue>> | undefined) {
  return row === undefined ? [] : [Number(row['record'])];
}

/** Uses a temporary database. A full disk and similar failures are not bugs: StateError; any other error is passed on unchanged. */
export function orStateError<Result>(use: () => Result): Result {
  try {
    return use();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR')) throw error;
    throw new StateError(`A temporary database could not be stored on disk: ${error.message}.`, {
      cause: error,
      hint: 'Check whether the disk for temporary files is full. TMPDIR or SQLITE_TMPDIR can name another folder.',
    });
  }
}
