import { StateError } from '../../model/errors.ts';

/**
 * Waits for a worker to start: for `ms` milliseconds at most, and not beyond the signal. Rejects with the signal's
 * reason, or with a StateError when the time is over. What was opened by then is for the caller to close.
 */
export async function startWithin<Started>(
  ms: number,
  signal: AbortSignal,
  starting: Promise<Started>,
): Promise<Started> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  const timer = setTimeout(() => {
    reject(
      new StateError(`The worker did not start within ${ms / 1_000} s: Redis does not answer.`, {
        hint: 'Check REDIS_URL and the log of Redis, then start the worker again.',
      }),
    );
  }, ms);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([starting, ended]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
