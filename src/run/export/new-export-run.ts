import type { Run } from '../../model/run.ts';
import type { RunContext } from '../context.ts';
import { exportDigest } from './export-digest.ts';
import type { ExportRequest } from './export-request.ts';

/** An export run that is about to begin; nobody knows of it until it is created in the state. */
export function newExportRun(context: RunContext, request: ExportRequest): Run {
  const { job, store } = request;
  return {
    id: context.newRunId(),
    job: job.name,
    kind: 'export',
    resource: job.export,
    store: store.name,
    baseUrl: store.baseUrl,
    status: 'running',
    step: 'read',
    digest: exportDigest(request),
    keyDigest: null,
    startedAt: context.clock(),
    stagedAt: null,
    finishedAt: null,
    totals: null,
    error: null,
    approved: false,
    resend: false,
    retryOf: null,
  };
}
