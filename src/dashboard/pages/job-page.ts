import type { ExportJob, ImportJob, Job, Notify } from '../../config/job/job.ts';
import type { Run } from '../../model/run.ts';
import { FLOOR_TEXT, type Limit, limitsFor, limitText, safetyLimit } from '../../model/safety-limits.ts';
import type { ConfigurationProblem } from '../../model/storeferry-error.ts';
import { dataTable, html, type Markup, runBadge, type Slot, section } from '../../report/html/markup.ts';
import { counted, listed } from '../../report/printable.ts';
import type { ClockKeeper } from '../../report/run-facts.ts';
import type { UploadTarget } from '../new-job/upload-targets.ts';
import { settledRuns } from './activity.ts';
import {
  activityWords,
  fact,
  type JobCardFacts,
  jobActions,
  jobHref,
  placeWords,
  scheduleFacts,
  whatItMoves,
} from './job-card.ts';
import { clockNote } from './jobs-page.ts';
import { type Frame, page, problemList } from './page.ts';
import { runsTable } from './runs-page.ts';

/** The content of the page of a job. */
export interface JobPageFacts {
  readonly card: JobCardFacts;
  readonly keeper: ClockKeeper;
  /** Newest first. */
  readonly runs: readonly Run[];
  /** The files that can be uploaded. */
  readonly uploads: readonly UploadTarget[];
  readonly program: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** One job: what it needs, its recent runs, and its settings. */
export function jobPage({ card, keeper, runs, uploads, program, now }: JobPageFacts, frame: Frame): string {
  const { facts, job, problems, activity, need, history, timezone } = card;
  const reading = { now, timezone };
  const { last } = facts;
  return page({
    ...frame,
    title: facts.job,
    section: 'jobs',
    heading: html`${facts.job} ${last !== undefined && runBadge(last)}`,
    body: html`${job !== undefined && html`<p class="page-lead">${whatItMoves(job)}.</p>`}
${problems.length > 0 && problemsBox(problems)}
${activity !== null ? html`<p class="notice">${activityWords(activity, reading)}</p>` : need !== null && problems.length === 0 && html`<p class="notice ${need.tone}">${need.why}</p>`}
${facts.schedule !== null && keeper !== 'worker' && clockNote(keeper, program)}
${uploads
  .filter(({ isThere }) => !isThere)
  .map(
    ({ what, path }) =>
      html`<p class="notice warning">The ${what} <code>${path}</code> is not there yet${frame.viewer.canAct && ': upload it below'}.</p>`,
  )}
<dl class="facts">${scheduleFacts(facts, reading)}</dl>
${job?.kind === 'export' && runs.length > 0 && frame.viewer.canAct && html`<p><a href="${jobHref(job.name)}/export">Download the exported file</a>, as it is now</p>`}
${jobActions(card, frame.viewer)}
${frame.viewer.canAct && html`<p class="actions"><a class="button" href="${jobHref(facts.job)}/edit">Edit</a>${job?.kind === 'import' && html` <a class="button" href="${jobHref(facts.job)}/columns">Match columns</a>`}${uploads.map((target) => html` <a class="button" href="${jobHref(facts.job)}/upload?${String(new URLSearchParams({ file: target.id }))}">Upload ${target.id === 'source' ? 'a new file' : `the ${target.what}`}</a>`)}</p>`}
<div class="report">
${history !== null && section('recent', 'Recent runs', history)}
${section('runs', 'All runs', runs.length === 0 ? noRuns(card, program) : dataTable(runsTable(runs, { caption: `Runs of ${facts.job}, newest first`, ofOneJob: true, reading, settled: settledRuns(runs) })))}
${job !== undefined && section('settings', 'Settings', jobSettings(job))}
</div>`,
  });
}

function problemsBox(problems: readonly ConfigurationProblem[]): Markup {
  return html`<section class="notice bad"><h2>This job cannot run: its file has errors</h2>${problemList(problems)}<p>Correct the file and load this page again.</p></section>`;
}

function noRuns({ facts, job }: JobCardFacts, program: string): Markup {
  if (job === undefined) return html`<p>No runs yet.</p>`;
  if (job.kind !== 'import')
    return html`<p>No runs yet. Start one: <code>${program} run ${facts.job}</code></p>`;
  return html`<p>No runs yet. A plan shows what a run would send, and sends nothing: <code>${program} plan ${facts.job}</code></p>`;
}

/** The settings of a job in words, with defaults and without secrets. */
function jobSettings(job: Job): Markup {
  const own = job.kind === 'import' ? importSettings(job) : exportSettings(job);
  return html`<dl class="settings">${own}${fact('Notifies', notifyWords(job.notify))}</dl>
<p class="quiet">From <code>jobs/${job.name}.yaml</code>. This page shows the file as it is now. To change the job, choose Edit (full access), or edit the file.</p>`;
}

function importSettings(job: ImportJob): Slot {
  const { crosswalk } = job;
  return [
    fact('Imports', `${job.import} into the store ${job.store}`),
    fact('Source', sourceWords(job)),
    fact('Mapping', html`<code>${job.mapping}</code>${paramsWords(job)}`),
    fact('Mode', modeWords(job)),
    fact('Duplicates', duplicatesWords(job)),
    crosswalk !== undefined &&
      fact('Crosswalk', html`${placeWords(crosswalk)}, matched by <code>${crosswalk.match}</code>`),
    fact('Safety limits', safetyWords(limitWords(job))),
  ];
}

function exportSettings(job: ExportJob): Slot {
  const { destination, columns } = job;
  const how = destination.mode === 'append' ? 'each run adds to the file' : 'each run replaces the file';
  return [
    fact('Reads', `${job.export === 'orders' ? 'orders' : 'subscriber lists'} of the store ${job.store}`),
    fact('Destination', html`${placeWords(destination)}: ${how}`),
    fact('Format', FORMATS[destination.format]),
    columns !== undefined &&
      fact('Columns', html`${columns.map((name, index) => html`${index > 0 && ', '}<code>${name}</code>`)}`),
  ];
}

const FORMATS: Readonly<Record<ExportJob['destination']['format'], string>> = {
  csv: 'CSV, for programs',
  'excel-csv': 'CSV, for spreadsheets',
  jsonl: 'JSON Lines',
};

function sourceWords({ source }: ImportJob): Markup {
  const details = [
    source.files !== undefined && counted(source.files, 'file'),
    source.encoding !== undefined && source.encoding,
    source.delimiter !== undefined && `separated by "${source.delimiter}"`,
  ].filter((words) => words !== false);
  return html`${placeWords(source)}${details.length > 0 && ` (${details.join(', ')})`}`;
}

function paramsWords({ params }: ImportJob): Markup | false {
  const entries = Object.entries(params);
  if (entries.length === 0) return false;
  return html` with ${entries.map(([name, value], index) => html`${index > 0 && ', '}<code>${name}: ${String(value)}</code>`)}`;
}

function modeWords({ mode, match = 'url', keep, import: imports }: ImportJob): string {
  if (imports === 'contacts') return 'upsert: updates contacts; the API creates and deletes none';
  const kept = keep === undefined ? '' : `; keeps ${keep.join(', ')} as the store has it`;
  switch (mode) {
    case 'upsert':
      return `upsert: creates and changes, deletes nothing${kept}`;
    case 'mirror':
      return `mirror: creates and changes, and deletes what this job last sent and the source no longer has${kept}`;
    case 'update':
      return `update: changes the mapped fields of known products, found by ${match}; creates and deletes nothing`;
    case 'create':
      return 'create: creates new products, skips known ones, deletes nothing';
    default:
      return mode satisfies never;
  }
}

function duplicatesWords({ duplicates }: ImportJob): string {
  switch (duplicates) {
    case 'reject':
      return 'every copy is rejected; identical copies are skipped';
    case 'first':
      return 'the first copy is used';
    case 'last':
      return 'the last copy is used';
    case 'merge':
      return 'copies are merged into one';
    default:
      return duplicates satisfies never;
  }
}

function safetyWords(limits: readonly string[]): Slot {
  if (limits.length === 0) return 'Off';
  return html`<ul>${limits.map((words) => html`<li>${words}</li>`)}</ul>
<p class="quiet">Checked on the plan, before anything is sent. ${FLOOR_TEXT}</p>`;
}

/** The enabled safety limits of a job, one clause each; only `mode: mirror` has limits on deletes. */
export function limitWords({
  import: imports,
  mode,
  safety,
}: Pick<ImportJob, 'import' | 'mode' | 'safety'>): string[] {
  return limitsFor(imports, mode)
    .filter((name) => safety[name].kind !== 'off')
    .map((name) => {
      const { bound, setting } = safetyLimit(name);
      return `${bound === 'most' ? 'at most' : 'at least'} ${size(safety[name], setting.of)} ${setting.what}`;
    });
}

function size(limit: Limit, base: string): string {
  return limit.kind === 'percent' ? `${limitText(limit)} ${base}` : limitText(limit);
}

const ENDS: Readonly<Record<Notify['on'][number], string>> = {
  failed: 'when a run fails',
  stopped: 'when a safety limit stops a run',
  rejects: 'when a run ends with rejects',
  done: 'when a run is done',
};

/** The address may contain a token, so only its host is shown. */
function notifyWords(notify: Notify | undefined): string {
  if (notify === undefined) return 'Nobody';
  return `${new URL(notify.url).host} ${listed(notify.on.map((end) => ENDS[end]))}`;
}
