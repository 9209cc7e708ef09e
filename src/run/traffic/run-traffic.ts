import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { countUnder, type DeepReadonly, sumOf, withoutAbsent } from '../../model/json-object.ts';
import { answerDifferencesSchema, type Traffic } from '../../model/run.ts';
import { findJson, type RunFolder } from '../../state/artifacts.ts';
import type { OnEnded, Storefront } from '../../storefront/storefront.ts';
import { AnswerTally, mergeAnswers } from '../answer-tally.ts';

/** The sampling interval of limits and pauses, which is also the accuracy of pauses. */
const LOOK_EVERY_MS = 250;
/** At most this much of the record is lost if the process is killed. */
const WRITE_EVERY_MS = 10_000;

/**
 * Records the traffic that this process sends for one run. An attempt costs a few counters. The record is in the
 * run's folder after the last sender has ended.
 */
export class RunTraffic {
  readonly #folder: RunFolder;
  /** Distinguishes this process from others that work on the run. */
  readonly #writer = randomUUID().slice(0, 8);
  readonly #clock: () => number;
  readonly #log = new TrafficLog();
  /** How the answers that this process got differ from what it sent. */
  readonly answers = new AnswerTally();
  #current: ReturnType<TrafficLog['at']>;
  #seenAt: number;
  #writtenAt: number;
  #writing: Promise<void> = Promise.resolve();
  #senders = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(folder: RunFolder, clock: () => number) {
    this.#folder = folder;
    const [began, steady] = [clock(), performance.now()];
    // The system clock may be set; the record must not jump.
    this.#clock = () => began + Math.round(performance.now() - steady);
    this.#seenAt = began;
    this.#writtenAt = this.#seenAt;
    this.#current = this.#log.at(this.#seenAt, this.#seenAt);
  }

  /** For the options of each request. */
  readonly onEnded: OnEnded = (ms, failed, retry) => {
    const stretch = this.#current;
    stretch.requests++;
    if (failed) stretch.failed++;
    if (retry) stretch.retries++;
    stretch.latencies.add(ms);
  };

  /** Whether anything is being sent at the moment. */
  get isOpen(): boolean {
    return this.#senders > 0;
  }

  /** Records while `send` works; several may work at the same time. Fails only if `send` fails. */
  async during<Result>(storefront: Pick<Storefront, 'stats'>, send: () => Promise<Result>): Promise<Result> {
    this.#begin(storefront);
    try {
      return await send();
    } finally {
      this.#look(storefront);
      if (--this.#senders === 0) {
        clearInterval(this.#timer);
        await this.#write();
      }
    }
  }

  #begin(storefront: Pick<Storefront, 'stats'>): void {
    if (this.#senders++ > 0) return;
    this.#seenAt = this.#clock();
    this.#look(storefront);
    this.#timer = setInterval(() => {
      this.#look(storefront);
      if (this.#seenAt - this.#writtenAt >= WRITE_EVERY_MS) void this.#write();
    }, LOOK_EVERY_MS).unref();
  }

  #look(storefront: Pick<Storefront, 'stats'>): void {
    const now = this.#clock();
    const { limit, pausedForMs, breakerOpen } = storefront.stats();
    const stretch = this.#log.at(now, this.#seenAt);
    stretch.to = Math.max(stretch.to, now);
    stretch.concurrency = Math.max(stretch.concurrency, limit);
    if (breakerOpen || pausedForMs > 0) stretch.pausedMs += Math.max(0, now - this.#seenAt);
    this.#current = stretch;
    this.#seenAt = now;
  }

  /** One write after the other. A failure is ignored, because the record is only information for people. */
  #write(): Promise<void> {
    this.#writtenAt = this.#clock();
    if (this.#log.isSilent) return this.#writing;
    this.#writing = this.#writing
      .then(() => writeTrafficLog(this.#folder, this.#writer, this.#log, this.answers))
      .catch(() => {});
    return this.#writing;
  }
}

const VERSION = 1;
const FILE_NAME = /^traffic-[a-z0-9]+\.json$/;

const logSchema = z.object({
  version: z.literal(VERSION),
  answers: answerDifferencesSchema.exactOptional(),
  lengthMs: z.int().positive(),
  stretches: z.array(
    z.object({
      from: z.number(),
      to: z.number(),
      requests: z.int(),
      failed: z.int(),
      retries: z.int(),
      concurrency: z.int(),
      pausedMs: z.number(),
      latencies: z.array(z.tuple([z.int(), z.int()])).transform((counts) => new Latencies(counts)),
    }),
  ),
});

/** Writes the record of a process; `writer` distinguishes it from other records. */
async function writeTrafficLog(
  folder: RunFolder,
  writer: string,
  log: TrafficLog,
  answers: AnswerTally,
): Promise<void> {
  const written = {
    version: VERSION,
    answers: answers.summary(),
    lengthMs: log.lengthMs,
    stretches: log.stretches.map(({ latencies, ...stretch }) => ({
      ...stretch,
      latencies: latencies.counts(),
    })),
  } satisfies DeepReadonly<z.input<typeof logSchema>>;
  await folder.write(`traffic-${writer}.json`, [JSON.stringify(written)]);
}

/** The files in which processes have recorded their traffic. */
export async function trafficFiles(folder: RunFolder): Promise<readonly string[]> {
  return (await folder.list()).filter((name) => FILE_NAME.test(name));
}

/** The requests of a run over all its processes and continuations; null if none are recorded. */
export async function readTraffic(folder: RunFolder): Promise<Traffic | null> {
  // What cannot be read is left out: it is only information for people and decides nothing.
  const read = (await trafficFiles(folder)).map((name) =>
    findJson(folder, name, logSchema).catch(() => undefined),
  );
  const logs = withoutAbsent(await Promise.all(read));
  const [first, ...others] = logs.map(({ lengthMs, stretches }) => new TrafficLog(lengthMs, stretches));
  if (first === undefined) return null;
  const traffic = trafficOf(others.reduce((one, other) => one.joinedBy(other), first));
  const answers = logs.flatMap((one) => one.answers ?? []);
  return answers.length === 0 ? traffic : { ...traffic, answers: mergeAnswers(answers) };
}

/** The initial length of a stretch. */
const FINEST_MS = 1_000;
/** With more stretches, each pair of neighbours becomes one. */
const MAX_INTERVALS = 300;

/** The events in one stretch of time; `from` and `to` are the observed part, in milliseconds since the epoch. */
interface Stretch {
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
    countUnder(this.#counts, bucket);
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
    const total = sumOf(counts, ([, count]) => count);
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
