import { counted, grouped, printable, shortened } from '../printable.ts';
import { LINE_COLUMN } from './rejects-file.ts';

/** What a spreadsheet does to cells when it opens and saves a file, each as people are shown it; `line` is found by the comparison of rows. */
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
  line: 'the row cannot be compared: its line is none of the rejects file, from which rows or columns are missing',
} as const;

/** One of them. */
export type SpreadsheetDamage = keyof typeof DAMAGE_WORDS;

/** What the user changed, and what a spreadsheet did, to be printed before anything is sent. */
export interface RejectsEdits {
  readonly rows: number;
  readonly editedRows: number;
  readonly addedRows: number;
  readonly deletedRows: number;
  readonly editedCells: number;
  /** How many cells were edited in each column: a spreadsheet that reformats a whole column shows here. */
  readonly byColumn: ReadonlyMap<string, number>;
  /** The first of them. */
  readonly cells: readonly CellEdit[];
  /** Cells that a spreadsheet has damaged; their old text is used. */
  readonly restoredCells: number;
  /** The first of them. */
  readonly restored: readonly DamagedCell[];
  /** Cells that a spreadsheet has damaged so that what they were meant to be is not known: their records are not sent. */
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

/** Of cells of one kind, so many are listed for people. */
export const CELLS_LISTED = 20;

/** What happened to cells that are not sent as the corrected file has them. */
export const RESTORED = 'A spreadsheet changed these cells. Their old values are used.';
/** The same where the old value may not be what was meant. */
export const REFUSED =
  'A spreadsheet changed these cells, and what was meant is not known. Their records are not sent: format the column as text, type the value again and save; or put the old value back.';

/** Whether the file is as it was written, but for what a spreadsheet did and columns that were taken out. */
export function isUntouched(edits: RejectsEdits): boolean {
  const { editedCells, addedRows, deletedRows, refusedCells, addedColumns } = edits;
  return editedCells + addedRows + deletedRows + refusedCells + addedColumns.length === 0;
}

/** `3 cells edited in 2 of 5 rows, 1 row taken out, 2 cells restored`. */
export function editsWords(edits: RejectsEdits): string {
  const { editedCells, editedRows, rows, addedRows, deletedRows, restoredCells, refusedCells } = edits;
  const { removedColumns, addedColumns } = edits;
  return [
    `${counted(editedCells, 'cell')} edited in ${grouped(editedRows)} of ${counted(rows, 'row')}`,
    ...(deletedRows > 0 ? [`${counted(deletedRows, 'row')} taken out`] : []),
    ...(addedRows > 0 ? [`${counted(addedRows, 'row')} added`] : []),
    ...(restoredCells > 0 ? [`${counted(restoredCells, 'cell')} restored`] : []),
    ...(refusedCells > 0 ? [`${counted(refusedCells, 'cell')} refused`] : []),
    ...columnWords(removedColumns, 'taken out, so that the old values are used'),
    ...columnWords(addedColumns, 'added'),
  ].join(', ');
}

function columnWords(columns: readonly string[], what: string): string[] {
  if (columns.length === 0) return [];
  const named = columns.slice(0, COLUMNS_NAMED).map(quotedCell);
  const more = columns.length > named.length ? ` and ${columns.length - named.length} more` : '';
  return [`${columns.length === 1 ? 'column' : 'columns'} ${named.join(', ')}${more} ${what}`];
}

/** A cell as a line of text shows it: without line breaks, and without escape sequences that would act on a terminal. */
export function quotedCell(cell: string): string {
  return `'${shortened(printable(cell).replaceAll(/\s+/g, ' '), CELL_LENGTH)}'`;
}

/** Why the record of a refused cell is not sent: the reason of its rejection. Values of contacts are not quoted. */
export function refusedCellWords({ old, new: now, damage }: DamagedCell, personal: boolean): string {
  if (damage === 'line')
    return `the ${LINE_COLUMN} of the row is none of the rejects file, whose other rows or columns are missing: it cannot be compared with what was rejected. Type the ${LINE_COLUMN} that the row had, or take the row out`;
  const cell = personal ? 'a cell has been changed' : `${quotedCell(old)} has become ${quotedCell(now)}`;
  return `${cell}, as a spreadsheet does it (${DAMAGE_WORDS[damage]}), and what was meant is not known: format the column as text and type the value again`;
}
