import { type Drift, type Run, type RunStatus, UNFINISHED } from '../../model/run.ts';
import { InterruptedError } from '../../model/storeferry-error.ts';
import { NO_TOTALS, type RunFacts } from '../../report/run-facts.ts';
import { importTarget } from '../../state/state.ts';
import { lockJob, lockTarget } from '../lock-job.ts';
import { pruneRuns } from '../prune-runs.ts';
import { createReconciled } from '../reconcile-state.ts';
import { readRunReport, shownFile } from '../report/read-stored-report.ts';
import { writeReport } from '../report/write-report.ts';
import { type DriftRequest, type RunContext, runErrorOf } from '../run-context.ts';
import { continueInstead, newRun, runPipeline, supersede } from '../run-pipeline.ts';
import { elapsedFigures } from '../watched-run.ts';
import { acceptFindings, DRIFT_FILE } from './drift-finding.ts';
import { driftWay, findDrift, readSelection } from './find-drift.ts';

/**
 * Compares the records of a job with the store, field by field with what it last answered, and records what differs.
 * The store does not change, and the ledger only where the request accepts what is found. Continues an interrupted comparison of the same sample. Rejects as
 * `runPipeline`, and with UsageError where the store cannot be seen.
 */
export async function driftRun(surroundings: RunContext, request: DriftRequest): Promise<RunFacts> {
  const { job, store } = request;
  let found: { readonly drift: Drift; readonly requests: number } | null = null;
  return await runPipeline(surroundings, {
    run: newRun(surroundings, store, { job: job.name, kind: 'drift', resource: job.import, step: 'apply' }),
    lock: lockJob,
    async admit(run) {
      await driftWay(surroundings, store, job);
      return run;
    },
    async steps(work) {
      const { context } = work;
      const created = await createReconciled(context, work.run);
      const unfinished = await unfinishedDrift(context, created, request);
      work.begin(unfinished === undefined ? created : await continueInstead(context, created, unfinished));
      const { run } = work;
      await using lock = await lockTarget(context, run);
      found = await findDrift(context, { ...request, run, lock });
      if (request.accept === true) {
        await acceptFindings(context, { run, store, lock });
        found = { ...found, drift: { ...found.drift, accepted: true } };
      }
      const endPosition = await context.state.ledger(importTarget(run)).position();
      work.run = await context.state.runs.update(run.id, { endPosition });
    },
    finish: ({ context, run }, failure) => recordDrift(context, { run, request, found, failure }),
  });
}

/** The interrupted comparison that this one continues; others are over. */
async function unfinishedDrift(
  context: RunContext,
  begun: Run,
  { sample }: DriftRequest,
): Promise<Run | undefined> {
  const { runs } = context.state;
  const open = (await runs.list({ job: begun.job, kinds: ['drift'], statuses: UNFINISHED })).filter(
    ({ id }) => id !== begun.id,
  );
  let continued: Run | undefined;
  for (const run of open) {
    const selected = await readSelection(context.artifacts.run(run.id));
    const isSame =
      run.storeId === begun.storeId && run.resource === begun.resource && selected?.sample === sample;
    if (continued === undefined && isSame && begun.stateLoss === undefined) continued = run;
    else await supersede(context, run);
  }
  return continued;
}

interface EndedDrift {
  readonly run: Run;
  readonly request: DriftRequest;
  readonly found: { readonly drift: Drift; readonly requests: number } | null;
  readonly failure: unknown;
}

async function recordDrift(
  context: RunContext,
  { run, request, found, failure }: EndedDrift,
): Promise<RunFacts> {
  const { requests: touched } = await context.state.runs.tally(run.id);
  const status: RunStatus =
    failure === null ? 'done' : failure instanceof InterruptedError ? 'interrupted' : 'failed';
  const folder = context.artifacts.run(run.id);
  const file = (await folder.exists(DRIFT_FILE)) ? `${folder.location}/${DRIFT_FILE}` : undefined;
  const ended = await context.state.runs.update(run.id, {
    status,
    error: failure === null ? null : runErrorOf(failure, run, context),
    finishedAt: context.clock(),
    progress: null,
    ...elapsedFigures(context),
    totals: {
      ...NO_TOTALS,
      records: found?.drift.checked ?? 0,
      requests: Math.max(touched, found?.requests ?? 0),
    },
    ...(found !== null && {
      drift: { ...found.drift, ...(file !== undefined && { file: shownFile(context.workspaceDir, file) }) },
    }),
  });
  const facts = await readRunReport(context, ended, null);
  const reportFile = found === null ? null : await writeReport(context, facts, request);
  await pruneRuns(context.state, context.artifacts, ended.job);
  return { ...facts, reportFile };
}
