import { counted, grouped, printable, shortened } from '../text/printable.ts';
import { LINE_COLUMN } from './rejects-file.ts';

/**
 * The ways in which a spreadsheet changes cells when it opens and saves a file, in words for people. The comparison
 * of rows finds `line`.
 */
export const DAMAGE_WORDS = {
  letters: 'characters were lost',
  charset: 'the text was read in another charset than it was saved in',
  accents: 'accents were lost',
  cut: 'the text was cut where a cell is full',
  shortened: 'a long number was shortened',
  rounded: 'the last digits of a long number were lost',
  zeros: 'leading zeros were dropped',
  sign: 'the leading + was dropped',
  date: 'it was converted to a date',
  notation: 'the number is written another way',
  decimal: 'the decimal sign was moved or dropped',
  boolean: 'yes and no are written another way',
  blanks: 'blanks were changed',
  quotes: 'quotes were changed',
  formula: 'it was calculated as a formula',
  error: 'it is the error of a formula',
  line: 'the row cannot be compared: no rejected row has its line number, and rows or columns are missing',
} as const;

/** One of these ways. */
export type SpreadsheetDamage = keyof typeof DAMAGE_WORDS;

/** The changes of the user and of a spreadsheet, printed before anything is sent. */
export interface RejectsEdits {
  readonly rows: number;
  readonly editedRows: number;
  readonly addedRows: number;
  readonly deletedRows: number;
  readonly editedCells: number;
  /** How many cells were edited in each column. A reformatted column is visible here. */
  readonly byColumn: ReadonlyMap<string, number>;
  /** The first of them. */
  readonly cells: readonly CellEdit[];
  /** Cells that a spreadsheet damaged; their old text is used. */
  readonly restoredCells: number;
  /** The first of them. */
  readonly restored: readonly DamagedCell[];
  /** Cells that a spreadsheet damaged and whose intended value is unknown: their records are not sent. */
  readonly refusedCells: number;
  /** The first of them. */
  readonly refused: readonly DamagedCell[];
  readonly removedColumns: readonly string[];
  readonly addedColumns: readonly string[];
}

/** A cell that the user has changed. */
export interface CellEdit {
  /** The `storeferry_line` of its row. */
  readonly line: string;
  readonly column: string;
  readonly old: string;
  readonly new: string;
}

/** A cell that a spreadsheet has changed. */
export interface DamagedCell extends CellEdit {
  readonly damage: SpreadsheetDamage;
}

const CELL_LENGTH = 60;
const COLUMNS_NAMED = 5;

/** How many cells of one kind are listed for people. */
export const CELLS_LISTED = 20;

/** The text about cells that are not sent as in the corrected file. */
export const RESTORED = 'A spreadsheet changed these cells. Their old values are used.';
/** The same if the old value may not be the intended one. */
export const REFUSED =
  'A spreadsheet changed these cells, and the intended values are unknown. Their records are not sent. Format the column as text, type the values again and save, or restore the old values.';

/** Whether the file is unchanged, apart from changes of a spreadsheet and removed columns. */
export function isUntouched(edits: RejectsEdits): boolean {
  const { editedCells, addedRows, deletedRows, refusedCells, addedColumns } = edits;
  return editedCells + addedRows + deletedRows + refusedCells + addedColumns.length === 0;
}

/** `3 cells edited in 2 of 5 rows, 1 row deleted, 2 cells restored`. */
export function editsWords(edits: RejectsEdits): string {
  const { editedCells, editedRows, rows, addedRows, deletedRows, restoredCells, refusedCells } = edits;
  const { removedColumns, addedColumns } = edits;
  return [
    `${counted(editedCells, 'cell')} edited in ${grouped(editedRows)} of ${counted(rows, 'row')}`,
    ...(deletedRows > 0 ? [`${counted(deletedRows, 'row')} deleted`] : []),
    ...(addedRows > 0 ? [`${counted(addedRows, 'row')} added`] : []),
    ...(restoredCells > 0 ? [`${counted(restoredCells, 'cell')} restored`] : []),
    ...(refusedCells > 0 ? [`${counted(refusedCells, 'cell')} refused`] : []),
    ...columnWords(removedColumns, 'removed (the old values are used)'),
    ...columnWords(addedColumns, 'added'),
  ].join(', ');
}

function columnWords(columns: readonly string[], what: string): string[] {
  if (columns.length === 0) return [];
  const named = columns.slice(0, COLUMNS_NAMED).map(quotedCell);
  const more = columns.length > named.length ? ` and ${columns.length - named.length} more` : '';
  return [`${columns.length === 1 ? 'column' : 'columns'} ${named.join(', ')}${more} ${what}`];
}

/** A cell for a line of text: without line breaks, and without escape sequences that would act on a terminal. */
export function quotedCell(cell: string): string {
  return `'${shortened(printable(cell).replaceAll(/\s+/g, ' '), CELL_LENGTH)}'`;
}

/** The reason for rejecting the record of a refused cell. Values of contacts are not quoted. */
export function refusedCellWords({ old, new: now, damage }: DamagedCell, personal: boolean): string {
  if (damage === 'line')
    return `no rejected row has this ${LINE_COLUMN}, and other rows or columns are missing, so the row cannot be compared. Type the ${LINE_COLUMN} that the row had, or delete the row`;
  const cell = personal ? 'a cell has been changed' : `${quotedCell(old)} has become ${quotedCell(now)}`;
  return `${cell}, probably by a spreadsheet (${DAMAGE_WORDS[damage]}), and the intended value is unknown: format the column as text and type the value again`;
}

/** The position of another row: `(line 8, …)`, `(Prices!C8)`, `(Prices row 8)` or `(items[7].price)`. */
const ROW_REFERENCE = /\((?:line \d+|[^()]*(?:![A-Z]+| row )\d+|[^()]*\[\d+\][^(),]*)[,)]/;

/** Whether one of the reasons of a rejected row names the column, and no other line. */
export function isBlamed(reasons: string, column: string): boolean {
  if (!reasons.includes(column)) return false;
  return reasons.split(' / ').some((reason) => {
    if (ROW_REFERENCE.test(reason)) return false;
    const at = reason.indexOf(column);
    const around = `${reason[at - 1] ?? ' '}${reason[at + column.length] ?? ' '}`;
    return at >= 0 && !/[\p{L}\d]/u.test(around);
  });
}
