import type { CellEdit } from './compare-row.ts';
import {
  type CorrectedForm,
  type CorrectedRejectsOptions,
  joinRejects,
  openUntouched,
} from './join-rejects.ts';

const EDITS_KEPT = 1000;

/** What the user changed, to be printed before anything is sent. */
export interface RejectsEdits {
  /** False when the file has no `storeferry_line` any more, so that its rows cannot be told apart. */
  readonly compared: boolean;
  readonly rows: number;
  readonly editedRows: number;
  readonly addedRows: number;
  readonly deletedRows: number;
  readonly editedCells: number;
  /** How many cells were edited in each column: a spreadsheet that reformats a whole column shows here. */
  readonly byColumn: ReadonlyMap<string, number>;
  /** The first of them. */
  readonly cells: readonly CellEdit[];
  /** Cells in which the spreadsheet replaced letters by question marks when saving; their old text is used. */
  readonly restoredCells: number;
  readonly removedColumns: readonly string[];
  readonly addedColumns: readonly string[];
}

/** Reads the corrected file through and sums up what was changed. CsvError, EncodingError. */
export async function compareRejects(
  options: CorrectedRejectsOptions,
  form: CorrectedForm,
): Promise<RejectsEdits> {
  const { layout } = form;
  const untouched = await openUntouched(options, layout);
  const byColumn = new Map<string, number>();
  const cells: CellEdit[] = [];
  const sums = { rows: 0, editedRows: 0, addedRows: 0, editedCells: 0, restoredCells: 0 };
  for await (const rows of joinRejects(options, form, untouched)) {
    for (const { edits, restored, kind } of rows) {
      sums.rows += 1;
      if (kind === 'added') sums.addedRows += 1;
      if (edits.length > 0) sums.editedRows += 1;
      sums.editedCells += edits.length;
      sums.restoredCells += restored;
      for (const edit of edits) {
        byColumn.set(edit.column, (byColumn.get(edit.column) ?? 0) + 1);
        if (cells.length < EDITS_KEPT) cells.push(edit);
      }
    }
  }
  const left = await untouched.left();
  const compared = layout.hasLines;
  return {
    compared,
    ...sums,
    addedRows: compared ? sums.addedRows : 0,
    deletedRows: compared ? left : 0,
    byColumn,
    cells,
    removedColumns: layout.removedColumns,
    addedColumns: layout.addedColumns,
  };
}
