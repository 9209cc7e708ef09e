import type { Reason } from '../model/reason.ts';
import type { RowSpan } from '../model/row.ts';

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
  readonly chars: number;
}

/** The rows of one record. */
export interface RecordRows {
  /** The row that describes the record; undefined when none can be read. */
  readonly head: SourceRow | undefined;
  /** All rows whose cells can be trusted, in source order, the head among them. */
  readonly rows: readonly SourceRow[];
  /** Rows other than the head that are referred to as children, in the order of the references. */
  readonly children: readonly SourceRow[];
  /** What the references say of each child, where they say more than its name. */
  readonly childOptions: readonly ReadonlyMap<string, string>[] | undefined;
  /** Why the record cannot be imported, whatever its cells say. */
  readonly fault: Reason | undefined;
  /** The key, where it is known without the head. */
  readonly key: string | null;
  readonly spans: readonly RowSpan[];
  /** How many rows this record accounts for. */
  readonly counted: number;
  readonly torn: boolean;
}
