import { sumOf, withoutUndefined } from '../model/json-object.ts';
import type { Plan } from '../model/plan.ts';
import {
  type Drift,
  lastedMs,
  type Run,
  type RunStatus,
  type RunTotals,
  type Verification,
} from '../model/run.ts';
import type { JudgedWave } from '../model/safety-limits.ts';
import { type JobFacts, NO_TOTALS, type RunFacts, type ScheduleStatus } from './run-facts.ts';
import { editedFacts } from './sections/held-section.ts';

/** The object that `--json` prints as the last line. The order of its members is fixed. */
export interface RunSummary extends Omit<RunTotals, 'inRows'> {
  /** Null if no run began. */
  readonly run: string | null;
  /** Null if a command that names a run failed before it knew the job. */
  readonly job: string | null;
  readonly status: RunStatus;
  /** Relative to the workspace; null if nothing was rejected. */
  readonly rejectsFile: string | null;
  readonly durationMs: number;
  readonly error: string | null;
  /** What an undo leaves as it is; absent in other runs, and before its plan is made. */
  readonly left?: ReturnType<typeof leftRecords>;
  /** Records that somebody edited in the store, of those that the run changes or holds; absent if none is known. */
  readonly edited?: number;
  /** What the part of the records had in which the store was compared before; absent if the job asks for no comparison. */
  readonly drift?: ReturnType<typeof driftFigures>;
  /** The waves that were sent and judged; absent if the job sends in one go. */
  readonly waves?: readonly Omit<JudgedWave, 'answered'>[];
}

/** A command that failed before it could collect a report: the state cannot be used, or the job is already running. */
export interface FailedCommand {
  readonly run: string | null;
  readonly job: string | null;
  readonly status: RunStatus;
  /** What its run had reported before; the other figures are 0. */
  readonly applied: number;
  readonly rejected: number;
  readonly durationMs: number;
  readonly error: string;
}

/** The summary of a command that has no report, for programs. */
export function failureSummary({
  run,
  job,
  status,
  durationMs,
  error,
  ...figures
}: FailedCommand): RunSummary {
  return { run, job, status, ...NO_FIGURES, ...figures, rejectsFile: null, durationMs, error };
}

/** In the order in which they are printed. */
const { inRows: _, ...NO_FIGURES } = NO_TOTALS;

/**
 * The summary of a run for programs. The duration of an unfinished run ends at `now` (milliseconds since the epoch).
 */
export function runSummary(
  {
    run,
    plan,
    totals,
    rejectsFile,
  }: Pick<RunFacts, 'run' | 'totals' | 'rejectsFile'> & Partial<Pick<RunFacts, 'plan'>>,
  now: number,
): RunSummary {
  const { left } = plan?.undo ?? {};
  const edited = editedFacts({ run, plan: plan ?? null });
  const { inRows: _, ...figures } = totals;
  return withoutUndefined<RunSummary>({
    run: run.id,
    job: run.job,
    status: run.status,
    ...NO_FIGURES,
    ...figures,
    rejectsFile,
    durationMs: lastedMs(run, now),
    error: run.error,
    left: left && leftRecords(left),
    edited: edited === null ? undefined : edited.kept + edited.held + edited.overwritten,
    drift: run.drift && driftFigures(run.drift),
    waves: run.waves?.map(({ answered: _, ...wave }) => wave),
  });
}

/**
 * What a command prints of a job with several stores: the sums over the stores in place of the figures of a run, and the summary of
 * each store in `stores`. The status is the worst.
 */
export function storesSummary(job: string, stores: readonly object[]) {
  const summaries = stores.filter((store): store is RunSummary => 'fieldsChanged' in store);
  const statuses = summaries.map(({ status }) => status);
  const fieldsChanged: Record<string, number> = {};
  const figures: Record<string, number> = {};
  for (const summary of summaries) {
    for (const [field, records] of Object.entries(summary.fieldsChanged))
      fieldsChanged[field] = (fieldsChanged[field] ?? 0) + records;
  }
  for (const [name, value] of stores.flatMap((store) => Object.entries(store)))
    if (typeof value === 'number') figures[name] = (figures[name] ?? 0) + value;
  if (summaries.length === 0) return { job, ...figures, stores };
  const status = STATUSES_BY_SEVERITY.findLast((one) => statuses.includes(one)) ?? 'failed';
  const error = summaries.find((summary) => summary.status === status)?.error ?? null;
  return {
    run: null,
    job,
    status,
    ...NO_FIGURES,
    ...figures,
    fieldsChanged,
    rejectsFile: null,
    error,
    stores,
  };
}

/** From the best to the worst. */
const STATUSES_BY_SEVERITY: readonly RunStatus[] = [
  ...(['planned', 'done', 'superseded', 'done-with-rejects', 'stopped'] as const),
  ...(['running', 'failed', 'interrupted'] as const),
];

/** The records that an undo leaves, with the reasons; of each reason the first hundred keys. */
function leftRecords(groups: NonNullable<Plan['undo']>['left']) {
  return {
    records: sumOf(groups, ({ records }) => records),
    reasons: groups.map(({ message, records, keys }) => ({ reason: message, records, keys })),
  };
}

/**
 * A run as `runs --json` prints it: the object of `run --json`, and the kind of run. Times are ISO 8601, null while
 * unknown; `now` in milliseconds since the epoch.
 */
export function listedRun(
  facts: Pick<RunFacts, 'run' | 'totals' | 'rejectsFile'> & Partial<Pick<RunFacts, 'plan'>>,
  now: number,
) {
  const { kind, store, step, retryOf, startedAt, finishedAt, progress = null } = facts.run;
  const { undo, release, copy } = facts.run;
  return {
    ...runSummary(facts, now),
    kind,
    store,
    step,
    retryOf,
    undoOf: undo?.of ?? null,
    releaseOf: release?.of ?? null,
    ...(copy !== undefined && { copyOf: copy.of ?? copy.store }),
    startedAt: isoTime(startedAt),
    finishedAt: finishedAt === null ? null : isoTime(finishedAt),
    progress: progress && { done: progress.done, total: progress.total, unit: progress.unit },
  };
}

/** Jobs and runs (newest first) as `runs --json` prints them. A run in a list has its final totals. */
export function runsSummary(
  jobs: readonly JobFacts[],
  schedules: ScheduleStatus,
  runs: readonly Pick<RunFacts, 'run' | 'rejectsFile'>[],
  now: number,
) {
  return {
    jobs: jobs.map(({ job, schedule, next, broken, last }) => ({
      job,
      schedule: schedule && { cron: schedule.cron, timezone: schedule.timezone },
      next: next === null ? null : isoTime(next),
      broken,
      last: last?.id ?? null,
    })),
    schedules,
    runs: runs.map((each) => listedRun({ ...each, totals: each.run.totals ?? NO_TOTALS }, now)),
  };
}

/** ISO 8601 in UTC. */
export function isoTime(at: number): string {
  return new Date(at).toISOString();
}

/** What a command compared, or did not because it could not begin: then it names no store. */
type Comparing = Pick<FailedCommand | Run, 'job' | 'error'> & { readonly store?: string | null };

/** The object that `verify --json` prints as the last line. */
export function verificationSummary({ job, store = null, error }: Comparing, found?: Verification) {
  const { sampled = 0, known = 0, asKnown = 0, recreated = 0, altered = 0, rejected = 0 } = found ?? {};
  const { unsent = 0, forgottenShare = { estimate: null, low: 0, high: 1 } } = found ?? {};
  const figures = { sampled, known, asKnown, recreated, altered, rejected, unsent };
  return { job, store, ...figures, forgottenShare, error };
}

/** The object that `drift --json` prints as the last line. */
export function driftSummary({ job, store = null, error }: Comparing, found?: Drift) {
  return { job, store, ...driftFigures(found), strangers: found?.strangers ?? null, error };
}

function driftFigures(found?: Drift) {
  const { checked = 0, edited = 0, fields = 0, deleted = 0, recreated = 0 } = found ?? {};
  return { checked, edited, fields, deleted, recreated };
}
