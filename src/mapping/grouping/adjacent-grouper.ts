import type { Reason } from '../../model/reason.ts';
import type { RecordRows, SourceRow } from '../record-rows.ts';
import type { Expression } from '../values/cell.ts';
import {
  type Grouper,
  keyMissing,
  neighbourMisaligned,
  type RecordBounds,
  recordOf,
  tooManyRows,
  ungroupedRow,
} from './grouping.ts';

/** The most unplaced rows that are kept until the next row with a key. */
const MAX_UNPLACED = 1000;

/**
 * Consecutive rows with the same key are a record. A row whose key cannot be read belongs to the previous or next
 * record if one of its cells names that record; otherwise both are in doubt.
 */
export class AdjacentGrouper implements Grouper {
  readonly #key: Expression;
  readonly #trusted: (row: SourceRow) => boolean;
  readonly #head: Expression<boolean> | undefined;
  readonly #mostRows: number;
  readonly #columnOf: (row: SourceRow) => string | undefined;
  /** Rows that cannot be placed before the next row with a key is known. */
  #unplaced: SourceRow[] = [];
  #current: Block<string> | undefined;
  /** A doubt about the next record. */
  #nextFault: Reason | undefined;
  #out: RecordRows[] = [];

  /**
   * @param trusted whether the key of a misaligned row can be trusted
   * @param head whether a row describes a record; a block without one is only a part
   * @param columnOf the header of the column with the key
   */
  constructor(
    key: Expression,
    trusted: (row: SourceRow) => boolean,
    head: Expression<boolean> | undefined,
    mostRows: number,
    columnOf: (row: SourceRow) => string | undefined,
  ) {
    this.#key = key;
    this.#trusted = trusted;
    this.#head = head;
    this.#mostRows = mostRows;
    this.#columnOf = columnOf;
  }

  startTable(): void {
    // Rows of one record may continue in the next file.
  }

  add(rows: readonly SourceRow[]): readonly RecordRows[] {
    for (const row of rows) this.#add(row);
    return this.#take();
  }

  *end(): Iterable<readonly RecordRows[]> {
    this.#place(undefined);
    this.#flush();
    yield this.#take();
  }

  readonly bounds: RecordBounds = {
    endBefore: (isName) => {
      const key = this.#current?.key;
      if (this.#unplaced.length > 0 || this.#nextFault !== undefined) return undefined;
      if (key !== undefined && isName(key)) return undefined;
      this.#flush();
      return this.#take();
    },
    begins: (row, isName) => {
      const key = row.misaligned === undefined ? this.#key(row, 0) : undefined;
      return typeof key === 'string' && !isName(key);
    },
  };

  #take(): readonly RecordRows[] {
    const taken = this.#out;
    this.#out = [];
    return taken;
  }

  #add(row: SourceRow): void {
    const read = this.#key(row, 0);
    const key = typeof read === 'string' ? read : undefined;
    const { misaligned } = row;
    const certain = misaligned === undefined || this.#trusted(row) || key === this.#current?.key;
    if (key === undefined || !certain) {
      this.#unplaced.push(row);
      if (this.#unplaced.length > MAX_UNPLACED) this.#giveUp();
      return;
    }
    if (this.#unplaced.length > 0) this.#place(key);
    this.#blockOf(key).add(row, misaligned?.reason);
  }

  /** The block of the key: the current one, or a new one. */
  #blockOf(key: string): Block<string> {
    const current = this.#current;
    if (current?.key === key && current.size < this.#mostRows) return current;
    const tooMany = current?.key === key ? tooManyRows(current.firstLine, this.#mostRows) : undefined;
    if (tooMany !== undefined) current?.addFault(tooMany);
    this.#flush();
    const block = new Block(key, tooMany ?? this.#nextFault);
    this.#nextFault = undefined;
    this.#current = block;
    return block;
  }

  #flush(): void {
    if (this.#current !== undefined) {
      const head = this.#head;
      const described = head && this.#current.rows.find((row) => head(row, 0));
      this.#out.push(this.#current.record(described, described === undefined));
      this.#current = undefined;
    }
  }

  /** Places the unplaced rows, now that the next key is known. */
  #place(nextKey: string | undefined): void {
    const rows = this.#unplaced;
    this.#unplaced = [];
    for (const row of rows) {
      const reason = row.misaligned?.reason ?? keyMissing(row.line, this.#columnOf(row));
      const current = this.#current;
      const inside = current !== undefined && nextKey === current.key;
      if (current !== undefined && (inside || named(row, current.key))) {
        current.add(row, reason);
      } else if (nextKey !== undefined && named(row, nextKey)) {
        this.#blockOf(nextKey).add(row, reason);
      } else {
        this.#out.push(ungroupedRow(row, reason));
        this.#chargeNeighbours(row, current, nextKey);
      }
    }
  }

  /** A complete row that describes a record lacks only its own key; any other row may belong to a neighbour. */
  #chargeNeighbours(row: SourceRow, current: Block<string> | undefined, nextKey: string | undefined): void {
    if (row.misaligned === undefined && (this.#head === undefined || this.#head(row, 0))) return;
    current?.addFault(neighbourMisaligned(row.line));
    if (nextKey !== undefined) this.#nextFault = neighbourMisaligned(row.line);
  }

  #giveUp(): void {
    const rows = this.#unplaced;
    this.#unplaced = [];
    for (const row of rows) {
      const reason = row.misaligned?.reason ?? keyMissing(row.line, this.#columnOf(row));
      this.#out.push(ungroupedRow(row, reason));
      this.#current?.addFault(neighbourMisaligned(row.line));
      this.#nextFault = neighbourMisaligned(row.line);
    }
  }
}

function named(row: SourceRow, key: string): boolean {
  return row.misaligned?.cells.includes(key) ?? false;
}

/** What is known about a misaligned row: whether it begins a record. */
type Beginning = 'starts' | 'continues' | 'unknown';

/**
 * A row that meets the condition begins a record, and the following rows that do not meet it continue it. After an
 * unreadable row, the next rows belong to an unknown record, until a record begins again.
 */
export class StartsGrouper implements Grouper {
  readonly #starts: Expression<boolean>;
  readonly #beginning: (row: SourceRow) => Beginning;
  readonly #mostRows: number;
  #current: Block<null> | undefined;
  #out: RecordRows[] = [];

  constructor(starts: Expression<boolean>, beginning: (row: SourceRow) => Beginning, mostRows: number) {
    this.#starts = starts;
    this.#beginning = beginning;
    this.#mostRows = mostRows;
  }

  startTable(): void {
    this.#flush();
  }

  add(rows: readonly SourceRow[]): readonly RecordRows[] {
    for (const row of rows) this.#add(row);
    const taken = this.#out;
    this.#out = [];
    return taken;
  }

  *end(): Iterable<readonly RecordRows[]> {
    this.#flush();
    yield this.add([]);
  }

  readonly bounds: RecordBounds = {
    endBefore: () => {
      this.#flush();
      return this.add([]);
    },
    begins: (row) => row.misaligned === undefined && this.#starts(row, 0),
  };

  #add(row: SourceRow): void {
    const current = this.#current;
    if (row.misaligned !== undefined) {
      this.#addMisaligned(row, row.misaligned.reason);
    } else if (this.#starts(row, 0)) {
      this.#begin(row, undefined);
    } else if (current === undefined) {
      const message = 'the row continues the product above it, but there is none';
      this.#out.push(ungroupedRow(row, { code: 'nothing-to-continue', message, line: row.line }));
    } else if (current.size >= this.#mostRows) {
      // Rejected piece by piece, so that it need not be kept as a whole.
      const fault = tooManyRows(current.firstLine, this.#mostRows);
      current.addFault(fault);
      this.#begin(row, fault);
    } else {
      current.add(row, current.rows.length > 0 ? undefined : current.fault);
    }
  }

  #addMisaligned(row: SourceRow, reason: Reason): void {
    const beginning = this.#beginning(row);
    if (beginning === 'continues' && this.#current !== undefined) {
      this.#current.add(row, reason);
      return;
    }
    if (beginning === 'unknown') this.#current?.addFault(neighbourMisaligned(row.line));
    this.#begin(row, reason);
  }

  #begin(row: SourceRow, fault: Reason | undefined): void {
    this.#flush();
    this.#current = new Block(null, fault);
    this.#current.add(row, fault);
  }

  #flush(): void {
    if (this.#current !== undefined) this.#out.push(this.#current.record(undefined, false));
    this.#current = undefined;
  }
}

/** Consecutive rows of one record. */
class Block<Key extends string | null> {
  /** The key, where they have one. */
  readonly key: Key;
  /** Those whose cells can be trusted. */
  readonly rows: SourceRow[] = [];
  readonly #all: SourceRow[] = [];
  fault: Reason | undefined;

  constructor(key: Key, fault: Reason | undefined) {
    this.key = key;
    this.fault = fault;
  }

  /** @param reason why its cells cannot be trusted; undefined where they can. */
  add(row: SourceRow, reason: Reason | undefined): void {
    this.#all.push(row);
    if (reason === undefined) this.rows.push(row);
    else this.fault ??= reason;
  }

  get size(): number {
    return this.#all.length;
  }

  get firstLine(): number {
    return this.#all[0]?.line ?? 0;
  }

  addFault(reason: Reason): void {
    this.fault ??= reason;
  }

  /** @param partial whether it may be only a part of a record. */
  record(head: SourceRow | undefined, partial: boolean): RecordRows {
    const [rows, all] = [this.rows, this.#all];
    return recordOf(all, { head: head ?? rows[0], rows, fault: this.fault, key: this.key, partial });
  }
}
