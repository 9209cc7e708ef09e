import { includesRole } from '../../model/action.ts';
import type { TracedCell } from '../../model/mapped-record.ts';
import type { Run } from '../../model/run.ts';
import { bullets, code, enumerated, foreign, html, link, quiet, section } from '../../report/html/markup.ts';
import {
  cellPlace,
  isNamed,
  type RecordSuggestions,
  type RecordView,
  rowsByCause,
  standingWords,
  type ViewedField,
  valueText,
} from '../../report/record-view.ts';
import { openImport } from '../../run/inputs/open-mapping.ts';
import { type RecordExamples, recordExamples, showRecord } from '../../run/show-record.ts';
import { counted } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { notFoundError, PageError } from '../guard/page-error.ts';
import { keptRun, limitConcurrentReads, type PageRequest, rememberedRun } from '../route-parts.ts';
import { jobLink, queryOf, runLink } from './link-button.ts';
import { emptyBox, type Page } from './page.ts';
import { filterForm } from './post-form.ts';

/** The source of a run may be large: a page does not wait longer than this for a record of it. */
const READ_WITHIN_MS = 30_000;
/** Longer values are cut. */
const VALUE_SHOWN = 2_000;

/**
 * The records of a run whose plan and copy of the source are still there: a form to find one, or the record of a key, its
 * source cells beside its request body. PageError when there is no such run.
 */
export async function recordPage(
  dashboard: DashboardContext,
  { subject: id, fields }: PageRequest,
): Promise<Page> {
  const key = (fields['key'] ?? '').trim();
  const run = await keptRun(dashboard, id);
  const examples = await recordExamples(dashboard.context, run);
  const body =
    examples === undefined
      ? emptyBox(
          'The copy of the source is gone',
          'It is kept while a plan waits for approval, or a run is not finished. Plan the job again to see its records.',
        )
      : html`${searchForm(id, key)}${key === '' ? examplesList(id, examples) : await recordOf(dashboard, run, key)}`;
  return {
    title: key === '' ? `Records of run ${id}` : `${key}, run ${id}`,
    section: 'runs',
    heading: key === '' ? html`Records` : html`${foreign(key)}`,
    lead: html`${runLink(id, 'Run')} of ${jobLink(run.job)}`,
    body,
  };
}

/** Whether a visitor may see the records of a run: those of contacts hold personal data. */
export function maySeeRecords({ resource }: Pick<Run, 'resource'>, viewer: Viewer): boolean {
  return resource === 'products' || (resource === 'contacts' && includesRole(viewer.role, 'operate'));
}

/** What `recordsOf` gives. */
export type RecordsOfRun = Awaited<ReturnType<typeof recordsOf>>;

/** A run and the ledger of its records. PageError when neither runs nor the history knows them, or a visitor may not see them. */
export async function recordsOf(dashboard: DashboardContext, id: string, viewer: Viewer) {
  const { run, ledger } = await rememberedRun(dashboard, id);
  if (ledger === undefined) throw notFoundError(`Run ${id} is an export: it has no records.`);
  refusePersonalData(ledger.target, viewer);
  return { run, ledger };
}

/** PageError unless a visitor may see the records. */
function refusePersonalData(of: Pick<Run, 'resource'>, viewer: Viewer) {
  if (maySeeRecords(of, viewer)) return;
  const why =
    'Records of contacts hold personal data: they need the role operate, or the token with full access.';
  throw new PageError(403, 'Not for this role', why);
}

function recordLink(run: string, key: string) {
  return link(`/runs/${run}/records${queryOf({ key })}`, foreign(key));
}

function searchForm(id: string, key: string) {
  const control = html`<input id="key" name="key" value="${key}" required>`;
  return filterForm(`/runs/${id}/records`, [{ name: 'key', label: 'Key, or a text in a cell', control }]);
}

function examplesList(id: string, examples: RecordExamples) {
  const list = (title: string, keys: readonly string[]) =>
    keys.length > 0 &&
    html`<section class="part"><h2>${title}</h2>${bullets(keys.map((key) => recordLink(id, key)))}</section>`;
  return html`<div class="report">${list('Rejected', examples.rejected)}${list('Changed', examples.changed)}${list('New', examples.new)}</div>`;
}

async function recordOf(dashboard: DashboardContext, run: Run, key: string) {
  const { context, readWorkspace } = dashboard;
  const workspace = readWorkspace();
  const job = workspace.job(run.job);
  if (job.kind !== 'import') throw notFoundError(`The job ${run.job} is no import.`);
  const timeout = AbortSignal.timeout(READ_WITHIN_MS);
  try {
    const request = { ...(await openImport(workspace, job)), resend: run.resend };
    const signal = AbortSignal.any([context.signal, timeout]);
    const found = await limitConcurrentReads(() => showRecord({ ...context, signal }, request, run, key));
    if (found.kind === 'found') return recordMarkup(found.view);
    return suggestions(run.id, found.suggestions, found.source);
  } catch (error) {
    if (!timeout.aborted) throw error;
    throw new PageError(
      503,
      'The source is too large for a page',
      `Type instead: ${dashboard.program} plan ${run.job} --show ${JSON.stringify(key)}`,
    );
  }
}

function suggestions(id: string, { nearest, containing }: RecordSuggestions, source: RecordView['source']) {
  return emptyBox(
    'No record has this key',
    nearest.length > 0
      ? html`Nearest: ${enumerated(nearest.map((key) => recordLink(id, key)))}`
      : containing.length === 0 && 'No cell of the source contains this text.',
    containing.length > 0 &&
      html`<p>Records with this text in a cell:</p>${bullets(containing.map(({ key, cell }) => html`${recordLink(id, key ?? `line ${cell.line}`)} ${quiet([foreign(cell.column ?? ''), ' ', foreign(cell.text, 80), ', ', cellPlace(cell, source)])}`))}`,
  );
}

/** The record: each value of the body beside its cells, then all cells with the fields that they are in. */
function recordMarkup(view: RecordView) {
  const { fields, reason, removed, standing } = view;
  const ids = new Map<string, string>();
  for (const row of view.rows) for (const cell of row.cells) ids.set(nameOf(cell), `cell-${ids.size + 1}`);
  const rows = rowsByCause(view);
  const refused = rows.flatMap((row) => row.cells).find((cell) => isNamed(cell, reason));
  const place =
    refused && html` (<a href="#${ids.get(nameOf(refused))}">${cellPlace(refused, view.source)}</a>)`;
  const tone = standing === 'rejected' ? 'bad' : standing === 'unchanged' ? 'good' : '';
  return html`<div class="notice ${tone}"><p>${standingWords(view)}</p>${reason !== null && html`<p>${reason.field !== undefined && html`${code(reason.field)}: `}${foreign(reason.message)}${place}</p>`}</div>
<div class="report">
${
  fields.length > 0 &&
  section(
    'body',
    'From the cells to the request body',
    html`<p class="traced-head" aria-hidden="true"><span>Source cells</span><span>Request body</span></p>
<ul>${fields.map((field, index) => fieldMarkup(field, index, view, ids))}${removed.map(({ path, old }) => html`<li class="traced-pair"><div class="traced-cells quiet">no longer sent</div><div class="traced-field">${code(path)} <del>${foreign(valueText(old, VALUE_SHOWN))}</del></div></li>`)}</ul>`,
  )
}
${section(
  'cells',
  counted(view.rows.length, 'source row'),
  rows.map(
    (row) => html`<h3>${cellPlace({ ...row, column: null }, view.source)}</h3>
<ul>${row.cells.map((cell) => cellMarkup(cell, view, ids))}</ul>`,
  ),
)}
</div>`;
}

function nameOf({ file, line, column }: TracedCell) {
  return JSON.stringify([file, line, column]);
}

function fieldMarkup(
  { path, value, old, cells, steps }: ViewedField,
  index: number,
  view: RecordView,
  ids: ReadonlyMap<string, string>,
) {
  const from = cells.map((cell) => {
    const id = ids.get(nameOf(cell));
    const words = html`${foreign(cell.column ?? 'header')} ${quiet(cellPlace(cell, view.source))}`;
    return html`<li>${cell.condition === true && html`${quiet('if')} `}${id === undefined ? words : html`<a href="#${id}">${words}</a>`}<span class="traced-text">${foreign(cell.text, VALUE_SHOWN)}</span></li>`;
  });
  return html`<li class="traced-pair" id="field-${index + 1}"><div class="traced-cells">${from.length === 0 ? quiet('no cell') : html`<ul>${from}</ul>`}</div>
<div class="traced-field">${code(path)} <b class="traced-value">${foreign(valueText(value, VALUE_SHOWN))}</b>${old !== undefined && html` <span class="traced-old">was ${old === null ? 'absent' : foreign(valueText(old, VALUE_SHOWN))}</span>`}${steps.length > 0 && html`<span class="traced-steps">${steps.map((step) => html`${code(step)} `)}</span>`}</div></li>`;
}

function cellMarkup(cell: TracedCell, view: RecordView, ids: ReadonlyMap<string, string>) {
  const name = nameOf(cell);
  const used = view.fields.flatMap((field, index) =>
    field.cells.some((one) => nameOf(one) === name) ? [{ path: field.path, index }] : [],
  );
  const named = isNamed(cell, view.reason);
  return html`<li class="traced-cell${named && ' bad'}" id="${ids.get(name)}"><span>${foreign(cell.column ?? '')}</span><span class="traced-text">${foreign(cell.text, VALUE_SHOWN)}</span>${used.length > 0 && html`<span class="quiet">in ${used.map(({ path, index }, at) => html`${at > 0 && ', '}<a href="#field-${index + 1}">${path}</a>`)}</span>`}</li>`;
}
