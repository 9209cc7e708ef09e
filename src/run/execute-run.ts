import type { RunFacts } from '../report/run-facts.ts';
import type { DeliverShards } from './import/apply-step.ts';
import type { ImportTask } from './import-run.ts';
import {
  type ExportRequest,
  isExportRequest,
  type RunContext,
  type RunRequest,
  type VerifyRequest,
} from './run-context.ts';

/** What is to be done with a job. */
export type RunTask =
  | ImportTask
  /** Sends a sample of what the store acknowledged again, to estimate how much it has forgotten. */
  | { readonly kind: 'verify'; readonly request: VerifyRequest }
  /** Reads the store and writes a file. */
  | { readonly kind: 'export'; readonly request: ExportRequest };

/** Executes a run of any kind, from its beginning to its recorded end; rejects as `runPipeline`. */
export async function executeRun(context: RunContext, task: RunTask): Promise<RunFacts> {
  switch (task.kind) {
    case 'verify': {
      const { verifyRun } = await import('./verify/verify-run.ts');
      return await verifyRun(context, task.request);
    }
    case 'export': {
      const { exportRun } = await import('./export/export-run.ts');
      return await exportRun(context, task.request);
    }
    case 'run':
    case 'plan':
    case 'approve':
    case 'retry': {
      const { importRun } = await import('./import-run.ts');
      return await importRun(context, task);
    }
    default:
      throw new Error(`Unknown task: ${task satisfies never}`);
  }
}

/** The task that carries out a job as it is scheduled; `workers` send the shards of an import where given. */
export function jobTask(request: RunRequest, workers?: DeliverShards): RunTask {
  return isExportRequest(request) ? { kind: 'export', request } : { kind: 'run', request, workers };
}
