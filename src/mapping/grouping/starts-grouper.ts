import type { Reason } from '../../model/reason.ts';
import type { RecordRows, SourceRow } from '../record-rows.ts';
import type { Test } from '../values/compile-condition.ts';
import {
  type Grouper,
  neighbourMisaligned,
  nothingToContinue,
  type RecordBounds,
  spansOf,
  strayRecord,
  tooManyRows,
} from './grouping.ts';

/** What is known about a misaligned row: whether it begins a record. */
export type Beginning = 'starts' | 'continues' | 'unknown';

/**
 * A row that meets the condition begins a record, and the following rows that do not meet it continue it. After an
 * unreadable row, the next rows belong to an unknown record, until a record begins again.
 */
export class StartsGrouper implements Grouper {
  readonly #starts: Test;
  readonly #beginning: (row: SourceRow) => Beginning;
  readonly #mostRows: number;
  #rows: SourceRow[] = [];
  #all: SourceRow[] = [];
  #fault: Reason | undefined;
  #out: RecordRows[] = [];

  constructor(starts: Test, beginning: (row: SourceRow) => Beginning, mostRows: number) {
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
    yield this.#out;
    this.#out = [];
  }

  readonly bounds: RecordBounds = {
    endBefore: () => {
      this.#flush();
      return this.add([]);
    },
    begins: (row) => row.misaligned === undefined && this.#starts(row, 0),
  };

  #add(row: SourceRow): void {
    const { misaligned } = row;
    if (misaligned !== undefined) {
      this.#addMisaligned(row, misaligned.reason);
    } else if (this.#starts(row, 0)) {
      this.#flush();
      this.#rows.push(row);
      this.#all.push(row);
    } else if (this.#all.length === 0) {
      this.#out.push(strayRecord([row], nothingToContinue(row.line)));
    } else {
      this.#splitWhenFull();
      this.#all.push(row);
      if (this.#rows.length > 0) this.#rows.push(row);
    }
  }

  /** A record with too many rows is rejected piece by piece, so that it need not be kept as a whole. */
  #splitWhenFull(): void {
    if (this.#all.length >= this.#mostRows) {
      const fault = tooManyRows(this.#all[0]?.line ?? 0, this.#mostRows);
      this.#fault ??= fault;
      this.#flush();
      this.#fault = fault;
    }
  }

  #addMisaligned(row: SourceRow, reason: Reason): void {
    const beginning = this.#beginning(row);
    if (beginning === 'continues' && this.#all.length > 0) {
      this.#all.push(row);
      this.#fault ??= reason;
      return;
    }
    if (beginning === 'unknown' && this.#all.length > 0) this.#fault ??= neighbourMisaligned(row.line);
    this.#flush();
    this.#all.push(row);
    this.#fault = reason;
  }

  #flush(): void {
    if (this.#all.length > 0) {
      this.#out.push({
        head: this.#rows[0],
        rows: this.#rows,
        children: [],
        childOptions: undefined,
        fault: this.#fault,
        key: null,
        spans: spansOf(this.#all),
        counted: this.#all.length,
        torn: false,
      });
    }
    this.#rows = [];
    this.#all = [];
    this.#fault = undefined;
  }
}
