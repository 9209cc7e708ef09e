import { RUN_STATUSES, type Run, type RunStatus } from '../../model/run.ts';
import { html, type Markup } from '../../report/html/markup.ts';
import { statusLabel } from '../../report/wording/status-words.ts';
import { counted } from '../../report/wording/words.ts';
import type { Frame } from './frame.ts';
import { page } from './layout.ts';
import type { Reading } from './moment.ts';
import { type Pages, pager } from './pager.ts';
import { runsTable } from './runs-table.ts';

/** Which runs to list; null for all. */
export interface RunsFilter {
  readonly job: string | null;
  readonly status: RunStatus | null;
}

/** What the page of runs is made of. */
export interface RunsPageFacts {
  readonly filter: RunsFilter;
  /** To choose from: the jobs of the workspace, and those of runs that are kept. */
  readonly jobs: readonly string[];
  readonly shown: Pages<Run>;
  /** Those that a later run of their job has settled. */
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
${pager(shown, (number) => address(filter, number))}`,
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
