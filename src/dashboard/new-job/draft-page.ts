import { hash } from 'node:crypto';
import { basename } from 'node:path';
import { SCHEDULE_FIELD_NAMES, SCHEDULE_FIELDS } from '../../config/job/job.ts';
import { recordOf, sumOf, withoutAbsent } from '../../model/json-object.ts';
import { hasUser } from '../../model/remote-address.ts';
import { rowPlace, type TableFormat } from '../../model/row.ts';
import { explainError } from '../../model/storeferry-error.ts';
import {
  type AskedQuestion,
  type DraftFile,
  type DraftState,
  type JobQuestionKind,
  questionKind,
} from '../../onboarding/job-draft.ts';
import {
  describeLook,
  explainGuess,
  type PreviewedRecord,
  type SourceGuess,
  type SourceLook,
  type SourcePreview,
} from '../../onboarding/preview-source.ts';
import {
  bullets,
  code,
  foreign,
  html,
  type Markup,
  paragraphs,
  quiet,
  styledText,
} from '../../report/html/markup.ts';
import { valueText } from '../../report/record-view.ts';
import { capitalise, counted, grouped, isOrAre, listed } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import { buttonRow } from '../pages/link-button.ts';
import { alertText, fact, foldedPart, noticeText, type Page, scrolledTable } from '../pages/page.ts';
import {
  attributes,
  type Choice,
  CURRENCY_CHECK,
  checkAttributes,
  field,
  fieldset,
  formActions,
  input,
  NAME_CHECK,
  note,
  postForm,
  select,
  shownWhen,
  submitButton,
  uploadForm,
  WEB_CHECK,
} from '../pages/post-form.ts';
import { type DraftSession, shownOf, zippedPicture } from './draft-session.ts';
import { fileGrid, firstRecord, recordsTree, renderingRadio } from './file-grid.ts';

/** What the page of a draft shows besides the draft. */
interface DraftPageFacts {
  readonly state: DraftState;
  /** What is missing or wrong, after the job was to be created. */
  readonly problems: readonly FieldProblem[];
  readonly program: string;
  /** Whether a worker in the process of the dashboard keeps schedules. */
  readonly hasWorker: boolean;
}

/** A sentence about what is missing or wrong, and the field of the form; null for none. */
export interface FieldProblem {
  readonly field: string | null;
  readonly text: string;
}

/** What is missing or wrong in the answers, by their fields. */
export function problemsOf({ questions, problem }: DraftState): readonly FieldProblem[] {
  const found = questions.flatMap((question): FieldProblem[] => {
    const wrong = question.answer === undefined ? missingText(question) : question.problem;
    return wrong === undefined ? [] : [{ field: fieldName(question), text: capitalise(wrong) }];
  });
  if (found.length > 0 || problem === null) return found;
  return [{ field: null, text: 'The file cannot be imported.' }];
}

function missingText({ text, missing = `Answer: ${text}` }: AskedQuestion) {
  return capitalise(missing);
}

/** The part of the page that shows a kind of question. */
const PARTS: Readonly<
  Record<JobQuestionKind, 'upload' | 'file' | 'columns' | 'params' | 'ids' | 'job' | 'schedule'>
> = {
  file: 'upload',
  // An uploaded file has no other place than its copy.
  place: 'upload',
  hostKey: 'file',
  password: 'file',
  sheet: 'file',
  records: 'file',
  headerRow: 'file',
  encoding: 'file',
  delimiter: 'file',
  mapping: 'file',
  imports: 'file',
  column: 'columns',
  word: 'columns',
  unused: 'columns',
  decimal: 'columns',
  weightIn: 'columns',
  group: 'columns',
  fromPrices: 'columns',
  imageBase: 'columns',
  separator: 'columns',
  param: 'params',
  crosswalk: 'ids',
  crosswalkFile: 'ids',
  crosswalkMatch: 'ids',
  crosswalkId: 'ids',
  picturesTo: 'job',
  storeKind: 'job',
  url: 'job',
  apiKey: 'job',
  store: 'job',
  variable: 'job',
  weightUnit: 'job',
  // Where the mapping asks it, it is among the columns.
  currency: 'job',
  name: 'job',
  schedule: 'schedule',
  weekday: 'schedule',
  monthDay: 'schedule',
  time: 'schedule',
  every: 'schedule',
  cron: 'schedule',
  timezone: 'schedule',
};

type Part = (typeof PARTS)[JobQuestionKind];

function partOf({ id, flag }: AskedQuestion): Part {
  return flag === undefined ? PARTS[questionKind(id)] : 'columns';
}

/** The name of the field of a question. A choice of an empty text is another than none. */
function fieldName(question: AskedQuestion) {
  return partOf(question) === 'columns' ? `answer.${question.id}` : question.id;
}

/** The page that makes a job: how the file is read, its columns, its first records, the store and the schedule. */
export function draftPage(session: DraftSession, facts: DraftPageFacts, viewer: Viewer): Page {
  const { state, problems } = facts;
  const name = session.source.kind === 'file' ? basename(session.source.upload.path) : session.source.name;
  return {
    title: `New job from ${name}`,
    section: 'jobs',
    form: true,
    heading: html`New job`,
    lead: html`From ${foreign(name)}. Nothing is written before the last button, and nothing is sent before you approve the plan. <a href="/new">Another file</a>`,
    body: html`${problems.length > 0 && html`<div class="notice bad" role="alert"><h2>The job was not created</h2><ul>${problems.map(({ field: name, text }) => html`<li>${name === null ? text : html`<a href="#${name}">${text}</a>`}</li>`)}</ul></div>`}
${postForm(
  {
    action: `/new/${session.id}`,
    style: 'draft',
    body: html`<div id="matching" data-rendered aria-live="off">${matching(session, facts)}</div>
${
  state.file !== undefined &&
  html`<div id="settings">${settings(session, facts)}</div>
${formActions('Create the job and plan it', '/', { name: 'do', value: 'create' })}
<p class="hint">The next page is the plan: it shows what would be sent, with a button to approve it.</p>`
}`,
  },
  viewer,
)}
${
  state.questions.some(({ id }) => id === 'imageBase') &&
  uploadForm(
    {
      action: `/new/${session.id}/pictures`,
      label: `The pictures as files: a ZIP${session.pictures === undefined ? '' : `, instead of ${session.pictures.upload.name}`}`,
      accept: '.zip',
      button: 'Upload the pictures',
    },
    viewer,
  )
}
${
  state.questions.some(({ id }) => id === 'crosswalkFile') &&
  uploadForm(
    {
      action: `/new/${session.id}/crosswalk`,
      label: 'The file with the ids of the store (CSV)',
      button: 'Upload the ids',
    },
    viewer,
  )
}`,
  };
}

/** Everything that changes with the answers: rendered again after each of them. */
function matching(session: DraftSession, { state, problems }: DraftPageFacts) {
  const { file, problem, notes, questions } = state;
  const preview = file?.guess.preview;
  const fieldsOf = (own: readonly AskedQuestion[]) =>
    own.map((question) => questionField(session, question, problems, true));
  const fieldsIn = (part: Part) =>
    fieldsOf(questions.filter((question) => partOf(question) === part && question.id !== 'headerRow'));
  const params = questions.filter((question) => partOf(question) === 'params');
  const needed = params.filter(({ example }) => example === undefined);
  const others = params.filter(({ example }) => example !== undefined);
  const ids = fieldsIn('ids');
  const why = problem === null ? undefined : shownOf(session, explainError(problem));
  const isUnread = file === undefined;
  const reading = html`${!isUnread && html`<p>${describeLook(file.look, file.name)}</p>`}
${paragraphs(notes)}
${why !== undefined && alertText(`This file cannot be imported. ${why}`)}
${isUnread && (problem !== null || questions.some(({ id }) => id === 'headerRow')) && headerRowField(session, state)}
${!isUnread && paragraphs(recognisedWords(file))}
${fieldsIn('file')}`;
  const isOpened = typeof preview === 'object' && namesParams(preview);
  return html`${fieldset('The file', reading)}
${!isUnread && columnsPart(file, fieldsIn('columns'), session)}
${file?.findings.map((finding) => noticeText(finding))}
${needed.length > 0 && fieldset('What this format needs', fieldsOf(needed))}
${others.length > 0 && foldedPart(`${counted(others.length, 'more setting')} of this format (params)`, fieldsOf(others), isOpened)}
${ids.length > 0 && fieldset('The ids of the store', ids)}
${!isUnread && previewPart({ look: file.look, preview: typeof preview === 'string' ? shownOf(session, preview) : preview })}
${isUnread && questions.some(({ id }) => id === 'hostKey') ? showAgain('Read the file') : SHOW_AGAIN}`;
}

/** Whether another setting of the format may let a record be read. */
function namesParams({ records, rejected }: SourcePreview) {
  return [...records, ...rejected].some(({ reason }) => reason?.message.includes('(params)'));
}

/** Which format it is; where its columns are guessed, no more than that. */
function recognisedWords({ guess: { proposal, recognised } }: DraftFile): readonly string[] {
  if (proposal === undefined || recognised.guess.fitting.length > 0) return explainGuess(recognised);
  return [
    'No known format has these columns. What each of them is was guessed: check it in the table below.',
  ];
}

/** Where the file cannot be read, and so no row of it be shown, its header may be in another row. */
function headerRowField({ draft }: DraftSession, { questions }: DraftState) {
  const found = questions.find(({ id }) => id === 'headerRow');
  const row = draft.reading.headerRow ?? found?.answer ?? '';
  const control = input('headerRow', {
    type: 'number',
    min: 1,
    inputmode: 'numeric',
    value: row,
    placeholder: 'the first with content',
    'data-renders': true,
  });
  return field('headerRow', 'Row with the names of the columns', control, note(found?.reason));
}

/** Attributes of the fields for kinds of text. */
const INPUTS: Readonly<Partial<Record<JobQuestionKind, Parameters<typeof input>[1]>>> = {
  url: { inputmode: 'url', placeholder: 'https://shop.example', ...checkAttributes(WEB_CHECK) },
  name: checkAttributes(NAME_CHECK),
  currency: { placeholder: 'EUR', maxlength: 3, ...checkAttributes(CURRENCY_CHECK) },
  time: checkAttributes(SCHEDULE_FIELDS.time),
  timezone: checkAttributes({ check: 'timezone' }),
};

/** Where no script does it: the records as what was answered makes them. */
export const SHOW_AGAIN = showAgain('Show the records again', true);

function showAgain(label: string, withoutScript = false) {
  const only = attributes({ 'data-without-script': withoutScript });
  return buttonRow(
    html`<button type="submit" name="do" value="update" class="button" formnovalidate${only}>${label}</button>`,
  );
}

/** The fields that are shown only while another has, or has not, a value. */
const SHOWN: Readonly<Partial<Record<JobQuestionKind, string>>> = {
  url: 'storeKind=own',
  apiKey: 'storeKind=own',
  ...recordOf(SCHEDULE_FIELD_NAMES, besideSchedule),
  timezone: 'schedule!=no',
};

/** What is said of a parameter of a mapping: its first sentence names it. */
export function paramWords(name: string, description = name) {
  const [first = name, ...more] = description.split(/(?<=\.)\s+/);
  return { label: first.replace(/\.$/, ''), hint: [...more, `(${name})`].join(' ') };
}

/** The field of a question with what is wrong with it; `rerenders`: each answer renders the page again. */
function questionField(
  session: DraftSession,
  question: AskedQuestion,
  problems: readonly FieldProblem[],
  rerenders: boolean,
) {
  const { id, text, reason, form, defaultAnswer, choices, example } = question;
  const kind = questionKind(id);
  const { label: named } = kind === 'param' ? paramWords(text, reason) : { label: text };
  if (kind === 'records') return recordsTree(question);
  if (kind === 'encoding' && form === 'choice') return charsetChoice(question);
  const name = fieldName(question);
  const isOfColumns = partOf(question) === 'columns';
  const own = problems.filter((problem) => problem.field === name);
  const hint = hintOf(question, session);
  const ids = withoutAbsent([own.length > 0 && `wrong-${name}`, hint !== '' && `hint-${name}`]);
  const isOpen = question.answer === undefined;
  const answer = isOpen ? '' : question.answer;
  // A secret is not sent back.
  const isGiven = form === 'secret' && !isOpen;
  const attributes = {
    id: name,
    'data-renders': rerenders,
    'aria-describedby': ids.length > 0 && ids.join(' '),
    'aria-invalid': (own.length > 0 || (rerenders && isOpen && form === 'choice')) && 'true',
    ...(question.defaultAnswer === undefined &&
      !isGiven &&
      checkAttributes({ missing: missingText(question) })),
  };
  const encoded = (value: string) => (isOfColumns ? `=${value}` : value);
  const offered = choices.map((choice): Choice => [encoded(choice.value), choice.name]);
  const typed = { ...attributes, name, autocomplete: 'off', spellcheck: 'false' };
  const control =
    form === 'choice'
      ? select(
          name,
          isOpen ? [['', 'Choose'], ...offered] : offered,
          isOpen ? '' : encoded(answer ?? ''),
          attributes,
        )
      : form === 'secret'
        ? input(name, { ...typed, type: 'password' })
        : form === 'file'
          ? html`<span id="${name}">${isOpen ? 'Upload it at the end of this page.' : 'It was uploaded; another upload replaces it.'}</span>`
          : input(name, {
              ...typed,
              // A typed address with a user may have a password.
              value: answer === undefined || hasUser(answer) ? '' : answer,
              placeholder: example,
              ...INPUTS[kind],
              'data-browser-timezone': kind === 'timezone' && answer === defaultAnswer,
            });
  const about = html`${own.length > 0 && html`<span class="field-error" id="wrong-${name}">${own.map((problem) => problem.text).join(' ')}</span>`}${hint !== '' && html` <span class="quiet" id="hint-${name}">${hint}</span>`}`;
  const style = isOfColumns ? `field question${isOpen ? ' open' : ''}` : 'field';
  return shownWhen(isOfColumns ? undefined : SHOWN[kind], field(name, named, control, about, style));
}

const CHARSETS_SHOWN = 3;

/** The probable charsets, each with a word read in it, no word twice; the others are folded, unless one of them is chosen. */
function charsetChoice({ id, choices, answer }: AskedQuestion) {
  const item = ({ value, sample }: AskedQuestion['choices'][number]) =>
    html`<li>${renderingRadio(`${id}-${value}`, id, value, value === answer)} <label for="${id}-${value}">${sample === undefined ? value : html`<b>${foreign(sample, 60)}</b> ${quiet(value)}`}</label></li>`;
  const isDistinct = ({ sample }: (typeof choices)[number], index: number) =>
    choices.findIndex((one) => one.sample === sample) === index;
  const probable = choices.filter(isDistinct).slice(0, CHARSETS_SHOWN);
  const shown = choices.filter((choice) => probable.includes(choice) || choice.value === answer);
  const others = choices.filter((choice) => !shown.includes(choice));
  return html`<div class="record-tree" role="group" aria-labelledby="${id}"><p id="${id}" tabindex="-1">The file does not say its charset. Which word reads as it should?</p>
<ul>${shown.map(item)}</ul>
${others.length > 0 && html`<details><summary>None of them: ${counted(others.length, 'other charset')}</summary><ul>${others.map(item)}</ul></details>`}</div>`;
}

function hintOf(
  { id, form, text, reason, defaultAnswer, answer, flag }: AskedQuestion,
  { pictures }: DraftSession,
) {
  switch (questionKind(id)) {
    case 'param':
      return paramWords(text, reason).hint;
    case 'apiKey':
      return `${defaultAnswer === undefined && answer === undefined ? '' : 'A key is known for this address; leave this blank to use it. '}It is kept on the machine of this dashboard, readable for its owner only.`;
    case 'imageBase':
      return `${capitalise(reason ?? '')}. ${pictures === undefined ? 'If you have the files, upload them as a ZIP at the end of this page. Blank: no pictures are sent.' : `A run puts the files of ${pictures.upload.name} there.`}`;
    case 'currency':
      return flag === undefined
        ? `${reason ?? ''} A price in another currency is rejected. Blank: all prices must be in one currency.`.trim()
        : `${capitalise(reason ?? '')}.`;
    default:
      if (form === 'secret' && answer) return 'It is known; leave this blank to use it.';
      return reason === undefined
        ? ''
        : /[.?!]$/.test(reason)
          ? capitalise(reason)
          : `${capitalise(reason)}.`;
  }
}

/** The address of the first picture on the dashboard; another for another picture. */
function pictureHref(session: DraftSession) {
  const { id, picture } = session;
  const zipped = zippedPicture(session);
  if (picture === undefined || (zipped !== undefined && zipped.path === undefined)) return undefined;
  return `/new/${id}/picture?${hash('sha256', picture).slice(0, 16)}`;
}

function columnsPart(file: DraftFile, questions: readonly Markup[], session: DraftSession) {
  const { refused, proposal } = file.guess;
  const notes = proposal?.notes ?? [];
  const body = html`${Object.values(refused).map((why) => alertText(`${why} This answer was left out.`, 'warning'))}
${questions}
<div class="grid-and-record"><div>${fileGrid(file)}</div>${firstRecord(file, pictureHref(session), zippedPicture(session))}</div>
${notes.length > 0 && bullets(notes, 'does')}`;
  return fieldset('The rows and columns', body);
}

/** The first records with their problems. */
export function previewPart({
  preview,
  look,
}: {
  readonly preview: SourceGuess['preview'];
  readonly look: SourceLook;
}): Markup {
  return fieldset(
    'The first records',
    preview === undefined
      ? html`<p>The first records are shown here once the questions above are answered.</p>`
      : typeof preview === 'string'
        ? noticeText(preview, 'warning')
        : recordsTable(preview, look),
  );
}

function recordsTable(preview: SourcePreview, look: SourceLook) {
  const { counts, records, rejected } = preview;
  const place = ({ reason, line }: PreviewedRecord) =>
    rowPlace(reason?.line ?? line, reason?.column, look.places);
  const shown = [...records.toSorted((one, other) => one.line - other.line), ...rejected];
  return html`<p role="status" id="preview-counts">${countWords(preview, look.rowCount !== null && look.rowCount <= look.rows.length)}</p>
${
  counts.record + counts.rejected + counts.skipped > 0 &&
  scrolledTable({
    style: 'preview',
    caption: html`${records.length === 1 ? 'The first record' : `The first ${counted(records.length, 'record')}`}${rejected.length > 0 && `, and the first that are rejected after them`}`,
    headers: ['Record', 'What would be sent'],
    rows: shown.map((record) => recordRow(record, place(record))),
  })
}`;
}

function countWords({ counts }: SourcePreview, whole: boolean) {
  const parts = withoutAbsent([
    `${counted(counts.record, 'record')} can be sent`,
    counts.rejected > 0 && `${grouped(counts.rejected)} ${isOrAre(counts.rejected)} rejected`,
    counts.skipped > 0 && `${grouped(counts.skipped)} ${isOrAre(counts.skipped)} skipped`,
  ]);
  return `${whole ? 'In the file' : 'In the first rows of the file'}: ${listed(parts)}.`;
}

const VALUE_SHOWN = 200;

function recordRow({ key, kind, fields, reason, cell }: PreviewedRecord, place: string) {
  const name = html`<th scope="row">${key !== null && html`${foreign(key, 80)} `}${quiet(place)}</th>`;
  if (kind !== 'record')
    return html`<tr class="${kind === 'rejected' && 'bad'}">${name}<td><b>${kind === 'rejected' ? 'Rejected' : 'Skipped'}</b>: ${reason?.column !== undefined && html`${foreign(reason.column, 60)} <mark>${cell === undefined || cell === '' ? 'blank' : foreign(cell, 80)}</mark> `}${foreign(reason?.message ?? '')}</td></tr>`;
  return html`<tr>${name}<td><details><summary>${summaryOf(fields)}</summary><dl class="body">${fields.map(({ path, value }) => fact(code(path), foreign(valueText(value, VALUE_SHOWN))))}</dl></details></td></tr>`;
}

/** A request body in a line: title, prices, stock and images of a product; e-mail and name of a contact. */
function summaryOf(fields: PreviewedRecord['fields']) {
  const all = (path: RegExp) =>
    fields.flatMap((field) => (path.test(field.path) && field.value !== null ? [field.value] : []));
  const named = all(/^(?:title|email|name)$/);
  const prices = all(/^variants\[\d+\]\.price$/).filter((value) => typeof value === 'number');
  const stock = all(/^variants\[\d+\]\.quantity$/).filter((value) => typeof value === 'number');
  const images = all(/^images\[/).length;
  const [least, most] = [Math.min(...prices), Math.max(...prices)];
  const parts = withoutAbsent([
    prices.length !== 0 && (least === most ? `price ${least}` : `price ${least} to ${most}`),
    prices.length > 1 && counted(prices.length, 'variant'),
    stock.length !== 0 && `stock ${grouped(sumOf(stock))}`,
    images !== 0 && counted(images, 'image'),
  ]);
  return html`<b>${foreign(named.map(String).join(', '), 120)}</b>${parts.length > 0 && ` ${parts.join(', ')}`}`;
}

function settings(session: DraftSession, facts: DraftPageFacts) {
  const { questions } = facts.state;
  const fieldsIn = (part: Part) =>
    questions
      .filter((question) => partOf(question) === part)
      .map((question) => questionField(session, question, facts.problems, question.id === 'currency'));
  const when =
    session.source.kind === 'file'
      ? 'Each run reads the uploaded file again: for new data, upload a new file on the page of the job, or give the job an address or a folder where a new file is put.'
      : 'Each run reads what is at the address then.';
  return html`${fieldset('The job', fieldsIn('job'))}
${fieldset('The schedule', [...fieldsIn('schedule'), styledText('hint', [when, ' ', workerNote(facts)])])}`;
}

/** What keeps schedules. */
export function workerNote({ program, hasWorker }: Pick<DraftPageFacts, 'program' | 'hasWorker'>): Markup {
  return hasWorker
    ? html`This dashboard keeps schedules as long as it runs.`
    : html`Schedules need a worker: <code>${program} dashboard --worker</code> keeps them in this process.`;
}

/** The condition under which a field of a schedule is shown. */
export function besideSchedule(name: keyof typeof SCHEDULE_FIELDS): string {
  return `schedule=${SCHEDULE_FIELDS[name].beside.join('|')}`;
}

interface NewJobPageFacts {
  readonly limit: string;
  /** As it was typed. */
  readonly address: string;
  /** What is wrong with the address. */
  readonly problem: string | null;
}

/** The files that can be uploaded, beside CSV; null: the word of another format has it. */
const FORMAT_WORDS: Readonly<Record<TableFormat, string | null>> = {
  xlsx: 'Excel (.xlsx)',
  ods: 'OpenDocument (.ods)',
  json: 'JSON',
  jsonl: null,
  xml: 'XML',
};

function uploadWords() {
  const words = withoutAbsent(['CSV', ...Object.values(FORMAT_WORDS)]);
  return `A ${words.slice(0, -1).join(', ')} or ${words.at(-1)} file, also zipped`;
}

/** The page that takes a file or an address. */
export function newJobPage({ limit, address, problem }: NewJobPageFacts, viewer: Viewer): Page {
  const isWrong = problem !== null;
  return {
    title: 'New job',
    section: 'jobs',
    form: true,
    lead: 'A job imports a file of products or contacts. You match its columns and see the first records before anything is written or sent.',
    body: html`<div class="ways">
${uploadForm({ action: '/new/upload', heading: 'Upload a file', label: uploadWords(), hint: `At most ${limit}.`, button: 'Upload' }, viewer)}
${postForm(
  {
    action: '/new/address',
    style: 'panel upload',
    body: html`<h2>Use a link</h2>
<p><label for="address">Link to a file on the web, to a Google Sheet, or to a file on an SSH server (<code>sftp://user@host/path</code>)</label>
<input id="address" name="address" type="text" inputmode="url" required value="${address}" placeholder="https://shop.example/export.csv" autocomplete="off" spellcheck="false"${isWrong && html` autofocus aria-invalid="true" aria-describedby="wrong-address"`}>${isWrong && html`<span class="field-error" id="wrong-address">${problem}</span>`}</p>
<p class="hint">Each run downloads the file again. A token or a password in the link is kept apart (in <code>.env</code>), and not shown.</p>
${buttonRow(submitButton('Continue'))}`,
  },
  viewer,
)}
</div>`,
  };
}
