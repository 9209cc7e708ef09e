import type { Run, RunKind } from '../../model/run.ts';
import { begunRun } from '../begun-run.ts';
import type { RunContext } from '../context.ts';
import type { ImportRequest } from './import-request.ts';

/** A run of an import job that is about to begin; `retryOf`: the run whose rejects it sends again. */
export function newRun(
  context: RunContext,
  { job, store, resend }: ImportRequest,
  kind: Exclude<RunKind, 'export'>,
  retryOf: string | null = null,
): Run {
  const { name, import: resource } = job;
  return begunRun(context, store, { job: name, kind, resource, step: 'stage', resend, retryOf });
}
