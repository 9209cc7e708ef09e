import { json } from 'node:stream/consumers';
import { z } from 'zod';
import type { Traffic } from '../../model/traffic.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import { Latencies } from './latencies.ts';
import { TrafficLog, trafficOf } from './traffic-log.ts';

const VERSION = 1;
const FILE_NAME = /^traffic-[a-z0-9]+\.json$/;

const logSchema = z.object({
  version: z.literal(VERSION),
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

/** Writes down what a process has seen; `writer` tells it from the others at work on the run. */
export async function writeTrafficLog(folder: RunFolder, writer: string, log: TrafficLog): Promise<void> {
  const written = {
    version: VERSION,
    lengthMs: log.lengthMs,
    stretches: log.stretches.map(({ latencies, ...stretch }) => ({
      ...stretch,
      latencies: latencies.counts(),
    })),
  } satisfies z.input<typeof logSchema>;
  await folder.write(`traffic-${writer}.json`, [JSON.stringify(written)]);
}

/** The files in which processes have written down their traffic. */
export async function trafficFiles(folder: RunFolder): Promise<readonly string[]> {
  return (await folder.list()).filter((name) => FILE_NAME.test(name));
}

/** What went over the wire for a run, over all its processes and continuations; null when nobody noted any. */
export async function readTraffic(folder: RunFolder): Promise<Traffic | null> {
  const logs = await Promise.all((await trafficFiles(folder)).map((name) => readLog(folder, name)));
  const joined = logs.reduce((one, other) => (one && other ? one.joinedBy(other) : (one ?? other)), null);
  return joined === null ? null : trafficOf(joined);
}

/** Null for one that cannot be read: it is for people only, and nothing is decided by it. */
async function readLog(folder: RunFolder, name: string): Promise<TrafficLog | null> {
  try {
    const { lengthMs, stretches } = logSchema.parse(await json(await folder.read(name)));
    return new TrafficLog(lengthMs, stretches);
  } catch {
    return null;
  }
}
