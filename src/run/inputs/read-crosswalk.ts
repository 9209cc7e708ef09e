import type { CrosswalkSpec } from '../../config/job/job.ts';
import { type Crosswalk, columnsNamed, lookupKey } from '../../mapping/lookup-table.ts';
import { type HashKey, hashKey } from '../../model/key-set.ts';
import { blankCellsBeyond, type Row } from '../../model/row.ts';
import { MappingError } from '../../model/storeferry-error.ts';
import { listHeaders } from '../../text/printable.ts';

const PAGE_BITS = 20;
const PAGE_BYTES = 1 << PAGE_BITS;
/** Positions have 32 bits. */
const MAX_PAGES = 1 << (32 - PAGE_BITS);
/** The header of an entry: its number, its hash, and its length in bytes. */
const HASH_AT = 8;
const LENGTH_AT = 12;
const BYTES_AT = 16;
const FIRST_SLOTS = 1 << 10;
/** A UTF-16 unit takes at most three bytes in UTF-8. */
const BYTES_PER_UNIT = 3;

/**
 * An index from millions of texts to numbers. Entries are stored as bytes, one after the other, in pages; a hash
 * table has their positions. A million e-mail addresses take about 60 MB, a third of a Map. The index compares the
 * texts themselves, because a hash alone would sometimes confuse two contacts.
 */
export class CrosswalkIndex {
  readonly #hashKey: HashKey;
  readonly #hash = { high: 0, low: 0 };
  readonly #pages: Buffer[] = [];
  /** How much of the last page is used. */
  #used = PAGE_BYTES;
  #size = 0;
  /** Open addressing: positions of entries, counted from 1; 0 is a free slot. */
  #slots = new Uint32Array(FIRST_SLOTS);
  /** The searched text as bytes. */
  #asked = Buffer.allocUnsafe(256);

  /** Tests use a poor hash to show that equal hashes do not confuse contacts. */
  constructor(hash: HashKey = hashKey) {
    this.#hashKey = hash;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds the text with its number. If the text is already there, it returns the existing number instead. */
  add(text: string, number: number): number | undefined {
    const { hash, length } = this.#ask(text);
    const slot = this.#slotOf(hash, length);
    const known = this.#slots[slot] ?? 0;
    if (known !== 0) return this.#numberAt(known - 1);
    this.#slots[slot] = this.#keep(hash, length, number) + 1;
    this.#size += 1;
    if (this.#size * 4 > this.#slots.length * 3) this.#spread();
    return undefined;
  }

  /** The number of the text; undefined if it is not there. */
  get(text: string): number | undefined {
    // A lone surrogate has no UTF-8 encoding, so it would match another text.
    if (!text.isWellFormed()) return undefined;
    const { hash, length } = this.#ask(text);
    const found = this.#slots[this.#slotOf(hash, length)] ?? 0;
    return found === 0 ? undefined : this.#numberAt(found - 1);
  }

  #ask(text: string): { readonly hash: number; readonly length: number } {
    const most = text.length * BYTES_PER_UNIT;
    if (most > this.#asked.length) this.#asked = Buffer.allocUnsafe(most * 2);
    this.#hashKey(text, this.#hash);
    return { hash: this.#hash.high, length: this.#asked.write(text, 0, 'utf8') };
  }

  /** The slot of the text in the buffer, or the free slot for it. */
  #slotOf(hash: number, length: number): number {
    const last = this.#slots.length - 1;
    for (let slot = hash & last; ; slot = (slot + 1) & last) {
      const position = this.#slots[slot] ?? 0;
      if (position === 0 || this.#isAt(position - 1, hash, length)) return slot;
    }
  }

  #isAt(position: number, hash: number, length: number): boolean {
    const page = this.#pageOf(position);
    const at = position & (PAGE_BYTES - 1);
    if (page.readUInt32LE(at + HASH_AT) !== hash || page.readUInt32LE(at + LENGTH_AT) !== length)
      return false;
    const from = at + BYTES_AT;
    return this.#asked.compare(page, from, from + length, 0, length) === 0;
  }

  #numberAt(position: number): number {
    return this.#pageOf(position).readDoubleLE(position & (PAGE_BYTES - 1));
  }

  #pageOf(position: number): Buffer {
    const page = this.#pages[position >>> PAGE_BITS];
    if (page === undefined) throw new Error(`No entry at ${position}`);
    return page;
  }

  /** Appends the text in the buffer, and returns its position. */
  #keep(hash: number, length: number, number: number): number {
    const bytes = BYTES_AT + length;
    let page = this.#pages.at(-1);
    if (page === undefined || this.#used + bytes > page.length) {
      if (this.#pages.length === MAX_PAGES) throw new RangeError('More than 4 GiB of text');
      page = Buffer.allocUnsafeSlow(Math.max(PAGE_BYTES, bytes));
      this.#pages.push(page);
      this.#used = 0;
    }
    const at = this.#used;
    page.writeDoubleLE(number, at);
    page.writeUInt32LE(hash, at + HASH_AT);
    page.writeUInt32LE(length, at + LENGTH_AT);
    this.#asked.copy(page, at + BYTES_AT, 0, length);
    this.#used += bytes;
    return (this.#pages.length - 1) * PAGE_BYTES + at;
  }

  /** Doubles the slots, so that a quarter of them is always free and probing stays short. */
  #spread(): void {
    const slots = new Uint32Array(this.#slots.length * 2);
    const last = slots.length - 1;
    for (const position of this.#slots) {
      if (position === 0) continue;
      const entry = position - 1;
      let slot = this.#pageOf(entry).readUInt32LE((entry & (PAGE_BYTES - 1)) + HASH_AT) & last;
      while (slots[slot] !== 0) slot = (slot + 1) & last;
      slots[slot] = position;
    }
    this.#slots = slots;
  }
}

/**
 * Reads the rows of a crosswalk into memory, which a million lines fit in easily: looking an id up must not wait. Lines
 * without a value or an id are passed over. MappingError where a column is not there or one value has two ids.
 */
export async function readCrosswalk(
  { match, field = match, id }: Pick<CrosswalkSpec, 'match' | 'field' | 'id'>,
  path: string,
  header: readonly string[],
  rows: AsyncIterable<readonly Row[]>,
): Promise<Crosswalk> {
  const matchAt = columnAt(header, match, path);
  const idAt = columnAt(header, id, path);
  let width: number | undefined;
  const index = new CrosswalkIndex();
  for await (const batch of rows) {
    width ??= header.length + blankCellsBeyond(header, batch);
    for (const { cells, line } of batch) {
      const place = { file: path, line };
      if (cells.length !== width) {
        const message = `The row has ${cells.length} cells under ${header.length} headers, so its id may be another's.`;
        throw new MappingError(message, {
          place,
          hint: 'Look for a missing or extra quote or delimiter.',
        });
      }
      const value = lookupKey(cells[matchAt] ?? '');
      const found = (cells[idAt] ?? '').trim();
      if (value === '' || found === '') continue;
      const number = idOf(found);
      const known = index.add(value, number);
      if (known !== undefined && !Object.is(known, number)) {
        throw new MappingError(
          `The crosswalk has two ids for the same ${match}: ${shown(known)} in an earlier line, and ${shown(number)} here.`,
          { place, hint: 'Delete one of the two lines.' },
        );
      }
    }
  }
  return { match: field, file: path, find: (value) => index.get(lookupKey(value)) };
}

/** The store's id as a number; NaN for other texts, which rejects the contact that uses it. */
function idOf(text: string): number {
  const digits = /^0*([0-9]{1,15})(?:\.0+)?$/.exec(text)?.[1];
  return digits === undefined ? Number.NaN : Number(digits);
}

function shown(id: number): string {
  return Number.isNaN(id) ? 'one that is not a whole number' : String(id);
}

/** What to do if a crosswalk lacks a column that the job names. */
export const CROSSWALK_COLUMN_HINT =
  'Both columns may have any name. The job names them with `match` and `id` of the crosswalk. If the field of the contact has another name than the column, name it with `field`.';

function columnAt(header: readonly string[], name: string, file: string): number {
  const found = columnsNamed(header, name);
  const [at] = found;
  if (at !== undefined && found.length === 1) return at;
  const message =
    at === undefined
      ? `There is no column '${name}'; columns found: ${listHeaders(header, [])}.`
      : `The column '${name}' occurs more than once: columns ${found.map((index) => index + 1).join(', ')}.`;
  throw new MappingError(message, {
    place: { file, line: 1 },
    hint: at === undefined ? CROSSWALK_COLUMN_HINT : 'Rename or remove all but one of them.',
  });
}
