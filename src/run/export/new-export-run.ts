import type { Run } from '../../model/run.ts';
import { begunRun } from '../begun-run.ts';
import type { RunContext } from '../context.ts';
import { exportDigest } from './export-digest.ts';
import type { ExportRequest } from './export-request.ts';

/** A run of an export job that is about to begin. */
export function newExportRun(context: RunContext, request: ExportRequest): Run {
  const { job, store } = request;
  const digest = exportDigest(request);
  return begunRun(context, store, {
    job: job.name,
    kind: 'export',
    resource: job.export,
    step: 'read',
    digest,
  });
}
