import { randomUUID } from 'node:crypto';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import type { DeepReadonly } from '../../model/json-object.ts';
import { answersFoundSchema, type Traffic } from '../../model/run.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import type { OnEnded, Storefront } from '../../storefront/storefront.ts';
import { AnswerTally, joinedAnswers } from '../answer-tally.ts';
import { Latencies, TrafficLog, trafficOf } from './traffic-log.ts';

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
  answers: answersFoundSchema.exactOptional(),
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
    answers: answers.found(),
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
  const read = await Promise.all((await trafficFiles(folder)).map((name) => readLog(folder, name)));
  const logs = read.filter((one) => one !== null);
  const [first, ...others] = logs.map(({ log }) => log);
  if (first === undefined) return null;
  const traffic = trafficOf(others.reduce((one, other) => one.joinedBy(other), first));
  const answers = logs.flatMap((one) => one.answers ?? []);
  return answers.length === 0 ? traffic : { ...traffic, answers: joinedAnswers(answers) };
}

/** Null if it cannot be read: it is only information for people and decides nothing. */
async function readLog(folder: RunFolder, name: string) {
  try {
    const { lengthMs, stretches, answers } = logSchema.parse(await json(await folder.read(name)));
    return { log: new TrafficLog(lengthMs, stretches), answers };
  } catch {
    return null;
  }
}
