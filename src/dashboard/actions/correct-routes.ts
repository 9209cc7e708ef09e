import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { actionOf } from '../../model/action.ts';
import { sumOf } from '../../model/json-object.ts';
import type { Run } from '../../model/run.ts';
import { isUntouched } from '../../rejects/judge-cell.ts';
import { foreign, html, quiet } from '../../report/html/markup.ts';
import {
  type CellEdits,
  correctedRejects,
  type RejectedPage,
  type RejectedRow,
  readCorrections,
  readRejectedPage,
  refuseUnlessRejected,
  rejectedKeys,
} from '../../run/read-corrections.ts';
import type { RunContext } from '../../run/run-context.ts';
import { counted, grouped, isOrAre } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { PageError } from '../guard/page-error.ts';
import {
  accessTo,
  actionButton,
  actionHref,
  actionRoute,
  buttonRow,
  jobLink,
  runLink,
} from '../pages/link-button.ts';
import type { Notice, Page } from '../pages/page.ts';
import { attributes, postForm, submitButton } from '../pages/post-form.ts';
import { audit, type FormFields, keptRun, type RouteParts, readForms, refusalOf } from '../route-parts.ts';
import { isUuid } from './confirmation.ts';
import { leftOutIn } from './record-actions.ts';
import { type CorrectionDraft, keepNewest } from './uploads.ts';

/** A page of rejected rows has at most about a megabyte of cells, and three times as much as a form. */
const FORM_LIMIT_BYTES = 16_000_000;
/** The drafts that are kept; the oldest are removed. */
const MAX_DRAFTS = 20;
/** Far more than people type. */
const MAX_CHARACTERS = 20_000_000;

/** Shows the rejected rows of a run as a form, and turns what is typed there into an upload. */
export async function correctRoutes(app: FastifyInstance, { dashboard, uploads }: RouteParts): Promise<void> {
  const { context } = dashboard;
  const { drafts } = uploads;
  const draftOf = (id: string, run: string): CorrectionDraft => {
    const known = drafts.get(id);
    return known?.run === run ? known : { run, edits: new Map() };
  };
  const isCorrectedInFolder = async (run: Run) =>
    readCorrections(context, run).then(
      ({ edits }) => !isUntouched(edits),
      () => false,
    );

  await app.register(async (scope) => {
    readForms(scope, FORM_LIMIT_BYTES);

    scope.get(actionRoute('correct'), accessTo('correct'), async (request, reply) => {
      const run = await rejectedRun(dashboard, request.subject);
      const { draft, page, columns } = request.fields;
      const id = isUuid(draft) ? draft : randomUUID();
      const rows = await readRejectedPage(context.artifacts.run(run.id), numberOf(page));
      const retried = await retryNotice(context, run);
      const notice = retried ?? ((await isCorrectedInFolder(run)) ? CORRECTED_IN_FOLDER : null);
      const { edits } = draftOf(id, run.id);
      const view = { draft: id, edits, allColumns: columns === ALL_COLUMNS, notice };
      return reply.sendPage(await correctPage(dashboard, run, rows, view, request.viewer));
    });

    scope.post(actionRoute('correct'), accessTo('correct'), async (request, reply) => {
      const run = await rejectedRun(dashboard, request.subject);
      const folder = context.artifacts.run(run.id);
      const fields = request.fields;
      const { draft: id, go } = fields;
      if (!isUuid(id)) throw new PageError(400, 'The form is incomplete', 'Go back and load the page again.');
      const rows = await readRejectedPage(folder, numberOf(fields['page']));
      const draft = draftOf(id, run.id);
      takeEdits(draft, rows, fields);
      keepNewest(drafts, MAX_DRAFTS, id, draft);
      const columns = fields['columns'] === ALL_COLUMNS;
      if (go?.startsWith(LEAVE_OUT) === true) {
        const page = rows.number > 1 && rows.number;
        const query = { key: go.slice(LEAVE_OUT.length), run: run.id, draft: id, page };
        return reply.redirect(actionHref('leave-out', run.job, query), 303);
      }
      if (go !== CHECK) return reply.redirect(correctHref(run.id, id, numberOf(go), columns), 303);
      const upload = await uploads.keep(
        run.id,
        'the corrected rows',
        correctedRejects(folder, draft.edits),
        id,
      );
      try {
        await readCorrections(context, run, { name: upload.name, open: upload.read, asTyped: true });
      } catch (error) {
        await uploads.drop(upload);
        const notice = refusalOf(error, dashboard);
        const view = { draft: id, edits: draft.edits, allColumns: columns, notice };
        return reply.sendPage(await correctPage(dashboard, run, rows, view, request.viewer), 422);
      }
      await audit(dashboard, request, { action: 'correct', job: run.job, run: run.id });
      return reply.redirect(actionHref('retry', run.id, { upload: upload.id }), 303);
    });
  });
}

/** The value of the button that shows the corrections; other buttons have the number of a page. */
const CHECK = 'check';

const CORRECTED_IN_FOLDER: Notice = {
  tone: 'warning',
  text: 'The rejects file in the folder of the run was corrected, too. This page shows the rows as they were rejected; if you send its corrections, that file is kept beside them.',
};

function numberOf(given = '') {
  return /^[1-9]\d{0,5}$/.test(given) ? Number(given) : 1;
}

/** Adds to a draft what a form of this page has changed; a cell with its old value is no edit. */
function takeEdits({ edits }: CorrectionDraft, { rows }: RejectedPage, fields: FormFields) {
  for (const { line, cells } of rows) {
    const typed = new Map(edits.get(line));
    for (const [place, old] of cells.entries()) {
      const given = fields[cellName(line, place)]?.replaceAll('\r\n', '\n');
      if (given === undefined) continue;
      if (given === toFormValue(old)) typed.delete(place);
      else typed.set(place, old.includes('\r\n') ? given.replaceAll('\n', '\r\n') : given);
    }
    if (typed.size > 0) edits.set(line, typed);
    else edits.delete(line);
  }
  let characters = 0;
  for (const typed of edits.values()) for (const cell of typed.values()) characters += cell.length;
  if (characters <= MAX_CHARACTERS) return;
  throw new PageError(
    413,
    'Too many corrections',
    'Send the corrections of the earlier pages first, or correct the file in a spreadsheet.',
  );
}

/** The run with this id, if rows of it were rejected; PageError or UsageError otherwise. */
export async function rejectedRun(dashboard: DashboardContext, id: string): Promise<Run> {
  const run = await keptRun(dashboard, id);
  await refuseUnlessRejected(dashboard.context, run);
  return run;
}

/** A warning if rows of this run were sent again already. */
export async function retryNotice(
  { state }: Pick<RunContext, 'state'>,
  { id, job }: Run,
): Promise<Notice | null> {
  const retries = await state.runs.list({ job, kinds: ['retry'] });
  const newest = retries.find(({ retryOf }) => retryOf === id);
  if (newest === undefined) return null;
  const sent =
    newest.totals?.applied === 0 ? 'has sent no row of this run' : 'has sent rows of this run already';
  const how = newest.status === 'running' ? 'is sending rows of this run now' : sent;
  return {
    tone: 'warning',
    text: `Run ${newest.id}, a retry, ${how}. What it rejected again is corrected there; what the store took is left out here.`,
  };
}

/** The value of `columns` that also shows columns that are blank on the whole page. */
const ALL_COLUMNS = 'all';
/** Longer cells are corrected in the file. */
const MAX_CELL_LENGTH = 20_000;
const SHOWN_OF_LONG = 200;
/** Longer texts get a field of several lines. */
const MAX_LINE_LENGTH = 48;
const MIN_FIELD_LENGTH = 8;
const OLD_LENGTH = 80;

/** How a visitor sees the page: with the edits so far. */
interface CorrectView {
  readonly draft: string;
  readonly edits: CellEdits;
  readonly allColumns: boolean;
  readonly notice: Notice | null;
}

/** The page of a draft. */
function correctHref(run: string, draft: string, number = 1, allColumns = false) {
  const page = number > 1 && number;
  return actionHref('correct', run, { draft, page, columns: allColumns && ALL_COLUMNS });
}

/** Before the key in the value of the button that leaves a record out. */
const LEAVE_OUT = 'leave:';

/** The name of the field of a cell. */
function cellName(line: string, column: number) {
  return `cell-${column}-${line}`;
}

/** A cell as a browser sends it unchanged: with one kind of line end, and without NUL. */
function toFormValue(cell: string) {
  return cell.replaceAll(/\r\n?/g, '\n').replaceAll('\0', '\ufffd').toWellFormed();
}

/** The rejected rows of a run as a form: a line of the table for each row, and a heading with the reason for each record. */
async function correctPage(
  { context, readWorkspace }: DashboardContext,
  run: Run,
  rejected: RejectedPage,
  view: CorrectView,
  viewer: Viewer,
): Promise<Page> {
  const { id, job } = run;
  const { draft, edits, allColumns, notice } = view;
  const records = {
    keys: await rejectedKeys(context, run, rejected),
    leftOut: leftOutIn(readWorkspace(), job),
  };
  const { rows, number, pages, total, isCut } = rejected;
  const columns = shownColumns(rejected, edits, allColumns);
  const hidden = rejected.columns.length - columns.length;
  const cells = sumOf(edits.values(), (typed) => typed.size);
  const button = (value: string, label: string, weight = '') =>
    submitButton(label, { name: 'go', value, weight });
  return {
    title: `Correct the rejected rows of run ${id}`,
    section: 'runs',
    notice,
    lead: html`${runLink(id, 'Run')} of ${jobLink(job)} rejected ${isCut ? `more than ${grouped(total)} rows. The first ${grouped(total)} of them can be corrected here; the file has all` : counted(total, 'row')}. Cells that a reason names are marked. You will see what was corrected before anything is sent.`,
    body: html`${postForm(
      {
        action: actionHref('correct', id),
        style: 'correct',
        fields: { draft, page: number, columns: allColumns ? ALL_COLUMNS : undefined },
        body: html`${buttonRow(button('check', 'Check the corrections', 'primary'), actionButton(viewer, 'retry', id, { label: 'Upload a file instead' }))}
<p class="quiet" role="status">${cells === 0 ? 'No cell is corrected yet.' : `${counted(cells, 'cell')} corrected so far.`}</p>
<div class="correct-scroll" tabindex="0" role="region" aria-label="Rejected rows"><table class="correct-table">
<caption class="unseen">Rejected rows, page ${number} of ${pages}</caption>
<thead><tr><th scope="col">Row</th>${columns.map((column) => html`<th scope="col">${columnName(rejected, column)}</th>`)}</tr></thead>
${groupByRecord(rows).map((record) => recordBody(record, rejected, columns, { edits, ...records }))}
</table></div>
${buttonRow(number > 1 && button(String(number - 1), 'Previous page'), quiet(`Page ${number} of ${pages}`), number < pages && button(String(number + 1), 'Next page'), pages > 1 && quiet('Corrections are kept from page to page.'))}`,
      },
      viewer,
    )}
${hidden > 0 && html`<p class="quiet">${counted(hidden, 'column')} without a value on this page ${isOrAre(hidden)} not shown. <a href="${correctHref(id, draft, number, true)}">Show all columns</a>: corrections since the last button are lost.</p>`}`,
  };
}

/** Blamed columns first, then all that have a value on the page. */
function shownColumns({ columns, rows }: RejectedPage, edits: CellEdits, all: boolean): readonly number[] {
  const blamed = new Set(rows.flatMap((row) => row.blamed));
  const others = columns.flatMap((_, column) => {
    if (blamed.has(column)) return [];
    const isUsed = rows.some(({ line, cells }) => cells[column] !== '' || edits.get(line)?.has(column));
    return all || isUsed ? [column] : [];
  });
  return [...[...blamed].sort((one, other) => one - other), ...others];
}

/** The rows of each record; a record may begin on the page before. */
function groupByRecord(rows: readonly RejectedRow[]): readonly (readonly RejectedRow[])[] {
  const all: RejectedRow[][] = [];
  for (const row of rows) {
    const last = all.at(-1);
    if (row.begins || last === undefined) all.push([row]);
    else last.push(row);
  }
  return all;
}

/** The edits so far, the keys of the records by the line of their first row, and those that the job leaves out. */
interface RecordFacts extends Pick<CorrectView, 'edits'> {
  readonly keys: ReadonlyMap<string, string>;
  readonly leftOut: readonly string[];
}

function recordBody(
  rows: readonly RejectedRow[],
  rejected: RejectedPage,
  shown: readonly number[],
  { edits, keys, leftOut }: RecordFacts,
) {
  const cause = rows.find(({ blamed }) => blamed.length > 0) ?? rows[0];
  const key = keys.get(rows[0]?.line ?? '');
  const out =
    key !== undefined &&
    (leftOut.includes(key)
      ? [' ', quiet('Later runs leave it out.')]
      : html` ${submitButton(actionOf('leave-out').button?.label, { name: 'go', value: `${LEAVE_OUT}${key}`, weight: '', about: key })}`);
  return html`<tbody>
<tr class="correct-reason"><th scope="rowgroup" colspan="${shown.length + 1}"><div class="correct-why">${foreign(cause?.reason ?? '')}${out}</div></th></tr>
${rows.map(
  (row) =>
    html`<tr><th scope="row">${row.place}</th>${shown.map((column) => cellOf(row, column, rejected, edits))}</tr>\n`,
)}</tbody>`;
}

function cellOf(row: RejectedRow, column: number, rejected: RejectedPage, edits: CellEdits) {
  const old = row.cells[column] ?? '';
  const typed = edits.get(row.line)?.get(column);
  const isBad = row.blamed.includes(column);
  if (old.length > MAX_CELL_LENGTH)
    return html`<td><div class="correct-long">${foreign(old, SHOWN_OF_LONG)}</div><span class="quiet">${grouped(old.length)} characters: too long to be corrected here</span></td>`;
  const value = toFormValue(typed ?? old);
  const label = `${columnName(rejected, column)}, ${row.place}`;
  const name = cellName(row.line, column);
  const invalid = { 'aria-invalid': isBad && 'true' };
  const isLong =
    value.length > MAX_LINE_LENGTH || value.includes('\n') || old.includes('\n') || old.includes('\r');
  // A browser drops the first line break of a text area.
  const field = isLong
    ? html`<textarea name="${name}" aria-label="${label}" rows="3" cols="36" spellcheck="false"${attributes(invalid)}>\n${value}</textarea>`
    : html`<input name="${name}" aria-label="${label}" value="${value}" size="${Math.max(MIN_FIELD_LENGTH, value.length)}" autocomplete="off" spellcheck="false"${attributes(invalid)}>`;
  const was =
    typed !== undefined &&
    html`<span class="correct-old">was ${old === '' ? 'blank' : foreign(old, OLD_LENGTH)}</span>`;
  return html`<td${attributes({ class: typed === undefined ? isBad && 'bad' : 'typed' })}>${field}${was}</td>`;
}

function columnName({ columns }: RejectedPage, column: number) {
  const name = columns[column] ?? '';
  return name.trim() === '' ? `Column ${column + 1}` : name;
}
