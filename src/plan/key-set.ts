import { type HashKey, hashKey, type KeyHash } from '../model/block-index.ts';

/** The earlier state of a key in a set: `noted` by skipped rows only, or `claimed` by a record or a rejection. */
type Membership = 'absent' | 'noted' | 'claimed';

const MIN_SLOTS = 1 << 10;
const CLAIMED_BIT = 1;

/**
 * A set of keys with 8 bytes per slot, of which it fills two to three quarters: a tenth of a Set of strings. It stores 63 bits of
 * each key's hash, so two keys in very many may be confused: callers must treat "present" as "check further" wherever
 * that could cost a record.
 */
export class KeySet {
  readonly #hashKey: HashKey;
  readonly #hash: KeyHash = { high: 0, low: 0 };
  /**
   * Open addressing: pairs of high and low halves; the last bit of the low half means claimed, and 0 0 is a free
   * slot.
   */
  #table: Uint32Array;
  #size = 0;

  /** `expected`: how many keys fit before it grows. */
  constructor(hash: HashKey = hashKey, expected = 0) {
    this.#hashKey = hash;
    this.#table = new Uint32Array(2 * Math.max(MIN_SLOTS, Math.ceil((expected * 10) / 7)));
  }

  get size(): number {
    return this.#size;
  }

  /** Adds the key, claiming or only noting it, and returns its earlier state. `lastHash` is its hash. */
  add(key: string, claim: boolean): Membership {
    this.#hashOf(key);
    return this.addHash(this.#hash, claim);
  }

  /** The hash of the last key that was added or looked up, until the next one. */
  get lastHash(): Readonly<KeyHash> {
    return this.#hash;
  }

  /** The same for a key of which only this set's hash is known. The last bit of `low` must be 0, except with `claim`. */
  addHash({ high, low: hashLow }: Readonly<KeyHash>, claim: boolean): Membership {
    const slot = slotOf(this.#table, high, hashLow);
    const low = this.#table[slot + 1] ?? 0;
    const wasClaimed = (low & CLAIMED_BIT) !== 0;
    const known = low !== 0 || this.#table[slot] !== 0;
    if (!known) {
      this.#table[slot] = high;
      this.#table[slot + 1] = claim ? hashLow | CLAIMED_BIT : hashLow;
      this.#size++;
      if (this.#size * 8 > this.#table.length * 3) this.#grow();
      return 'absent';
    }
    if (claim && !wasClaimed) this.#table[slot + 1] = low | CLAIMED_BIT;
    return wasClaimed ? 'claimed' : 'noted';
  }

  has(key: string): boolean {
    this.#hashOf(key);
    return this.hasHash(this.#hash);
  }

  hasHash({ high, low }: Readonly<KeyHash>): boolean {
    const slot = slotOf(this.#table, high, low);
    return this.#table[slot] !== 0 || this.#table[slot + 1] !== 0;
  }

  /** Leaves the hash in `#hash`, as it is stored. */
  #hashOf(key: string): void {
    const hash = this.#hash;
    this.#hashKey(key, hash);
    hash.low = (hash.low & ~CLAIMED_BIT) >>> 0;
    if (hash.high === 0 && hash.low === 0) hash.high = 1;
  }

  #grow(): void {
    const old = this.#table;
    const table = new Uint32Array(2 * Math.ceil(old.length * 0.75));
    for (let slot = 0; slot < old.length; slot += 2) {
      const high = old[slot] ?? 0;
      const low = old[slot + 1] ?? 0;
      if (high === 0 && low === 0) continue;
      const free = slotOf(table, high, low);
      table[free] = high;
      table[free + 1] = low;
    }
    this.#table = table;
  }
}

/** Linear probing from the place of the high half among all high halves; the claimed bit of `low` is ignored. */
function slotOf(table: Uint32Array, high: number, low: number) {
  let slot = 2 * Math.floor((high * (table.length / 2)) / 2 ** 32);
  while (true) {
    const heldHigh = table[slot] ?? 0;
    const heldLow = table[slot + 1] ?? 0;
    if (heldHigh === 0 && heldLow === 0) return slot;
    if (heldHigh === high && (heldLow | CLAIMED_BIT) === (low | CLAIMED_BIT)) return slot;
    slot = slot + 2 === table.length ? 0 : slot + 2;
  }
}
