import type { WorkerLog } from './worker-log.ts';

const SAME_ERROR_EVERY_MS = 5_000;
/** Messages may contain job names: at most this many are remembered. */
const MOST_REMEMBERED = 100;

/** Logs Redis errors of all connections and attempts, each message at intervals; work goes on. */
export function errorLogger(log: WorkerLog): (error: Error) => void {
  const saidAt = new Map<string, number>();
  return ({ message }) => {
    const now = performance.now();
    if (now - (saidAt.get(message) ?? Number.NEGATIVE_INFINITY) < SAME_ERROR_EVERY_MS) return;
    if (saidAt.size >= MOST_REMEMBERED) saidAt.clear();
    saidAt.set(message, now);
    // The message alone: errors of Redis carry the command with its arguments.
    log.error({ reason: message }, 'trouble with Redis');
  };
}
