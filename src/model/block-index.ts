import { hash } from 'node:crypto';
import type { Row } from './row.ts';

/**
 * Bytes after which a block ends with its record. With 4 KiB a third of the blocks changes where a tenth of the products
 * does; smaller blocks cost a hash each, and 14 words of memory.
 */
export const BLOCK_BYTES = 4 * 1024;
/** Rows are parsed to the end rather than up to a smaller block, so that edits do not split blocks without end. */
const MIN_BYTES = BLOCK_BYTES / 4;
/** So that the bytes of a block, and whatever else it has at most once a byte, fit into half a word. */
const MAX_BYTES = 2 ** 16 - 1;
/** The beginning of a block, by which it is found. */
const HEAD_BYTES = 48;
/** Blocks with equal beginnings that are compared at one place. */
const MAX_ALIKE = 4;

/*
 * A block in words of 32 bits: the words before its keys, then two words for the hash of each key. `first` and `last` are the
 * names of the first and the last record by which rows are grouped, half of their hashes. The digest is that of the bytes,
 * each bit changed by that of the table, which decides the meaning of the rows (`tableWords`).
 */
const [BYTES, RECORDS] = [0, 1];
const [LINES, ROWS] = [2, 3];
const BLANK_LINES = 4;
const HEAD = 3;
const FIRST = 4;
const LAST = 5;
const DIGEST = 6;
const KEYS = 10;
const DIGEST_WORDS = KEYS - DIGEST;

/** A 64-bit hash as two unsigned halves, reused between calls so that hashing allocates nothing. */
export interface KeyHash {
  high: number;
  low: number;
}

/** Writes the hash of a key to `into`. */
export type HashKey = (key: string, into: KeyHash) => void;

/** Two multiplicative lanes over the UTF-16 units, each mixed into the other; 0.1 µs for a key of 30 characters. */
export const hashKey: HashKey = (key, into) => {
  let high = 0x9e3779b9 ^ key.length;
  let low = 0x7f4a7c15;
  for (let index = 0; index < key.length; index++) {
    const unit = key.charCodeAt(index);
    high = Math.imul(high ^ unit, 0x01000193);
    low = Math.imul((low ^ unit) + 0x6d2b79f5, 0x5bd1e995);
    low ^= low >>> 15;
  }
  high = Math.imul(high ^ (high >>> 16) ^ low, 0x85ebca6b);
  low = Math.imul(low ^ (low >>> 13) ^ high, 0xc2b2ae35);
  into.high = (high ^ (high >>> 15)) >>> 0;
  into.low = (low ^ (low >>> 16)) >>> 0;
};

/** The part of a block that its bytes and its place among the rows decide. */
export interface BlockFacts {
  readonly bytes: Uint8Array;
  /** Physical lines, data rows and blank lines. */
  readonly lines: number;
  readonly rows: number;
  readonly blankLines: number;
  readonly first: number;
  readonly last: number;
  readonly table: Uint32Array;
}

/** A block that ends here: all records since the last mark belong to it. Null if it must not be kept. */
export interface BlockEnd {
  readonly kind: 'block-end';
  readonly block: BlockFacts | null;
}

/** Blocks of the index, from the one to the other, that stand in the source as they did. */
export interface KnownBlocks {
  readonly kind: 'known-blocks';
  readonly index: BlockIndex;
  readonly from: number;
  readonly to: number;
}

/** Where something begins in the text of a file. */
export interface TextPlace {
  /** In bytes of UTF-8. */
  readonly offset: number;
  readonly line: number;
  /** The blank lines before it. */
  readonly blankLines: number;
}

/** Rows with the text that they were read from. */
export interface RowsPiece {
  readonly kind: 'rows';
  readonly rows: readonly Row[];
  readonly bytes: Uint8Array;
  /** Where `bytes` begin. */
  readonly offset: number;
  /** Where each row begins, and the blank lines before it. */
  readonly offsets: readonly number[];
  readonly blankLines: readonly number[];
}

/** Blocks that need not be read. */
export interface KnownPiece extends KnownBlocks {
  readonly place: TextPlace;
  /** Where the last block begins. */
  readonly last: TextPlace;
  /** Reads one of the blocks all the same; `place` is that of the block. Only the last one after the next piece was read. */
  readonly rowsOf: (block: number, place: TextPlace) => RowsPiece;
}

/** A part of a table: rows, or blocks of an earlier run in their place. */
export type SourcePiece = RowsPiece | KnownPiece;

/** What finds the blocks of a table. */
export interface BlockFinder {
  readonly index: BlockIndex;
  readonly table: Uint32Array;
}

/** A block as the index stores it; `keys` has the two halves of the hash of each key. */
export function encodeBlock(
  { bytes, lines, rows, blankLines, first, last, table }: BlockFacts,
  keys: readonly number[],
): Uint32Array {
  const words = new Uint32Array(KEYS + keys.length);
  new Uint16Array(words.buffer).set([bytes.length, keys.length / 2, lines, rows, blankLines]);
  words.set([headOf(bytes, 0), first, last], HEAD);
  const digest = digestWords(bytes);
  for (let at = 0; at < DIGEST_WORDS; at++) words[DIGEST + at] = (digest[at] ?? 0) ^ (table[at] ?? 0);
  words.set(keys, KEYS);
  return words;
}

/** A digest of everything that decides what the rows of a table mean, besides the rows. */
export function tableWords(meaning: string): Uint32Array {
  return digestWords(Buffer.from(meaning));
}

/** The blocks of an earlier run, to be found in the source of the next one by their bytes. */
export class BlockIndex {
  readonly #words: Uint32Array;
  readonly #halves: Uint16Array;
  /** Where each block begins. */
  readonly #starts: Uint32Array;
  /** By the lowest bits of the head: the number of a block + 1, or 0; `#next` has the block after it with the same bits. */
  readonly #buckets: Uint32Array;
  readonly #next: Uint32Array;
  readonly #leftOut: Uint8Array;
  /** The size of the largest block, in bytes. */
  readonly longest: number;
  /** The records of all blocks. */
  readonly allRecords: number;

  /**
   * Of blocks that `encodeBlock` made, one after another. RangeError for other words. Blocks with fewer bytes than
   * `fewestBytes` are found only after the block before them.
   */
  constructor(words: Uint32Array, fewestBytes = MIN_BYTES) {
    const halves = new Uint16Array(words.buffer, words.byteOffset, 2 * words.length);
    const recordsAt = (start: number) => halves[2 * start + RECORDS] ?? 0;
    let blocks = 0;
    let at = 0;
    for (; at < words.length; at += KEYS + 2 * recordsAt(at)) blocks++;
    if (at !== words.length) throw new RangeError('the last block of the index is not complete');
    const starts = new Uint32Array(blocks);
    let longest = 0;
    for (let block = 0, start = 0; block < blocks; start += KEYS + 2 * recordsAt(start)) {
      starts[block++] = start;
      longest = Math.max(longest, halves[2 * start + BYTES] ?? 0);
    }
    this.#words = words;
    this.#halves = halves;
    this.longest = longest;
    this.allRecords = (words.length - KEYS * blocks) / 2;
    this.#starts = starts;
    this.#leftOut = new Uint8Array(blocks);
    this.#next = new Uint32Array(blocks);
    this.#buckets = new Uint32Array(2 ** Math.ceil(Math.log2(blocks + 1)));
    for (let block = blocks - 1; block >= 0; block--) {
      if (this.#half(block, BYTES) < fewestBytes) continue;
      const bucket = this.#word(block, HEAD) & (this.#buckets.length - 1);
      this.#next[block] = this.#buckets[bucket] ?? 0;
      this.#buckets[bucket] = block + 1;
    }
  }

  /**
   * The block that stands at this place, -1 if there is none: `expected`, or any other. `final`: the source ends with the
   * bytes. The caller knows that a row of this table begins there.
   */
  find(bytes: Uint8Array, from: number, table: Uint32Array, final: boolean, expected = -1): number {
    if (expected >= 0 && this.#stands(expected, bytes, from, table, final)) return expected;
    const head = headOf(bytes, from);
    let compared = 0;
    for (
      let next = this.#buckets[head & (this.#buckets.length - 1)] ?? 0;
      next > 0 && compared < MAX_ALIKE;
    ) {
      const block = next - 1;
      if (this.#word(block, HEAD) === head) {
        if (this.#stands(block, bytes, from, table, final)) return block;
        compared++;
      }
      next = this.#next[block] ?? 0;
    }
    return -1;
  }

  /** Finds no block any more that has one of these keys. */
  leaveOut(isMeant: (hash: Readonly<KeyHash>) => boolean): void {
    for (let block = 0; block < this.#starts.length; block++) {
      this.eachKey(block, (key) => {
        if (isMeant(key)) this.#leftOut[block] = 1;
      });
    }
  }

  /** Calls with the hash of each key; the hash is reused. */
  eachKey(block: number, take: (hash: Readonly<KeyHash>) => void): void {
    const start = (this.#starts[block] ?? 0) + KEYS;
    const hash: KeyHash = { high: 0, low: 0 };
    for (let at = start; at < start + 2 * this.records(block); at += 2) {
      hash.high = this.#words[at] ?? 0;
      hash.low = this.#words[at + 1] ?? 0;
      take(hash);
    }
  }

  bytes(block: number): number {
    return this.#half(block, BYTES);
  }

  /** Where the text continues after a block that begins at this place. */
  after(block: number, { offset, line, blankLines }: TextPlace): TextPlace {
    return {
      offset: offset + this.#half(block, BYTES),
      line: line + this.#half(block, LINES),
      blankLines: blankLines + this.#half(block, BLANK_LINES),
    };
  }

  rows(block: number): number {
    return this.#half(block, ROWS);
  }

  records(block: number): number {
    return this.#half(block, RECORDS);
  }

  /** The rows and records of several blocks. */
  total({ from, to }: Pick<KnownBlocks, 'from' | 'to'>): { readonly rows: number; readonly records: number } {
    let rows = 0;
    let records = 0;
    for (let block = from; block <= to; block++) {
      rows += this.rows(block);
      records += this.records(block);
    }
    return { rows, records };
  }

  /** The name of its first record. */
  first(block: number): number {
    return this.#word(block, FIRST);
  }

  /** The name of its last record. */
  last(block: number): number {
    return this.#word(block, LAST);
  }

  /** The blocks as they were encoded. */
  encoded({ from, to }: KnownBlocks): Uint32Array {
    const end = this.#starts[to + 1] ?? this.#words.length;
    return this.#words.subarray(this.#starts[from], end);
  }

  #word(block: number, at: number): number {
    return this.#words[(this.#starts[block] ?? 0) + at] ?? 0;
  }

  #half(block: number, at: number): number {
    return this.#halves[2 * (this.#starts[block] ?? 0) + at] ?? 0;
  }

  #stands(block: number, bytes: Uint8Array, from: number, table: Uint32Array, final: boolean): boolean {
    const end = from + this.#half(block, BYTES);
    if (block >= this.#starts.length || end > bytes.length || this.#leftOut[block] === 1) return false;
    // The second half of a line end belongs to the row before it.
    if (bytes[end - 1] === CR && (end === bytes.length ? !final : bytes[end] === LF)) return false;
    const digest = hash('sha256', bytes.subarray(from, end), 'binary');
    for (let at = 0; at < DIGEST_WORDS; at++) {
      if ((this.#word(block, DIGEST + at) ^ (table[at] ?? 0)) !== wordOf(digest, at)) return false;
    }
    return true;
  }
}

const LF = 0x0a;
const CR = 0x0d;

/** Whether a block may be kept: it must end with a line, and not be as large as a file. */
export function isBlock(bytes: Uint8Array): boolean {
  const last = bytes.at(-1);
  return (last === LF || last === CR) && bytes.length <= MAX_BYTES;
}

function headOf(bytes: Uint8Array, from: number) {
  let head = 0x811c9dc5;
  const end = Math.min(bytes.length, from + HEAD_BYTES);
  for (let at = from; at < end; at++) head = Math.imul(head ^ (bytes[at] ?? 0), 0x01000193);
  return head >>> 0;
}

function digestWords(bytes: Uint8Array): Uint32Array {
  const digest = hash('sha256', bytes, 'binary');
  return Uint32Array.from({ length: DIGEST_WORDS }, (_, at) => wordOf(digest, at));
}

/** As a signed number, of a digest as text: as a buffer, each takes memory outside of the heap, and a third more time. */
function wordOf(digest: string, at: number) {
  const byte = (index: number) => digest.charCodeAt(4 * at + index);
  return byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24);
}
