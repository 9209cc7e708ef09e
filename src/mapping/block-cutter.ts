import {
  type BlockEnd,
  type BlockFacts,
  isBlock,
  type RowsPiece,
  type TextPlace,
} from '../model/block-index.ts';
import { hashKey } from '../model/key-set.ts';
import type { RecordRows } from './record-rows.ts';

/** Half of the hash of the name by which rows were grouped, never 0; 0 where they have none. */
export function nameHash(name: string | null): number {
  if (name === null) return 0;
  const hash = { high: 0, low: 0 };
  hashKey(name, hash);
  return hash.high || 1;
}

/**
 * Cuts the rows of a table into blocks, as the records become known that they belong to. A block is kept only if its rows
 * are those of its records, one after another: rows at fault, repeated headers and the like make none.
 */
export class BlockCutter {
  readonly #table: Uint32Array;
  readonly #blockBytes: number;
  #pieces: { readonly piece: RowsPiece; readonly seq: number }[] = [];
  /** Where the open block begins; undefined if no record was taken since the last end. */
  #start: { readonly seq: number; readonly place: TextPlace } | undefined;
  #isOpen = false;
  #isSound = true;
  /** The row after the last record. */
  #next = 0;
  #first = nameHash(null);
  #last = nameHash(null);

  constructor(table: Uint32Array, blockBytes: number) {
    this.#table = table;
    this.#blockBytes = blockBytes;
  }

  /** Takes rows before their records; `seq` is that of the first row. */
  rows(piece: RowsPiece, seq: number): void {
    this.#pieces.push({ piece, seq });
  }

  /** Takes a record; returns the end of the block before it, if it begins another. */
  take(record: RecordRows): BlockEnd | undefined {
    const { rows, counted, fault, partial, key } = record;
    const seq = rows[0]?.seq;
    const place = seq === undefined ? undefined : this.#placeOf(seq);
    let end: BlockEnd | undefined;
    if (seq !== undefined && place !== undefined) {
      const size = place.offset - (this.#start?.place.offset ?? place.offset);
      if (size >= this.#blockBytes || !this.#isSound) end = this.end(place, seq);
      if (!this.#isOpen) {
        this.#start = { seq, place };
        this.#next = seq;
        this.#first = nameHash(key);
      }
    }
    this.#isOpen = true;
    this.#last = nameHash(key);
    const isWhole = rows.length === counted && rows.at(-1)?.seq === this.#next + counted - 1;
    if (fault !== undefined || partial || !isWhole || seq !== this.#next) this.#isSound = false;
    this.#next += counted;
    return end;
  }

  /** Ends the open block at a place where it is certain that a record ends; undefined if none is open. */
  end(place: TextPlace | undefined, seq: number): BlockEnd | undefined {
    if (!this.#isOpen) return undefined;
    const start = this.#start;
    const isWhole = this.#isSound && this.#next === seq;
    const block = isWhole && start && place ? this.#facts(start, { seq, place }) : null;
    this.#start = undefined;
    this.#isOpen = false;
    this.#isSound = true;
    const from = place?.offset ?? Number.POSITIVE_INFINITY;
    this.#pieces = this.#pieces.filter(({ piece: { offset, bytes } }) => offset + bytes.length > from);
    return { kind: 'block-end', block };
  }

  #placeOf(seq: number): TextPlace | undefined {
    for (const { piece, seq: first } of this.#pieces) {
      const index = seq - first;
      const row = piece.rows[index];
      const [offset, blankLines] = [piece.offsets[index], piece.blankLines[index]];
      if (row !== undefined && offset !== undefined && blankLines !== undefined)
        return { offset, line: row.line, blankLines };
    }
    return undefined;
  }

  #facts(
    from: { readonly seq: number; readonly place: TextPlace },
    to: { readonly seq: number; readonly place: TextPlace },
  ): BlockFacts | null {
    const [start, end] = [from.place.offset, to.place.offset];
    const parts: Uint8Array[] = [];
    let reached = start;
    for (const { piece } of this.#pieces) {
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
      first: this.#first,
      last: this.#last,
      table: this.#table,
    };
  }
}
