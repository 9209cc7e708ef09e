import type { StoreConfig } from '../config/store-config.ts';
import { COMPLETED, type Run, SENDING_KINDS, UNFINISHED } from '../model/run.ts';
import { InterruptedError } from '../model/storeferry-error.ts';
import type { RunFacts } from '../report/run-facts.ts';
import type { Artifacts } from '../state/artifacts.ts';
import { importTarget, type State } from '../state/state.ts';
import { readRunReport, writeReport } from './report/read-stored-report.ts';
import { type RunContext, runErrorOf } from './run-context.ts';

/** Summaries and rejects of this many runs of a job are kept. */
export const RUNS_KEPT = 20;

/** The most old runs that must not be removed yet. */
interface Spared {
  readonly isNeeded: (run: Run) => Promise<boolean>;
  readonly most: number;
}

/**
 * The runs of one job that need not be kept; `runs` are newest first. It never returns a running run, or a run that a
 * later run may continue or supersede: twenty plans made meanwhile must not remove its unsent operations. It also
 * never returns the last completed run, because safety limits compare with it.
 */
export function runsToPrune(runs: readonly Run[], keep: number = RUNS_KEPT): Run[] {
  const compared = runs.find(({ kind, status }) => kind === 'run' && COMPLETED.includes(status));
  return runs.slice(keep).filter((run) => run.status !== 'running' && run !== compared && !awaitsNext(run));
}

/** A run without a digest has not read its source, so it has nothing to continue. */
function awaitsNext({ kind, status, digest }: Run) {
  return SENDING_KINDS.includes(kind) && UNFINISHED.includes(status) && digest !== null;
}

/**
 * Removes the job's old runs with their files, and returns their ids. The ledger keeps what they sent. Of old runs
 * that are still needed, the newest are kept.
 */
export async function pruneRuns(
  { runs }: State,
  artifacts: Artifacts,
  job: string,
  keep: number = RUNS_KEPT,
  { isNeeded, most }: Spared = { isNeeded: async () => false, most: 0 },
): Promise<string[]> {
  const pruned: string[] = [];
  let spared = 0;
  for (const run of runsToPrune(await runs.list({ job }), keep)) {
    if (spared < most && (await isNeeded(run))) {
      spared++;
      continue;
    }
    // The files first: a run that is still listed can be removed later.
    await artifacts.remove(run.id);
    await runs.remove(run.id);
    pruned.push(run.id);
  }
  return pruned;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

/**
 * Removes the versions of records that the store's `history.keep` no longer kept when the run before began; all where it is off. One run
 * with a clock that is years ahead removes nothing.
 */
export async function pruneHistory(
  { state, clock }: RunContext,
  run: Run,
  { history: { keep } }: StoreConfig,
): Promise<void> {
  const runs = keep === null ? [] : await state.runs.list({ job: run.job, limit: 2 });
  const { startedAt = 0 } = runs.find(({ id }) => id !== run.id) ?? {};
  const before = keep === null ? Number.MAX_SAFE_INTEGER : Math.min(clock(), startedAt) - keep * DAY_MS;
  await state.history(importTarget(run)).prune(before);
}

/** What the last process of a run writes at its end. */
export function elapsedFigures({ workedMs }: RunContext): Pick<Run, 'workedMs'> {
  return workedMs === undefined ? {} : { workedMs: workedMs() };
}

/** The end of a run without rejections; `failure`: null if there was none. */
export function endOf(
  context: RunContext,
  run: Run,
  failure: unknown,
): Pick<Run, 'status' | 'error' | 'finishedAt' | 'progress' | 'workedMs'> {
  const failed = failure instanceof InterruptedError ? 'interrupted' : 'failed';
  return {
    status: failure === null ? 'done' : failed,
    error: failure === null ? null : runErrorOf(failure, run, context),
    finishedAt: context.clock(),
    progress: null,
    ...elapsedFigures(context),
  };
}

/** Records the end of a run that has no plan, and its figures. `writesReport`: also as a page. */
export async function endRun(
  context: RunContext,
  run: Run,
  failure: unknown,
  { writesReport, ...figures }: Partial<Run> & { readonly writesReport: boolean },
): Promise<RunFacts> {
  const ended = await context.state.runs.update(run.id, { ...endOf(context, run, failure), ...figures });
  const facts = await readRunReport(context, ended, null);
  const reportFile = writesReport ? await writeReport(context, facts) : facts.reportFile;
  await pruneRuns(context.state, context.artifacts, ended.job);
  return { ...facts, reportFile };
}
