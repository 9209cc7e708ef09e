import type { Run } from '../../model/run.ts';
import { html, type Markup } from '../../report/html/markup.ts';
import type { Frame } from './frame.ts';
import { jobHref } from './job-card.ts';
import { page } from './layout.ts';
import { liveProgress } from './live-progress.ts';
import { momentAndDistance, type Reading } from './moment.ts';

/** What the page of a run is made of. */
export interface RunPageFacts {
  readonly run: Run;
  /** Its report, with the buttons of those who may act. */
  readonly report: Markup;
  /** Whether the report is there as a file, too. */
  readonly hasReportFile: boolean;
  readonly reading: Reading;
}

/** One run: its progress, or its report with the actions that fit. */
export function runPage({ run, report, hasReportFile, reading }: RunPageFacts, frame: Frame): string {
  const running = run.status === 'running';
  return page({
    ...frame,
    title: `Run ${run.id} of ${run.job}`,
    section: 'runs',
    heading: html`Run ${run.id}`,
    live: running,
    body: html`<p class="page-lead">${kindWords(run)} <a href="${jobHref(run.job)}">${run.job}</a> on the store <b>${run.store}</b>, started ${momentAndDistance(run.startedAt, reading)}${hasReportFile && html`. <a href="/runs/${run.id}/report.html">The report as one file</a>, to mail or print`}.</p>
${running && liveProgress(run, reading)}
${report}`,
  });
}

function kindWords({ kind, retryOf }: Run): Markup {
  switch (kind) {
    case 'plan':
      return html`Plan of`;
    case 'retry':
      return html`Retry of <a href="/runs/${retryOf}">run ${retryOf}</a> of`;
    case 'run':
    case 'export':
      return html`Run of`;
    case 'verify':
      return html`Verification of`;
    default:
      return kind satisfies never;
  }
}
