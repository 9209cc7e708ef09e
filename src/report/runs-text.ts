import { lastedMs, type Run } from '../model/run.ts';
import { documentText, Page, type PageOptions } from './document-text.ts';
import { formatAgo, formatDuration, formatMoment } from './printable.ts';
import { runDocument } from './run-document.ts';
import type { ClockKeeper, JobFacts, RunFacts, View } from './run-facts.ts';
import { plainWords } from './section.ts';
import { requestsWaitText } from './sections/notes-section.ts';
import { schedulesNote, statusTone, totalsWords } from './status-words.ts';

/** Where and when (milliseconds since the epoch) a text about runs is shown. */
export type RunsTextOptions = PageOptions & { readonly now: number };

/** Runs, one per line, in the given order: id, job, status, start, duration and figures. */
export function runsText(runs: readonly Run[], options: RunsTextOptions): string {
  const page = new Page(options);
  if (runs.length === 0) {
    page.say(`No runs yet. Start one: ${options.program ?? 'storeferry'} run JOB`);
    return page.toString();
  }
  page.table(
    ['run', 'job', 'status', 'started', 'duration', 'records'],
    runs.map((run) => ({
      cells: [
        run.id,
        run.kind === 'run' ? run.job : `${run.job} (${run.kind})`,
        run.status,
        formatAgo(options.now - run.startedAt),
        formatDuration(lastedMs(run, options.now)),
        totalsWords(run),
      ],
      tone: statusTone(run.status),
    })),
  );
  return page.toString();
}

/** One run: its kind and its start, then its document. */
export function runText(facts: RunFacts, view: View, options: PageOptions): string {
  const { run } = facts;
  const page = new Page(options);
  const { kind, retryOf, undo } = run;
  const of = undo?.of ?? run.release?.of ?? retryOf;
  const how = of === null ? kind : `${undo === undefined ? kind : 'undo'} of ${of}`;
  page.say(`Run ${run.id} of ${run.job} (${how}) on the store ${run.store}, ${run.baseUrl}`, {
    tone: 'strong',
  });
  page.say(`started ${formatAgo(view.now - run.startedAt)}, ${new Date(run.startedAt).toISOString()}`, {
    indent: 2,
  });
  if (run.status === 'running') page.say(`at the step ${run.step}`, { indent: 2 });
  const waitsMs = run.status === 'running' && run.waiting != null ? run.waiting.until - view.now : 0;
  if (run.waiting != null && waitsMs > 0) {
    page.say(requestsWaitText(run.waiting.operations, waitsMs), { indent: 2 });
  }
  return `${page}\n${documentText(runDocument(facts, view), options)}`;
}

/** Jobs, one per line: schedule, next run, last run and its result. Empty without jobs. */
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
  if (scheduled && keeper !== 'worker') {
    page.say(plainWords(schedulesNote(keeper, options.program), 'text'), { tone: 'warning' });
  }
  if (jobs.some(({ broken }) => broken)) {
    page.say(`What is wrong with a broken job: ${options.program} check`, { tone: 'warning' });
  }
  return `${page}\n`;
}

function scheduleOf({ schedule, broken }: JobFacts): string {
  if (broken) return 'broken file';
  return schedule === null ? 'by hand' : `${schedule.cron} ${schedule.timezone}`;
}

/** `Sun 22 Nov 02:15 (in 5 h 12 min)`, in the time zone of the schedule. */
function nextOf({ schedule, next }: JobFacts, now: number): string {
  if (schedule === null) return '';
  if (next === null) return 'once a worker has read the schedule';
  if (next <= now) return 'due now';
  const time = formatMoment(next, { timezone: schedule.timezone, year: false, zone: false });
  return `${time} (in ${formatDuration(next - now)})`;
}

function outcomeOf({ last }: JobFacts, now: number): string {
  if (last === undefined) return '';
  if (last.status === 'running') return `running for ${formatDuration(lastedMs(last, now))}`;
  const figures = totalsWords(last);
  return figures === '' ? last.status : `${last.status}: ${figures}`;
}
