import { KINDS_BUT_PLAN, type Run } from '../../model/run.ts';
import { type ConfigurationProblem, formatPlace } from '../../model/storeferry-error.ts';
import { counted, printable, shortened } from '../../report/printable.ts';
import { withoutPersonalData } from '../../report/run-facts.ts';
import type { AtWork } from '../dashboard-context.ts';

const LONGEST_WHY = 240;

/** What is under way for a job: while it lasts, a second start is not offered. */
export interface Activity {
  /** Null until it has become a run. */
  readonly run: Run | null;
  /** `command`: a process outside of this dashboard and the workers. `queue`: it waits for a worker. */
  readonly by: AtWork['by'] | 'command';
}

/** What is under way for a job; null when nothing is. `runs` are its latest ones in their present state, newest first. */
export function activityOf(runs: readonly Run[], atWork: AtWork | undefined): Activity | null {
  const run = runs.find(({ status }) => status === 'running');
  if (run !== undefined) {
    const isTheirs = atWork?.run === run.id || (atWork?.by === 'worker' && atWork.run === null);
    return { run, by: isTheirs ? atWork.by : 'command' };
  }
  if (atWork === undefined) return null;
  // A run that has ended leaves its command, or its worker, a moment later. One in the queue waits to go on.
  return atWork.run !== null && atWork.by !== 'queue' ? null : { run: null, by: atWork.by };
}

/** Why a job needs action. */
export interface Need {
  /** The lower, the sooner. */
  readonly rank: number;
  readonly tone: 'bad' | 'warning' | 'strong';
  readonly why: string;
  /** The run to look at before anything else is started; null where a start is the first thing to do. */
  readonly look: Run | null;
}

/** What needs are found in. */
interface NeedSources {
  /** The latest run that was more than a plan. */
  readonly last: Run | undefined;
  /** The latest runs of all kinds, newest first. */
  readonly runs: readonly Run[];
  readonly problems: readonly ConfigurationProblem[];
}

/** What a job needs: its file corrected, something done about its last run, or a plan approved; null when it needs nothing. */
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
  const need = (rank: number, tone: Need['tone'], otherwise: string, look: Run | null = null): Need => ({
    ...{ rank, tone, look },
    why: whyNotDone(last) ?? otherwise,
  });
  switch (last.status) {
    case 'failed':
      return need(1, 'bad', 'The last run failed.');
    case 'stopped':
      return need(2, 'warning', 'A safety limit stopped the last run.', last);
    case 'interrupted':
      return need(3, 'warning', 'The last run was interrupted.');
    case 'done-with-rejects':
      return need(4, 'warning', rejectedWords(last), last);
    case 'running':
    case 'planned':
    case 'done':
    case 'superseded':
      return null;
    default:
      return last.status satisfies never;
  }
}

/** The plan that can still be approved: none after a run that has read its source since. `runs`: newest first. */
export function waitingPlan(runs: readonly Run[]): Run | undefined {
  const isWaiting = ({ status }: Run) => status === 'planned' || status === 'stopped';
  const latest = runs.find((run) => isWaiting(run) || (run.kind !== 'plan' && run.digest !== null));
  return latest !== undefined && isWaiting(latest) ? latest : undefined;
}

/** Which of these runs (newest first, of any jobs) a later run of their job has settled: nothing is to be done about them. */
export function settledRuns(runs: readonly Run[]): ReadonlySet<string> {
  const newest = new Map<string, number>();
  for (const { job, kind, sequence } of runs) {
    if (KINDS_BUT_PLAN.includes(kind)) newest.set(job, Math.max(sequence, newest.get(job) ?? 0));
  }
  return new Set(runs.filter(({ job, sequence }) => sequence < (newest.get(job) ?? 0)).map(({ id }) => id));
}

/** What a run's error says, fit for a list: the first sentence of each line, without personal data. Null when it has none. */
export function whyNotDone(run: Run): string | null {
  const { error } = withoutPersonalData({ run, refusals: [], unsentReasons: [] }).run;
  if (error === null) return null;
  const sentences = error.split('\n').map((line) => /^.*?[.!?](?=\s+\p{Lu}|$)/u.exec(line)?.[0] ?? line);
  return shortened(sentences.map(printable).join(' '), LONGEST_WHY);
}

function approvalNeed(plan: Run): Need {
  const requests = counted(plan.totals?.operations ?? 0, 'request');
  return plan.status === 'stopped'
    ? { rank: 2, tone: 'warning', why: whyNotDone(plan) ?? 'A safety limit stopped the plan.', look: plan }
    : { rank: 5, tone: 'strong', why: `A plan waits for approval: ${requests}.`, look: plan };
}

function rejectedWords({ totals }: Run): string {
  const rejected = totals?.rejected ?? 0;
  return `${counted(rejected, 'record')} ${rejected === 1 ? 'was' : 'were'} rejected and not sent.`;
}
