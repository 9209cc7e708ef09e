import type { YamlEdit } from '../../config/edit-file.ts';
import type { ImportJob } from '../../config/job/job.ts';
import type { MappingFile } from '../../mapping/spec/mapping-spec.ts';
import { describeLook, type SourceLook, type SourcePreview } from '../../onboarding/preview-source.ts';
import { bullets, foreign, html, type Markup, quiet, styledText } from '../../report/html/markup.ts';
import { counted, listed, printable } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import { previewPart } from '../new-job/draft-page.ts';
import { columnsNotShown, fieldSelect, MAX_COLUMNS_SHOWN } from '../new-job/file-grid.ts';
import { placeWords } from '../pages/job-card.ts';
import { jobHref } from '../pages/link-button.ts';
import { alertText, type Notice, noticeText, type Page } from '../pages/page.ts';
import { type Choice, postForm } from '../pages/post-form.ts';
import {
  changedLines,
  type MappedColumn,
  type Matching,
  mappedColumns,
  openFields,
} from './mapped-columns.ts';

/** The content of the page that matches the columns of a job. */
export interface ColumnsPageFacts {
  readonly job: ImportJob;
  readonly mapping: MappingFile;
  readonly look: SourceLook;
  /** Names the look at the source, so that it is read once. */
  readonly id: string;
  readonly before: Matching;
  readonly wanted: Matching;
  /** The mapping that is written. */
  readonly target: string;
  readonly others: readonly string[];
  readonly sha256: string;
  readonly edits: readonly YamlEdit[];
  /** The file of the mapping as it is, and as it would be. */
  readonly text: string;
  readonly edited: string;
  /** Why nothing can be written. */
  readonly problems: readonly string[];
  /** The mapping's own tests that would fail. */
  readonly failing: readonly string[];
  readonly preview: SourcePreview | string | undefined;
  readonly notice?: Notice;
}

const SAMPLE_SHOWN = 60;

/** The form that matches columns; a sentence where the source cannot be read. */
export function columnsPage(job: ImportJob, facts: ColumnsPageFacts | string, viewer: Viewer): Page {
  const title = `Match the columns of ${job.name}`;
  if (typeof facts === 'string') {
    const lead = html`<p class="page-lead">The source, ${placeWords(job.source)}, cannot be read. ${facts}</p>`;
    const back = html`<p class="actions"><a class="button" href="${jobHref(job.name)}">Back to ${job.name}</a></p>`;
    return { title, section: 'jobs', body: html`${lead}${back}` };
  }
  return {
    title,
    section: 'jobs',
    form: true,
    notice: facts.notice ?? null,
    body: html`<p class="page-lead">Which column of ${placeWords(job.source)} fills which field of the store. Nothing is written before you save, and nothing is sent: plan the job afterwards.</p>
${whereWritten(facts)}
${postForm(
  {
    action: `${jobHref(job.name)}/columns`,
    style: 'draft',
    fields: { sha256: facts.sha256, look: facts.id },
    body: html`<div id="matching" data-rendered aria-live="off">${matching(facts)}</div>
<p class="actions"><button type="submit" name="do" value="save" class="button primary">Save</button> <a class="button" href="${jobHref(job.name)}">Cancel</a></p>`,
  },
  viewer,
)}`,
  };
}

function whereWritten({ mapping, target, others }: ColumnsPageFacts): Markup {
  const kept =
    'Comments and everything that you do not change stay as they are; a comment in a line that is removed goes with it.';
  if (mapping.shipped)
    return noticeText(
      html`The mapping <b>${mapping.name}</b> is part of Storeferry and is not changed. Saving writes a copy of it, <code>mappings/${target}.yaml</code>, and this job then uses the copy. ${kept} The copy no longer changes with new versions of Storeferry.`,
    );
  return html`<p>Saving changes <code>mappings/${target}.yaml</code>. ${kept}${others.length > 0 && html` <b>Also used by ${listed(others)}</b>: they change with it.`}</p>`;
}

function matching(facts: ColumnsPageFacts): Markup {
  const { job, mapping, look, wanted, problems, failing, preview, text, edited } = facts;
  const columns = mappedColumns(mapping.spec, look.header);
  const required = new Set(mapping.spec.required);
  const missing = columns.filter(({ name, isFixed }) => !isFixed && !wanted.includes(name));
  const needed = missing.filter(({ name }) => required.has(name));
  const others = missing.filter((one) => !needed.includes(one));
  const lines = changedLines(text, edited);
  const used = new Set(columns.flatMap(({ at }) => at));
  const shown = [...look.header.keys()].filter(
    (index) => index < MAX_COLUMNS_SHOWN || (wanted[index] ?? '') !== '' || used.has(index),
  );
  return html`${problems.length > 0 && html`<div class="notice bad" role="alert"><h2>This cannot be saved</h2>${bullets(problems)}</div>`}
${needed.length > 0 && alertText(`No column of the file fills ${listed(needed.map(named))}, which the mapping needs: choose the column below.`)}
<fieldset><legend>The columns</legend>
<p>${describeLook(look, job.source.path ?? job.name)}</p>
<div class="table-scroll"><table class="columns"><caption>Each column of the file, and the field of the store that it fills. Change what is wrong.</caption>
<thead><tr><th scope="col">Column</th><th scope="col">A value</th><th scope="col">Field</th></tr></thead>
<tbody>${shown.map((index) => columnRow(index, columns, facts))}</tbody></table></div>
${columnsNotShown(look.header.length - shown.length)}
${others.length > 0 && html`<details class="worth-knowing"><summary>${counted(others.length, 'more column')} that the mapping knows</summary><p>The file does not have them, or none of its columns fills them: ${listed(others.map(named))}.</p></details>`}
${styledText('hint', 'Prices, weights, options and values made of several columns have settings of their own: change them in the file.')}
</fieldset>
${previewPart({ preview, look })}
<fieldset><legend>What is written</legend>
${lines.length === 0 ? html`<p>Nothing has changed yet.</p>` : html`<pre class="file" tabindex="0">${lines.map(([sign, line]) => (sign === '+' ? html`<ins>+ ${line}</ins>\n` : html`<del>- ${line}</del>\n`))}</pre>`}
${failing.length > 0 && html`<div class="notice warning"><p>Tests of the mapping that fail then: their rows have the old columns. Correct them in the file; until then <code>check</code> reports them. Runs are not affected.</p>${bullets(failing)}</div>`}
</fieldset>
<p class="actions"><button type="submit" name="do" value="update" class="button" data-without-script>Show the records again</button></p>`;
}

/** `Price ('Preis')`. */
function named({ label, headers }: MappedColumn): string {
  const header = printable(headers[0] ?? '');
  return label === header ? header : `${label} ('${header}')`;
}

function columnRow(
  index: number,
  columns: readonly MappedColumn[],
  { mapping, look, wanted }: ColumnsPageFacts,
): Markup {
  const header = look.header[index] ?? '';
  const chosen = wanted[index] ?? '';
  const fixed = columns.find(({ isFixed, at }) => isFixed && at.includes(index));
  const sample = look.rows.find(({ cells }) => (cells[index] ?? '').trim() !== '')?.cells[index] ?? '';
  const choices = [
    ...columns.filter(({ isFixed }) => !isFixed).map(({ name, label }): Choice => [name, label]),
    ...openFields(mapping.spec).map(({ name, label }): Choice => [`+${name}`, `${label} (new)`]),
  ];
  return html`<tr${chosen === '' && html` class="unused"`}><th scope="row">${header.trim() === '' ? quiet('no header') : foreign(header, SAMPLE_SHOWN)}</th><td>${foreign(sample, SAMPLE_SHOWN)}</td><td>${header.trim() === '' ? '' : fixed === undefined ? fieldSelect(index, header, choices, chosen) : html`${fixed.label} ${quiet('(changed in the file)')}`}</td></tr>`;
}
