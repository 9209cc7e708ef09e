import { EXECUTING_KINDS, type Run } from '../../model/run.ts';
import { isLimitName, safetyLimit } from '../../model/safety-limits.ts';
import { type ConfigurationProblem, formatPlace } from '../../model/storeferry-error.ts';
import { withoutPersonalData } from '../../report/run-facts.ts';
import { counted, isOrAre, printable, truncate, wasOrWere } from '../../text/printable.ts';
import type { AtWork } from '../dashboard-context.ts';

const MAX_REASON_LENGTH = 240;

/** The current activity of a job. While it lasts, pages offer no second start. */
export interface Activity {
  /** Null before it has become a run. */
  readonly run: Run | null;
  /** `command`: a process outside the dashboard and the workers. `queue`: it waits for a worker. */
  readonly by: AtWork['by'] | 'command';
}

/**
 * The current activity of a job; null if there is none. `runs` are its latest runs with their current status, newest
 * first.
 */
export function activityOf(runs: readonly Run[], atWork: AtWork | undefined): Activity | null {
  const run = runs.find(({ status }) => status === 'running');
  if (run !== undefined) {
    const isTheirs = atWork?.run === run.id || (atWork?.by === 'worker' && atWork.run === null);
    return { run, by: isTheirs ? atWork.by : 'command' };
  }
  if (atWork === undefined) return null;
  // A run ends a moment before its command or worker does. A run in the queue waits to continue.
  return atWork.run !== null && atWork.by !== 'queue' ? null : { run: null, by: atWork.by };
}

/** Why a job needs action. */
export interface Need {
  /** The lower, the more urgent. */
  readonly rank: number;
  readonly tone: 'bad' | 'warning' | 'strong';
  readonly why: string;
  /** The run to look at before anything else is started; null if the next step is a start. */
  readonly look: Run | null;
}

/** The facts that needs are derived from. */
interface NeedSources {
  /** The latest run that executed the job (`EXECUTING_KINDS`). */
  readonly last: Run | undefined;
  /** The latest runs of all kinds, newest first. */
  readonly runs: readonly Run[];
  readonly problems: readonly ConfigurationProblem[];
}

/**
 * What a job needs: a correction of its file, an action on its last run, or the approval of a plan; null if it needs
 * nothing.
 */
export function needOf({ last, runs, problems }: NeedSources): Need | null {
  const [problem] = problems;
  if (problem !== undefined) {
    const more = problems.length > 1 ? ` (and ${counted(problems.length - 1, 'more problem')})` : '';
    const why = `Its file cannot be used. ${formatPlace(problem.place)}: ${problem.message}${more}`;
    return { rank: 0, tone: 'bad', why, look: null };
  }
  const plan = waitingPlan(runs);
  if (plan?.kind === 'plan' && (plan.totals?.operations ?? 0) > 0) return approvalNeed(plan);
  if (last === undefined) return null;
  const need = (rank: number, tone: Need['tone'], defaultReason: string, look: Run | null = null): Need => ({
    rank,
    tone,
    look,
    why: failureReasonOf(last) ?? defaultReason,
  });
  const rejecting = last.status === 'done' ? rejectsLeftBefore(last, runs) : undefined;
  if (rejecting !== undefined) return need(4, 'warning', leftOverWords(rejecting), rejecting);
  switch (last.status) {
    case 'failed':
      return need(1, 'bad', 'The last run failed.');
    case 'stopped':
      return need(2, 'warning', 'A safety limit stopped the last run.', last);
    case 'interrupted':
      return need(3, 'warning', 'The last run was interrupted.');
    case 'done-with-rejects':
      return need(4, 'warning', leftOverWords(last), last);
    case 'running':
    case 'planned':
    case 'done':
    case 'superseded':
      return null;
    default:
      return last.status satisfies never;
  }
}

/** The plan that can still be approved: none if a later run has read its source. `runs`: newest first. */
export function waitingPlan(runs: readonly Run[]): Run | undefined {
  const isWaiting = ({ status }: Run) => status === 'planned' || status === 'stopped';
  const latest = runs.find((run) => isWaiting(run) || (run.kind !== 'plan' && run.digest !== null));
  return latest !== undefined && isWaiting(latest) ? latest : undefined;
}

/** Which of these runs (newest first, of any jobs) a later run of their job has settled: they need no action. */
export function settledRuns(runs: readonly Run[]): ReadonlySet<string> {
  const newest = new Map<string, number>();
  const newestOfSource = new Map<string, number>();
  for (const run of runs) {
    const { job, kind, sequence } = run;
    if (!EXECUTING_KINDS.includes(kind)) continue;
    newest.set(job, Math.max(sequence, newest.get(job) ?? 0));
    if (readsSource(run)) newestOfSource.set(job, Math.max(sequence, newestOfSource.get(job) ?? 0));
  }
  // An undo and a release read no source: what was rejected before them is left.
  const settledBefore = (run: Run) => (hasRejects(run) ? newestOfSource : newest).get(run.job) ?? 0;
  return new Set(runs.filter((run) => run.sequence < settledBefore(run)).map(({ id }) => id));
}

/** The error of a run for a list: the first sentence of each line, limits by their titles, without personal data. Null if it has none. */
export function failureReasonOf(run: Run): string | null {
  const { error } = withoutPersonalData({ run, refusals: [], unsentReasons: [] }).run;
  if (error === null) return null;
  const sentences = error
    .split('\n')
    .map((line) => /^.*?[.!?](?=\s+\p{Lu}|$)/u.exec(line)?.[0] ?? line)
    .map((line) =>
      line.replace(/^\w+(?=: )/, (name) => (isLimitName(name) ? safetyLimit(name).title : name)),
    );
  return truncate(sentences.map(printable).join(' '), MAX_REASON_LENGTH);
}

function approvalNeed(plan: Run): Need {
  const requests = counted(plan.totals?.operations ?? 0, 'request');
  return plan.status === 'stopped'
    ? {
        rank: 2,
        tone: 'warning',
        why: failureReasonOf(plan) ?? 'A safety limit stopped the plan.',
        look: plan,
      }
    : { rank: 5, tone: 'strong', why: `${waitingSubject(plan)} for approval: ${requests}.`, look: plan };
}

function waitingSubject({ undo }: Run) {
  return undo === undefined ? 'A plan waits' : `The undo of run ${undo.of} waits`;
}

/** The run before an undo or a release, which read no source, if records that it rejected are left. `runs`: newest first. */
function rejectsLeftBefore(last: Run, runs: readonly Run[]): Run | undefined {
  if (readsSource(last)) return undefined;
  const before = runs.find((run) => readsSource(run) && run.sequence < last.sequence);
  return before?.status === 'done-with-rejects' && hasRejects(before) ? before : undefined;
}

function readsSource({ kind }: Run) {
  return kind === 'run' || kind === 'retry' || kind === 'export';
}

function hasRejects({ totals }: Run) {
  return totals !== null && totals.rejected > 0;
}

function leftOverWords({ totals }: Run) {
  const { rejected = 0, held = 0, skipped = 0, refusedDeletes = 0 } = totals ?? {};
  if (rejected + held === 0 && refusedDeletes > 0)
    return `The store refused ${counted(refusedDeletes, 'delete')}: see the reasons.`;
  if (rejected + held === 0 && skipped > 0)
    return `${counted(skipped, 'record')} ${wasOrWere(skipped)} skipped: see the reasons.`;
  if (rejected === 0 && held > 0) return `${counted(held, 'record')} ${isOrAre(held)} held and not sent.`;
  return `${counted(rejected, 'record')} ${wasOrWere(rejected)} rejected and not sent.`;
}
