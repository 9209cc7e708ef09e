import { RUN_STATUSES, type Run, type RunStatus } from '../../model/run.ts';
import { html, type Markup } from '../../report/html/markup.ts';
import { counted } from '../../report/printable.ts';
import { statusLabel } from '../../report/status-words.ts';
import { asItStands } from '../../run/lock-job.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { settledRuns } from './activity.ts';
import { type Reading, serverTimezone } from './moment.ts';
import { type Frame, page } from './page.ts';
import { runsTable } from './runs-table.ts';

/** Filters of the list; null for all. */
export interface RunsFilter {
  readonly job: string | null;
  readonly status: RunStatus | null;
}

/** The content of the page of runs. */
export interface RunsPageFacts {
  readonly filter: RunsFilter;
  /** The choices of the filter: jobs of the workspace, and jobs of kept runs. */
  readonly jobs: readonly string[];
  readonly shown: Pages<Run>;
  /** Runs that a later run of their job has settled. */
  readonly settled: ReadonlySet<string>;
  readonly reading: Reading;
  readonly program: string;
}

/** The latest runs over all jobs. */
export function runsPage(facts: RunsPageFacts, frame: Frame): string {
  const { filter, shown, settled, reading } = facts;
  const all = filter.job === null && filter.status === null;
  const caption = `${counted(shown.total, 'run')}${all ? '' : ' match'}, newest first`;
  return page({
    ...frame,
    title: 'Runs',
    section: 'runs',
    body: html`${filterForm(facts)}
${shown.items.length === 0 ? noRuns(facts) : html`<div class="report"><div class="part">${runsTable(shown.items, { caption, captionHidden: false, ofOneJob: false, reading, settled })}</div></div>`}
${pager(shown, (number) => address(filter, number), BY_TIME)}
${frame.viewer.canAct && html`<p><a href="/audit">Audit log</a>: who did what</p>`}`,
  });
}

function filterForm({ filter, jobs }: RunsPageFacts): Markup {
  return html`<form class="filter" method="get" action="/runs">
<p><label for="job">Job</label><select id="job" name="job">${option('', 'All jobs', filter.job === null)}${jobs.map((job) => option(job, job, job === filter.job))}</select></p>
<p><label for="status">Outcome</label><select id="status" name="status">${option('', 'All outcomes', filter.status === null)}${RUN_STATUSES.map((status) => option(status, statusLabel(status), status === filter.status))}</select></p>
<p><button type="submit" class="button">Show</button></p>
</form>`;
}

function option(value: string, label: string, selected: boolean): Markup {
  return html`<option value="${value}"${selected && html` selected`}>${label}</option>`;
}

function noRuns({ filter, program }: RunsPageFacts): Markup {
  if (filter.job === null && filter.status === null) {
    return html`<section class="empty"><h2>No runs yet</h2>
<p>A plan shows what a run would send, and sends nothing. Start with one from <a href="/">the jobs</a>, or type:</p>
<pre><code>${program} plan JOB</code></pre></section>`;
  }
  return html`<section class="empty"><h2>No runs match</h2>
<p>The latest 20 runs of each job are kept. <a href="/runs">Show all runs</a>.</p></section>`;
}

function address({ job, status }: RunsFilter, number: number): string {
  const query = new URLSearchParams();
  if (job !== null) query.set('job', job);
  if (status !== null) query.set('status', status);
  if (number > 1) query.set('page', String(number));
  return `/runs${query.size === 0 ? '' : `?${query}`}`;
}

/** 20 runs of each of 50 jobs. */
const LOOKED_AT = 1_000;
const RUNS_A_PAGE = 25;

/** One page of the runs that match a filter. */
export async function readRuns(
  { context, openWorkspace, program }: DashboardContext,
  filter: RunsFilter,
  number: unknown,
): Promise<RunsPageFacts> {
  const listed = await context.state.runs.list({ limit: LOOKED_AT });
  const standing = await Promise.all(listed.map((run) => asItStands(context, run)));
  const fitting = standing
    .filter(({ job }) => filter.job === null || job === filter.job)
    .filter(({ status }) => filter.status === null || status === filter.status);
  const jobs = new Set([...openWorkspace().jobNames(), ...listed.map(({ job }) => job)]);
  return {
    filter,
    jobs: [...jobs].sort(),
    shown: pageOf(fitting, RUNS_A_PAGE, number),
    settled: settledRuns(standing),
    reading: { now: context.clock(), timezone: serverTimezone() },
    program,
  };
}

/** One page of many things. */
export interface Pages<T> {
  readonly items: readonly T[];
  readonly total: number;
  /** Counts from 1. */
  readonly number: number;
  readonly count: number;
}

/** The page of this number, or the last one; 1 for an invalid number. */
export function pageOf<T>(items: readonly T[], size: number, asked: unknown): Pages<T> {
  const count = Math.max(1, Math.ceil(items.length / size));
  const wanted = typeof asked === 'string' && /^\d{1,6}$/.test(asked) ? Number(asked) : 1;
  const number = Math.min(count, Math.max(1, wanted));
  return { items: items.slice((number - 1) * size, number * size), total: items.length, number, count };
}

/** The words of a pager for things of which the newest come first. */
export const BY_TIME = ['Newer', 'Older'] as const;

/** Links to the previous and next page; nothing if there is only one page. */
export function pager(
  { number, count }: Pages<unknown>,
  href: (number: number) => string,
  [before, after]: readonly [string, string] = ['Previous', 'Next'],
): Markup {
  if (count === 1) return html``;
  return html`<nav class="pager" aria-label="Pages">
${number > 1 && html`<a class="button" rel="prev" href="${href(number - 1)}">${before}</a>`}
<span>Page ${number} of ${count}</span>
${number < count && html`<a class="button" rel="next" href="${href(number + 1)}">${after}</a>`}
</nav>`;
}
