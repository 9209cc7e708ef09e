import { setTimeout as sleep } from 'node:timers/promises';
import { patience } from './pace.ts';
import { testOver } from './processes.ts';

const PATIENCE_MS = 60_000;

export interface UntilOptions {
  /** How often to look; short enough to strike in the middle of a run. Default 5 ms. */
  readonly everyMs?: number;
  /** How long to wait on a quiet machine. Default one minute. */
  readonly withinMs?: number;
}

/** Resolves with what the condition gives once that is truthy. Throws when it is not in time, or when the test is over. */
export async function until<T>(
  condition: () => T | Promise<T>,
  { everyMs = 5, withinMs = PATIENCE_MS }: UntilOptions = {},
): Promise<T & {}> {
  const late = AbortSignal.timeout(patience(withinMs));
  const over = testOver();
  for (;;) {
    const found = await condition();
    if (found) return found;
    over.throwIfAborted();
    if (late.aborted) throw new Error(`Waited ${patience(withinMs)} ms in vain for ${condition}`);
    await sleep(everyMs);
  }
}
