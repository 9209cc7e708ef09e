import {
  BLOCK_BYTES,
  type BlockEnd,
  type BlockFacts,
  type BlockFinder,
  type BlockIndex,
  isBlock,
  type KnownBlocks,
  type KnownPiece,
  type RowsPiece,
  type SourcePiece,
  type TextPlace,
  tableWords,
} from '../model/block-index.ts';
import { hashKey } from '../model/key-set.ts';
import type { SourceItem } from '../model/mapped-record.ts';
import type { Row } from '../model/row.ts';
import type { Binding } from './columns/bind-table.ts';
import type { RecordBounds } from './grouping/grouping.ts';
import type { RecordRows, SourceRow } from './record-rows.ts';

/** A table while it is read. */
export interface TableReading {
  readonly bounds: RecordBounds;
  /** The binding, which the first rows decide. */
  boundTo(batch: readonly Row[]): Binding;
  /** Whether a row is no data: a repeated header, or a heading that the mapping leaves out. */
  isHeading(row: Row): boolean;
  /** The next row, which is not taken. */
  row(row: Row): SourceRow;
  /** Takes rows; returns the records that are complete. */
  recordsOf(batch: readonly Row[]): readonly RecordRows[];
  /** The position of the next row. */
  seq(): number;
  skip(rows: number): void;
}

/** A block that is left out unless the next row turns out to continue its last record. */
interface PendingBlock {
  readonly piece: KnownPiece;
  readonly block: number;
  readonly place: TextPlace;
}

/** The text of a table, and what finds blocks in it. */
export interface BlockText {
  readonly pieces: (finder: () => BlockFinder | undefined) => AsyncIterable<SourcePiece>;
  /** These decide what bytes mean. */
  readonly context: string;
  readonly dialect: string;
  readonly header: readonly string[];
  readonly index: BlockIndex | undefined;
  /** The least size of a new block; affects only speed. */
  readonly blockBytes?: number | undefined;
}

/** The records of a table with the ends of blocks, and known blocks. */
export async function* walkBlocks(
  { dialect, pieces, context, header, index, blockBytes = BLOCK_BYTES }: BlockText,
  reading: TableReading,
  mapRows: (rows: RecordRows) => SourceItem,
): AsyncGenerator<readonly SourceItem[]> {
  const { bounds } = reading;
  let cutter: BlockCutter | undefined;
  let finder: BlockFinder | undefined;
  let pending: PendingBlock | undefined;
  let out: SourceItem[] = [];
  const begin = (rows: readonly Row[]): BlockCutter => {
    const { table, width, surplus } = reading.boundTo(rows);
    const words = tableWords(JSON.stringify([context, dialect, header, table.digest, width, surplus]));
    if (index !== undefined) finder = { index, table: words };
    cutter = blockCutter(words, blockBytes);
    return cutter;
  };
  const emit = (records: readonly RecordRows[]) => {
    for (const record of records) {
      const end = cutter?.take(record);
      if (end !== undefined) out.push(end);
      out.push(mapRows(record));
    }
  };
  const read = (piece: RowsPiece) => {
    (cutter ?? begin(piece.rows)).addRows(piece, reading.seq());
    emit(reading.recordsOf(piece.rows));
  };
  const leaveOut = ({ piece: { index }, block }: PendingBlock, to = block) => {
    pending = undefined;
    const known: KnownBlocks = { kind: 'known-blocks', index, from: block, to };
    reading.skip(index.total(known).rows);
    out.push(known);
  };
  const readBlock = ({ piece, block, place }: PendingBlock) => {
    pending = undefined;
    read(piece.rowsOf(block, place));
  };
  const takeKnown = (known: PendingBlock) => {
    const first = known.piece.index.first(known.block);
    if (pending !== undefined) {
      const last = pending.piece.index.last(pending.block);
      if (known.block === pending.block + 1 || !isSame(last, first)) leaveOut(pending);
      else readBlock(pending);
    }
    const ended = bounds.endBefore((name) => isSame(nameHash(name), first));
    if (ended === undefined) {
      readBlock(known);
      return;
    }
    emit(ended);
    const end = cutter?.end(known.place, reading.seq());
    if (end !== undefined) out.push(end);
    pending = known;
  };
  for await (const piece of pieces(() => finder)) {
    if (piece.kind === 'known-blocks') {
      const { index, from, to, last } = piece;
      let { place } = piece;
      for (let block = from; block <= to && pending?.piece !== piece; block++) {
        takeKnown({ piece, block, place });
        place = index.after(block, place);
      }
      // The others follow it as they did.
      if (pending?.piece === piece && pending.block < to) {
        leaveOut(pending, to - 1);
        pending = { piece, block: to, place: last };
      }
    } else {
      if (pending !== undefined) {
        const last = pending.piece.index.last(pending.block);
        const [row] = piece.rows;
        const begins =
          row !== undefined &&
          !reading.isHeading(row) &&
          bounds.begins(reading.row(row), (name) => isSame(nameHash(name), last));
        if (begins) leaveOut(pending);
        else readBlock(pending);
      }
      read(piece);
    }
    if (out.length > 0) yield out;
    out = [];
  }
  // The next file may continue its last record.
  if (pending !== undefined) readBlock(pending);
  const end = cutter?.end(undefined, reading.seq());
  if (end !== undefined) out.push(end);
  if (out.length > 0) yield out;
}

/** Different names may have the same hash: then rows are read all the same. */
function isSame(one: number, other: number): boolean {
  return one === other && one !== 0;
}

/** Half of the hash of the name by which rows were grouped, never 0; 0 where they have none. */
function nameHash(name: string | null): number {
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

type BlockCutter = ReturnType<typeof blockCutter>;

/**
 * Cuts the rows of a table into blocks, as the records become known that they belong to. A block is kept only if its rows
 * are those of its records, one after another: rows at fault, repeated headers and the like make none.
 */
function blockCutter(table: Uint32Array, blockBytes: number) {
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
