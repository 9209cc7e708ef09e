import { actionOf } from '../../model/action.ts';
import { sumOf } from '../../model/json-object.ts';
import type { Run } from '../../model/run.ts';
import { foreign, html, type Markup, quiet } from '../../report/html/markup.ts';
import type { CellEdits, RejectedPage, RejectedRow } from '../../run/read-corrections.ts';
import { counted, grouped } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import { actionButton, actionHref, jobLink, runLink } from '../pages/link-button.ts';
import type { Notice, Page } from '../pages/page.ts';
import { postForm, submitButton } from '../pages/post-form.ts';

/** The value of `columns` that also shows columns that are blank on the whole page. */
export const ALL_COLUMNS = 'all';
/** Longer cells are corrected in the file. */
const MAX_CELL_LENGTH = 20_000;
const SHOWN_OF_LONG = 200;
/** Longer texts get a field of several lines. */
const MAX_LINE_LENGTH = 48;
const MIN_FIELD_LENGTH = 8;
const OLD_LENGTH = 80;

/** How a visitor sees the page: with the edits so far. */
export interface CorrectView {
  readonly draft: string;
  readonly edits: CellEdits;
  readonly allColumns: boolean;
  /** The keys of the records, by the index of their first row, and those that the job leaves out. */
  readonly keys: ReadonlyMap<number, string>;
  readonly leftOut: readonly string[];
  readonly notice: Notice | null;
}

/** The page of a draft. */
export function correctHref(run: string, draft: string, number = 1, allColumns = false): string {
  const page = number > 1 && number;
  return actionHref('correct', run, { draft, page, columns: allColumns && ALL_COLUMNS });
}

/** Before the key in the value of the button that leaves a record out. */
export const LEAVE_OUT = 'leave:';

/** The name of the field of a cell. */
export function cellName(index: number, column: number): string {
  return `cell-${index}-${column}`;
}

/** A cell as a browser sends it unchanged: with one kind of line end, and without NUL. */
export function toFormValue(cell: string): string {
  return cell.replaceAll(/\r\n?/g, '\n').replaceAll('\0', '\ufffd').toWellFormed();
}

/** The rejected rows of a run as a form: a line of the table for each row, and a heading with the reason for each record. */
export function correctPage(
  { id, job }: Run,
  rejected: RejectedPage,
  view: CorrectView,
  viewer: Viewer,
): Page {
  const { draft, edits, allColumns, notice } = view;
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
        body: html`<p class="actions">${button('check', 'Check the corrections', 'primary')} ${actionButton(viewer, 'retry', id, { label: 'Upload a file instead' })}</p>
<p class="quiet" role="status">${cells === 0 ? 'No cell is corrected yet.' : `${counted(cells, 'cell')} corrected so far.`}</p>
<div class="correct-scroll" tabindex="0" role="region" aria-label="Rejected rows"><table class="correct-table">
<caption class="unseen">Rejected rows, page ${number} of ${pages}</caption>
<thead><tr><th scope="col">Row</th>${columns.map((column) => html`<th scope="col">${columnName(rejected, column)}</th>`)}</tr></thead>
${groupByRecord(rows).map((record) => recordBody(record, rejected, columns, view))}
</table></div>
<p class="actions">${number > 1 && button(String(number - 1), 'Previous page')} <span class="quiet">Page ${number} of ${pages}</span> ${number < pages && button(String(number + 1), 'Next page')} ${pages > 1 && quiet('Corrections are kept from page to page.')}</p>`,
      },
      viewer,
    )}
${hidden > 0 && html`<p class="quiet">${counted(hidden, 'column')} without a value on this page ${hidden === 1 ? 'is' : 'are'} not shown. <a href="${correctHref(id, draft, number, true)}">Show all columns</a>: corrections since the last button are lost.</p>`}`,
  };
}

/** Blamed columns first, then all that have a value on the page. */
function shownColumns({ columns, rows }: RejectedPage, edits: CellEdits, all: boolean): readonly number[] {
  const blamed = new Set(rows.flatMap((row) => row.blamed));
  const others = columns.flatMap((_, column) => {
    if (blamed.has(column)) return [];
    const isUsed = rows.some(({ index, cells }) => cells[column] !== '' || edits.get(index)?.has(column));
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

function recordBody(
  rows: readonly RejectedRow[],
  rejected: RejectedPage,
  shown: readonly number[],
  { edits, keys, leftOut }: CorrectView,
): Markup {
  const cause = rows.find(({ blamed }) => blamed.length > 0) ?? rows[0];
  const key = keys.get(rows[0]?.index ?? -1);
  const out =
    key !== undefined &&
    (leftOut.includes(key)
      ? html` <span class="quiet">Later runs leave it out.</span>`
      : html` ${submitButton(actionOf('leave-out').button?.label, { name: 'go', value: `${LEAVE_OUT}${key}`, weight: '', about: key })}`);
  return html`<tbody>
<tr class="correct-reason"><th scope="rowgroup" colspan="${shown.length + 1}"><div class="correct-why">${foreign(cause?.reason ?? '')}${out}</div></th></tr>
${rows.map(
  (row) =>
    html`<tr><th scope="row">${row.place}</th>${shown.map((column) => cellOf(row, column, rejected, edits))}</tr>\n`,
)}</tbody>`;
}

function cellOf(row: RejectedRow, column: number, rejected: RejectedPage, edits: CellEdits): Markup {
  const old = row.cells[column] ?? '';
  const typed = edits.get(row.index)?.get(column);
  const isBad = row.blamed.includes(column);
  if (old.length > MAX_CELL_LENGTH)
    return html`<td><div class="correct-long">${foreign(old, SHOWN_OF_LONG)}</div><span class="quiet">${grouped(old.length)} characters: too long to be corrected here</span></td>`;
  const value = toFormValue(typed ?? old);
  const label = `${columnName(rejected, column)}, ${row.place}`;
  const name = cellName(row.index, column);
  const invalid = isBad && html` aria-invalid="true"`;
  const isLong =
    value.length > MAX_LINE_LENGTH || value.includes('\n') || old.includes('\n') || old.includes('\r');
  // A browser drops the first line break of a text area.
  const field = isLong
    ? html`<textarea name="${name}" aria-label="${label}" rows="3" cols="36" spellcheck="false"${invalid}>\n${value}</textarea>`
    : html`<input name="${name}" aria-label="${label}" value="${value}" size="${Math.max(MIN_FIELD_LENGTH, value.length)}" autocomplete="off" spellcheck="false"${invalid}>`;
  const was =
    typed !== undefined &&
    html`<span class="correct-old">was ${old === '' ? 'blank' : foreign(old, OLD_LENGTH)}</span>`;
  return html`<td${(isBad || typed !== undefined) && html` class="${typed === undefined ? 'bad' : 'typed'}"`}>${field}${was}</td>`;
}

function columnName({ columns }: RejectedPage, column: number): string {
  const name = columns[column] ?? '';
  return name.trim() === '' ? `Column ${column + 1}` : name;
}
