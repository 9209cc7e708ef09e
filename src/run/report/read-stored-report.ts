import { isAbsolute, relative, resolve } from 'node:path';
import { z } from 'zod';
import type { Workspace } from '../../config/workspace.ts';
import { readExported } from '../../export/reading/read-items.ts';
import type { Plan } from '../../model/plan.ts';
import { ReasonTally, reasonGroupSchema, reasonSchema } from '../../model/reason.ts';
import {
  answerDifferencesSchema,
  changedIdSchema,
  EXECUTING_KINDS,
  type Exported,
  type Run,
  runTotalsSchema,
} from '../../model/run.ts';
import { messageOf, UsageError } from '../../model/storeferry-error.ts';
import { readPlan } from '../../plan/plan-file.ts';
import { REJECTS_FILE } from '../../rejects/rejects-file.ts';
import { nextSteps, runDocument } from '../../report/run-document.ts';
import {
  REPORT_FILE,
  type RunFacts,
  runTotals,
  unsentDeletes,
  withoutPersonalData,
} from '../../report/run-facts.ts';
import { findJson, type RunFolder } from '../../state/artifacts.ts';
import { jobLockName, planLockName } from '../../state/state.ts';
import { PROGRAM, pathFrom } from '../../text/printable.ts';
import type { RunContext } from '../run-context.ts';
import { readTraffic } from '../traffic/run-traffic.ts';

/** The path of a file of a run relative to the workspace, or its whole address if it is not in a folder. */
export function shownFile(workspaceDir: string, location: string): string {
  return isAbsolute(location) ? relative(workspaceDir, location) : location;
}

interface FilesOfRun {
  readonly rejectsFile: string | null;
  readonly reportFile: string | null;
}

function renamedFiles<Files extends FilesOfRun>(files: Files, rename: (file: string) => string): Files {
  const { rejectsFile, reportFile } = files;
  return {
    ...files,
    rejectsFile: rejectsFile && rename(rejectsFile),
    reportFile: reportFile && rename(reportFile),
  };
}

/** The files of a run, named relative to the workspace. */
export function withShownFiles<Files extends FilesOfRun>(files: Files, workspaceDir: string): Files {
  return renamedFiles(files, (file) => shownFile(workspaceDir, file));
}

/** The files of a run, with paths that open from a folder, such as the current folder of a command. */
export function withFilesFrom<
  Files extends FilesOfRun & { readonly run: Run; readonly exported: Exported | null },
>(files: Files, workspaceDir: string, folder: string): Files {
  const { exported, run } = files;
  const { drift } = run;
  const opening = (path: string) =>
    ADDRESS.test(path) ? path : pathFrom(folder, resolve(workspaceDir, path));
  return {
    ...renamedFiles(files, (file) => pathFrom(folder, file)),
    run: drift?.file === undefined ? run : { ...run, drift: { ...drift, file: opening(drift.file) } },
    exported: exported && { ...exported, location: opening(exported.location) },
  };
}

/** The target of an export that is not on a disk of this machine. */
const ADDRESS = /^[a-z0-9]+:\/\//i;

/** The run as shown to people: a run whose process died counts as interrupted. */
export async function withLiveStatus(context: Pick<RunContext, 'state'>, run: Run): Promise<Run> {
  if (!(await hasDied(context, run))) return run;
  const error = `Its process died at the step ${run.step}, without recording its end (killed, out of memory, or power failure).`;
  const { applied } = await context.state.runs.tally(run.id);
  const { progress } = run;
  return {
    ...run,
    status: 'interrupted',
    error,
    ...(progress != null && { progress: { ...progress, applied } }),
  };
}

/** The runs that match, newest first, as `withLiveStatus` shows them. */
export async function listLiveRuns(
  context: RunContext,
  filter: Parameters<RunContext['state']['runs']['list']>[0],
): Promise<Run[]> {
  const listed = await context.state.runs.list(filter);
  return await Promise.all(listed.map((run) => withLiveStatus(context, run)));
}

/**
 * Whether a run counts as running although its process was killed: no process holds its lock. A run holds the lock of
 * its job, under its own id or that of the run that continues it; a plan holds the lock of planning.
 */
export async function hasDied({ state }: Pick<RunContext, 'state'>, run: Run): Promise<boolean> {
  if (run.status !== 'running') return false;
  const plan = run.kind === 'plan';
  const holder = await state.locks.holderOf(plan ? planLockName(run.job) : jobLockName(run.job));
  // Null: held, by whom is not known. Undefined: free.
  const held = holder === null || (plan ? holder?.run === run.id : holder !== undefined);
  // Checked last: the run may end after it was read and before its lock was free.
  return !held && (await state.runs.get(run.id))?.status === 'running';
}

/** The comparison that works before a queued run of this job begins, because of its `drift`; undefined where none does. */
export async function comparisonBefore(
  { state }: Pick<RunContext, 'state'>,
  { inspectJob }: Pick<Workspace, 'inspectJob'>,
  name: string,
): Promise<Run | undefined> {
  const { job } = inspectJob(name);
  if (job?.kind !== 'import' || job.drift === undefined) return undefined;
  const [comparison] = await state.runs.list({ job: name, kinds: ['drift'], statuses: ['running'] });
  return comparison;
}

/**
 * Requests the end of a run from any process that executes it: within about a second it sends nothing new, finishes
 * requests in flight, and is `interrupted`, as by SIGINT. UsageError if no process executes it.
 */
export async function askToInterrupt(context: Pick<RunContext, 'state' | 'clock'>, id: string): Promise<Run> {
  const { runs } = context.state;
  const run = await runs.get(id);
  if (run === undefined) {
    throw new UsageError(`There is no run ${id}.`, { hint: '`storeferry runs` lists the latest.' });
  }
  if (run.status !== 'running') {
    throw new UsageError(`The run ${id} is ${run.status}: only a running run can be interrupted.`);
  }
  if (await hasDied(context, run)) {
    const [next] = nextSteps({ run: { ...run, status: 'interrupted' } });
    throw new UsageError(`The process of run ${id} has died: there is nothing to interrupt.`, {
      hint: next && `${next.what} ${next.command}`,
    });
  }
  return await runs.update(id, { interruptAskedAt: context.clock() });
}

/**
 * The latest later run of the same job that may have changed something, so that earlier plans are outdated. Undefined
 * if there is none. Plans, runs whose source could not be read, and retries that changed nothing in the store do not
 * count.
 */
export async function laterRun({ state }: RunContext, { job, sequence }: Run): Promise<Run | undefined> {
  const runs = await state.runs.list({ job, kinds: EXECUTING_KINDS });
  return runs.find((run) => run.sequence > sequence && run.digest !== null && !isIdleRetry(run));
}

/** A finished retry that changed nothing in the store. */
function isIdleRetry({ kind, status, totals }: Run) {
  return kind === 'retry' && status !== 'running' && totals !== null && totals.applied + totals.unsent === 0;
}

/** The report of a run that another process executes or has ended, from its folder or the state. */
export async function readStoredReport(context: RunContext, run: Run): Promise<RunFacts> {
  const folder = context.artifacts.run(run.id);
  const plan = (await readPlan(folder)) ?? null;
  const kept = run.status === 'running' ? undefined : await readKeptReport(folder, run.finishedAt);
  if (kept === undefined) return await readRunReport(context, run, plan);
  return {
    run,
    plan,
    ...kept,
    exported: await exportedBy(run, folder),
    rejectsFile: await rejectsFileOf(context, run),
    reportFile: await pathIn(folder, REPORT_FILE),
  };
}

const CHANGED_IDS_SHOWN = 20;

/** Collects the report of a run that is running or about to end. */
export async function readRunReport(context: RunContext, run: Run, plan: Plan | null): Promise<RunFacts> {
  const { runs } = context.state;
  const folder = context.artifacts.run(run.id);
  const refusals = new ReasonTally('message');
  for await (const batch of runs.refusals(run.id)) for (const refusal of batch) refusals.add(refusal);
  const tally = await runs.tally(run.id);
  return {
    run,
    plan,
    totals:
      (isCountedInRun(run) ? run.totals : null) ??
      runTotals(plan, tally, await renamedKeys(context, run, plan)),
    unsentDeletes: plan === null ? 0 : unsentDeletes(plan, tally),
    leftDeletes: tally.left,
    refusals: refusals.groups(),
    unsentReasons: await runs.unsentReasons(run.id),
    changedIds: await runs.changedIds(run.id, CHANGED_IDS_SHOWN),
    changedIdCount: await runs.changedIdCount(run.id),
    rejectsFile: await rejectsFileOf(context, run),
    exported: await exportedBy(run, folder),
    traffic: await readTraffic(folder),
    reportFile: await pathIn(folder, REPORT_FILE),
  };
}

/** How many old keys of renamed products are gone. */
async function renamedKeys({ state }: RunContext, { id }: Run, plan: Plan | null) {
  let gone = 0;
  for (const { kind, number } of plan?.shards ?? []) {
    if (kind !== 'renames') continue;
    for (const [index, outcome] of await state.runs.outcomes(id, number)) {
      if (outcome === 'applied' && (plan?.renamed?.byId !== true || index % 2 === 1)) gone++;
    }
  }
  return gone;
}

async function exportedBy({ kind }: Run, folder: RunFolder): Promise<Exported | null> {
  return kind === 'export' ? await readExported(folder) : null;
}

/** Whether the figures are stored with the run itself, because it has no plan. */
function isCountedInRun({ kind, unchangedSince }: Run) {
  return kind === 'export' || kind === 'verify' || kind === 'drift' || unchangedSince !== undefined;
}

/** Path of the run's rejects file; null if it has none. */
export async function rejectsFileOf({ artifacts }: RunContext, run: Run): Promise<string | null> {
  return await pathIn(artifacts.run(run.id), REJECTS_FILE);
}

/** The same as lists of runs show it. */
export async function shownRejectsFile(context: RunContext, run: Run): Promise<string | null> {
  const file = await rejectsFileOf(context, run);
  return file === null ? null : shownFile(context.workspaceDir, file);
}

/** Path of a file of a run; null if it has none. */
async function pathIn(folder: RunFolder, name: string) {
  return (await folder.exists(name)) ? `${folder.location}/${name}` : null;
}

/** The facts of an ended run are collected once and stored, so that pages need not collect them each time. */
const KEPT_REPORT_FILE = 'report.json';
const VERSION = 2;
const count = z.int().nonnegative();

const keptFacts = z.object({
  totals: runTotalsSchema,
  unsentDeletes: z.int(),
  leftDeletes: z.int().default(0),
  refusals: z.array(reasonGroupSchema),
  unsentReasons: z.array(z.object({ reason: reasonSchema, count })),
  changedIds: z.array(changedIdSchema),
  changedIdCount: count,
  traffic: z
    .object({
      samples: z.array(
        z.object({
          at: z.number(),
          ms: z.number(),
          requests: count,
          failed: count,
          retries: count,
          p50: z.number().nullable(),
          p95: z.number().nullable(),
          concurrency: count,
          pausedMs: z.number(),
        }),
      ),
      answers: answerDifferencesSchema.exactOptional(),
    })
    .nullable(),
});

/** `finishedAt` is the end for which the facts were collected: a continued run has another end. */
const keptFile = keptFacts.extend({ version: z.literal(VERSION), finishedAt: z.number() });

/** The stored part of the facts of a run; all other facts are small and read from their place. */
type KeptFacts = Pick<RunFacts, keyof z.infer<typeof keptFacts>>;

/** Stores the facts of a run that ended at that moment; false if that fails: then they are collected again. */
export async function keepReport(folder: RunFolder, finishedAt: number, facts: KeptFacts): Promise<boolean> {
  try {
    // Fields that are not in the schema are dropped.
    const kept = { ...keptFacts.parse(facts), version: VERSION, finishedAt };
    await folder.write(KEPT_REPORT_FILE, [JSON.stringify(kept)]);
    return true;
  } catch {
    return false;
  }
}

/** The stored facts for this end of the run; undefined if there are none, or another version stored them. */
export async function readKeptReport(
  folder: RunFolder,
  finishedAt: number | null,
): Promise<KeptFacts | undefined> {
  const kept = await findJson(folder, KEPT_REPORT_FILE, keptFile).catch(() => undefined);
  if (kept === undefined) return undefined;
  const { version: _, finishedAt: keptAt, ...facts } = kept;
  return keptAt === finishedAt ? facts : undefined;
}

/**
 * Writes the report of a run that ends, replacing the report of an earlier end, and returns its path. If it cannot be
 * written, it emits an event and returns null: the result of the run does not depend on it.
 */
export async function writeReport(context: RunContext, report: RunFacts): Promise<string | null> {
  const folder = context.artifacts.run(report.run.id);
  try {
    // Loaded after the work is done: loading the drawing code takes longer than making a small plan.
    const { reportFile } = await import('../../report/html/document-sections.ts');
    const facts = withoutPersonalData(withShownFiles(report, context.workspaceDir));
    const document = runDocument(facts, {
      now: context.clock(),
      program: context.program ?? PROGRAM,
      version: context.version,
    });
    await folder.write(REPORT_FILE, [reportFile(document)]);
    return `${folder.location}/${REPORT_FILE}`;
  } catch (error) {
    const problem = messageOf(error);
    context.onEvent({ type: 'report-not-written', problem });
    return null;
  }
}
