import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import { RemoteFailure } from './remote-failure.ts';

/** How long to go on after failures that may pass. */
export interface Patience {
  readonly retries: number;
  /** Before the first retry; three times as long before each further one, with jitter. */
  readonly firstWaitMs: number;
}

export const DEFAULT_PATIENCE: Patience = { retries: 4, firstWaitMs: 500 };

const LONGEST_WAIT_MS = 60_000;

/** Repeats an action whose failure may be temporary, until `patience` ends; rejects with the last failure, or with the signal's reason. */
export async function retrying<T>(
  attempt: () => Promise<T>,
  signal: AbortSignal,
  { retries, firstWaitMs }: Patience = DEFAULT_PATIENCE,
): Promise<T> {
  return await pRetry(attempt, {
    retries,
    minTimeout: firstWaitMs,
    factor: 3,
    maxTimeout: LONGEST_WAIT_MS,
    randomize: true,
    signal,
    shouldRetry: ({ error }) => error instanceof RemoteFailure && error.kind === 'passing',
    onFailedAttempt: async ({ error, retriesLeft }) => {
      if (!(error instanceof RemoteFailure) || retriesLeft === 0) return;
      const { retryAfterMs = 0 } = error;
      if (retryAfterMs > 0) await sleep(Math.min(retryAfterMs, LONGEST_WAIT_MS), undefined, { signal });
    },
  }).catch((error: unknown) => {
    // An aborted timer rejects with its own error, not with the reason of the signal.
    signal.throwIfAborted();
    throw error;
  });
}
