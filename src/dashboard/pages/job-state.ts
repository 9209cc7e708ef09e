import type { ConfigurationProblem } from '../../model/errors.ts';
import { formatPlace } from '../../model/errors.ts';
import type { Run } from '../../model/run.ts';
import { withoutPersonalData } from '../../report/wording/personal-data.ts';
import { printable, shortened } from '../../report/wording/printable.ts';
import { counted } from '../../report/wording/words.ts';
import type { AtWork } from '../dashboard-actions.ts';

const LONGEST_WHY = 240;

/** What is under way for a job: while it lasts, a second start is not offered. */
export interface Activity {
  /** Null until it has become a run. */
  readonly run: Run | null;
  /** `command`: a process outside of this dashboard and the workers. `queue`: it waits for a worker. */
  readonly by: AtWork['by'] | 'command';
}

/** What is under way for a job; null when nothing is. `runs` are its latest ones as they stand, newest first. */
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

/** Why a job needs somebody to act. */
export interface Need {
  /** The lower, the sooner. */
  readonly rank: number;
  readonly tone: 'bad' | 'warning';
  readonly why: string;
}

/** What a job needs: its file corrected, or something done about its last run; null when it needs nothing. */
export function needOf(last: Run | undefined, problems: readonly ConfigurationProblem[]): Need | null {
  const [problem] = problems;
  if (problem !== undefined) {
    const more = problems.length > 1 ? ` (and ${counted(problems.length - 1, 'more problem')})` : '';
    return {
      rank: 0,
      tone: 'bad',
      why: `Its file cannot be used. ${formatPlace(problem.place)}: ${problem.message}${more}`,
    };
  }
  if (last === undefined) return null;
  switch (last.status) {
    case 'failed':
      return { rank: 1, tone: 'bad', why: whyNotDone(last) ?? 'The last run failed.' };
    case 'stopped':
      return { rank: 2, tone: 'warning', why: whyNotDone(last) ?? 'A safety limit stopped the last run.' };
    case 'interrupted':
      return { rank: 3, tone: 'warning', why: whyNotDone(last) ?? 'The last run was interrupted.' };
    case 'done-with-rejects':
      return { rank: 4, tone: 'warning', why: whyNotDone(last) ?? rejectedWords(last) };
    case 'running':
    case 'planned':
    case 'done':
    case 'superseded':
      return null;
    default:
      return last.status satisfies never;
  }
}

/** What a run's error says, fit for a list: short, and without personal data. Null when it has none. */
export function whyNotDone(run: Run): string | null {
  const { error } = withoutPersonalData({ run, refusals: [], unsentReasons: [] }).run;
  return error === null ? null : shortened(printable(error), LONGEST_WHY);
}

function rejectedWords({ totals }: Run): string {
  const rejected = totals?.rejected ?? 0;
  return `${counted(rejected, 'record')} ${rejected === 1 ? 'was' : 'were'} rejected and not sent.`;
}
