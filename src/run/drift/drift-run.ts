import { z } from 'zod';
import { DRIFT_FILE } from '../../model/plan.ts';
import { storeIdentity } from '../../model/remote-address.ts';
import { type Drift, hasDrifted, type Run, UNFINISHED } from '../../model/run.ts';
import { explainError, UsageError } from '../../model/storeferry-error.ts';
import { NO_TOTALS, type RunFacts } from '../../report/run-facts.ts';
import { findJson } from '../../state/artifacts.ts';
import { importTarget, targetTag } from '../../state/state.ts';
import { lockJob, lockTarget } from '../lock-job.ts';
import { pruneRuns } from '../prune-runs.ts';
import { createReconciledRun } from '../reconcile-state.ts';
import { readRunReport, shownFile } from '../report/read-stored-report.ts';
import { writeReport } from '../report/write-report.ts';
import type { DriftRequest, RunContext } from '../run-context.ts';
import { continueInstead, newRun, runPipeline, supersede } from '../run-pipeline.ts';
import { endOf } from '../watched-run.ts';
import { noteFindings } from './drift-finding.ts';
import { comparisonMethod, readSelection, sliceName } from './drift-selection.ts';
import { findDrift } from './find-drift.ts';

/**
 * Compares the records of a job with the store, field by field with what it last answered, and records what differs.
 * The store does not change; the ledger learns which fields were edited. Continues an interrupted comparison of the same sample. Rejects as
 * `runPipeline`, and with UsageError where the store cannot be seen.
 */
export async function driftRun(surroundings: RunContext, request: DriftRequest): Promise<RunFacts> {
  const { job, store } = request;
  let found: { readonly drift: Drift; readonly requests: number } | null = null;
  return await runPipeline(surroundings, {
    run: newRun(surroundings, store, { job: job.name, kind: 'drift', resource: job.import, step: 'apply' }),
    lock: lockJob,
    async admit(run) {
      await comparisonMethod(surroundings, store, job);
      return run;
    },
    async steps(work) {
      const { context } = work;
      const created = await createReconciledRun(context, work.run);
      const unfinished = await unfinishedDrift(context, created, request);
      work.begin(unfinished === undefined ? created : await continueInstead(context, created, unfinished));
      const { run } = work;
      await using lock = await lockTarget(context, run);
      const { accept = false } = request;
      const { drift, requests, unedited } = await findDrift(context, { ...request, run, lock });
      await noteFindings(context, { run, store, lock, accept, unedited });
      found = { drift: accept ? { ...drift, accepted: true } : drift, requests };
      const endPosition = await context.state.ledger(importTarget(run)).position();
      work.run = await context.state.runs.update(run.id, { endPosition });
    },
    finish: ({ context, run }, failure) => recordDrift(context, { run, found, failure }),
  });
}

/** The interrupted comparison that this one continues; others are over. */
async function unfinishedDrift(
  context: RunContext,
  begun: Run,
  { sample, slice }: DriftRequest,
): Promise<Run | undefined> {
  const { runs } = context.state;
  const open = (await runs.list({ job: begun.job, kinds: ['drift'], statuses: UNFINISHED })).filter(
    ({ id }) => id !== begun.id,
  );
  let continued: Run | undefined;
  for (const run of open) {
    const selected = await readSelection(context.artifacts.run(run.id));
    const isSame =
      run.storeId === begun.storeId &&
      run.resource === begun.resource &&
      selected?.sample === sample &&
      selected.slice === sliceName(slice);
    if (continued === undefined && isSame && begun.stateLoss === undefined) continued = run;
    else await supersede(context, run);
  }
  return continued;
}

interface EndedDrift {
  readonly run: Run;
  readonly found: { readonly drift: Drift; readonly requests: number } | null;
  readonly failure: unknown;
}

async function recordDrift(context: RunContext, { run, found, failure }: EndedDrift): Promise<RunFacts> {
  const { requests: touched } = await context.state.runs.tally(run.id);
  const folder = context.artifacts.run(run.id);
  const file = (await folder.exists(DRIFT_FILE)) ? `${folder.location}/${DRIFT_FILE}` : undefined;
  const ended = await context.state.runs.update(run.id, {
    ...endOf(context, run, failure),
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
  const reportFile = found === null ? null : await writeReport(context, facts);
  await pruneRuns(context.state, context.artifacts, ended.job);
  return { ...facts, reportFile };
}

/** A folder of the artifacts that belongs to no run: for each job how far its comparisons have come. */
const SLICES_FOLDER = 'drift';

const progressSchema = z.object({
  target: z.string(),
  /** How many parts the records are divided into. */
  of: z.int().min(1),
  /** Parts that were compared, and that the runs so far should have compared. */
  done: z.int(),
  due: z.int(),
});
type SliceProgress = z.infer<typeof progressSchema>;

/** A run makes up for one that did not compare its part; more would delay it. */
const MAX_PARTS_PER_RUN = 2;

/** The parts that the next run compares, and the progress once it has begun. With another share it goes on at the same place. */
export function nextSlice(
  known: SliceProgress | undefined,
  target: string,
  percent: number,
): { readonly slice: NonNullable<Drift['slice']>; readonly progress: SliceProgress } {
  const of = Math.ceil(100 / percent);
  const { done, due } = known?.target === target ? rescaled(known, of) : { done: 0, due: 0 };
  const progress = { target, of, done, due: Math.min(due + 1, done + of) };
  const parts = Math.min(progress.due - done, MAX_PARTS_PER_RUN, of);
  return { slice: { number: done % of, of, parts }, progress };
}

function rescaled({ of: before, done, due }: SliceProgress, of: number): Pick<SliceProgress, 'done' | 'due'> {
  if (before === of) return { done, due };
  const place = Math.floor(((done % before) * of) / before);
  return { done: place, due: place };
}

/** What a run has learned of the part of its records that it compares before it begins. */
export interface ComparedSlice {
  readonly drift?: Drift;
  readonly notCompared?: string;
}

/**
 * Compares the next part of a job's records with the store. It is a run of its own, which is kept where it has found something; a part
 * that could not be compared is compared by the next run.
 */
export async function compareSlice(
  context: RunContext,
  { job, store }: Pick<DriftRequest, 'job' | 'store'>,
  percent: number,
): Promise<ComparedSlice> {
  const { artifacts, state } = context;
  const target = targetTag({ storeId: storeIdentity(store), resource: job.import });
  const folder = artifacts.run(SLICES_FOLDER);
  const name = `${job.name}.json`;
  const known = await findJson(folder, name, progressSchema);
  const { slice, progress } = nextSlice(known, target, percent);
  await folder.write(name, [JSON.stringify(progress)]);
  // Whoever waits for the run of the job must not take this one for it.
  const onEvent: RunContext['onEvent'] = (event) => {
    if (event.type !== 'begun') context.onEvent(event);
  };
  try {
    const { run } = await driftRun(
      { ...context, onEvent },
      { job, store, sample: null, random: Math.random, slice },
    );
    const { drift } = run;
    if (run.status !== 'done' || drift === undefined)
      return { notCompared: run.error ?? 'it was interrupted.' };
    await folder.write(name, [JSON.stringify({ ...progress, done: progress.done + slice.parts })]);
    if (hasDrifted(drift)) return { drift };
    await artifacts.remove(run.id);
    await state.runs.remove(run.id);
    return { drift };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { notCompared: explainError(error) };
  }
}
