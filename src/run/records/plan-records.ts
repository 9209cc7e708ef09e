import type { ImportJob } from '../../config/job/job.ts';
import type { ImportMode } from '../../model/mapped-record.ts';
import type { Plan } from '../../model/plan.ts';
import type { Run } from '../../model/run.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { type PlanOptions, planImport } from '../../plan/plan-import.ts';
import { importTarget } from '../../state/state.ts';
import { planPosition } from '../import/continue-or-begin.ts';
import type { RunContext } from '../run-context.ts';

/** The records to plan, and what else their plan depends on. */
type RecordsToPlan = Pick<PlanOptions, 'job' | 'origin' | 'openMapped'> & Partial<PlanOptions>;

/** Plans records that come from no source: bodies that a store has acknowledged, or that guards have held. */
export async function planRecords(context: RunContext, run: Run, records: RecordsToPlan): Promise<Plan> {
  const { state, artifacts, signal, onEvent } = context;
  return await planImport({
    run: run.id,
    describeSource: () => ({ files: [], columnsNotUsed: [], dates: null }),
    plannedPosition: await planPosition(context, run),
    ledger: state.ledger(importTarget(run)),
    folder: artifacts.run(run.id),
    resend: false,
    keyDigest: null,
    previous: { rows: null, keyDigest: null },
    signal,
    onProgress: ({ keys }) =>
      onEvent({ type: 'progress', step: 'plan', done: keys, total: null, unit: 'rows' }),
    ...records,
  });
}

/** UsageError where the job no longer writes to what the earlier run has written. */
export function refuseOtherTarget(of: Run, { storeId, resource, store, baseUrl }: Run): void {
  if (of.storeId === storeId && of.resource === resource) return;
  throw new UsageError(
    `The run ${of.id} sent ${of.resource} to ${of.store} (${of.baseUrl}); the job ${of.job} now writes ${resource} to ${store} (${baseUrl}).`,
  );
}

/**
 * The job for bodies that it has sent or made before: what it keeps was kept, and what its guards hold was judged, at that time.
 */
export function adaptJobToBodies({ keep: _, ...job }: ImportJob, mode: ImportMode): Omit<ImportJob, 'keep'> {
  return { ...job, guards: [], mode };
}
