import { unsetParams } from '../../mapping/spec/mapping-spec.ts';
import { isSheet, rowPlace } from '../../model/row.ts';
import {
  fieldsOf,
  type MappingQuestion,
  type ProposedColumn,
} from '../../onboarding/guess/propose-mapping.ts';
import { USUAL_SCHEDULES } from '../../onboarding/new-workspace.ts';
import {
  describeLook,
  explainGuess,
  type PreviewedRecord,
  type SourcePreview,
} from '../../onboarding/preview-source.ts';
import { foreign, html, type Markup } from '../../report/html/markup.ts';
import { valueText } from '../../report/record-view.ts';
import { counted, grouped, listed, printable, sentence } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import { scheduleWords } from '../pages/job-card.ts';
import { serverTimezone } from '../pages/moment.ts';
import type { Page } from '../pages/page.ts';
import { type Choice, field, note, postForm, select, uploadForm } from '../pages/post-form.ts';
import { type AskedReading, type Draft, type DraftFile, type DraftState, OWN_MAPPING } from './draft.ts';
import { type FieldProblem, needsCrosswalk } from './new-files.ts';
import { UPLOADS_FOLDER } from './upload-targets.ts';

/** What the page of a draft shows besides the draft. */
export interface DraftPageFacts {
  readonly state: DraftState;
  /** What is missing or wrong, after the job was to be created. */
  readonly problems: readonly FieldProblem[];
  /** The stores of the workspace; undefined where there is no stores.yaml. */
  readonly stores: readonly string[] | undefined;
  readonly known: { readonly url: string | undefined; readonly apiKey: string | undefined };
  readonly sandboxUrl: string;
  /** A name that no job has. */
  readonly jobName: string;
  readonly program: string;
  /** Whether a worker in the process of the dashboard keeps schedules. */
  readonly hasWorker: boolean;
}

/** The page that makes a job: how the file is read, its columns, its first records, the store and the schedule. */
export function draftPage(draft: Draft, facts: DraftPageFacts, viewer: Viewer): Page {
  const { state, problems } = facts;
  return {
    title: `New job from ${state.name}`,
    section: 'jobs',
    form: true,
    heading: html`New job`,
    body: html`<p class="page-lead">From ${foreign(state.name)}. Nothing is written before the last button, and nothing is sent before you approve the plan. <a href="/new">Another file</a></p>
${problems.length > 0 && html`<div class="notice bad" role="alert"><h2>The job was not created</h2><ul>${problems.map(({ field: name, text }) => html`<li>${name === null ? text : html`<a href="#${name}">${text}</a>`}</li>`)}</ul></div>`}
${postForm(
  {
    action: `/new/${draft.id}`,
    style: 'draft',
    body: html`<div id="matching" data-rendered aria-live="off">${matching(draft, state, problems)}</div>
${
  state.file !== undefined &&
  html`<div id="settings">${settings(draft, state.file, facts)}</div>
<p class="actions"><button type="submit" name="do" value="create" class="button primary">Create the job and plan it</button> <a class="button" href="/">Cancel</a></p>
<p class="hint">Writes <code>jobs/</code> and, for a mapping of your own, <code>mappings/</code>: files that can be edited and kept in git. Then it plans the job: the page of the plan shows what would be sent, with a button to approve it.</p>`
}`,
  },
  viewer,
)}`,
  };
}

/** Everything that changes with the answers: rendered again after each of them. */
function matching(
  draft: Draft,
  { name, asked, reading, problem, file }: DraftState,
  problems: readonly FieldProblem[],
): Markup {
  return html`<fieldset><legend>The file</legend>
${file !== undefined && html`<p>${describeLook(file.look, name)}</p>`}
${problem !== null && html`<p class="notice bad" role="alert">This file cannot be imported. ${problem}</p>`}
${asked.filter(({ question }) => question.key !== 'headerRow').map(readingSelect)}
${(file === undefined ? problem !== null : hasHeaderRow(file.look)) && headerRowField(asked, reading.headerRow)}
${file !== undefined && mappingSelect(draft, file)}
</fieldset>
${file?.proposal !== undefined && columnsPart(draft, file, file.proposal.columns)}
${file?.updates != null && html`<p class="notice">${file.updates}</p>`}
${file?.spec !== undefined && paramsPart(file, problems)}
${file !== undefined && previewPart(file)}
<p class="actions"><button type="submit" name="do" value="update" class="button" data-without-script>Show the records again</button></p>`;
}

/** Whether the header of a file is one of its rows. */
function hasHeaderRow({ places }: DraftFile['look']): boolean {
  return places === undefined || isSheet(places);
}

/** The row of the header can always be chosen: a file may begin with a title or a comment that does not look like one. */
function headerRowField(asked: readonly AskedReading[], row: string | undefined): Markup {
  const found = asked.find(({ question }) => question.key === 'headerRow');
  const input = html`<input id="headerRow" name="headerRow" type="number" min="1" inputmode="numeric" value="${row ?? ''}" placeholder="the first with content" data-renders>`;
  return field('headerRow', 'Row with the names of the columns', input, note(found?.question.error.message));
}

function readingSelect({ question, value }: AskedReading): Markup {
  const { key, text, error, choices } = question;
  const named = choices.map(
    ({ value: one, name, note: more }): Choice => [one, `${name}${more === undefined ? '' : ` (${more})`}`],
  );
  return field(key, text, rendering(key, named, value), note(error.message));
}

/** A choice that renders the page again; while it is open, it says so. */
function rendering(name: string, choices: readonly Choice[], chosen: string | undefined): Markup {
  const isOpen = chosen === undefined;
  const all: readonly Choice[] = isOpen ? [['', 'Choose'], ...choices] : choices;
  const invalid = isOpen && html` aria-invalid="true"`;
  return select(name, all, chosen ?? '', html` id="${name}" data-renders${invalid}`);
}

const KINDS = [
  ['products', 'Products'],
  ['contacts', 'Contacts'],
] as const;

function mappingSelect({ fields }: Draft, { recognised, known, mapping, imports }: DraftFile): Markup {
  const { guess, best } = recognised;
  const fitting = guess.fitting.map((fit) => fit.name);
  const own = known.find(({ name }) => name === mapping);
  const names = [...new Set([...fitting, ...(own === undefined ? [] : [own.name])])];
  const formats: Choice[] = [
    [OWN_MAPPING, 'Match the columns yourself'],
    ...names.map((name): Choice => [name, `${name}${name === best?.name ? ' (recognised)' : ''}`]),
  ];
  return html`${explainGuess(recognised).map((line) => html`<p>${line}</p>`)}
${field('mapping', 'Format of the file (mapping)', rendering('mapping', formats, mapping))}
${
  own === undefined &&
  field(
    'imports',
    'What is in the file?',
    rendering('imports', KINDS, imports),
    imports === undefined && fields['imports'] === undefined && note('Its columns do not show it.'),
  )
}`;
}

function columnsPart(
  draft: Draft,
  { proposal, refused, imports, look }: DraftFile,
  columns: readonly ProposedColumn[],
): Markup {
  const fields = Object.entries(imports === undefined ? {} : fieldsOf(imports)).map(
    ([name, { label }]): Choice => [name, label],
  );
  const questions = [...draft.asked.values()].filter(
    ({ id, answers }) =>
      proposal?.questions.some((question) => question.id === id) === true ||
      // It stays where the keyboard is, unless the table has given another answer.
      (id.startsWith('column.')
        ? answers.some(({ value }) => value === draft.answers[id])
        : draft.answers[id] !== undefined),
  );
  const open = new Set(proposal?.questions.map(({ id }) => id));
  return html`<fieldset><legend>The columns</legend>
${refused !== null && html`<p class="notice warning" role="alert">${refused}</p>`}
${questions.map((question) => questionField(question, open.has(question.id) ? undefined : draft.answers[question.id]))}
<div class="table-scroll"><table class="columns"><caption>Each column, and the field of the store that it fills. Change what is wrong.</caption>
<thead><tr><th scope="col">Column</th><th scope="col">A value</th><th scope="col">Field</th><th scope="col">Why</th></tr></thead>
<tbody>${columns.map((column) => columnRow(column, fields, look.header))}</tbody></table></div>
${proposal !== undefined && proposal.notes.length > 0 && html`<ul class="does">${proposal.notes.map((note) => html`<li>${note}</li>`)}</ul>`}
</fieldset>`;
}

function columnRow(
  { header, index, field: fills, sample, evidence, confidence }: ProposedColumn,
  fields: readonly Choice[],
  headers: readonly string[],
): Markup {
  const fixed = fills !== null && fields.every(([name]) => name !== fills);
  const select = html`<input type="hidden" name="was.${index}" value="${fills ?? ''}"><input type="hidden" name="column.${index}" value="${columnName(headers, index)}">${fieldSelect(index, header, fields, fills ?? '')}`;
  return html`<tr${fills === null && html` class="unused"`}><th scope="row">${header === '' ? html`<span class="quiet">no header</span>` : foreign(header, 60)}</th><td>${foreign(sample)}</td><td>${header === '' ? '' : fixed ? sentence(fills ?? '').replace(/\.$/, '') : select}</td><td class="quiet">${confidence === 'likely' && html`<b>Likely:</b> `}${evidence}</td></tr>`;
}

/** The choice of the field that a column of a file fills. */
export function fieldSelect(
  index: number,
  header: string,
  choices: readonly Choice[],
  chosen: string,
): Markup {
  const attributes = html` id="field-${index}" aria-label="Field of the column ${printable(header)}" data-renders`;
  return select(`field.${index}`, [['', 'Not used'], ...choices], chosen, attributes);
}

/** A column as answers name it: with its number where several have the same header. */
function columnName(headers: readonly string[], index: number): string {
  const header = headers[index]?.trim() ?? '';
  const alike = headers.flatMap((text, at) => (text.trim() === header ? [at] : []));
  return alike.length < 2 ? header : `${header}#${alike.indexOf(index) + 1}`;
}

function questionField({ id, text, reason, answers }: MappingQuestion, answer: string | undefined): Markup {
  const name = `answer.${id}`;
  const isOpen = answer === undefined;
  const control =
    answers.length === 0
      ? html`<input id="${name}" name="${name}" value="${answer ?? ''}" data-renders>`
      : rendering(
          name,
          answers.map(({ value, label }): Choice => [`=${value}`, label]),
          isOpen ? undefined : `=${answer}`,
        );
  return html`<p class="field question${isOpen && ' open'}"><label for="${name}">${text}</label>${control} <span class="quiet">${sentence(reason)}.</span></p>`;
}

function paramsPart({ spec, params }: DraftFile, problems: readonly FieldProblem[]): Markup | false {
  const entries = Object.entries(spec?.params ?? {});
  if (entries.length === 0) return false;
  const unset = new Set(unsetParams(spec ?? {}).map(({ name }) => name));
  const needed = entries.filter(([name]) => unset.has(name));
  const fieldOf = ([name, param]: (typeof entries)[number]) => {
    const { default: usual, description } = typeof param === 'object' ? param : { default: param };
    const id = `param.${name}`;
    const input = html`<input id="${id}" name="${id}" value="${params[name] ?? ''}" placeholder="${usual === undefined ? '' : String(usual)}" data-renders${invalid(problems, id)}>`;
    return field(id, name, input, html`${wrong(problems, id)}${note(description)}`);
  };
  const others = entries.filter((entry) => !needed.includes(entry));
  return html`${needed.length > 0 && html`<fieldset><legend>What the mapping needs</legend>${needed.map(fieldOf)}</fieldset>`}
${others.length > 0 && html`<details class="worth-knowing"><summary>${counted(others.length, 'setting')} of the mapping</summary>${others.map(fieldOf)}</details>`}`;
}

/** The first records with their problems. */
export function previewPart({ preview, look }: Pick<DraftFile, 'preview' | 'look'>): Markup | false {
  const only = (text: Markup) => html`<fieldset><legend>The first records</legend>${text}</fieldset>`;
  if (preview === undefined)
    return only(html`<p>The first records are shown here once the questions above are answered.</p>`);
  if (typeof preview === 'string') return only(html`<p class="notice warning">${preview}</p>`);
  const { counts, records, rejected } = preview;
  const place = (record: PreviewedRecord) =>
    rowPlace(record.reason?.line ?? record.line, record.reason?.column, look.places);
  return html`<fieldset><legend>The first records</legend>
<p role="status" id="preview-counts">${countWords(preview, look.rowCount !== null && look.rowCount <= look.rows.length)}</p>
${
  counts.record + counts.rejected + counts.skipped > 0 &&
  html`<div class="table-scroll"><table class="preview"><caption>The first ${counted(records.length, 'record')}${rejected.length > 0 && `, and the first that are rejected after them`}</caption>
<thead><tr><th scope="col">Record</th><th scope="col">What would be sent</th></tr></thead>
<tbody>${[...records, ...rejected].map((record) => recordRow(record, place(record)))}</tbody></table></div>`
}</fieldset>`;
}

function countWords({ counts }: SourcePreview, whole: boolean): string {
  const parts = [
    `${counted(counts.record, 'record')} can be sent`,
    ...(counts.rejected > 0
      ? [`${grouped(counts.rejected)} ${counts.rejected === 1 ? 'is' : 'are'} rejected`]
      : []),
    ...(counts.skipped > 0
      ? [`${grouped(counts.skipped)} ${counts.skipped === 1 ? 'is' : 'are'} skipped`]
      : []),
  ];
  return `${whole ? 'In the file' : 'In the first rows of the file'}: ${listed(parts)}.`;
}

const VALUE_SHOWN = 200;

function recordRow({ key, kind, fields, reason, cell }: PreviewedRecord, place: string): Markup {
  const name = html`<th scope="row">${key === null ? html`<span class="quiet">no key</span>` : foreign(key, 80)} <span class="quiet">${place}</span></th>`;
  if (kind !== 'record') {
    return html`<tr class="${kind === 'rejected' && 'bad'}">${name}<td><b>${kind === 'rejected' ? 'Rejected' : 'Skipped'}</b>: ${reason?.column !== undefined && html`${foreign(reason.column, 60)} <mark>${cell === undefined || cell === '' ? 'blank' : foreign(cell, 80)}</mark> `}${foreign(reason?.message ?? '')}</td></tr>`;
  }
  return html`<tr>${name}<td><details><summary>${summaryOf(fields)}</summary><dl class="body">${fields.map(({ path, value }) => html`<div><dt><code>${path}</code></dt><dd>${foreign(valueText(value, VALUE_SHOWN))}</dd></div>`)}</dl></details></td></tr>`;
}

/** A request body in a line: title, prices, stock and images of a product; e-mail and name of a contact. */
function summaryOf(fields: PreviewedRecord['fields']): Markup {
  const all = (path: RegExp) =>
    fields.flatMap((field) => (path.test(field.path) && field.value !== null ? [field.value] : []));
  const named = all(/^(?:title|email|name)$/);
  const prices = all(/^variants\[\d+\]\.price$/).filter((value) => typeof value === 'number');
  const stock = all(/^variants\[\d+\]\.quantity$/).filter((value) => typeof value === 'number');
  const images = all(/^images\[/).length;
  const [least, most] = [Math.min(...prices), Math.max(...prices)];
  const parts = [
    ...(prices.length === 0 ? [] : [least === most ? `price ${least}` : `price ${least} to ${most}`]),
    ...(prices.length > 1 ? [counted(prices.length, 'variant')] : []),
    ...(stock.length === 0 ? [] : [`stock ${grouped(stock.reduce((sum, one) => sum + one, 0))}`]),
    ...(images === 0 ? [] : [counted(images, 'image')]),
  ];
  return html`<b>${foreign(named.map(String).join(', '), 120)}</b>${parts.length > 0 && ` ${parts.join(', ')}`}`;
}

/** What says of a field that it is wrong. */
function wrong(problems: readonly FieldProblem[], name: string): Markup | false {
  const own = problems.filter((problem) => problem.field === name);
  return (
    own.length > 0 &&
    html`<span class="field-error" id="wrong-${name}">${own.map(({ text }) => text).join(' ')}</span>`
  );
}

/** Attributes of a field that may be wrong; `more`: the id of what else describes it. */
function invalid(problems: readonly FieldProblem[], name: string, more = ''): Markup {
  const isWrong = problems.some((problem) => problem.field === name);
  const ids = [...(isWrong ? [`wrong-${name}`] : []), ...(more === '' ? [] : [more])];
  return html`${ids.length > 0 && html` aria-describedby="${ids.join(' ')}"`}${isWrong && html` aria-invalid="true"`}`;
}

function settings(draft: Draft, file: DraftFile, facts: DraftPageFacts): Markup {
  const { fields } = draft;
  const { problems } = facts;
  const schedule = fields['schedule'] ?? 'no';
  const cron = fields['cron'] ?? '15 2 * * *';
  return html`<fieldset><legend>The job</legend>
${field('name', 'Name', html`<input id="name" name="name" value="${fields['name'] ?? facts.jobName}" required autocomplete="off" spellcheck="false" pattern="[A-Za-z0-9][A-Za-z0-9._\\-]*" title="Letters, digits, dots, - and _"${invalid(problems, 'name')}>`, wrong(problems, 'name'))}
${facts.stores === undefined ? newStoreFields(draft, file, facts) : field('store', 'Store', select('store', alike(facts.stores), fields['store']), wrong(problems, 'store'))}
${needsCrosswalk(file) && html`<p class="notice">The store updates contacts by its own ids. After the job is created, upload a file with them on its page: with the columns <code>id</code> and <code>email</code>. Contacts that it lacks are rejected.</p>`}
</fieldset>
<fieldset><legend>The schedule</legend>
${field('schedule', 'When does it run?', select('schedule', scheduleChoices(), schedule))}
<div data-when="schedule=other">${field('cron', 'Minute, hour, day, month, weekday', html`<input id="cron" name="cron" value="${cron}" autocomplete="off" spellcheck="false"${invalid(problems, 'cron')}>`, wrong(problems, 'cron') || note(schedule === 'other' && scheduleWords(cron)))}</div>
<div data-unless="schedule=no">${field('timezone', 'Time zone', html`<input id="timezone" name="timezone" value="${fields['timezone'] ?? serverTimezone()}"${fields['timezone'] === undefined && html` data-browser-timezone`} autocomplete="off" spellcheck="false"${invalid(problems, 'timezone')}>`, wrong(problems, 'timezone'))}</div>
<p class="hint">${draft.source.kind === 'file' ? html`The file is copied into <code>${UPLOADS_FOLDER}/</code>. A scheduled run reads that copy again: for new data, upload a new file on the page of the job, or give the job an address or a folder where a new file is put.` : 'Each run reads what is at the address then.'} ${workerNote(facts)}</p>
</fieldset>`;
}

/** What keeps schedules. */
export function workerNote({ program, hasWorker }: Pick<DraftPageFacts, 'program' | 'hasWorker'>): Markup {
  return hasWorker
    ? html`This dashboard keeps schedules as long as it runs.`
    : html`Schedules need a worker: <code>${program} dashboard --worker</code> keeps them in this process.`;
}

/** Choices that people read as they are. */
function alike(values: readonly string[]): Choice[] {
  return values.map((value) => [value, value]);
}

/** The choices of a schedule, with others between the first and the usual ones. */
export function scheduleChoices(between: readonly Choice[] = []): readonly Choice[] {
  return [
    ['no', 'Only when somebody starts it'],
    ...between,
    ...USUAL_SCHEDULES.map(({ value, name }): Choice => [value, name]),
    ['other', 'At other times (cron)'],
  ];
}

function newStoreFields(
  { fields, apiKey }: Draft,
  { imports, preview }: DraftFile,
  { known, sandboxUrl, problems }: DraftPageFacts,
): Markup {
  const found = typeof preview === 'object' ? preview.currencies.found : undefined;
  const currency = fields['currency'] ?? (/^[A-Z]{3}$/.test(found ?? '') ? found : '');
  const kind = fields['storeKind'] ?? 'own';
  const hasKey = apiKey !== undefined || (known.apiKey !== undefined && known.url !== undefined);
  const unit = fields['weightUnit'] ?? 'kg';
  const kinds: Choice[] = [
    ['own', 'My store: I have its address and an API key'],
    ['sandbox', `None yet: the sandbox at ${sandboxUrl}`],
  ];
  return html`${field('storeKind', 'Which store is it for?', select('storeKind', kinds, kind))}
<div data-when="storeKind=own">${field('url', 'Address of the store', html`<input id="url" name="url" type="url" inputmode="url" value="${fields['url'] ?? known.url ?? ''}" placeholder="https://shop.example" autocomplete="off"${invalid(problems, 'url')}>`, wrong(problems, 'url'))}
${field('apiKey', 'API key', html`<input id="apiKey" name="apiKey" type="password" autocomplete="off" spellcheck="false"${invalid(problems, 'apiKey', 'key-hint')}>`, html`${wrong(problems, 'apiKey')} <span class="quiet" id="key-hint">${hasKey ? 'A key is known for this address; leave this blank to use it. ' : ''}It is written into <code>.env</code> of the workspace, which only its owner can read, and nowhere else.</span>`)}</div>
${field('weightUnit', 'Unit in which the store shows weights', select('weightUnit', alike(['kg', 'g', 'lb', 'oz']), unit))}
${imports === 'products' && field('currency', 'Currency in which the store sells', html`<input id="currency" name="currency" value="${currency}" placeholder="EUR" maxlength="3" autocomplete="off" spellcheck="false"${invalid(problems, 'currency', 'currency-hint')}>`, html`${wrong(problems, 'currency')} <span class="quiet" id="currency-hint">A price in another currency is rejected. Blank: all prices must be in one currency.</span>`)}`;
}

interface NewJobPageFacts {
  readonly limit: string;
  /** As it was typed. */
  readonly address: string;
  /** What is wrong with the address. */
  readonly problem: string | null;
}

/** The page that takes a file or an address. */
export function newJobPage({ limit, address, problem }: NewJobPageFacts, viewer: Viewer): Page {
  const isWrong = problem !== null;
  return {
    title: 'New job',
    section: 'jobs',
    body: html`<p class="page-lead">A job imports a file of products or contacts. You match its columns and see the first records before anything is written or sent.</p>
<div class="ways">
${uploadForm({ action: '/new/upload', heading: 'Upload a file', label: 'A CSV, Excel (.xlsx), OpenDocument (.ods), JSON or XML file, also zipped', hint: `At most ${limit}.`, button: 'Upload' }, viewer)}
${postForm(
  {
    action: '/new/address',
    style: 'panel upload',
    body: html`<h2>Use a link</h2>
<p><label for="address">Link to a file on the web, or to a Google Sheet</label>
<input id="address" name="address" type="text" inputmode="url" required value="${address}" placeholder="https://shop.example/export.csv" autocomplete="off" spellcheck="false"${isWrong && html` autofocus aria-invalid="true" aria-describedby="wrong-address"`}>${isWrong && html`<span class="field-error" id="wrong-address">${problem}</span>`}</p>
<p class="hint">Each run downloads the file again. If the link has a secret, such as a token, do not type it here: make the job from a file, put the secret into the file <code>.env</code> as <code>FEED_TOKEN</code>, and write the link into the file of the job, with <code>\${FEED_TOKEN}</code> for the secret. Placeholders that are typed here are plain text.</p>
<p class="actions"><button type="submit" class="button primary">Continue</button></p>`,
  },
  viewer,
)}
</div>`,
  };
}
