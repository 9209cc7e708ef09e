import { html, type Markup } from '../../report/html/markup.ts';
import type { ReportFacts } from '../../report/html/report-facts.ts';
import type { Frame } from './frame.ts';
import { jobHref } from './job-card.ts';
import { page } from './layout.ts';
import { liveProgress } from './live-progress.ts';
import { momentAndDistance, type Reading } from './moment.ts';
import { runActions } from './run-actions.ts';
import { statusBadge } from './status-badge.ts';

/** What the page of a run is made of. */
export interface RunPageFacts {
  readonly report: ReportFacts;
  /** The report's own sections. */
  readonly sections: Markup;
  readonly reading: Reading;
}

/** One run: how it stands, what may be done about it, and its report. */
export function runPage({ report, sections, reading }: RunPageFacts, frame: Frame): string {
  const { run } = report;
  const running = run.status === 'running';
  return page({
    ...frame,
    title: `Run ${run.id} of ${run.job}`,
    section: 'runs',
    heading: html`<span class="run-id">Run ${run.id}</span> ${statusBadge(run.status)}`,
    live: running,
    body: html`<p class="page-lead">${kindWords(report)} <a href="${jobHref(run.job)}">${run.job}</a> on the store <b>${run.store}</b>, ${momentAndDistance(run.startedAt, reading)}.</p>
${running && liveProgress(run, reading)}
${frame.viewer.canAct && runActions(report)}
${sections}
${!running && html`<p class="actions"><a class="button" href="/runs/${run.id}/report.html">The report as one file</a></p>`}`,
  });
}

function kindWords({ run: { kind, retryOf } }: ReportFacts): Markup {
  switch (kind) {
    case 'plan':
      return html`Plan of`;
    case 'retry':
      return html`Retry of <a href="/runs/${retryOf}">run ${retryOf}</a> of`;
    case 'run':
    case 'export':
      return html`Run of`;
    default:
      return kind satisfies never;
  }
}
