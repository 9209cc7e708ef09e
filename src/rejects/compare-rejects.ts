import { createHash } from 'node:crypto';
import { SourceError } from '../model/storeferry-error.ts';
import {
  type CorrectedForm,
  type CorrectedRejectsOptions,
  type JoinedRow,
  joinRejects,
  openUntouched,
  rowOfNoLine,
  untouchedCount,
} from './join-rejects.ts';
import type { CellEdit, DamagedCell, RejectsEdits } from './rejects-edits.ts';
import type { DoubtfulLines, UntouchedRow } from './untouched-rows.ts';

const CELLS_KEPT = 1000;

/** The file index, within `CorrectedRejects`, and line of a row of the corrected file. */
export interface CorrectedPlace {
  readonly file: number;
  readonly line: number;
}

/** The result of reading the whole corrected file. */
export interface ComparedRejects {
  readonly edits: RejectsEdits;
  /** The rows with a refused cell, each with its first refused cell. */
  readonly refused: readonly (CorrectedPlace & { readonly cell: DamagedCell })[];
  /** The rows that were rejected without a key. */
  readonly keyless: readonly CorrectedPlace[];
  /** The `storeferry_line` of the first rows. */
  readonly origins: readonly (CorrectedPlace & { readonly sourceLine: string })[];
  /** How many rows have something in common with the rejected rows. */
  readonly alike: number;
  /** A digest of the non-ASCII text that the user typed. Two readings of a file may differ only in this text. */
  readonly typed: string;
  /** The beginning of that text. */
  readonly typedStart: string;
  /** As in `CorrectedForm`: the basis of the comparison. */
  readonly doubtful: DoubtfulLines | undefined;
}

/** With more added rows than this it is another file, and would fill the memory. */
const MAX_ADDED = 10_000;

/** Far more than people correct by hand. */
const MAX_ORIGINS = 20_000;

/** Enough characters to recognise the script of the text. */
const TYPED_KEPT = 10_000;

/**
 * Reads the corrected file and sums up the changes. If lines are missing or belong to other rows, it reads the file a
 * second time and compares rows with similar rows of the copy. CsvError, EncodingError; SourceError if far too many
 * rows were added.
 */
export async function compareRejects(
  options: CorrectedRejectsOptions,
  form: CorrectedForm,
): Promise<ComparedRejects> {
  const { layout } = form;
  const untouched = await openUntouched(options, form);
  const byColumn = new Map<string, number>();
  const [cells, restored, refused]: [CellEdit[], DamagedCell[], DamagedCell[]] = [[], [], []];
  const sums = { rows: 0, editedRows: 0, addedRows: 0, editedCells: 0, restoredCells: 0, refusedCells: 0 };
  const refusedRows: (CorrectedPlace & { readonly cell: DamagedCell })[] = [];
  const keyless: CorrectedPlace[] = [];
  const origins: ComparedRejects['origins'][number][] = [];
  const added: Pick<JoinedRow, 'line' | 'header' | 'sourceLine'>[] = [];
  const doubtful: UntouchedRow[] = [];
  const typed = createHash('sha256');
  let typedStart = '';
  let alike = 0;
  let mostAdded = MAX_ADDED;
  for await (const rows of joinRejects(options, form, untouched)) {
    for (const row of rows) {
      sums.rows += 1;
      if (row.kind === 'added') {
        sums.addedRows += 1;
        const { line, header, sourceLine } = row;
        added.push({ line, header, sourceLine });
      }
      if (row.kind === 'alike') alike += 1;
      if (added.length > mostAdded && mostAdded === MAX_ADDED) mostAdded += await untouchedCount(options);
      if (added.length > mostAdded)
        throw otherFile(options, `more than ${MAX_ADDED} rows were added`, 'keep its rows');
      if (row.doubtful !== undefined) doubtful.push(row.doubtful);
      const isTyped = row.kind === 'added' || row.edits.length > 0 || layout.addedColumns.length > 0;
      for (const [at, cell] of isTyped ? row.cells.entries() : []) {
        if (!/\P{ASCII}/u.test(cell)) continue;
        typed.update(`${row.line}:${at}:${cell}\n`);
        if (typedStart.length < TYPED_KEPT) typedStart += `${cell}\n`;
      }
      if (row.edits.length > 0) sums.editedRows += 1;
      sums.editedCells += row.edits.length;
      sums.restoredCells += row.restored.length;
      sums.refusedCells += row.refused.length;
      keepFirst(cells, row.edits);
      keepFirst(restored, row.restored);
      keepFirst(refused, row.refused);
      for (const { column } of row.edits) byColumn.set(column, (byColumn.get(column) ?? 0) + 1);
      const place = { file: row.header, line: row.line };
      if (row.kind !== 'added' && origins.length < MAX_ORIGINS)
        origins.push({ ...place, sourceLine: row.sourceLine });
      const [cell] = row.refused;
      if (cell !== undefined) refusedRows.push({ ...place, cell });
      if (row.keyless) keyless.push(place);
    }
  }
  const left = await untouched.left();
  const lines = new Set(added.flatMap(({ sourceLine }) => (sourceLine === '' ? [] : [sourceLine])));
  const mayBeOthers = doubtful.length > 0 || lines.size > 0 || (added.length > 0 && left.length > 0);
  if (layout.hasLines && form.doubtful === undefined && mayBeOthers)
    return await compareRejects(options, {
      ...form,
      doubtful: { unclaimed: [...doubtful, ...left], added: lines },
    });
  // Each of them may be a row of the copy that was not compared. A blank cell does not show what a removed column
  // contained.
  if (left.length > 0 || layout.removedColumns.length > 0) {
    const cells = added.map(({ line }) => rowOfNoLine(line));
    sums.refusedCells += added.length;
    keepFirst(refused, cells);
    for (const [number, cell] of cells.entries()) {
      const { line = 0, header = 0 } = added[number] ?? {};
      refusedRows.push({ file: header, line, cell });
    }
  }
  const edits = {
    ...sums,
    deletedRows: left.length,
    byColumn,
    cells,
    restored,
    refused,
    removedColumns: layout.removedColumns,
    addedColumns: layout.addedColumns,
  };
  return {
    edits,
    refused: refusedRows,
    keyless,
    origins,
    alike,
    typed: typed.digest('hex'),
    typedStart,
    doubtful: form.doubtful,
  };
}

/** The error for a file that does not come from the rejects of the run. */
export function otherFile({ name }: CorrectedRejectsOptions, what: string, keep: string): SourceError {
  return new SourceError(`This is not a rejects file of this run: ${what}.`, {
    place: { file: name, line: 1 },
    hint: `Correct the rejects file of the run itself, and ${keep}.`,
  });
}

function keepFirst<T>(kept: T[], more: readonly T[]): void {
  kept.push(...more.slice(0, Math.max(0, CELLS_KEPT - kept.length)));
}
