import type { Run, RunKind } from '../../model/run.ts';
import type { RunContext } from '../context.ts';
import type { ImportRequest } from './import-request.ts';

/** A run that is about to begin; nobody knows of it until it is created in the state. */
export function newRun(
  context: RunContext,
  { job, store, resend }: ImportRequest,
  kind: Exclude<RunKind, 'export'>,
  retryOf: string | null = null,
): Run {
  return {
    id: context.newRunId(),
    job: job.name,
    kind,
    resource: job.import,
    store: store.name,
    baseUrl: store.baseUrl,
    status: 'running',
    step: 'stage',
    digest: null,
    keyDigest: null,
    startedAt: context.clock(),
    stagedAt: null,
    finishedAt: null,
    totals: null,
    error: null,
    approved: false,
    resend,
    retryOf,
  };
}
