import type { Traffic } from '../../model/run.ts';

/** The initial length of a stretch. */
const FINEST_MS = 1_000;
/** With more stretches, each pair of neighbours becomes one. */
const MAX_INTERVALS = 300;

/** The events in one stretch of time; `from` and `to` are the observed part, in milliseconds since the epoch. */
export interface Stretch {
  from: number;
  to: number;
  requests: number;
  failed: number;
  retries: number;
  concurrency: number;
  pausedMs: number;
  readonly latencies: Latencies;
}

/**
 * Traffic in stretches of equal length, each beginning at a multiple of that length, so that logs of several
 * processes and times can be combined. The length doubles if there are too many.
 */
export class TrafficLog {
  #lengthMs: number;
  #stretches: Map<number, Stretch>;

  /** `lengthMs`: a second times a power of two. `stretches`: as stored. */
  constructor(lengthMs: number = FINEST_MS, stretches: readonly Stretch[] = []) {
    this.#lengthMs = lengthMs;
    this.#stretches = new Map();
    for (const stretch of stretches) this.#put(this.#stretches, stretch, followedBy);
    this.#bound();
  }

  get lengthMs(): number {
    return this.#lengthMs;
  }

  /** In order of time. */
  get stretches(): readonly Stretch[] {
    return [...this.#stretches.values()].sort((one, other) => one.from - other.from);
  }

  /** Whether nothing was sent, and no pause prevented sending. */
  get isSilent(): boolean {
    return this.#stretches.values().every(({ requests, pausedMs }) => requests + pausedMs === 0);
  }

  /** The stretch for a moment. A new stretch is observed from `since` on, the last observation of the previous one. */
  at(now: number, since: number): Stretch {
    const place = this.#placeOf(now);
    const known = this.#stretches.get(place);
    if (known !== undefined) return known;
    this.#stretches.set(place, emptyStretch(since, now));
    this.#bound();
    return this.at(now, since);
  }

  /** Adds the traffic of another process at the same time. */
  joinedBy(other: TrafficLog): TrafficLog {
    const joined = new TrafficLog(Math.max(this.#lengthMs, other.#lengthMs));
    const ours = new TrafficLog(joined.#lengthMs, this.stretches);
    const theirs = new TrafficLog(joined.#lengthMs, other.stretches);
    joined.#lengthMs = Math.max(ours.#lengthMs, theirs.#lengthMs);
    for (const { stretches } of [ours, theirs]) {
      for (const stretch of stretches) joined.#put(joined.#stretches, stretch, besides);
    }
    joined.#bound();
    return joined;
  }

  #placeOf(moment: number): number {
    return Math.floor(moment / this.#lengthMs);
  }

  #put(places: Map<number, Stretch>, stretch: Stretch, merge: Merge): void {
    // By its middle: its observation may begin slightly before its place.
    const place = this.#placeOf((stretch.from + stretch.to) / 2);
    const known = places.get(place);
    places.set(place, known === undefined ? copyOf(stretch) : merge(known, stretch));
  }

  #bound(): void {
    while (this.#stretches.size > MAX_INTERVALS) {
      this.#lengthMs *= 2;
      const halved = new Map<number, Stretch>();
      for (const stretch of this.stretches) this.#put(halved, stretch, followedBy);
      this.#stretches = halved;
    }
  }
}

type Merge = (one: Stretch, other: Stretch) => Stretch;

function emptyStretch(from: number, to: number): Stretch {
  return {
    from,
    to,
    requests: 0,
    failed: 0,
    retries: 0,
    concurrency: 0,
    pausedMs: 0,
    latencies: new Latencies(),
  };
}

function copyOf(stretch: Stretch): Stretch {
  return { ...stretch, latencies: new Latencies(stretch.latencies.counts()) };
}

/** Merges two consecutive stretches of one process. */
const followedBy: Merge = (one, other) => ({
  ...summed(one, other),
  concurrency: Math.max(one.concurrency, other.concurrency),
  pausedMs: one.pausedMs + other.pausedMs,
});

/** Merges the same stretch of two processes: a pause concerns both, so it counts once. */
const besides: Merge = (one, other) => ({
  ...summed(one, other),
  concurrency: one.concurrency + other.concurrency,
  pausedMs: Math.max(one.pausedMs, other.pausedMs),
});

function summed(one: Stretch, other: Stretch) {
  const latencies = new Latencies(one.latencies.counts());
  latencies.addAll(other.latencies);
  return {
    from: Math.min(one.from, other.from),
    to: Math.max(one.to, other.to),
    requests: one.requests + other.requests,
    failed: one.failed + other.failed,
    retries: one.retries + other.retries,
    latencies,
  };
}

/** The log for people. A stretch that was observed for less than half of its length is added to its neighbour. */
export function trafficOf(log: TrafficLog): Traffic {
  const samples: Stretch[] = [];
  for (const stretch of log.stretches) {
    const last = samples.at(-1);
    const isNext = last !== undefined && stretch.from - last.to < log.lengthMs;
    const isSliver = [stretch, last].some((one) => one !== undefined && one.to - one.from < log.lengthMs / 2);
    if (last !== undefined && isNext && isSliver) samples[samples.length - 1] = followedBy(last, stretch);
    else samples.push(stretch);
  }
  return {
    samples: samples.map(({ from, to, latencies, pausedMs, ...counts }) => ({
      at: from,
      ms: Math.max(1, to - from),
      ...counts,
      p50: latencies.percentile(0.5),
      p95: latencies.percentile(0.95),
      pausedMs: Math.min(pausedMs, Math.max(1, to - from)),
    })),
  };
}

/** The distance between neighbouring bounds: a percentile is at most 5 % off. */
const GROWTH = 1.1;
/** Shorter durations count as this. */
const MIN_MS = 0.1;
/** The last bound is beyond the longest time of an attempt, two minutes. */
const LAST_BUCKET = Math.ceil(Math.log(150_000 / MIN_MS) / Math.log(GROWTH));
const PER_LOG = 1 / Math.log(GROWTH);

/**
 * Durations of attempts, as counts between bounds that grow by a tenth: small, fast to update, and exact when summed
 * over stretches and processes, unlike percentiles. Node's own histogram cannot be stored.
 */
export class Latencies {
  readonly #counts: Map<number, number>;

  /** `counts`: the result of `counts()`. */
  constructor(counts: Iterable<readonly [bucket: number, count: number]> = []) {
    this.#counts = new Map(counts);
  }

  add(ms: number): void {
    const bucket = ms <= MIN_MS ? 0 : Math.min(LAST_BUCKET, Math.ceil(Math.log(ms / MIN_MS) * PER_LOG));
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + 1);
  }

  /** Adds the counts of another histogram. */
  addAll(other: Latencies): void {
    for (const [bucket, count] of other.#counts) {
      this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + count);
    }
  }

  /** The duration that this share (0 to 1) of all attempts did not exceed, in milliseconds; null without attempts. */
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

  /** Shortest first, for storage. */
  counts(): [bucket: number, count: number][] {
    return [...this.#counts].sort(([one], [other]) => one - other);
  }
}

/** The value with the same relative distance to both bounds of a bucket. */
function amid(bucket: number): number {
  if (bucket === 0) return MIN_MS;
  return (2 * MIN_MS * GROWTH ** bucket) / (1 + GROWTH);
}
