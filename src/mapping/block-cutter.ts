import type { BlockEnd, BlockFacts, RowsPiece, TextPlace } from '../model/block-index.ts';
import { hashKey, isBlock } from '../model/block-index.ts';
import type { RecordRows } from './record-rows.ts';

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
