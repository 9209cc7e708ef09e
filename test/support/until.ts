import { setTimeout as sleep } from 'node:timers/promises';
import { patience } from './pace.ts';
import { testOver } from './processes.ts';

const WITHIN_MS = 120_000;

export interface UntilOptions {
  /** How often to evaluate the condition. Default 5 ms, to act in the middle of a run; longer where it runs a command. */
  readonly everyMs?: number;
  /** How long to wait on a quiet machine. Default two minutes. */
  readonly withinMs?: number;
}

/** Resolves with the value of the condition once it is truthy. Throws if that takes too long, or if the test is over. */
export async function until<T>(
  condition: () => T | Promise<T>,
  { everyMs = 5, withinMs = WITHIN_MS }: UntilOptions = {},
): Promise<T & {}> {
  const late = AbortSignal.timeout(patience(withinMs));
  const over = testOver();
  for (;;) {
    const found = await condition();
    if (found) return found;
    over.throwIfAborted();
    if (late.aborted) throw new Error(`Not true within ${patience(withinMs)} ms: ${condition}`);
    await sleep(everyMs);
  }
}
