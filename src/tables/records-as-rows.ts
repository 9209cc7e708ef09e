import {
  type LimitedTable,
  recordsIn,
  refuseColumns,
  type TableRow,
  tableError,
  tableLimitError,
} from './table-file.ts';

/** Several values of one column of a record share a cell, one per line. */
const BETWEEN_VALUES = '\n';

/** An outermost object with more characters is a container of records: what precedes the records is shorter. */
const LARGE_CHARACTERS = 1 << 20;

/** Collects records as rows: a column for each path that any record has, in order of first appearance. */
export class RecordsAsRows {
  readonly header: string[] = [];
  readonly #file: LimitedTable;
  readonly #columns = new Map<string, number>();
  #cells: string[] | undefined;
  /** The rows within the open record, and the one that is open. */
  #inner: string[][] = [];
  #open: string[] | undefined;
  #hasInner = false;
  #characters = 0;
  /** Characters of the record itself, which each row within it repeats. */
  #repeated = 0;
  #rows: TableRow[] = [];
  /** How many records have ended. */
  count = 0;

  constructor(file: LimitedTable) {
    this.#file = file;
  }

  /** Whether the open record is too long to be kept until it is known whether it is a record. */
  get isLarge(): boolean {
    return this.#characters > LARGE_CHARACTERS;
  }

  get isOpen(): boolean {
    return this.#cells !== undefined;
  }

  begin(): void {
    this.#cells = [];
    this.#inner = [];
    this.#characters = 0;
    this.#repeated = 0;
  }

  /** Whether the objects at a path within the records are rows. */
  isInner(path: string): boolean {
    const { within } = recordsIn(this.#file.choice);
    return within !== undefined && this.isOpen && path.replaceAll('[]', '') === within;
  }

  /** Begins a row within the open record. */
  beginInner(): void {
    this.#open = [];
    this.#inner.push(this.#open);
    this.#hasInner = true;
  }

  endInner(): void {
    this.#open = undefined;
  }

  /** Adds a value of the open record at its path, such as `images[].url` or `link@href`; blank values leave nothing. */
  put(path: string, value: string): void {
    const cells = this.#open ?? this.#cells;
    if (cells === undefined) return;
    const { limits } = this.#file;
    const line = this.count + 1;
    let column = this.#columns.get(path);
    if (column === undefined) {
      column = this.header.length;
      refuseColumns(this.#file, column + 1, line);
      this.#columns.set(path, column);
      this.header.push(path);
    }
    if (value === '') return;
    const before = cells[column] ?? '';
    cells[column] = before === '' ? value : `${before}${BETWEEN_VALUES}${value}`;
    this.#characters += value.length;
    if (this.#open === undefined) this.#repeated += value.length;
    if ((cells[column] ?? '').length > limits.cellBytes) {
      throw tableLimitError(this.#file, 'cellBytes', { line, column: path });
    }
    if (this.#characters > limits.rowBytes) throw tableLimitError(this.#file, 'rowBytes', { line });
  }

  /** Ends the open record; its number is its line if the file has one record per line. */
  end(line = this.count + 1): void {
    const cells = Array.from(this.#cells ?? [], (cell) => cell ?? '');
    this.#cells = undefined;
    this.#open = undefined;
    this.count += 1;
    const inner = this.#inner;
    // The values of the record are repeated on each of its rows.
    if (this.#repeated * inner.length > this.#file.limits.rowBytes)
      throw tableLimitError(this.#file, 'rowBytes', { line });
    for (const row of inner.length === 0 ? [[]] : inner) {
      const width = Math.max(cells.length, row.length);
      this.#rows.push({
        line,
        cells: Array.from({ length: width }, (_, index) => row[index] ?? cells[index] ?? ''),
      });
    }
  }

  /** SourceError if the job names a list within the records, and none has it. */
  refuseWithoutInner(): void {
    const { within } = recordsIn(this.#file.choice);
    if (within === undefined || this.#hasInner) return;
    throw tableError(
      this.#file,
      `No record of the file has a list of objects at \`${within}\`, which \`records\` names after \`>\`.`,
      'Correct `records` in the source of the job.',
    );
  }

  /** Back to the state before the first record. */
  clear(): void {
    this.header.length = 0;
    this.#columns.clear();
    this.#cells = undefined;
    this.#rows = [];
    this.count = 0;
  }

  /** The rows so far that have not been taken. */
  take(): readonly TableRow[] {
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }
}
