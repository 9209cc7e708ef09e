import { StoreferryError } from '../../model/errors.ts';
import type { Finding, OnlineCheck } from './finding.ts';

const CHECK_TIMEOUT_MS = 10_000;

/**
 * Attempts all checks at the same time, each for ten seconds at most, whatever becomes of the others. The findings come
 * in the order of the checks. Never rejects, unless interrupted.
 */
export async function runChecks(
  checks: readonly OnlineCheck[],
  signal: AbortSignal,
  timeoutMs = CHECK_TIMEOUT_MS,
): Promise<Finding[]> {
  const found = await Promise.all(checks.map((check) => attempt(check, signal, timeoutMs)));
  signal.throwIfAborted();
  return found.flat();
}

async function attempt(
  { subject, look }: OnlineCheck,
  interrupted: AbortSignal,
  ms: number,
): Promise<Finding[]> {
  const timeout = AbortSignal.timeout(ms);
  const signal = AbortSignal.any([interrupted, timeout]);
  const over = Promise.withResolvers<never>();
  const onAbort = () => over.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const findings = await Promise.race([look(signal), over.promise]);
    return findings.map((finding) => ({ subject, ...finding }));
  } catch (error) {
    return [{ subject, verdict: 'error', ...explain(error, timeout.aborted, ms) }];
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function explain(error: unknown, late: boolean, ms: number): Pick<Finding, 'message' | 'hint'> {
  if (late)
    return { message: `no answer within ${ms / 1000} seconds`, hint: 'Is it reachable from this machine?' };
  if (error instanceof StoreferryError) return { message: error.message, hint: error.hint };
  return { message: error instanceof Error ? error.message : String(error) };
}
