import { lastedMs, type Run } from '../model/run.ts';
import type { RunsTextOptions } from './runs-text.ts';
import { formatAgo, formatDuration } from './wording/durations.ts';
import { Page } from './wording/page.ts';
import { statusTone } from './wording/status-words.ts';
import { totalsWords } from './wording/totals-words.ts';

/** A job of the workspace, when it runs and what its last run did. */
export interface JobFacts {
  readonly job: string;
  /** Null when it runs by hand only, or its file cannot be used. */
  readonly schedule: { readonly cron: string; readonly timezone: string } | null;
  /** When it runs next by the clock, in milliseconds since the epoch; null when nobody knows. */
  readonly next: number | null;
  /** Its file cannot be used as it stands. */
  readonly broken: boolean;
  /** The latest run that was more than a plan. */
  readonly last: Run | undefined;
}

/** Who runs jobs by the clock: nobody can without Redis, nobody does without a worker. */
export type ClockKeeper = 'no-redis' | 'no-worker' | 'worker';

/** Jobs, one a line: when each runs, when next, when last and what came of it. Empty without jobs. */
export function jobsText(
  jobs: readonly JobFacts[],
  keeper: ClockKeeper,
  options: RunsTextOptions & { readonly program: string },
): string {
  const page = new Page(options);
  if (jobs.length === 0) return '';
  page.table(
    ['job', 'schedule', 'next', 'last', 'outcome'],
    jobs.map((facts) => ({
      cells: [
        facts.job,
        scheduleOf(facts),
        nextOf(facts, options.now),
        facts.last === undefined ? 'never' : formatAgo(options.now - facts.last.startedAt),
        outcomeOf(facts, options.now),
      ],
      tone: facts.broken ? 'bad' : facts.last === undefined ? 'quiet' : statusTone(facts.last.status),
    })),
  );
  const scheduled = jobs.some(({ schedule }) => schedule !== null);
  const note = scheduled ? noteOf(keeper, options.program) : null;
  if (note !== null) page.say(note, { tone: 'warning' });
  if (jobs.some(({ broken }) => broken)) {
    page.say(`What is wrong with a broken job: ${options.program} check`, { tone: 'warning' });
  }
  return `${page}\n`;
}

function scheduleOf({ schedule, broken }: JobFacts): string {
  if (broken) return 'broken file';
  return schedule === null ? 'by hand' : `${schedule.cron} ${schedule.timezone}`;
}

/** `Sun 22 Nov 02:15 (in 5 h 12 min)`, by the clock of the schedule. */
function nextOf({ schedule, next }: JobFacts, now: number): string {
  if (schedule === null) return '';
  if (next === null) return 'when a worker has seen it';
  if (next <= now) return 'due now';
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: schedule.timezone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  const time = format.format(next).replaceAll(',', '').replace(' at ', ' ');
  return `${time} (in ${formatDuration(next - now)})`;
}

function outcomeOf({ last }: JobFacts, now: number): string {
  if (last === undefined) return '';
  if (last.status === 'running') return `running for ${formatDuration(lastedMs(last, now))}`;
  const figures = totalsWords(last);
  return figures === '' ? last.status : `${last.status}: ${figures}`;
}

function noteOf(keeper: ClockKeeper, program: string): string | null {
  switch (keeper) {
    case 'no-redis':
      return 'Schedules are inactive: they need Redis (REDIS_URL) and a worker.';
    case 'no-worker':
      return `Schedules are inactive: no worker is running. Start one: ${program} worker`;
    case 'worker':
      return null;
    default:
      return keeper satisfies never;
  }
}
