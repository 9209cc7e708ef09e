import { hash } from 'node:crypto';
import {
  type BlockEnd,
  type BlockFacts,
  hashKey,
  isBlock,
  type RowsPiece,
  type TextPlace,
} from '../model/block-index.ts';
import type { MappedRecord } from '../model/mapped-record.ts';
import type { Reason } from '../model/reason.ts';
import type { CellCurrencies, RowSpan } from '../model/row.ts';

/** A file from the view of the mapping. */
export interface BoundTable {
  /** Index of the file within the snapshot. */
  readonly file: number;
  /** The header of each slot; undefined if this file has no such column. */
  readonly headers: readonly (string | undefined)[];
  /** The slots of the first column: only an extra cell before it can shift them. */
  readonly firstSlots: ReadonlySet<number>;
  /**
   * A digest of everything that decides which column fills each slot, in this file and in earlier ones with other
   * columns.
   */
  readonly digest: string;
}

/** Why the cells of a row may not belong to their headers. */
export interface Misalignment {
  readonly reason: Reason;
  /** All cells of the row, trimmed: they may name its record. */
  readonly cells: readonly string[];
  /** Whether the first cell fits its column; otherwise even that one has shifted. */
  readonly firstFits: boolean;
}

/** A row reduced to the cells that the mapping uses, by slot; undefined is a column that the file lacks. */
export interface SourceRow {
  readonly table: BoundTable;
  /** Position in the whole source, from 0. */
  readonly seq: number;
  readonly line: number;
  readonly cells: readonly (string | undefined)[];
  /** By slot; undefined if no cell has one. */
  readonly currencies?: CellCurrencies | undefined;
  readonly misaligned: Misalignment | undefined;
  /** The total length of its cells: they are slices of one text, which stays in memory as long as any of them. */
  readonly chars: number;
  /** Whether all cells of the row before it are the same, also those that the mapping does not use. */
  readonly isCopy?: boolean;
}

/** The rows of one record. */
export interface RecordRows {
  /** The row that describes the record; undefined if none can be read. */
  readonly head: SourceRow | undefined;
  /** All rows whose cells can be trusted, in source order, including the head. */
  readonly rows: readonly SourceRow[];
  /** Rows other than the head that are referred to as children, in the order of the references. */
  readonly children: readonly SourceRow[];
  /** Further facts about each child in the references, besides its name. */
  readonly childOptions: readonly ReadonlyMap<string, string>[] | undefined;
  /** Why the record cannot be imported, whatever its cells contain. */
  readonly fault: Reason | undefined;
  /** Whether `fault` is no fault: the mapping leaves the row out on purpose. */
  readonly isLeftOut?: true;
  /** The key, if it is known without the head. */
  readonly key: string | null;
  readonly spans: readonly RowSpan[];
  /** The number of rows that this record accounts for. */
  readonly counted: number;
  readonly partial: boolean;
}

/** The record with other rows in the place of its own. */
export function withRows(record: RecordRows, change: (row: SourceRow) => SourceRow): RecordRows {
  return {
    ...record,
    head: record.head && change(record.head),
    rows: record.rows.map(change),
    children: record.children.map(change),
  };
}

/** The rows of a product, with those that its variants come from. */
export interface ProductRows {
  readonly record: RecordRows;
  readonly variantRows: readonly SourceRow[];
  /** Whether it has a file to sell. */
  readonly hasFile: boolean;
}

/** Makes a body that can be sent, or says why the record is left out on purpose. Throws Unreadable if the rows make no record. */
export type BuildRecord = (
  rows: RecordRows,
  key: string,
) => Pick<MappedRecord, 'body' | 'lacksPictures'> | { readonly skipped: Reason };

/** 22 characters of base64url hold 132 bits: enough to make equal digests of two records practically impossible. */
const LENGTH = 22;

/** The digest of a text, for memos and their parts. */
export function memoDigest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, LENGTH);
}

/**
 * A digest of everything that the mapping can read of a record: `context` (everything besides the rows), how the
 * columns of its files are bound, and the cells that the mapping uses. Equal memos give equal records, unless the
 * mapping depends on the time.
 * Unambiguous: it begins with the number of cells, row by row, and which rows are head and children; NUL precedes
 * every cell and is in none, because `csv` refuses it.
 */
export function memoOf(context: string, { head, rows, children, childOptions }: RecordRows): string {
  let table: BoundTable | undefined;
  let shape = `${context} ${rows.length}`;
  let cells = '';
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index];
    if (row === undefined) continue;
    if (row.table !== table) {
      table = row.table;
      shape += ` ${index}:${table.digest}`;
    }
    if (row.currencies !== undefined) shape += ` ${index}${JSON.stringify(row.currencies)}`;
    if (row === head && index > 0) shape += ` head ${index}`;
    cells += `\0${row.cells.join('\0')}`;
  }
  if (children.length > 0) shape += ` children ${children.map((child) => rows.indexOf(child)).join()}`;
  if (childOptions !== undefined) shape += JSON.stringify(childOptions.map((options) => [...options]));
  return memoDigest(shape + cells);
}

/** Different names may have the same hash: then rows are read all the same. */
export function isSame(one: number, other: number): boolean {
  return one === other && one !== 0;
}

/** Half of the hash of the name by which rows were grouped: never 0 for a name; 0 without one, which equals nothing. */
export function nameHash(name: string | null): number {
  if (name === null) return 0;
  const hash = { high: 0, low: 0 };
  hashKey(name, hash);
  return hash.high || 1;
}

/** A place between rows, by the row after it. */
interface RowPlace {
  readonly seq: number;
  readonly place: TextPlace;
}

/** What cuts a table. */
export type BlockCutter = ReturnType<typeof blockCutter>;

/**
 * Cuts the rows of a table into blocks, as the records become known that they belong to. A block is kept only if its rows
 * are those of its records, one after another: rows at fault, repeated headers and the like make none.
 */
export function blockCutter(table: Uint32Array, blockBytes: number) {
  let pieces: { readonly piece: RowsPiece; readonly seq: number }[] = [];
  /** Where the open block begins; undefined if no record was taken since the last end. */
  let start: RowPlace | undefined;
  let isOpen = false;
  let isSound = true;
  /** The row after the last record. */
  let next = 0;
  let first = nameHash(null);
  let last = nameHash(null);

  const placeOf = (seq: number): TextPlace | undefined => {
    for (const { piece, seq: firstSeq } of pieces) {
      const index = seq - firstSeq;
      const row = piece.rows[index];
      const [offset, blankLines] = [piece.offsets[index], piece.blankLines[index]];
      if (row !== undefined && offset !== undefined && blankLines !== undefined)
        return { offset, line: row.line, blankLines };
    }
    return undefined;
  };
  const factsOf = (from: RowPlace, to: RowPlace): BlockFacts | null => {
    const parts: Uint8Array[] = [];
    const end = to.place.offset;
    let reached = from.place.offset;
    for (const { piece } of pieces) {
      const { offset, bytes } = piece;
      // Several pieces may have the same bytes.
      if (offset > reached || offset + bytes.length <= reached) continue;
      parts.push(bytes.subarray(reached - offset, end - offset));
      reached = Math.min(end, offset + bytes.length);
    }
    const [only] = parts;
    const bytes = only !== undefined && parts.length === 1 ? only : Buffer.concat(parts);
    if (reached !== end || !isBlock(bytes)) return null;
    return {
      bytes,
      lines: to.place.line - from.place.line,
      rows: to.seq - from.seq,
      blankLines: to.place.blankLines - from.place.blankLines,
      first,
      last,
      table,
    };
  };
  /** Ends the open block at a place where it is certain that a record ends; undefined if none is open. */
  const end = (place: TextPlace | undefined, seq: number): BlockEnd | undefined => {
    if (!isOpen) return undefined;
    const block = isSound && next === seq && start && place ? factsOf(start, { seq, place }) : null;
    start = undefined;
    isOpen = false;
    isSound = true;
    const from = place?.offset ?? Number.POSITIVE_INFINITY;
    pieces = pieces.filter(({ piece: { offset, bytes } }) => offset + bytes.length > from);
    return { kind: 'block-end', block };
  };
  return {
    end,
    /** Takes rows before their records; `seq` is that of the first row. */
    addRows(piece: RowsPiece, seq: number) {
      pieces.push({ piece, seq });
    },
    /** Takes a record; returns the end of the block before it, if it begins another. */
    take({ rows, counted, fault, partial, key }: RecordRows): BlockEnd | undefined {
      const seq = rows[0]?.seq;
      const place = seq === undefined ? undefined : placeOf(seq);
      let ended: BlockEnd | undefined;
      if (seq !== undefined && place !== undefined) {
        const size = place.offset - (start?.place.offset ?? place.offset);
        if (size >= blockBytes || !isSound) ended = end(place, seq);
        if (!isOpen) {
          start = { seq, place };
          next = seq;
          first = nameHash(key);
        }
      }
      isOpen = true;
      last = nameHash(key);
      const isWhole = rows.length === counted && rows.at(-1)?.seq === next + counted - 1;
      if (fault !== undefined || partial || !isWhole || seq !== next) isSound = false;
      next += counted;
      return ended;
    },
  };
}
