import { lastedMs, RUN_STATUSES, type Run, type RunStatus } from '../../model/run.ts';
import { columns, html, type Markup, runBadge, type TableParts } from '../../report/html/markup.ts';
import { figuresWords, kindOf, statusLabel } from '../../report/status-words.ts';
import { withLiveStatus } from '../../run/report/read-stored-report.ts';
import { counted, formatDuration } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { failureReasonOf, settledRuns } from './activity.ts';
import { jobHref } from './link-button.ts';
import { moment, type Reading, readingOf, relative } from './moment.ts';
import { BY_TIME, emptyBox, type Page, type Pages, pageOf, pager, tableBox } from './page.ts';
import { type Choice, filterForm, select } from './post-form.ts';

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
export function runsPage(facts: RunsPageFacts, viewer: Viewer): Page {
  const { filter, shown, settled, reading } = facts;
  const all = filter.job === null && filter.status === null;
  const caption = `${counted(shown.total, 'run')}${all ? '' : ' match'}, newest first`;
  return {
    title: 'Runs',
    section: 'runs',
    body: html`${filterOf(facts)}
${shown.items.length === 0 ? noRuns(facts) : tableBox(runsTable(shown.items, { caption, ofOneJob: false, reading, settled }))}
${pager(shown, (number) => address(filter, number), BY_TIME)}
${viewer.canAct && html`<p><a href="/audit">Audit log</a>: who did what</p>`}`,
  };
}

function filterOf({ filter, jobs }: RunsPageFacts): Markup {
  const byJob: Choice[] = [['', 'All jobs'], ...jobs.map((job): Choice => [job, job])];
  const byStatus = RUN_STATUSES.map((status): Choice => [status, statusLabel(status)]);
  return filterForm('/runs', [
    { name: 'job', label: 'Job', control: select('job', byJob, filter.job ?? '') },
    {
      name: 'status',
      label: 'Outcome',
      control: select('status', [['', 'All outcomes'], ...byStatus], filter.status ?? ''),
    },
  ]);
}

function noRuns({ filter, program }: RunsPageFacts): Markup {
  if (filter.job === null && filter.status === null) {
    return emptyBox(
      'No runs yet',
      html`<p>A plan shows what a run would send, and sends nothing. Start with one from <a href="/">the jobs</a>, or type:</p>
<pre><code>${program} plan JOB</code></pre>`,
    );
  }
  return emptyBox(
    'No runs match',
    html`<p>The latest 20 runs of each job are kept. <a href="/runs">Show all runs</a>.</p>`,
  );
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
const RUNS_PER_PAGE = 25;

/** One page of the runs that match a filter. */
export async function readRuns(
  { context, openWorkspace, program }: DashboardContext,
  filter: RunsFilter,
  number: string | undefined,
): Promise<RunsPageFacts> {
  const listed = await context.state.runs.list({ limit: LOOKED_AT });
  const standing = await Promise.all(listed.map((run) => withLiveStatus(context, run)));
  const fitting = standing
    .filter(({ job }) => filter.job === null || job === filter.job)
    .filter(({ status }) => filter.status === null || status === filter.status);
  const jobs = new Set([...openWorkspace().jobNames(), ...listed.map(({ job }) => job)]);
  return {
    filter,
    jobs: [...jobs].sort(),
    shown: pageOf(fitting, RUNS_PER_PAGE, number),
    settled: settledRuns(standing),
    reading: readingOf(context),
    program,
  };
}

interface RunsTableOptions {
  readonly caption: string;
  /** Whether all runs belong to one job, which the page is about: rows do not name it, and the heading has the caption. */
  readonly ofOneJob: boolean;
  /** Runs whose badge has no colour, because they need no action any more. */
  readonly settled: ReadonlySet<string>;
  readonly reading: Reading;
}

/** Runs, one per row, in the given order; for unsuccessful runs with the cause. */
export function runsTable(
  runs: readonly Run[],
  { caption, ofOneJob, settled, reading }: RunsTableOptions,
): TableParts {
  return {
    caption,
    captionHidden: ofOneJob,
    columns: [
      ...columns('Run', ...(ofOneJob ? [] : [['Job', 'bare', 'short'] as const])),
      ...columns(['Outcome', 'bare'], ['Started', 'bare'], ['Duration', 'numeric']),
    ],
    rows: runs.map((run) => [
      html`<a href="/runs/${run.id}">${run.id}</a>${kindNote(run)}`,
      ...(ofOneJob ? [] : [html`<a class="job-name" href="${jobHref(run.job)}">${run.job}</a>`]),
      outcome(run, settled.has(run.id)),
      html`<span class="begun">${moment(run.startedAt, reading)}</span> <span class="quiet begun">${relative(run.startedAt, reading)}</span>`,
      formatDuration(lastedMs(run, reading.now)),
    ]),
  };
}

function outcome(run: Run, settled: boolean): Markup {
  const why = run.status === 'running' ? null : failureReasonOf(run);
  return html`${runBadge(run, { settled })} <span class="totals">${figuresWords(run)}</span>${why !== null && html`<div class="why">${why}</div>`}`;
}

function kindNote(run: Run): Markup {
  return run.kind === 'run' || run.kind === 'export'
    ? html``
    : html` <span class="quiet">${kindOf(run)}</span>`;
}
