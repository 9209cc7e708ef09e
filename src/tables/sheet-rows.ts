import { TableChoiceError } from '../model/storeferry-error.ts';
import {
  type LimitedTable,
  refuseColumns,
  type TableFile,
  type TableRow,
  tableError,
  tableLimitError,
} from './table-file.ts';

/** Cells of one batch. */
const MOST_CELLS_HELD = 100_000;

/** Merged cells: the value of the first belongs to all of them. Rows from 1, columns from 0, both ends included. */
export interface MergedCells {
  readonly firstRow: number;
  readonly lastRow: number;
  readonly firstColumn: number;
  readonly lastColumn: number;
}

/** Collects the rows of a sheet from its cells, which come in order; merged cells all get the shown value. */
export class SheetRows {
  readonly #file: LimitedTable;
  readonly #merged: readonly MergedCells[];
  #nextMerged = 0;
  #spanning: { readonly cells: MergedCells; readonly text: string }[] = [];
  #rows: (TableRow & { readonly copies: number })[] = [];

  /** @param merged in the order of their first rows. */
  constructor(file: LimitedTable, merged: readonly MergedCells[] = []) {
    this.#file = file;
    this.#merged = merged;
  }

  /** Merged cells that become known when their first row begins. */
  span(cells: MergedCells, text: string): void {
    if (text === '') return;
    this.#spanning.push({ cells, text });
    // Merged cells do not overlap, so no row has more of them than cells.
    refuseColumns(this.#file, this.#spanning.length, cells.firstRow);
  }

  /** Ends the row with this number (from 1), which may represent several equal ones. */
  end(line: number, cells: string[], copies = 1): void {
    const { limits } = this.#file;
    for (;;) {
      const merged = this.#merged[this.#nextMerged];
      if (merged === undefined || merged.firstRow > line) break;
      if (merged.firstRow === line) this.span(merged, cells[merged.firstColumn] ?? '');
      this.#nextMerged += 1;
    }
    if (this.#spanning.length > 0) {
      this.#spanning = this.#spanning.filter((span) => span.cells.lastRow >= line);
      for (const { cells: merged, text } of this.#spanning) {
        const last = Math.min(merged.lastColumn, limits.columns - 1);
        for (let column = merged.firstColumn; column <= last; column += 1) cells[column] = text;
      }
    }
    refuseColumns(this.#file, cells.length, line);
    // Cells may be set in any order, and not all of them.
    const row = Array.from(cells, (cell) => cell ?? '');
    const long = row.findIndex((cell) => cell.length > limits.cellBytes);
    if (long >= 0) throw tableLimitError(this.#file, 'cellBytes', { line, column: long });
    while (row.length > 0 && row[row.length - 1] === '') row.pop();
    if (row.length > 0) this.#rows.push({ line, cells: row, copies });
  }

  /** The rows so far that have not been taken, a few at a time: one may represent a million. */
  *take(): Generator<readonly TableRow[]> {
    const rows = this.#rows;
    this.#rows = [];
    let batch: TableRow[] = [];
    let held = 0;
    for (const { line, cells, copies } of rows) {
      for (let copy = 0; copy < copies; copy += 1) {
        batch.push({ line: line + copy, cells });
        held += cells.length;
        if (held < MOST_CELLS_HELD) continue;
        yield batch;
        batch = [];
        held = 0;
      }
    }
    if (batch.length > 0) yield batch;
  }
}

/** The facts about a sheet that decide which one is meant. */
export interface SheetInfo {
  readonly name: string;
  readonly hidden: boolean;
}

/**
 * The sheet that the job names, or else the only visible one with content; with several, none is assumed. SourceError
 * with the names of all.
 */
export async function chooseSheet<Sheet extends SheetInfo>(
  file: TableFile,
  sheets: readonly Sheet[],
  hasContent: (sheet: Sheet) => Promise<boolean>,
): Promise<Sheet> {
  const { sheet: wanted } = file.choice;
  const visible = sheets.filter(({ hidden }) => !hidden);
  const listed = sheets.map(({ name, hidden }) => `'${name}'${hidden ? ' (hidden)' : ''}`).join(', ');
  if (wanted !== undefined) {
    const plain = (name: string) => name.trim().toLowerCase();
    const called = String(wanted);
    const named =
      sheets.find(({ name }) => name === called) ?? sheets.find(({ name }) => plain(name) === plain(called));
    const numbered = /^[1-9]\d*$/.test(called) ? visible[Number(called) - 1] : undefined;
    // A text is first a name and then a number, because a sheet may have the name 2026.
    const chosen = typeof wanted === 'number' ? (numbered ?? named) : (named ?? numbered);
    if (chosen !== undefined) return chosen;
    throw unclear(
      file,
      sheets,
      `The workbook has no sheet ${typeof wanted === 'number' ? `number ${wanted}` : `'${wanted}'`}; its sheets are ${listed}.`,
      'Correct `sheet` in the source of the job: a name, or the number among the visible sheets, from 1.',
    );
  }
  const filled: Sheet[] = [];
  for (const sheet of visible) if (await hasContent(sheet)) filled.push(sheet);
  const [only] = filled;
  if (only !== undefined && filled.length === 1) return only;
  if (filled.length === 0) {
    throw tableError(
      file,
      `The workbook has no visible sheet with content; its sheets are ${listed}.`,
      'Check whether the export failed. To read a hidden sheet, name it with `sheet`.',
    );
  }
  throw unclear(
    file,
    filled,
    `The workbook has ${filled.length} sheets: ${filled.map(({ name }) => `'${name}'`).join(', ')}.`,
    `Name one in the source of the job: \`sheet: ${only?.name ?? ''}\`.`,
  );
}

function unclear(
  { name: file }: TableFile,
  sheets: readonly SheetInfo[],
  message: string,
  hint: string,
): TableChoiceError {
  const candidates = sheets.map(({ name }) => ({ value: name, records: null }));
  const choice = { key: 'sheet', candidates, likely: undefined } as const;
  return new TableChoiceError(message, { ...choice, place: { file }, hint });
}
