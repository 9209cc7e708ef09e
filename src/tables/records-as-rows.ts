import { type TableFile, type TableRow, tableLimitError } from './table-file.ts';

/** Several values of one column of a record stand in one cell, each on a line of its own. */
const BETWEEN_VALUES = '\n';

/** Gathers records as rows: a column for each path that any record has, in the order in which they are met. */
export class RecordsAsRows {
  readonly header: string[] = [];
  readonly #file: Pick<TableFile, 'name' | 'limits'>;
  readonly #columns = new Map<string, number>();
  #cells: string[] | undefined;
  #characters = 0;
  #rows: TableRow[] = [];
  /** How many records have ended. */
  count = 0;

  constructor(file: Pick<TableFile, 'name' | 'limits'>) {
    this.#file = file;
  }

  get isOpen(): boolean {
    return this.#cells !== undefined;
  }

  begin(): void {
    this.#cells = [];
    this.#characters = 0;
  }

  /** Adds a value of the open record at its path, such as `images[].url` or `link@href`; blank ones leave none. */
  put(path: string, value: string): void {
    const cells = this.#cells;
    if (cells === undefined) return;
    const { limits } = this.#file;
    const line = this.count + 1;
    let column = this.#columns.get(path);
    if (column === undefined) {
      column = this.header.length;
      if (column >= limits.columns) throw tableLimitError(this.#file, 'columns', line, { cells: column + 1 });
      this.#columns.set(path, column);
      this.header.push(path);
    }
    if (value === '') return;
    const before = cells[column] ?? '';
    cells[column] = before === '' ? value : `${before}${BETWEEN_VALUES}${value}`;
    this.#characters += value.length;
    if ((cells[column] ?? '').length > limits.cellBytes) {
      throw tableLimitError(this.#file, 'cellBytes', line, { cell: column + 1 });
    }
    if (this.#characters > limits.rowBytes) throw tableLimitError(this.#file, 'rowBytes', line);
  }

  /** Ends the open record; its number is that of its line where the file has one record a line. */
  end(line = this.count + 1): void {
    const cells = Array.from(this.#cells ?? [], (cell) => cell ?? '');
    this.#cells = undefined;
    this.count += 1;
    this.#rows.push({ line, cells });
  }

  /** The rows so far that have not been taken. */
  take(): readonly TableRow[] {
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }
}

const PATHS_KEPT = 500;
const PATHS_NAMED = 5;

/** Counts what may be the records of a file, to name it where the job does not or is wrong. */
export class RepeatedPaths {
  readonly #counts = new Map<string, number>();

  add(path: string): void {
    const count = this.#counts.get(path);
    if (count !== undefined || this.#counts.size < PATHS_KEPT) this.#counts.set(path, (count ?? 0) + 1);
  }

  /** `They may stand at 'shop.offers.offer' (214 times) …`; empty where nothing repeats. */
  words(): string {
    const most = [...this.#counts]
      .filter(([, count]) => count > 1)
      .sort(([a, one], [b, other]) => other - one || a.length - b.length)
      .slice(0, PATHS_NAMED);
    if (most.length === 0) return '';
    return ` Repeated paths: ${most.map(([path, count]) => `\`${path}\` (${count} times)`).join(', ')}.`;
  }
}
