import type { CellCurrencies } from '../model/row.ts';
import { TableChoiceError } from '../model/storeferry-error.ts';
import { columnLetters } from './number-text.ts';
import {
  type LimitedTable,
  refuseColumns,
  refuseRowBytes,
  type TableFile,
  type TableRow,
  tableError,
  tableLimitError,
} from './table-file.ts';

/** Cells and characters of one batch. */
const MAX_CELLS_HELD = 100_000;
const MAX_CHARACTERS_HELD = 1 << 20;
/** A row of so many columns is expected to have few cells. */
const WIDE_ROW = 1_024;

/** Merged cells: the value of the first belongs to all of them. Rows from 1, columns from 0, both ends included. */
export interface MergedCells {
  readonly firstRow: number;
  readonly lastRow: number;
  readonly firstColumn: number;
  readonly lastColumn: number;
}

/** Merged cells are named to people in the first rows only. */
const MAX_MERGED_ROWS = 60;
const MAX_MERGED_NAMED = 200;

/** The merged cells of the first rows of a sheet, as a snapshot stores them. */
export type MergedFirst = [firstRow: number, lastRow: number, firstColumn: number, lastColumn: number][];

/** How the first rows of a sheet look, which the values of their cells do not say, as a snapshot stores it. */
export interface SheetMarks {
  readonly hidden: number[];
  readonly struck: number[];
  readonly shown: [column: number, text: string][];
}

/** As many rows as a new job looks at. */
const MAX_MARKED_ROWS = 5_000;
/** Columns, of which each has a few. */
const MAX_SHOWN = 200;

/** Notes how a cell shows its number, where that is more than the number and its currency. */
export function noteShown({ shown }: SheetMarks, column: number, text: string | undefined): void {
  if (text === undefined || shown.length === MAX_SHOWN) return;
  if (!shown.some(([one, known]) => one === column && known === text)) shown.push([column, text]);
}

/** Notes that a row is hidden, or that most of its cells are struck out. */
export function noteRow(
  { hidden, struck }: SheetMarks,
  line: number,
  isHidden: boolean,
  cells: { readonly struck: number; readonly all: number },
): void {
  if (isHidden && hidden.length < MAX_MARKED_ROWS) hidden.push(line);
  if (cells.struck * 2 > cells.all && struck.length < MAX_MARKED_ROWS) struck.push(line);
}

interface SheetOptions {
  /** In the order of their first rows. */
  readonly merged?: readonly MergedCells[];
  /** Gets those of the first rows. */
  readonly mergedFirst: MergedFirst;
  /** Columns up to the last cell with a value; merged cells end there. */
  readonly usedWidth: number;
}

/**
 * Collects the rows of a sheet from its cells, which come in order; merged cells all get the shown value. Each cell
 * that is filled counts for `limits.mergedCells`, because a few bytes can merge millions of cells.
 */
export function sheetRows(file: LimitedTable, { merged = [], mergedFirst, usedWidth }: SheetOptions) {
  const { limits } = file;
  const mostColumns = Math.min(usedWidth, limits.columns);
  let nextMerged = 0;
  let spanning: {
    readonly cells: MergedCells;
    readonly text: string;
    readonly currency: string | undefined;
  }[] = [];
  /** For each column the last row of the merged cells that reach it. */
  const mergedUntil: number[] = [];
  let filled = 0;
  /** Only the cells that are set take memory until their rows are taken. */
  const rows: (TableRow & { readonly copies: number; readonly characters: number })[] = [];

  /** Fills merged cells with this value, from their first row on. SourceError if they overlap others with a value. */
  const span = (cells: MergedCells, text: string, currency: string | undefined) => {
    if (text === '') return;
    const { firstRow, lastRow, firstColumn } = cells;
    const lastColumn = Math.min(cells.lastColumn, mostColumns - 1);
    for (let column = firstColumn; column <= lastColumn; column += 1) {
      if ((mergedUntil[column] ?? 0) >= firstRow) {
        throw tableError(
          file,
          `Merged cells overlap at ${file.title ?? ''}!${columnLetters(column)}${firstRow}.`,
          'A spreadsheet does not write such a file. Open it in one, and save it again.',
        );
      }
      mergedUntil[column] = lastRow;
    }
    if (lastColumn < firstColumn) return;
    spanning.push({ cells: { ...cells, lastColumn }, text, currency });
    if (firstRow <= MAX_MERGED_ROWS && mergedFirst.length < MAX_MERGED_NAMED)
      mergedFirst.push([firstRow, lastRow, firstColumn, lastColumn]);
  };
  /** Returns the currencies of the cells, with those of merged ones. */
  const fillMerged = (line: number, cells: string[], copies: number, own: CellCurrencies | undefined) => {
    spanning = spanning.filter((one) => one.cells.lastRow >= line);
    const named = { ...own };
    for (const { cells: area, text, currency } of spanning) {
      filled += copies * (area.lastColumn - area.firstColumn + 1);
      if (filled > limits.mergedCells) throw tableLimitError(file, 'mergedCells', { line });
      for (let column = area.firstColumn; column <= area.lastColumn; column += 1) {
        cells[column] = text;
        if (currency === undefined) delete named[column];
        else named[column] = currency;
      }
    }
    return Object.keys(named).length > 0 ? named : undefined;
  };
  return {
    span,
    /** Ends the row with this number (from 1), which may represent several equal ones. */
    end(line: number, cells: string[], own: CellCurrencies | undefined, copies = 1) {
      for (let area = merged[nextMerged]; area && area.firstRow <= line; area = merged[nextMerged]) {
        const { firstRow, firstColumn } = area;
        if (firstRow === line) span(area, cells[firstColumn] ?? '', own?.[firstColumn]);
        nextMerged += 1;
      }
      const currencies = spanning.length > 0 ? fillMerged(line, cells, copies, own) : own;
      refuseColumns(file, cells.length, line);
      let width = 0;
      let characters = 0;
      eachCell(cells, (cell, column) => {
        if (cell.length > limits.cellBytes) throw tableLimitError(file, 'cellBytes', { line, column });
        if (cell !== '') width = Math.max(width, column + 1);
        characters += cell.length;
      });
      refuseRowBytes(file, characters, line);
      cells.length = width;
      if (width > 0) rows.push({ line, cells, currencies, copies, characters });
    },
    /** The rows so far that have not been taken, a few at a time: one may represent a million. */
    *take(): Generator<readonly TableRow[]> {
      let batch: TableRow[] = [];
      let [heldCells, heldCharacters] = [0, 0];
      for (const { line, cells: set, currencies, copies, characters } of rows.splice(0)) {
        const cells = new Array<string>(set.length).fill('');
        eachCell(set, (cell, column) => {
          cells[column] = cell;
        });
        for (let copy = 0; copy < copies; copy += 1) {
          batch.push({ line: line + copy, cells, currencies });
          heldCells += cells.length;
          heldCharacters += characters;
          if (heldCells < MAX_CELLS_HELD && heldCharacters < MAX_CHARACTERS_HELD) continue;
          yield batch;
          batch = [];
          [heldCells, heldCharacters] = [0, 0];
        }
      }
      if (batch.length > 0) yield batch;
    },
  };
}

/**
 * Calls back for the cells that are set: they may be set in any order, and not all of them. In a wide row, of which V8 makes a
 * dictionary, without a look at each column.
 */
function eachCell(cells: readonly string[], use: (cell: string, column: number) => void) {
  if (cells.length < WIDE_ROW) {
    cells.forEach(use);
    return;
  }
  for (const column of Object.keys(cells)) use(cells[Number(column)] ?? '', Number(column));
}

/** The facts about a sheet that decide which one is meant. */
export interface SheetInfo {
  readonly name: string;
  readonly hidden: boolean;
}

/** Sheets that are looked at for content, and sheets that a message or a question names. */
const MAX_SHEETS_SEARCHED = 1_000;
const MAX_SHEETS_LISTED = 50;

/**
 * The sheet that the job names, or else the only visible one with content; with several, none is assumed. SourceError
 * with the names of the first.
 */
export async function chooseSheet<Sheet extends SheetInfo>(
  file: TableFile,
  sheets: readonly Sheet[],
  hasContent: (sheet: Sheet) => Promise<boolean>,
): Promise<Sheet> {
  const { sheet: wanted } = file.choice;
  const visible = sheets.filter(({ hidden }) => !hidden);
  const listed = listSheets(sheets);
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
      `The workbook has no sheet ${typeof wanted === 'number' ? `number ${wanted}` : `'${wanted}'`}`,
      `; its sheets are ${listed}.`,
      'Correct `sheet` in the source of the job: a name, or the number among the visible sheets, from 1.',
    );
  }
  const filled: Sheet[] = [];
  if (visible.length > MAX_SHEETS_SEARCHED) filled.push(...visible);
  else for (const sheet of visible) if (await hasContent(sheet)) filled.push(sheet);
  const [only] = filled;
  if (only !== undefined && filled.length === 1) return only;
  if (filled.length === 0) {
    throw tableError(
      file,
      `The workbook has no visible sheet with content, of ${sheets.length}.`,
      'Check whether the export failed. To read a hidden sheet, name it with `sheet`.',
    );
  }
  throw unclear(
    file,
    filled,
    `The workbook has ${filled.length} sheets`,
    `: ${listSheets(filled)}.`,
    'Name one in the source of the job, as `sheet: NAME`.',
  );
}

function listSheets(sheets: readonly SheetInfo[]) {
  const names = sheets
    .slice(0, MAX_SHEETS_LISTED)
    .map(({ name, hidden }) => `'${name}'${hidden ? ' (hidden)' : ''}`);
  const more = sheets.length - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function unclear(
  { name: file }: TableFile,
  sheets: readonly SheetInfo[],
  unquoted: string,
  names: string,
  hint: string,
) {
  const candidates = sheets.slice(0, MAX_SHEETS_LISTED).map(({ name }) => ({ value: name, records: null }));
  const choice = { key: 'sheet', candidates, likely: undefined } as const;
  return new TableChoiceError(unquoted + names, { ...choice, place: { file }, hint, unquoted });
}
