import { includesRole } from '../../model/action.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import { lastedMs, RUN_STATUSES, type Run } from '../../model/run.ts';
import { html, quiet, runBadge, type TableParts } from '../../report/html/markup.ts';
import { figuresWords, kindOf, statusLabel } from '../../report/status-words.ts';
import { listLiveRuns } from '../../run/report/read-stored-report.ts';
import { counted, formatDuration } from '../../text/printable.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import type { PageRequest } from '../route-parts.ts';
import { failureReasonOf, settledRuns } from './activity.ts';
import { jobHref } from './link-button.ts';
import {
  BY_TIME,
  emptyBox,
  moment,
  type Page,
  pageOf,
  pager,
  type Reading,
  relativeTime,
  tableBox,
} from './page.ts';
import { type Choice, filterForm, namedChoices, select } from './post-form.ts';

/** 20 runs of each of 50 jobs. */
const MAX_READ = 1_000;
const RUNS_PER_PAGE = 25;
const OUTCOMES = RUN_STATUSES.map((name): Choice => [name, statusLabel(name)]);
const NO_RUNS = emptyBox(
  'No runs yet',
  html`A plan shows what a run would send, and sends nothing. Start with one from <a href="/">the jobs</a>.`,
);
const NO_MATCH = emptyBox(
  'No runs match',
  html`At least the latest 20 runs of each job are kept. <a href="/runs">Show all runs</a>.`,
);

/** The latest runs over all jobs, or those of a job or an outcome. */
export async function runsPage(
  { context, readWorkspace }: DashboardContext,
  { fields: { job = '', status: asked, page }, viewer, reading }: PageRequest,
): Promise<Page> {
  const status = RUN_STATUSES.find((known) => known === asked) ?? '';
  const live = await listLiveRuns(context, { limit: MAX_READ });
  const fitting = live.filter(
    (run) => (job === '' || run.job === job) && (status === '' || run.status === status),
  );
  const jobs = [...new Set([...readWorkspace().jobNames(), ...live.map((run) => run.job)])].sort();
  const shown = pageOf(fitting, RUNS_PER_PAGE, page);
  const isAll = job === '' && status === '';
  const table = {
    caption: `${counted(shown.total, 'run')}${isAll ? '' : ' match'}, newest first`,
    ofOneJob: false,
    reading,
    settled: settledRuns(live),
  };
  return {
    title: 'Runs',
    section: 'runs',
    body: html`${filterForm('/runs', [
      { name: 'job', label: 'Job', control: select('job', [['', 'All jobs'], ...namedChoices(jobs)], job) },
      {
        name: 'status',
        label: 'Outcome',
        control: select('status', [['', 'All outcomes'], ...OUTCOMES], status),
      },
    ])}
${shown.items.length > 0 ? tableBox(runsTable(shown.items, table)) : isAll ? NO_RUNS : NO_MATCH}
${pager(shown, '/runs', { job, status }, BY_TIME)}
<p>${includesRole(viewer.role, 'edit') && html`<a href="/audit">Audit log</a>: who did what · <a href="/tokens">API tokens</a>: for programs that start and read runs · `}<a href="/people">People</a>: who may do what, and who is signed in</p>`,
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
      'Run',
      !ofOneJob && ['Job', 'bare', 'short'],
      ['Outcome', 'bare'],
      ['Started', 'bare'],
      ['Duration', 'numeric'],
    ],
    rows: runs.map((run) =>
      withoutAbsent([
        html`<a href="/runs/${run.id}">${run.id}</a>${kindNote(run)}`,
        !ofOneJob && html`<a class="job-name" href="${jobHref(run.job)}">${run.job}</a>`,
        outcome(run, settled.has(run.id)),
        html`<span class="begun">${moment(run.startedAt, reading)}</span> <span class="quiet begun">${relativeTime(run.startedAt, reading)}</span>`,
        formatDuration(lastedMs(run, reading.now)),
      ]),
    ),
  };
}

function outcome(run: Run, settled: boolean) {
  const why = run.status === 'running' ? null : failureReasonOf(run);
  return html`${runBadge(run, { settled })} <span class="totals">${figuresWords(run)}</span>${why !== null && html`<div class="why">${why}</div>`}`;
}

function kindNote(run: Run) {
  return run.kind === 'run' || run.kind === 'export' ? html`` : html` ${quiet(kindOf(run))}`;
}
