import { DatabaseSync } from 'node:sqlite';
import type { MappedRecord, MappedRejection } from '../model/record.ts';

/** A record or rejection whose key stands more than once in the source. */
export type Copy = MappedRecord | MappedRejection;

/** All copies of one key. */
export interface CopyGroup {
  readonly key: string;
  readonly copies: number;
  /** Whether every copy is a record and says the same as the others. */
  readonly identical: boolean;
  /** Whether any copy is a rejection. */
  readonly anyRejected: boolean;
  /** Whether any copy may be only a part of its record. */
  readonly anyTorn: boolean;
  /** The copies in source order; read one at a time, since a wrong mapping may give every row the same key. */
  read(): Iterable<Copy>;
}

/**
 * Holds the copies of repeated keys until all are known, in a temporary SQLite database: on disk, deleted by the
 * system when the process ends, however it ends. Keys are compared exactly.
 */
export class CopySpool implements Disposable {
  readonly #database = new DatabaseSync('');
  readonly #insert;

  constructor() {
    this.#database.exec(`
      PRAGMA journal_mode = OFF;
      PRAGMA synchronous = OFF;
      CREATE TABLE copies (
        seq INTEGER PRIMARY KEY,
        key TEXT NOT NULL, print TEXT, rejected INTEGER NOT NULL, torn INTEGER NOT NULL, item TEXT NOT NULL);
      BEGIN;
    `);
    this.#insert = this.#database.prepare(
      'INSERT INTO copies (key, print, rejected, torn, item) VALUES (?, ?, ?, ?, ?)',
    );
  }

  /** `print` is the fingerprint of a record's body: copies of one print are identical. */
  add(key: string, copy: Copy, print: string | null): void {
    this.#insert.run(
      JSON.stringify(key),
      print,
      copy.kind === 'rejected' ? 1 : 0,
      copy.torn === true ? 1 : 0,
      JSON.stringify(copy),
    );
  }

  /** Every key with its copies, each key once. */
  *groups(): Generator<CopyGroup> {
    this.#database.exec('CREATE INDEX by_key ON copies (key, seq)');
    const copiesOf = this.#database.prepare('SELECT item FROM copies WHERE key = ? ORDER BY seq');
    const groups = this.#database.prepare(`
      SELECT key, COUNT(*) AS copies, SUM(rejected) AS rejected, SUM(torn) AS torn,
             COUNT(print) = COUNT(*) AND MIN(print) = MAX(print) AS identical
      FROM copies GROUP BY key
    `);
    for (const { key, copies, rejected, torn, identical } of groups.iterate()) {
      yield {
        key: parseText(String(key)),
        copies: Number(copies),
        identical: identical === 1,
        anyRejected: Number(rejected) > 0,
        anyTorn: Number(torn) > 0,
        *read() {
          for (const { item } of copiesOf.iterate(String(key))) yield parseCopy(String(item));
        },
      };
    }
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}

/** Reads back what `add` wrote a moment ago in this process. */
function parseCopy(item: string): Copy {
  const copy: Copy = JSON.parse(item);
  return copy;
}

function parseText(json: string): string {
  const text: string = JSON.parse(json);
  return text;
}
