import type { Reason } from '../model/reason.ts';

/** A file as the mapping sees it. */
export interface BoundTable {
  /** Index of the file within the snapshot. */
  readonly file: number;
  /** The header behind each slot; undefined where this file has no such column. */
  readonly headers: readonly (string | undefined)[];
  /** The slots that the first column serves: only a cell put before it can have shifted what stands there. */
  readonly firstSlots: ReadonlySet<number>;
  /** Of all that decides which column each slot is, here and in the files before it that have other columns. */
  readonly digest: string;
}

/** Why the cells of a row cannot be trusted to stand under their headers. */
export interface Misalignment {
  readonly reason: Reason;
  /** All cells as they stand, trimmed: they may name the record that the row belongs to. */
  readonly cells: readonly string[];
  /** Whether the first cell is what the mapping expects of its column: otherwise even that one has shifted. */
  readonly firstFits: boolean;
}

/** A row reduced to the cells that the mapping uses, by slot; undefined is a column that the file lacks. */
export interface SourceRow {
  readonly table: BoundTable;
  /** Position in the whole source, from 0. */
  readonly seq: number;
  readonly line: number;
  readonly cells: readonly (string | undefined)[];
  readonly misaligned: Misalignment | undefined;
  /** Of all its cells: they are parts of one text, which is kept as long as any of them. */
  readonly letters: number;
}
