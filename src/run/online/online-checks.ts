import { messageOf, StoreferryError } from '../../model/storeferry-error.ts';
import type { Finding } from '../../report/document-text.ts';
import type { CheckedWorkspace, Look, OnlineCheck } from '../run-context.ts';
import { probeCheck } from '../store-properties.ts';
import { artifactsCheck } from './artifacts-check.ts';
import { destinationCheck } from './destination-check.ts';
import { diskCheck, temporaryFolderCheck } from './disk-check.ts';
import { redisCheck } from './redis-check.ts';
import { sourceCheck } from './source-check.ts';
import { stateCheck } from './state-check.ts';
import { storeCheck } from './store-check.ts';

export { probeCheck } from '../store-properties.ts';

/** All online checks, in the order of their findings: the order in which a run needs the things. */
export const ONLINE_CHECKS: readonly OnlineCheck[] = [
  storeCheck,
  probeCheck,
  sourceCheck,
  destinationCheck,
  artifactsCheck,
  diskCheck,
  temporaryFolderCheck,
  redisCheck,
];

/** Checks that run after all others: they keep the process busy, which would delay the answers of stores. */
const LAST_CHECKS: readonly OnlineCheck[] = [stateCheck];

const TIMEOUT_MS = 10_000;

/** Runs the checks of a workspace, then the last ones. Never rejects, unless interrupted. */
export async function runOnlineChecks(
  checks: readonly OnlineCheck[],
  workspace: CheckedWorkspace,
  signal: AbortSignal,
): Promise<Finding[]> {
  const looksOf = (some: readonly OnlineCheck[]) => some.flatMap((check) => check(workspace));
  const findings = await runChecks(looksOf(checks), signal);
  return [...findings, ...(await runChecks(looksOf(LAST_CHECKS), signal))];
}

/**
 * Runs all probes at the same time, each at most ten seconds. The findings are in the order of the probes. Never
 * rejects, unless interrupted.
 */
export async function runChecks(
  looks: readonly Look[],
  signal: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<Finding[]> {
  const found = await Promise.all(looks.map((look) => attempt(look, signal, timeoutMs)));
  signal.throwIfAborted();
  return found.flat();
}

async function attempt({ subject, look }: Look, interrupted: AbortSignal, ms: number): Promise<Finding[]> {
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
  return { message: messageOf(error) };
}
