import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import threads, { isMainThread, Worker } from 'node:worker_threads';

/** What a process took, in milliseconds of the processor and MiB. */
export interface Usage {
  readonly cpuMs: number;
  readonly peakMib: number;
  /** The longest time in which its main thread served nothing else, of a server since its first request. Of the processor. */
  readonly longestTurnMs: number;
}

const file = process.env['STOREFERRY_USAGE'];

// Loaded by `--import` into a command; its threads have the same environment.
if (file !== undefined && isMainThread) {
  const usage = watchTurns();
  process.on('exit', () => writeFileSync(file, JSON.stringify(usage())));
  const busy = busyFile(file);
  Reflect.set(
    threads,
    'Worker',
    class extends Worker {
      constructor(...args: ConstructorParameters<typeof Worker>) {
        super(...args);
        if (/convert-thread|guess-thread/.test(String(args[0]))) watchThread(this, busy);
      }
    },
  );
  syncBuiltinESMExports();
}

/** The file that is there while a thread of the process converts or guesses. */
export function busyFile(usage: string): string {
  return `${usage}.busy`;
}

/** A thread has started, and works on its input. */
const BUSY_MS = 400;

function watchThread(worker: Worker, busy: string): void {
  const asking = setInterval(async () => {
    const { user, system } = await worker.cpuUsage().catch(() => ({ user: 0, system: 0 }));
    if ((user + system) / 1_000 > BUSY_MS) writeFileSync(busy, '');
  }, 20).unref();
  worker.on('exit', () => {
    clearInterval(asking);
    rmSync(busy, { force: true });
  });
}

/** Measures from now on; the result is what was taken so far. */
export function watchTurns(): () => Usage {
  let last = process.threadCpuUsage();
  const before = process.cpuUsage();
  let longestTurnMs = 0;
  const turn = () => {
    const { user, system } = process.threadCpuUsage(last);
    last = process.threadCpuUsage();
    longestTurnMs = Math.max(longestTurnMs, (user + system) / 1_000);
  };
  const turning = setInterval(turn, 20).unref();
  const serve = () => {
    unsubscribe('http.server.request.start', serve);
    turn();
    longestTurnMs = 0;
  };
  subscribe('http.server.request.start', serve);
  return () => {
    clearInterval(turning);
    turn();
    const { user, system } = process.cpuUsage(before);
    return { cpuMs: (user + system) / 1_000, peakMib: process.resourceUsage().maxRSS / 1_024, longestTurnMs };
  };
}
