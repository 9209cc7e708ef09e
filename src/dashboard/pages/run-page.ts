import { ACTIONS, includesRole, mayDo, subjectOf } from '../../model/action.ts';
import type { Run, RunStep } from '../../model/run.ts';
import { REJECTS_FILE, REJECTS_WORKBOOK } from '../../rejects/rejects-file.ts';
import { type ButtonOf, documentSections } from '../../report/html/document-sections.ts';
import { html, type Markup, quiet } from '../../report/html/markup.ts';
import { runDocument } from '../../report/run-document.ts';
import { withoutPersonalData } from '../../report/run-facts.ts';
import { progressWords, shareOf } from '../../report/status-words.ts';
import { whyNotApprover } from '../../run/execute-run.ts';
import {
  laterRun,
  readStoredReport,
  withLiveStatus,
  withShownFiles,
} from '../../run/report/read-stored-report.ts';
import { recordExamples } from '../../run/show-record.ts';
import { grouped } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { RUN_FILES } from '../file-routes.ts';
import { keptRun, type PageRequest } from '../route-parts.ts';
import { runActions } from './audit-page.ts';
import { RUN_NOUNS } from './job-card.ts';
import { actionButton, jobHref, jobLink, linkButton, runLink } from './link-button.ts';
import { momentAndDistance, noticeText, type Page, type Reading, relativeTime } from './page.ts';
import { attributes } from './post-form.ts';
import { maySeeRecords } from './record-page.ts';

/** One run: its progress and its document, with suitable actions. PageError if there is no such run. */
export async function runPage(
  dashboard: DashboardContext,
  { subject: id, viewer, reading }: PageRequest,
): Promise<Page> {
  const { context, program } = dashboard;
  const { version, workspaceDir } = context;
  const kept = await keptRun(dashboard, id);
  const stored = await readStoredReport(context, await withLiveStatus(context, kept));
  const facts = withShownFiles(withoutPersonalData(stored), workspaceDir);
  const { run } = facts;
  const later = await laterRun(context, kept);
  const buttons = includesRole(viewer.role, 'operate');
  const view = { ...reading, program, version, buttons, later: later?.id, onRunPage: true };
  const running = run.status === 'running';
  const files = buttons ? await context.artifacts.run(id).list() : [];
  const hasWorkbook = files.includes(REJECTS_WORKBOOK);
  const others = RUN_FILES.filter(
    ({ name, isLinked }) => files.includes(name) && (isLinked || (hasWorkbook && name === REJECTS_FILE)),
  );
  const hasRecords = maySeeRecords(run, viewer) && (await recordExamples(context, kept)) !== undefined;
  return {
    title: `Run ${id} of ${run.job}`,
    section: 'runs',
    heading: html`Run ${id}`,
    live: running,
    lead: html`${kindWords(run)} ${jobLink(run.job)} on the store <b>${run.store}</b>, started ${momentAndDistance(run.startedAt, reading)}${facts.reportFile !== null && html`. <a href="/runs/${id}/report.html">The report as one file</a>, to mail or print (<a href="/runs/${id}/report.html?download">download</a>)`}${hasRecords && html`. <a href="/runs/${id}/records">Single records</a>, with the cells of each field`}${maySeeRecords(run, viewer) && html`. <a href="/runs/${id}/outcomes">Outcome of each record</a>`}${others.map(({ name }) => html`. <a href="/runs/${id}/${name}">Download ${name}</a>`)}${run.kind === 'export' && !running && mayDo(viewer.role, 'download-export') && html`. <a href="${jobHref(run.job)}/export">Download the exported file</a>, as it is now`}.`,
    body: html`${buttons && (await runActions(dashboard, id, reading))}
${running && liveProgress(run, reading)}
${documentSections(runDocument(facts, view), buttons ? buttonOf(run, hasWorkbook, viewer) : undefined)}`,
  };
}

/** The buttons after a run, each with a confirmation; none for what the visitor may not do, or only a command can. */
function buttonOf(run: Run, hasWorkbook: boolean, viewer: Viewer): ButtonOf {
  const isOwn = whyNotApprover(run, viewer.names) !== undefined;
  return (action) => {
    const { does } = action;
    const button = (options?: Parameters<typeof actionButton>[3]) =>
      actionButton(viewer, does, subjectOf(action), options);
    switch (does) {
      case 'approve':
        if (isOwn) return quiet('Another person approves, signed in by name.');
        return button(run.status === 'stopped' ? { weight: 'danger' } : {});
      case 'run':
      case 'plan':
        // A button runs the whole job, and only what changed.
        return action.resend === true || action.sample !== undefined ? null : button();
      case 'undo':
        return button({ query: action.only && { key: action.only.join('\n') } });
      case 'drift':
        if (action.restore === true) return button({ label: 'Plan to restore', query: { how: 'restore' } });
        return button(action.accept === true ? { label: 'Accept', query: { how: 'accept' } } : {});
      case 'download-rejects':
        if (!hasWorkbook) return button();
        return linkButton(`/runs/${action.run}/${REJECTS_WORKBOOK}`, ACTIONS[does].button);
      case 'see':
        return button({ label: `See run ${action.run}` });
      case 'retry':
        return html`<span class="choices">${actionButton(viewer, 'correct', action.run)} ${button()}</span>`;
      default:
        return button();
    }
  };
}

function kindWords({ kind, retryOf, undo, release }: Run) {
  if (undo !== undefined) return html`Undo of ${runLink(undo.of)} of`;
  if (release !== undefined) return html`Release of records that ${runLink(release.of)} held, of`;
  return retryOf === null ? html`${RUN_NOUNS[kind]} of` : html`Retry of ${runLink(retryOf)} of`;
}

/** The steps of a run in order, each with a description. */
const STEPS = {
  import: [
    ['stage', 'Copy the source'],
    ['plan', 'Plan what must change'],
    ['apply', 'Send it to the store'],
    ['finish', 'Write the reports'],
  ],
  verify: [['apply', 'Send a sample again']],
  drift: [['apply', 'Compare the store']],
  export: [
    ['read', 'Read the store'],
    ['write', 'Write the file'],
    ['finish', 'Write the reports'],
  ],
} as const satisfies Record<string, readonly (readonly [RunStep, string])[]>;

/**
 * The progress of a running run. The script `live.js` fills elements with `data-live` from the events at
 * `data-events`, and reloads the page at the end. Without the script the page says that it does not update.
 */
export function liveProgress(run: Run, reading: Reading): Markup {
  const { id, step, progress, interruptAskedAt = null } = run;
  const known = progress?.step === step ? progress : null;
  const share = known && shareOf(known);
  const words = known && progressWords({ ...known, ratePerSecond: null, etaMs: null });
  return html`<section class="live panel" aria-labelledby="running" data-events="/runs/${id}/events">
<h2 id="running">Running <span class="quiet">started ${relativeTime(run.startedAt, reading)}</span></h2>
<ol class="live-steps">${stepsOf(run).map(
    ([name, words]) =>
      html`<li data-step="${name}"${attributes({ 'aria-current': name === step && 'step' })}>${words}</li>`,
  )}</ol>
<progress data-live="bar" aria-label="How far this step is" max="1"${attributes({ value: share?.toFixed(4) })}></progress>
<p class="live-line"><b data-live="percent">${words?.percent ?? ''}</b> <span data-live="figures">${words?.figures ?? ''}</span> <span data-live="rate"></span> <span data-live="left"></span></p>
<dl class="facts">
<div><dt>Applied so far</dt><dd data-live="applied">${grouped(progress?.applied ?? 0)}</dd></div>
<div><dt>Rejected so far</dt><dd data-live="rejected">${grouped(progress?.rejected ?? 0)}</dd></div>
</dl>
<p class="unseen" role="status" data-live="spoken"></p>
<p class="notice" data-live="lost" hidden>The connection to the dashboard is lost; trying again.</p>
${interruptAskedAt !== null && noticeText(html`It was asked to stop ${relativeTime(interruptAskedAt, reading)}, and finishes what is in flight.`)}
<noscript><p class="quiet">Without JavaScript this does not update: <a href="/runs/${id}">reload</a>.</p></noscript>
</section>`;
}

function stepsOf({ kind }: Run): readonly (readonly [RunStep, string])[] {
  const steps = STEPS[kind === 'export' || kind === 'verify' || kind === 'drift' ? kind : 'import'];
  return kind === 'plan' ? steps.filter(([step]) => step !== 'apply') : steps;
}
