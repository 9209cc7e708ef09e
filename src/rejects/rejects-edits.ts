import { withoutAbsent } from '../model/json-object.ts';
import { counted, grouped, quote } from '../text/printable.ts';
import { LINE_COLUMN } from './rejects-file.ts';

/** Why a cell of a corrected file is refused. */
export const REFUSALS = {
  damaged: { code: 'damaged-by-spreadsheet', words: 'probably changed by a spreadsheet' },
  unnamed: { code: 'column-not-rejected', words: 'the reason of the rejection does not name this column' },
  line: { code: 'row-not-rejected', words: `no rejected row has this ${LINE_COLUMN} and these cells` },
} as const;

/** The changes of the user and of a spreadsheet, printed before anything is sent. */
export interface RejectsEdits {
  readonly rows: number;
  readonly editedRows: number;
  readonly deletedRows: number;
  readonly editedCells: number;
  /** The first of them. */
  readonly cells: readonly CellEdit[];
  /** Cells that a spreadsheet wrote in another way; their old text is used. */
  readonly restoredCells: number;
  /** The first of them. */
  readonly restored: readonly CellEdit[];
  /** Cells whose change is not accepted: their records are not sent. */
  readonly refusedCells: number;
  /** The first of them. */
  readonly refused: readonly RefusedCell[];
  readonly removedColumns: readonly string[];
}

/** A changed cell. */
export interface CellEdit {
  /** The `storeferry_line` of its row. */
  readonly line: string;
  readonly column: string;
  readonly old: string;
  readonly new: string;
}

/** A changed cell whose record must not be sent. */
export interface RefusedCell extends CellEdit {
  readonly why: keyof typeof REFUSALS;
}

const COLUMNS_NAMED = 5;

/** How many cells of one kind are listed for people. */
export const CELLS_LISTED = 20;

/** The text about cells that are not sent as in the corrected file. */
export const RESTORED = 'A spreadsheet changed these cells. Their old values are used.';
/** The same if the old value may not be the intended one. */
export const REFUSED =
  'These changes are not accepted, and their records are not sent. Restore the old values, or type the new ones in the dashboard (Correct the rows here) or in the source. Where a spreadsheet changed a cell, format the column as text and type the value again.';

/** Whether the file is unchanged, apart from changes of a spreadsheet and removed columns. */
export function isUntouched({ editedCells, deletedRows, refusedCells }: RejectsEdits): boolean {
  return editedCells + deletedRows + refusedCells === 0;
}

/** `3 cells edited in 2 of 5 rows, 1 row deleted, 2 cells restored`. */
export function editsWords(edits: RejectsEdits): string {
  const { editedCells, editedRows, rows, deletedRows, restoredCells, refusedCells } = edits;
  return withoutAbsent([
    `${counted(editedCells, 'cell')} edited in ${grouped(editedRows)} of ${counted(rows, 'row')}`,
    deletedRows > 0 && `${counted(deletedRows, 'row')} deleted`,
    restoredCells > 0 && `${counted(restoredCells, 'cell')} restored`,
    refusedCells > 0 && `${counted(refusedCells, 'cell')} refused`,
    ...removedWords(edits.removedColumns),
  ]).join(', ');
}

function removedWords(columns: readonly string[]): string[] {
  if (columns.length === 0) return [];
  const named = columns.slice(0, COLUMNS_NAMED).map((column) => quote(column));
  const more = columns.length > named.length ? ` and ${columns.length - named.length} more` : '';
  return [
    `${columns.length === 1 ? 'column' : 'columns'} ${named.join(', ')}${more} removed (the old values are used)`,
  ];
}

/** The reason for rejecting the record of a refused cell. Values of contacts are not quoted. */
export function refusedCellWords({ old, new: now, why }: RefusedCell, personal: boolean): string {
  if (why === 'line')
    return `${REFUSALS.line.words}, so the row cannot be compared: type the ${LINE_COLUMN} that the row had, or delete the row; new rows belong in the source`;
  const cell = personal ? 'a cell has been changed' : `${quote(old)} has become ${quote(now)}`;
  if (why === 'unnamed')
    return `${cell}, but ${REFUSALS.unnamed.words}: restore the old value, or change it in the dashboard or in the source`;
  return `${cell}, ${REFUSALS.damaged.words}, and the intended value is unknown: format the column as text and type the value again`;
}

/** What the reasons of a rejected row say of a column: one names it, or one names no column at all, or all name others. */
export type Blame = 'named' | 'open' | 'other-column';

/** The position of another row: `(line 8, …)`, `(Prices!C8)`, `(Prices row 8)` or `(items[7].price)`. */
const ROW_REFERENCE = /\((?:line \d+|[^()]*(?:![A-Z]+| row )\d+|[^()]*\[\d+\][^(),]*)[,)]/;

/** What the reasons of a rejected row say of one of its columns. */
export function blameOf(reasons: string, column: string, columns: readonly string[]): Blame {
  if (isBlamed(reasons, column)) return 'named';
  const isOpen = reasons.split(' / ').some((reason) => !columns.some((name) => namesColumn(reason, name)));
  return isOpen ? 'open' : 'other-column';
}

/** Whether one of the reasons of a rejected row names the column, and no other line. */
export function isBlamed(reasons: string, column: string): boolean {
  if (!reasons.includes(column)) return false;
  return reasons.split(' / ').some((reason) => !ROW_REFERENCE.test(reason) && namesColumn(reason, column));
}

function namesColumn(reason: string, column: string): boolean {
  const at = column === '' ? -1 : reason.indexOf(column);
  const around = `${reason[at - 1] ?? ' '}${reason[at + column.length] ?? ' '}`;
  return at >= 0 && !/[\p{L}\d]/u.test(around);
}
