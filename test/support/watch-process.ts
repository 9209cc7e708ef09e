import { existsSync, writeFileSync } from 'node:fs';
import { createHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded into a process with `node --import`. When the process ends, it writes these measurements to the file that
 * STOREFERRY_WATCH names. The event loop is measured once the file STOREFERRY_WATCH_FROM exists, because
 * loading the program is one long turn for every source.
 */
export interface Watched {
  readonly maxRssMib: number;
  /** The 99.9th percentile of how long the event loop was held up, in milliseconds. */
  readonly loopDelayMs: number;
  /** The same in CPU milliseconds of this thread, so other processes on the machine do not count. */
  readonly loopWorkMs: number;
  /** What has been added to, or taken from, the prototypes that all objects share. */
  readonly polluted: readonly string[];
}

const TICK_MS = 10;
const PROTOTYPES = { Object: Object.prototype, Array: Array.prototype, Function: Function.prototype };

function propertyNames(): string[] {
  return Object.entries(PROTOTYPES).flatMap(([name, prototype]) =>
    Reflect.ownKeys(prototype).map((key) => `${name}.prototype.${String(key)}`),
  );
}

function watch(file: string, from: string): void {
  const before = new Set(propertyNames());
  const delay = monitorEventLoopDelay({ resolution: TICK_MS });
  const work = createHistogram();
  const workedUs = (): number => {
    const { user, system } = process.threadCpuUsage();
    return user + system;
  };
  let last: number | null = null;
  setInterval(() => {
    if (last === null) {
      if (!existsSync(from)) return;
      delay.enable();
    } else {
      work.record(Math.max(1, Math.round(workedUs() - last)));
    }
    last = workedUs();
  }, TICK_MS).unref();
  process.on('exit', () => {
    const after = new Set(propertyNames());
    const watched: Watched = {
      maxRssMib: process.resourceUsage().maxRSS / 1024,
      loopDelayMs: delay.percentile(99.9) / 1e6,
      loopWorkMs: work.percentile(99.9) / 1e3,
      polluted: [...before.symmetricDifference(after)],
    };
    writeFileSync(file, JSON.stringify(watched));
  });
}

const { STOREFERRY_WATCH: file, STOREFERRY_WATCH_FROM: from } = process.env;
if (isMainThread && file !== undefined && from !== undefined) watch(file, from);
