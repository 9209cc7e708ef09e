import type { Run } from '../../model/run.ts';
import { documentSections } from '../../report/html/document-page.ts';
import { html, type Markup } from '../../report/html/markup.ts';
import { runDocument } from '../../report/run-document.ts';
import { withoutPersonalData } from '../../report/wording/personal-data.ts';
import { asItStands, laterRun } from '../../run/as-it-stands.ts';
import { withShownFiles } from '../../run/export/shown-location.ts';
import { readStoredReport } from '../../run/report/read-stored-report.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import type { Frame } from './frame.ts';
import { jobHref } from './job-card.ts';
import { page } from './layout.ts';
import { liveProgress } from './live-progress.ts';
import { momentAndDistance } from './moment.ts';
import { runActions } from './run-actions.ts';
import { serverTimezone } from './server-timezone.ts';

/** One run: its progress and its document, with the actions that fit; undefined when there is no such run. */
export async function runPage(
  { context, program }: DashboardContext,
  id: string,
  frame: Frame,
): Promise<string | undefined> {
  const { version, workspaceDir } = context;
  const kept = await context.state.runs.get(id);
  if (kept === undefined) return undefined;
  const stored = await readStoredReport(context, await asItStands(context, kept));
  const facts = withShownFiles(withoutPersonalData(stored), workspaceDir);
  const { run } = facts;
  const later = await laterRun(context, kept);
  const actions = frame.viewer.canAct ? runActions(facts, later) : null;
  const reading = { now: context.clock(), timezone: serverTimezone() };
  const view = { now: reading.now, program, version, buttons: actions !== null, progress: true };
  const running = run.status === 'running';
  return page({
    ...frame,
    title: `Run ${id} of ${run.job}`,
    section: 'runs',
    heading: html`Run ${id}`,
    live: running,
    body: html`<p class="page-lead">${kindWords(run)} <a href="${jobHref(run.job)}">${run.job}</a> on the store <b>${run.store}</b>, started ${momentAndDistance(run.startedAt, reading)}${facts.reportFile !== null && html`. <a href="/runs/${id}/report.html">The report as one file</a>, to mail or print`}.</p>
${running && liveProgress(run, reading)}
${await documentSections(runDocument(facts, view), actions)}`,
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
