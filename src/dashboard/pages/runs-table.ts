import type { Run } from '../../model/run.ts';
import { html, type Markup } from '../../report/html/markup.ts';
import { formatDuration } from '../../report/wording/durations.ts';
import { totalsWords } from '../../report/wording/totals-words.ts';
import { jobHref } from './job-card.ts';
import { moment, type Reading, relative } from './moment.ts';
import { statusBadge } from './status-badge.ts';

interface RunsTableOptions {
  readonly caption: string;
  /** Whether the table is of one job, and need not name it in each row. */
  readonly ofOneJob: boolean;
  readonly reading: Reading;
}

/** Runs, one a row, in the order given. */
export function runsTable(runs: readonly Run[], { caption, ofOneJob, reading }: RunsTableOptions): Markup {
  return html`<div class="table-scroll" role="region" aria-label="${caption}" tabindex="0"><table class="runs">
<caption>${caption}</caption>
<thead><tr><th scope="col">Run</th>${!ofOneJob && html`<th scope="col">Job</th>`}<th scope="col">Outcome</th><th scope="col">Records</th><th scope="col">Begun</th><th scope="col" class="figure">Took</th></tr></thead>
<tbody>${runs.map(
    (run) => html`<tr>
<th scope="row"><a href="/runs/${run.id}">${run.id}</a>${kindNote(run)}</th>
${!ofOneJob && html`<td><a href="${jobHref(run.job)}">${run.job}</a></td>`}
<td>${statusBadge(run.status)}</td>
<td>${totalsWords(run)}</td>
<td class="begun">${moment(run.startedAt, reading)} <span class="quiet">${relative(run.startedAt, reading)}</span></td>
<td class="figure">${formatDuration((run.finishedAt ?? reading.now) - run.startedAt)}</td>
</tr>`,
  )}</tbody>
</table></div>`;
}

function kindNote({ kind, retryOf }: Run): Markup {
  if (kind === 'plan') return html` <span class="quiet">plan</span>`;
  return retryOf === null ? html`` : html` <span class="quiet">retry</span>`;
}
