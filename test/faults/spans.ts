import type { LoggedRequest } from '../support/store/request-log.ts';

/**
 * How many requests began between the first and the last moment of another run's requests; `runOf` gives the run of a
 * request is, null for nobody's.
 */
export function spansOf(
  requests: readonly LoggedRequest[],
  runOf: (request: LoggedRequest) => string | null,
): number {
  const spans = new Map<string, { from: number; to: number }>();
  for (const request of requests) {
    const run = runOf(request);
    if (run === null) continue;
    const span = spans.get(run) ?? { from: request.startedAt, to: request.startedAt };
    span.to = Math.max(span.to, request.endedAt ?? request.startedAt);
    spans.set(run, span);
  }
  return requests.filter((request) => {
    const run = runOf(request);
    return (
      run !== null &&
      [...spans].some(
        ([other, { from, to }]) => other !== run && from < request.startedAt && request.startedAt < to,
      )
    );
  }).length;
}
