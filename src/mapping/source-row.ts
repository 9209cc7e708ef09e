import type { Reason } from '../model/reason.ts';

/** A file as the mapping sees it: where each slot comes from. */
export interface BoundTable {
  /** Index of the file within the snapshot. */
  readonly file: number;
  /** The header behind each slot; undefined where this file has no such column. */
  readonly headers: readonly (string | undefined)[];
}

/** A row reduced to the cells that the mapping uses, by slot; undefined is a column that the file lacks. */
export interface SourceRow {
  readonly table: BoundTable;
  /** Position in the whole source, from 0. */
  readonly seq: number;
  readonly line: number;
  readonly cells: readonly (string | undefined)[];
}

/** A row whose cells do not stand under their headers. */
export interface MisalignedRow {
  readonly row: SourceRow;
  readonly reason: Reason;
  /** The first cell, which nothing can have shifted. */
  readonly first: string;
  /** All cells as they stand, to see which keys they name. */
  readonly all: readonly string[];
  /** Whether the cell count is wrong (rather than a cell that does not fit its column). */
  readonly ragged: boolean;
}
