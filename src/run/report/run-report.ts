import { readExported } from '../../export/exported-file.ts';
import type { Plan } from '../../model/plan.ts';
import { ReasonTally } from '../../model/reason-tally.ts';
import type { Run } from '../../model/run.ts';
import { readPlan } from '../../plan/plan-file.ts';
import { REJECTS_FILE } from '../../report/rejects/rejects-index.ts';
import type { RunFacts } from '../../report/run-facts.ts';
import { NO_TOTALS, refusedDeletes, runTotals, unsentDeletes } from '../../report/run-totals.ts';
import type { RunContext } from '../context.ts';
import { readTraffic } from '../traffic/traffic-file.ts';
import { readKeptReport } from './kept-report.ts';
import { reportFileIn } from './report-file.ts';

const CHANGED_IDS_SHOWN = 20;

/** The report of an export run that is under way or over. */
export async function readExportReport({ artifacts }: RunContext, run: Run): Promise<RunFacts> {
  const folder = artifacts.run(run.id);
  return {
    run,
    plan: null,
    totals: run.totals ?? NO_TOTALS,
    unsentDeletes: 0,
    refusedDeletes: 0,
    leftDeletes: 0,
    refusals: [],
    unsentReasons: [],
    changedIds: [],
    changedIdCount: 0,
    rejectsFile: null,
    exported: await readExported(folder),
    traffic: await readTraffic(folder),
    reportFile: await reportFileIn(folder),
  };
}

/** Collects the report of an import run that is under way or about to end. */
export async function readRunReport(context: RunContext, run: Run, plan: Plan | null): Promise<RunFacts> {
  const { runs } = context.state;
  const folder = context.artifacts.run(run.id);
  const refusals = new ReasonTally('message');
  for await (const batch of runs.refusals(run.id)) for (const refusal of batch) refusals.add(refusal);
  const tally = await runs.tally(run.id);
  return {
    run,
    plan,
    totals: (isCountedInRun(run) ? run.totals : null) ?? runTotals(plan, tally),
    unsentDeletes: plan === null ? 0 : unsentDeletes(plan, tally),
    refusedDeletes: plan === null ? 0 : refusedDeletes(plan, tally),
    leftDeletes: tally.left,
    refusals: refusals.groups(),
    unsentReasons: await runs.unsentReasons(run.id),
    changedIds: await runs.changedIds(run.id, CHANGED_IDS_SHOWN),
    changedIdCount: await runs.changedIdCount(run.id),
    rejectsFile: await rejectsFileOf(context, run),
    exported: null,
    traffic: await readTraffic(folder),
    reportFile: await reportFileIn(folder),
  };
}

/** Whether the figures of a run stand in it, since it has no plan to count from. */
function isCountedInRun({ kind, unchangedSince }: Run): boolean {
  return kind === 'verify' || unchangedSince !== undefined;
}

/** Where the run's rejects file is; null when it has none. */
export async function rejectsFileOf({ artifacts }: RunContext, run: Run): Promise<string | null> {
  const folder = artifacts.run(run.id);
  return (await folder.exists(REJECTS_FILE)) ? `${folder.location}/${REJECTS_FILE}` : null;
}

/** The report of a run that another process is at work on or has ended: what it left in its folder, or in the state. */
export async function readStoredReport(context: RunContext, run: Run): Promise<RunFacts> {
  if (run.kind === 'export') return await readExportReport(context, run);
  const folder = context.artifacts.run(run.id);
  const plan = (await readPlan(folder)) ?? null;
  const kept = run.status === 'running' ? undefined : await readKeptReport(folder, run.finishedAt);
  if (kept === undefined) return await readRunReport(context, run, plan);
  return {
    ...{ run, plan, ...kept, exported: null },
    rejectsFile: await rejectsFileOf(context, run),
    reportFile: await reportFileIn(folder),
  };
}
