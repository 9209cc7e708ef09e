/** Neighbouring bounds are this far apart, so what is read back is at most 5 % away from what was measured. */
const GROWTH = 1.1;
/** What is quicker counts as this. */
const SHORTEST_MS = 0.1;
/** The last bound is beyond the longest time that an attempt may take, two minutes. */
const LAST_BUCKET = Math.ceil(Math.log(150_000 / SHORTEST_MS) / Math.log(GROWTH));
const PER_LOG = 1 / Math.log(GROWTH);

/**
 * How long attempts took, as counts between bounds that grow by a tenth: small, quick to add to, and exact to add up
 * over stretches and processes, which percentiles are not. Node's own histogram cannot be written down.
 */
export class Latencies {
  readonly #counts: Map<number, number>;

  /** `counts`: as `counts()` gave them. */
  constructor(counts: Iterable<readonly [bucket: number, count: number]> = []) {
    this.#counts = new Map(counts);
  }

  add(ms: number): void {
    const bucket =
      ms <= SHORTEST_MS ? 0 : Math.min(LAST_BUCKET, Math.ceil(Math.log(ms / SHORTEST_MS) * PER_LOG));
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + 1);
  }

  /** Adds what the other has counted. */
  addAll(other: Latencies): void {
    for (const [bucket, count] of other.#counts) {
      this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + count);
    }
  }

  /** So many of all, as a share from 0 to 1, took no longer than these milliseconds; null of none. */
  percentile(share: number): number | null {
    const counts = this.counts();
    const total = counts.reduce((sum, [, count]) => sum + count, 0);
    let left = Math.max(1, Math.ceil(share * total));
    for (const [bucket, count] of counts) {
      left -= count;
      if (left <= 0) return amid(bucket);
    }
    return null;
  }

  /** Shortest first, for writing down. */
  counts(): [bucket: number, count: number][] {
    return [...this.#counts].sort(([one], [other]) => one - other);
  }
}

/** The value whose relative distance to both bounds of a bucket is the same. */
function amid(bucket: number): number {
  if (bucket === 0) return SHORTEST_MS;
  return (2 * SHORTEST_MS * GROWTH ** bucket) / (1 + GROWTH);
}
