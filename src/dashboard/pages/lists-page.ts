import type { ExportJob } from '../../config/job/job.ts';
import { html } from '../../report/html/markup.ts';
import type { Frame } from './frame.ts';
import { whatItMoves } from './job-words.ts';
import { page } from './layout.ts';

const EXAMPLE = `export: subscriber-lists
store: main
destination: { path: exports/list-statistics.csv, mode: append }
schedule: { cron: "0 6 * * *", timezone: UTC }`;

/** The jobs that collect list statistics, to choose from. */
export function listsPage(jobs: readonly ExportJob[], frame: Frame): string {
  return page({
    ...frame,
    title: 'Lists',
    section: 'lists',
    body:
      jobs.length === 0
        ? html`<section class="empty"><h2>No list statistics yet</h2>
<p>A job that exports subscriber lists and appends to its file collects their figures, and this page plots them over time. Put this into <code>jobs/list-statistics.yaml</code>, with the name of your store:</p>
<pre><code>${EXAMPLE}</code></pre></section>`
        : html`<ul class="cards">${jobs.map(
            (job) =>
              html`<li><article class="card"><h2><a href="/lists/${encodeURIComponent(job.name)}">${job.name}</a></h2><p>${whatItMoves(job)}.</p></article></li>`,
          )}</ul>`,
  });
}
