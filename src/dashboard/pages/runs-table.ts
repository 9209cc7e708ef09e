import { lastedMs, type Run } from '../../model/run.ts';
import { type Column, dataTable, html, type Markup, runBadge } from '../../report/html/markup.ts';
import { formatDuration } from '../../report/printable.ts';
import { figuresWords } from '../../report/status-words.ts';
import { whyNotDone } from './activity.ts';
import { jobHref } from './job-card.ts';
import { moment, type Reading, relative } from './moment.ts';

interface RunsTableOptions {
  readonly caption: string;
  /** Whether the heading above has the same text. */
  readonly captionHidden: boolean;
  /** Whether all runs belong to one job, so that rows need not name it. */
  readonly ofOneJob: boolean;
  /** Runs whose badge has no colour, because they need no action any more. */
  readonly settled: ReadonlySet<string>;
  readonly reading: Reading;
}

/** Runs, one per row, in the given order; for unsuccessful runs with the cause. */
export function runsTable(runs: readonly Run[], options: RunsTableOptions): Markup {
  const { caption, captionHidden, ofOneJob, settled, reading } = options;
  const job: Column[] = ofOneJob ? [] : [{ header: 'Job', bare: true, short: true }];
  return dataTable({
    caption,
    captionHidden,
    columns: [
      { header: 'Run' },
      ...job,
      { header: 'Outcome', bare: true },
      { header: 'Started', bare: true },
      { header: 'Duration', numeric: true },
    ],
    rows: runs.map((run) => [
      html`<a href="/runs/${run.id}">${run.id}</a>${kindNote(run)}`,
      ...(ofOneJob ? [] : [html`<a class="job-name" href="${jobHref(run.job)}">${run.job}</a>`]),
      outcome(run, settled.has(run.id)),
      html`<span class="begun">${moment(run.startedAt, reading)}</span> <span class="quiet begun">${relative(run.startedAt, reading)}</span>`,
      formatDuration(lastedMs(run, reading.now)),
    ]),
  });
}

function outcome(run: Run, settled: boolean): Markup {
  const why = run.status === 'running' ? null : whyNotDone(run);
  return html`${runBadge(run, { settled })} <span class="totals">${figuresWords(run)}</span>${why !== null && html`<div class="why">${why}</div>`}`;
}

function kindNote({ kind, retryOf }: Run): Markup {
  if (kind === 'plan') return html` <span class="quiet">plan</span>`;
  return retryOf === null ? html`` : html` <span class="quiet">retry</span>`;
}
