import type { MappedRecord, MappedRejection } from '../../model/mapped-record.ts';
import type { DuplicatesFound, DuplicatesPolicy, KeyExample } from '../../model/plan.ts';
import { openTemporaryDatabase } from '../../state/sqlite/open-row-scratch.ts';

/** A record or rejection whose key occurs more than once in the source. */
export type Copy = MappedRecord | MappedRejection;

/** All copies of one key. */
export interface CopyGroup {
  readonly key: string;
  readonly copies: number;
  /** Whether every copy is a record with the same content as the others. */
  readonly identical: boolean;
  /** Whether any copy is a rejection. */
  readonly anyRejected: boolean;
  /** Whether any copy may be only a part of its record. */
  readonly hasPartial: boolean;
  /** The copies in source order; read one at a time, because a wrong mapping may give every row the same key. */
  read(): Iterable<Copy>;
}

const EXAMPLES_KEPT = 5;

/** Counts the groups of copies of a source, with the first few as examples. */
export class CopyTally {
  readonly #found = { keys: 0, copies: 0, identical: 0, examples: [] as KeyExample[] };

  count(group: CopyGroup): void {
    this.#found.keys++;
    this.#found.copies += group.copies;
    if (group.identical) this.#found.identical += group.copies - 1;
    if (this.#found.examples.length === EXAMPLES_KEPT) return;
    const [first] = group.read();
    const span = first?.spans[0];
    this.#found.examples.push({ key: group.key, file: span?.file ?? null, line: span?.from ?? null });
  }

  /** Null if there were none. */
  found(policy: DuplicatesPolicy): DuplicatesFound | null {
    return this.#found.keys === 0 ? null : { policy, ...this.#found };
  }
}

/**
 * Holds the copies of keys until all are known, in a temporary SQLite database: on disk, deleted by the system when the
 * process ends, however it ends. Keys are compared exactly; several may have an owner, such as the product that they
 * change. Totals of a key are updated with every copy (6 to 10 µs each), because a sum at the end would block the process
 * for seconds.
 */
export class CopySpool implements Disposable {
  readonly #database = openTemporaryDatabase(`
      CREATE TABLE keys (
        number INTEGER PRIMARY KEY,
        owner TEXT NOT NULL,
        key TEXT NOT NULL,
        first INTEGER NOT NULL,
        copies INTEGER NOT NULL,
        rejected INTEGER NOT NULL,
        partial INTEGER NOT NULL,
        print TEXT NOT NULL,
        identical INTEGER NOT NULL,
        UNIQUE (owner, key));
      CREATE TABLE copies (seq INTEGER PRIMARY KEY, number INTEGER NOT NULL, item TEXT NOT NULL);
      CREATE INDEX copies_of_key ON copies (number, seq);
    `);
  readonly #countCopy;
  readonly #insertCopy;

  constructor() {
    this.#countCopy = this.#database.prepare(`
      INSERT INTO keys (owner, key, copies, rejected, partial, print, identical, first)
      VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6, NOT EXISTS (SELECT 1 FROM keys WHERE owner = ?1))
      ON CONFLICT (owner, key) DO UPDATE SET
        copies = copies + 1,
        rejected = rejected + excluded.rejected,
        partial = partial + excluded.partial,
        identical = identical AND excluded.identical AND print = excluded.print
      RETURNING number
    `);
    this.#insertCopy = this.#database.prepare('INSERT INTO copies (number, item) VALUES (?, ?)');
  }

  /**
   * `print` is the fingerprint of a record's body, which decides whether copies are identical; a rejection has none.
   */
  add(key: string, copy: Copy, print: string | null, owner = key): void {
    const rejected = copy.kind === 'rejected' ? 1 : 0;
    const partial = copy.partial === true ? 1 : 0;
    const identical = print === null ? 0 : 1;
    const names = [JSON.stringify(owner), JSON.stringify(key)];
    const counted = this.#countCopy.get(...names, rejected, partial, print ?? '', identical);
    this.#insertCopy.run(Number(counted?.['number']), JSON.stringify(copy));
  }

  /** Every owner with its keys and their copies, in order of first appearance. */
  *owners(): Generator<{ readonly owner: string; readonly groups: readonly CopyGroup[] }> {
    const copiesOf = this.#database.prepare('SELECT item FROM copies WHERE number = ? ORDER BY seq');
    const keysOf = this.#database.prepare('SELECT * FROM keys WHERE owner = ? ORDER BY number');
    const owners = this.#database.prepare('SELECT owner FROM keys WHERE first ORDER BY number');
    for (const { owner = null } of owners.iterate()) {
      const groups = keysOf.all(owner).map(({ number, key, copies, rejected, partial, identical }) => ({
        key: parseKey(String(key)),
        copies: Number(copies),
        identical: identical === 1,
        anyRejected: Number(rejected) > 0,
        hasPartial: Number(partial) > 0,
        *read() {
          for (const { item } of copiesOf.iterate(Number(number))) yield parseCopy(String(item));
        },
      }));
      yield { owner: parseKey(String(owner)), groups };
    }
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}

/** Reads back what `add` wrote in this process. */
function parseCopy(item: string) {
  const copy: Copy = JSON.parse(item);
  return copy;
}

/** Keys are stored as JSON: SQLite would treat keys as equal that UTF-8 cannot represent. */
function parseKey(json: string) {
  const key: string = JSON.parse(json);
  return key;
}
