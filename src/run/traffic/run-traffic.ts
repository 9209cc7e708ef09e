import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { countUnder, type DeepReadonly, sumOf, withoutAbsent } from '../../model/json-object.ts';
import { answerDifferencesSchema, type Traffic } from '../../model/run.ts';
import { findJson, type RunFolder } from '../../state/artifacts.ts';
import type { OnEnded, Storefront } from '../../storefront/storefront.ts';
import { type AnswerTally, answerTally, mergeAnswers } from '../answer-tally.ts';

/** The sampling interval of limits and pauses, which is also the accuracy of pauses. */
const LOOK_EVERY_MS = 250;
/** At most this much of the record is lost if the process is killed. */
const WRITE_EVERY_MS = 10_000;

/** Records the traffic of a run. */
export type RunTraffic = ReturnType<typeof runTraffic>;

/**
 * Records the traffic that this process sends for one run. An attempt costs a few counters. The record is in the
 * run's folder after the last sender has ended.
 */
export function runTraffic(folder: RunFolder, clock: () => number) {
  /** Distinguishes this process from others that work on the run. */
  const writer = randomUUID().slice(0, 8);
  const [began, steady] = [clock(), performance.now()];
  // The system clock may be set; the record must not jump.
  const present = () => began + Math.round(performance.now() - steady);
  const log = trafficLog();
  const answers = answerTally();
  let current = log.at(began, began);
  let seenAt = began;
  let writtenAt = began;
  let writing = Promise.resolve();
  let senders = 0;
  let timer: NodeJS.Timeout | undefined;

  const look = (storefront: Pick<Storefront, 'stats'>) => {
    const now = present();
    const { limit, pausedForMs, breakerOpen } = storefront.stats();
    current = log.at(now, seenAt);
    current.to = Math.max(current.to, now);
    current.concurrency = Math.max(current.concurrency, limit);
    if (breakerOpen || pausedForMs > 0) current.pausedMs += Math.max(0, now - seenAt);
    seenAt = now;
  };
  /** One write after the other. A failure ends no run: where answers are missing, `maxAltered` of a wave says that it cannot judge. */
  const write = () => {
    writtenAt = present();
    if (!log.isSilent())
      writing = writing.then(() => writeTrafficLog(folder, writer, log, answers)).catch(() => {});
    return writing;
  };
  const onEnded: OnEnded = (ms, failed, retry) => {
    current.requests++;
    if (failed) current.failed++;
    if (retry) current.retries++;
    addLatency(current.latencies, ms);
  };
  return {
    /** For the options of each request. */
    onEnded,
    /** How the answers that this process got differ from what it sent. */
    answers,
    /** Whether anything is being sent at the moment. */
    isOpen: () => senders > 0,
    /** Records while `send` works; several may work at the same time. Fails only if `send` fails. */
    async during<Result>(
      storefront: Pick<Storefront, 'stats'>,
      send: () => Promise<Result>,
    ): Promise<Result> {
      if (senders++ === 0) {
        seenAt = present();
        look(storefront);
        timer = setInterval(() => {
          look(storefront);
          if (seenAt - writtenAt >= WRITE_EVERY_MS) void write();
        }, LOOK_EVERY_MS).unref();
      }
      try {
        return await send();
      } finally {
        look(storefront);
        if (--senders === 0) {
          clearInterval(timer);
          await write();
        }
      }
    },
  };
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
      latencies: z.array(z.tuple([z.int(), z.int()])).transform((counts) => new Map(counts)),
    }),
  ),
});

/** Writes the record of a process; `writer` distinguishes it from other records. */
async function writeTrafficLog(folder: RunFolder, writer: string, log: TrafficLog, answers: AnswerTally) {
  const written = {
    version: VERSION,
    answers: answers.summary(),
    lengthMs: log.lengthMs(),
    stretches: log
      .stretches()
      .map(({ latencies, ...stretch }) => ({ ...stretch, latencies: [...latencies] })),
  } satisfies DeepReadonly<z.input<typeof logSchema>>;
  await folder.write(`traffic-${writer}.json`, [JSON.stringify(written)]);
}

/** The files in which processes have recorded their traffic. */
export async function trafficFiles(folder: RunFolder): Promise<readonly string[]> {
  return (await folder.list()).filter((name) => FILE_NAME.test(name));
}

/** The requests of a run over all its processes and continuations; null if none are recorded. */
export async function readTraffic(folder: RunFolder): Promise<Traffic | null> {
  // What cannot be read is left out, as what could not be written.
  const read = (await trafficFiles(folder)).map((name) =>
    findJson(folder, name, logSchema).catch(() => undefined),
  );
  const logs = withoutAbsent(await Promise.all(read));
  if (logs.length === 0) return null;
  const traffic = trafficOf(
    logs.map(({ lengthMs, stretches }) => trafficLog(lengthMs, stretches)).reduce(joinLogs),
  );
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

type Merge = (one: Stretch, other: Stretch) => Stretch;

/** The traffic of a process, or of several. */
export type TrafficLog = ReturnType<typeof trafficLog>;

/**
 * Traffic in stretches of equal length, each beginning at a multiple of that length, so that logs of several
 * processes and times can be combined. The length, a second times a power of two, doubles if there are too many.
 */
export function trafficLog(
  initialMs: number = FINEST_MS,
  known: readonly Stretch[] = [],
  merge: Merge = followedBy,
) {
  let lengthMs = initialMs;
  let byPlace = new Map<number, Stretch>();
  const placeOf = (moment: number) => Math.floor(moment / lengthMs);
  const put = (stretch: Stretch, mergeWith: Merge) => {
    // By its middle: its observation may begin slightly before its place.
    const place = placeOf((stretch.from + stretch.to) / 2);
    const there = byPlace.get(place);
    byPlace.set(place, there === undefined ? stretch : mergeWith(there, stretch));
  };
  /** In order of time. */
  const stretches = (): readonly Stretch[] =>
    [...byPlace.values()].sort((one, other) => one.from - other.from);
  const bound = () => {
    while (byPlace.size > MAX_INTERVALS) {
      const finer = stretches();
      lengthMs *= 2;
      byPlace = new Map();
      for (const stretch of finer) put(stretch, followedBy);
    }
  };
  for (const stretch of known) put(stretch, merge);
  bound();
  return {
    lengthMs: () => lengthMs,
    stretches,
    /** Whether nothing was sent, and no pause prevented sending. */
    isSilent: () => byPlace.values().every(({ requests, pausedMs }) => requests + pausedMs === 0),
    /** The stretch for a moment. A new stretch is observed from `since` on, the last observation of the previous one. */
    at(now: number, since: number): Stretch {
      if (!byPlace.has(placeOf(now))) {
        const counts = { requests: 0, failed: 0, retries: 0, concurrency: 0, pausedMs: 0 };
        byPlace.set(placeOf(now), { from: since, to: now, ...counts, latencies: new Map() });
        bound();
      }
      return byPlace.get(placeOf(now)) ?? this.at(now, since);
    },
  };
}

/** The traffic of two processes at the same time. */
export function joinLogs(one: TrafficLog, other: TrafficLog): TrafficLog {
  const lengthMs = Math.max(one.lengthMs(), other.lengthMs());
  const both = [one, other].map((log) => trafficLog(lengthMs, log.stretches()));
  return trafficLog(
    Math.max(...both.map((log) => log.lengthMs())),
    both.flatMap((log) => log.stretches()),
    besides,
  );
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
  return {
    from: Math.min(one.from, other.from),
    to: Math.max(one.to, other.to),
    requests: one.requests + other.requests,
    failed: one.failed + other.failed,
    retries: one.retries + other.retries,
    latencies: joinLatencies(one.latencies, other.latencies),
  };
}

/** The log for people. A stretch that was observed for less than half of its length is added to its neighbour. */
export function trafficOf(log: TrafficLog): Traffic {
  const samples: Stretch[] = [];
  for (const stretch of log.stretches()) {
    const last = samples.at(-1);
    const isNext = last !== undefined && stretch.from - last.to < log.lengthMs();
    const isSliver = [stretch, last].some(
      (one) => one !== undefined && one.to - one.from < log.lengthMs() / 2,
    );
    if (last !== undefined && isNext && isSliver) samples[samples.length - 1] = followedBy(last, stretch);
    else samples.push(stretch);
  }
  return {
    samples: samples.map(({ from, to, latencies, pausedMs, ...counts }) => ({
      at: from,
      ms: Math.max(1, to - from),
      ...counts,
      p50: percentile(latencies, 0.5),
      p95: percentile(latencies, 0.95),
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
export type Latencies = Map<number, number>;

/** Counts an attempt of this duration. */
export function addLatency(latencies: Latencies, ms: number): void {
  countUnder(latencies, ms <= MIN_MS ? 0 : Math.min(LAST_BUCKET, Math.ceil(Math.log(ms / MIN_MS) * PER_LOG)));
}

/** The counts of both. */
export function joinLatencies(one: Latencies, other: Latencies): Latencies {
  const joined = new Map(one);
  for (const [bucket, count] of other) joined.set(bucket, (joined.get(bucket) ?? 0) + count);
  return joined;
}

/** The duration that this share (0 to 1) of all attempts did not exceed, in milliseconds; null without attempts. */
export function percentile(latencies: Latencies, share: number): number | null {
  let left = Math.max(1, Math.ceil(share * sumOf(latencies.values())));
  for (const [bucket, count] of [...latencies].sort(([one], [other]) => one - other)) {
    left -= count;
    if (left <= 0) return amid(bucket);
  }
  return null;
}

/** The value with the same relative distance to both bounds of a bucket. */
function amid(bucket: number) {
  if (bucket === 0) return MIN_MS;
  return (2 * MIN_MS * GROWTH ** bucket) / (1 + GROWTH);
}
