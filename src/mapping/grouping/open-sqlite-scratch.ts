import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { z } from 'zod';
import { reasonSchema } from '../../model/reason.ts';
import { StateError } from '../../model/storeferry-error.ts';
import type { BoundTable, SourceRow } from '../record-rows.ts';
import {
  type Charge,
  keyMissing,
  type LinkKind,
  type Member,
  neighbourMisaligned,
  type RowLinks,
  type RowScratch,
} from './grouping.ts';

/** The rows in order, and their relations. `members` is filled after all rows were added. */
const SCHEMA = `
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

/** A row that lists others is a record with them. So is a row that no row lists, and one that is sold alone as well. */
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
      'message', 'several rows have the name ' || json_quote(w.name)), 1
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

/** The statements that fill `members` and `charges`, by kind of reference. */
const RESOLVE: Readonly<Record<LinkKind, string>> = { key: BY_KEY, parent: BY_PARENT, children: BY_CHILDREN };

const misalignedSchema = z.object({
  reason: reasonSchema,
  cells: z.array(z.string()),
  firstFits: z.boolean(),
});

/**
 * A scratch in SQLite. Without a path the database is a temporary one: SQLite keeps it in memory while it is small
 * and in an unnamed file when it grows, which is gone with the process.
 * @throws StateError when it cannot be written.
 */
export function openSqliteScratch(kind: LinkKind, path = ''): RowScratch {
  try {
    return new SqliteScratch(kind, path);
  } catch (error) {
    throw asStateError(error);
  }
}

class SqliteScratch implements RowScratch {
  readonly #database: DatabaseSync;
  readonly #kind: LinkKind;
  readonly #tables: BoundTable[] = [];
  readonly #insertRow: StatementSync;
  readonly #flagRow: StatementSync;
  readonly #insertName: StatementSync;
  readonly #insertWant: StatementSync;
  #chargeStatement: StatementSync | undefined;
  #strays = false;

  constructor(kind: LinkKind, path: string) {
    this.#kind = kind;
    this.#database = new DatabaseSync(path);
    this.#database.exec(SCHEMA);
    this.#database.exec('BEGIN');
    this.#insertRow = this.#database.prepare(
      'INSERT INTO rows (seq, source, line, cells, belongs, misaligned) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#flagRow = this.#database.prepare(
      'UPDATE rows SET wanting = ?, silent = ?, alone = ?, stray = ? WHERE seq = ?',
    );
    this.#insertName = this.#database.prepare('INSERT INTO names VALUES (?, ?)');
    this.#insertWant = this.#database.prepare('INSERT INTO wants VALUES (?, ?, ?)');
  }

  add(row: SourceRow, links: RowLinks): void {
    try {
      this.#insert(row, links);
    } catch (error) {
      throw asStateError(error);
    }
  }

  #insert(row: SourceRow, links: RowLinks): void {
    const { belongs, names, wants, silent, alone, stray } = links;
    this.#insertRow.run(
      row.seq,
      this.#sourceOf(row.table),
      row.line,
      JSON.stringify(row.cells),
      belongs,
      row.misaligned === undefined ? null : JSON.stringify(row.misaligned),
    );
    if (wants.length > 0 || silent || alone || stray) {
      this.#flagRow.run(Number(wants.length > 0), Number(silent), Number(alone), Number(stray), row.seq);
    }
    for (const name of new Set(names)) this.#insertName.run(name, row.seq);
    for (const [pos, name] of wants.entries()) this.#insertWant.run(row.seq, pos, name);
    this.#strays ||= stray;
  }

  *members(): Iterable<Member> {
    try {
      yield* this.#resolved();
    } catch (error) {
      throw asStateError(error);
    }
  }

  *#resolved(): Iterable<Member> {
    this.#database.exec(RESOLVE[this.#kind]);
    this.#database.exec('CREATE INDEX members_by_seq ON members (seq, record)');
    if (this.#strays) this.#placeStrays();
    const charged = this.#database.prepare('SELECT 1 FROM charges LIMIT 1').get();
    if (charged !== undefined) {
      this.#chargeStatement = this.#database.prepare(
        'SELECT reason, key_known FROM charges WHERE record = ?',
      );
    }
    // Only children may belong to two records; this question for each row would double the time of the others.
    const first =
      this.#kind === 'children' ? '(SELECT min(f.record) FROM members f WHERE f.seq = m.seq)' : 'm.record';
    const statement = this.#database.prepare(`
      SELECT m.record, m.pos, ${first}, r.seq, r.source, r.line, r.cells, r.silent, r.stray, r.misaligned
      FROM members m JOIN rows r ON r.seq = m.seq ORDER BY m.record, m.pos, m.seq`);
    statement.setReturnArrays(true);
    for (const found of statement.iterate()) yield this.#member(Object.values(found));
  }

  chargeOf(record: number): Charge | undefined {
    const found = this.#chargeStatement?.get(record);
    if (found === undefined) return undefined;
    const { reason, key_known: keyKnown } = z
      .object({ reason: z.string(), key_known: z.number() })
      .parse(found);
    return { reason: reasonSchema.parse(JSON.parse(reason)), keyKnown: keyKnown === 1 };
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  #sourceOf(table: BoundTable): number {
    const known = this.#tables.lastIndexOf(table);
    return known < 0 ? this.#tables.push(table) - 1 : known;
  }

  #member(values: readonly SQLOutputValue[]): Member {
    const [record, pos, first, seq, source, line, cells, silent, stray, misaligned] = values;
    const table = this.#tables[Number(source)];
    if (table === undefined || typeof record !== 'number') {
      throw new Error('a row of the scratch is not as it was written');
    }
    const read = typeof misaligned === 'string' ? misalignedSchema.parse(JSON.parse(misaligned)) : undefined;
    const row: SourceRow = {
      table,
      seq: Number(seq),
      line: Number(line),
      cells: cellsOf(cells),
      misaligned: read,
      chars: String(cells).length,
    };
    const role =
      read !== undefined || stray === 1 ? 'extra' : silent === 1 ? 'silent' : pos === 0 ? 'head' : 'member';
    return { record, row, role, counted: first === record };
  }

  /**
   * Assigns each row with an unknown record to the records that its cells name, or puts both its neighbours in doubt.
   */
  #placeStrays(): void {
    const database = this.#database;
    const addFault = database.prepare('INSERT OR IGNORE INTO charges VALUES (?, ?, ?)');
    // A misaligned row of the record is a better reason than a missing row.
    const explain = database.prepare('INSERT OR REPLACE INTO charges VALUES (?, ?, ?)');
    const join = database.prepare('INSERT OR IGNORE INTO members VALUES (?, 2000000, ?)');
    const recordOf = z.object({ record: z.number() }).optional();
    const before = database.prepare(
      'SELECT m.record FROM members m JOIN rows r ON r.seq = m.seq WHERE m.seq < ? AND NOT r.stray ORDER BY m.seq DESC LIMIT 1',
    );
    const after = database.prepare(
      'SELECT m.record FROM members m JOIN rows r ON r.seq = m.seq WHERE m.seq > ? AND NOT r.stray ORDER BY m.seq LIMIT 1',
    );
    database.exec('CREATE INDEX rows_by_key ON rows (belongs)');
    const called = database.prepare(`
      SELECT m.record FROM members m JOIN rows r ON r.seq = m.seq WHERE r.belongs = :name
      UNION SELECT m.record FROM members m JOIN names n ON n.seq = m.seq WHERE n.name = :name`);
    const strays = database.prepare('SELECT seq, line, misaligned FROM rows WHERE stray ORDER BY seq');
    const straySchema = z.object({ seq: z.number(), line: z.number(), misaligned: z.string().nullable() });
    for (const found of strays.iterate()) {
      const { seq, line, misaligned } = straySchema.parse(found);
      const read = misaligned === null ? undefined : misalignedSchema.parse(JSON.parse(misaligned));
      const previous = recordOf.parse(before.get(seq))?.record;
      const next = recordOf.parse(after.get(seq))?.record;
      const reason = read?.reason ?? keyMissing(line);
      const inside = previous !== undefined && previous === next;
      const records = new Set(
        (read?.cells ?? []).flatMap((name) =>
          name === '' ? [] : called.all({ name }).flatMap((one) => recordOf.parse(one)?.record ?? []),
        ),
      );
      const near = [previous, next].filter((one) => one !== undefined);
      const home = inside ? previous : near.find((one) => records.has(one));
      for (const record of records) explain.run(record, JSON.stringify(reason), 1);
      if (home !== undefined) {
        explain.run(home, JSON.stringify(reason), 1);
        join.run(home, seq);
        continue;
      }
      join.run(seq, seq);
      addFault.run(seq, JSON.stringify(reason), 0);
      if (read !== undefined && records.size === 0) {
        for (const record of near) addFault.run(record, JSON.stringify(neighbourMisaligned(line)), 1);
      }
    }
  }
}

/** Cells as written; null is a column that the file lacks. */
function cellsOf(stored: SQLOutputValue | undefined): readonly (string | undefined)[] {
  const read: unknown = JSON.parse(String(stored));
  return Array.isArray(read) ? read.map((cell) => (typeof cell === 'string' ? cell : undefined)) : [];
}

/** A full disk and similar failures are not bugs; any other error is passed on unchanged. */
function asStateError(error: unknown): unknown {
  const fromSqlite = error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR';
  return fromSqlite
    ? new StateError(`The rows could not be stored on disk for grouping: ${error.message}.`, {
        cause: error,
        hint: 'Check whether the disk for temporary files is full. TMPDIR or SQLITE_TMPDIR can name another folder.',
      })
    : error;
}
