import {
  DESTINATION_WORDS,
  DUPLICATES_WORDS,
  type ExportJob,
  FORMAT_WORDS,
  type ImportJob,
  type Job,
  MODE_WORDS,
  NOTIFY_WORDS,
  type Notify,
} from '../../config/job/job.ts';
import { isName } from '../../config/store-config.ts';
import { mayDo } from '../../model/action.ts';
import { guardWords } from '../../model/guard.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import { jobFile } from '../../model/run.ts';
import { FLOOR_TEXT, limitWords, wavesText } from '../../model/safety-limits.ts';
import { bullets, code, dataTable, html, runBadge, type Slot, section } from '../../report/html/markup.ts';
import { capitalise, counted, listed } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { notFoundError } from '../guard/page-error.ts';
import { uploadedName, uploadTargets } from '../new-job/upload-targets.ts';
import { type PageRequest, workspaceOf } from '../route-parts.ts';
import { settledRuns } from './activity.ts';
import {
  activityWords,
  describeMove,
  exportedWords,
  type JobCardFacts,
  jobActions,
  placeWords,
  readCards,
  scheduleFacts,
} from './job-card.ts';
import { scheduleNotice } from './jobs-page.ts';
import { actionButton, actionHref, buttonRow, jobHref, linkButton, queryOf } from './link-button.ts';
import { fact, fileProblems, noticeText, type Page } from './page.ts';
import { runsTable } from './runs-page.ts';

/** One job: what it needs, its recent runs, and its settings. PageError if there is no such job. */
export async function jobPage(
  dashboard: DashboardContext,
  { subject: name, viewer, reading }: PageRequest,
): Promise<Page> {
  const { program } = dashboard;
  const workspace = workspaceOf(dashboard, name);
  const { cards, schedules } = await readCards(dashboard, workspace, reading, name);
  const [card] = cards;
  if (card === undefined) throw notFoundError();
  const { facts, job, problems, activity, need, history, runs } = card;
  const { last } = facts;
  const uploads = job?.kind === 'import' ? uploadTargets(workspace, job) : [];
  const mayEdit = mayDo(viewer.role, 'edit');
  const href = jobHref(facts.job);
  const isIdleImport = job?.kind === 'import' && activity === null;
  const checks = withoutAbsent([
    ...(isIdleImport ? (['drift', 'verify'] as const) : []),
    isIdleImport && job.adopt !== undefined && ('adopt' as const),
  ]);
  const hasOwnFile = isName(facts.job);
  const changes = hasOwnFile ? (['duplicate', 'rename', 'remove'] as const) : [];
  return {
    title: facts.job,
    section: 'jobs',
    heading: html`${facts.job} ${last !== undefined && runBadge(last)}`,
    ...(job !== undefined && { lead: html`${describeMove(job)}.` }),
    body: html`${problems.length > 0 && fileProblems('This job cannot run: its file has errors', problems)}
${activity !== null ? noticeText(activityWords(activity, reading)) : need !== null && problems.length === 0 && noticeText(need.why, need.tone)}
${facts.schedule !== null && schedules !== 'worker' && scheduleNotice(schedules, program)}
${uploads
  .filter(({ isThere }) => !isThere)
  .map(({ what, path }) =>
    noticeText(
      html`The ${what} ${code(uploadedName(path) ?? path)} is not there yet${mayEdit && ': upload it below'}.`,
      'warning',
    ),
  )}
<dl class="facts">${scheduleFacts(facts, reading)}</dl>
${job?.kind === 'export' && runs.length > 0 && mayDo(viewer.role, 'download-export') && html`<p><a href="${jobHref(job.name)}/export">Download the exported file</a>, as it is now</p>`}
${jobActions(card, viewer)}
${
  mayEdit &&
  buttonRow(
    hasOwnFile && linkButton(`${href}/edit`, { label: 'Edit' }),
    job?.kind === 'import' && linkButton(`${href}/columns`, { label: 'Match columns' }),
    ...uploads.map(({ id, what }) =>
      linkButton(`${href}/upload${queryOf({ file: id })}`, {
        label: `Upload ${id === 'source' ? 'a new file' : `the ${what}`}`,
      }),
    ),
  )
}
${
  mayDo(viewer.role, 'verify') &&
  buttonRow(...[...checks, ...changes].map((action) => actionButton(viewer, action, facts.job)))
}
<div class="report">
${history !== null && section('recent', 'Recent runs', history)}
${section('runs', 'All runs', runs.length === 0 ? noRuns(card, viewer) : dataTable(runsTable(runs, { caption: `Runs of ${facts.job}, newest first`, ofOneJob: true, reading, settled: settledRuns(runs) })))}
${job !== undefined && section('settings', 'Settings', jobSettings(job))}
</div>`,
  };
}

function noRuns({ job }: JobCardFacts, viewer: Viewer) {
  const advice = job?.kind === 'import' && ' A plan shows what a run would send, and sends nothing.';
  return html`<p>No runs yet.${advice}${job !== undefined && !mayDo(viewer.role, 'run') && ' Somebody with the role operate can start one.'}</p>`;
}

/** The settings of a job in words, with defaults and without secrets. */
function jobSettings(job: Job) {
  const own = job.kind === 'import' ? importSettings(job) : exportSettings(job);
  return html`<dl class="settings">${own}${fact('Notifies', notifyWords(job.notify))}</dl>
<p class="quiet">${isName(job.name) ? 'To change the job, choose Edit (role edit).' : 'To change the job, edit its file: it is a job for several stores.'} All of these settings are in ${code(jobFile(job.name))}.</p>`;
}

function importSettings(job: ImportJob): Slot {
  const { crosswalk, mode, match = 'url', keep, leaveOut = [], guards = [], apply } = job;
  return [
    fact('Imports', `${job.import} into the store ${job.store}`),
    fact('Source', sourceWords(job)),
    fact('Columns are read', html`as the mapping ${code(job.mapping)} says${paramsWords(job)}`),
    fact('In the store', `${capitalise(MODE_WORDS[mode])} (${mode})`),
    mode === 'update' && fact('Products are found', `by ${match}`),
    keep !== undefined && fact('Keep', `${keep.join(', ')} as last known in the store`),
    leaveOut.length > 0 &&
      fact(
        'Left out by choice',
        html`<a href="${actionHref('leave-out', job.name)}">${counted(leaveOut.length, 'record')}</a>`,
      ),
    fact('Duplicates', `${capitalise(DUPLICATES_WORDS[job.duplicates])} (${job.duplicates})`),
    crosswalk !== undefined &&
      fact('Ids of the store', html`from ${placeWords(crosswalk)}, matched by ${code(crosswalk.match)}`),
    fact('Safety limits', safetyWords(limitWords(job))),
    guards.length > 0 && fact('Guards', bullets(guards.map(guardWords))),
    apply !== undefined && fact('Waves', wavesText(apply)),
  ];
}

function exportSettings(job: ExportJob): Slot {
  const { destination, columns } = job;
  return [
    fact('Reads', `${exportedWords(job)} of the store ${job.store}`),
    fact('Destination', placeWords(destination)),
    ...(destination.table === undefined
      ? [
          fact('The file', `${capitalise(DESTINATION_WORDS[destination.mode])} (${destination.mode})`),
          fact('Format', `${capitalise(FORMAT_WORDS[destination.format])} (${destination.format})`),
        ]
      : [fact('The table', 'adds rows, or updates those with the same id')]),
    columns !== undefined &&
      fact('Columns', html`${columns.map(({ name }, index) => html`${index > 0 && ', '}${code(name)}`)}`),
  ];
}

function sourceWords({ source }: ImportJob) {
  const details = withoutAbsent([
    source.files !== undefined && counted(source.files, 'file'),
    source.encoding !== undefined && source.encoding,
    source.delimiter !== undefined && `separated by "${source.delimiter}"`,
  ]);
  return html`${placeWords(source)}${details.length > 0 && ` (${details.join(', ')})`}`;
}

function paramsWords({ params }: ImportJob) {
  const entries = Object.entries(params);
  if (entries.length === 0) return false;
  return html` with ${entries.map(([name, value], index) => html`${index > 0 && ', '}<code>${name}: ${String(value)}</code>`)}`;
}

function safetyWords(limits: readonly string[]): Slot {
  if (limits.length === 0) return 'Off';
  return html`${bullets(limits)}
<p class="quiet">Checked on the plan, before anything is sent. ${FLOOR_TEXT}</p>`;
}

/** The address may contain a token, so only its host is shown. */
function notifyWords(recipients: readonly Notify[] | undefined) {
  if (recipients === undefined) return 'Nobody';
  return recipients
    .map((one) => `${recipientWords(one)} ${listed(one.on.map((end) => NOTIFY_WORDS[end]))}`)
    .join('; ');
}

function recipientWords(recipient: Notify) {
  return recipient.kind === 'email' ? listed(recipient.address) : new URL(recipient.address).host;
}
