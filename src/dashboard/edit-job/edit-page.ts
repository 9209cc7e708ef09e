import { SCHEDULE_CHOICES, SCHEDULE_FIELD_NAMES, SCHEDULE_FIELDS } from '../../config/job/job.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import { jobFile } from '../../model/run.ts';
import { code, html, type Markup, quiet, type Slot } from '../../report/html/markup.ts';
import { listed } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import { besideSchedule, workerNote } from '../new-job/draft-page.ts';
import { scheduleWords } from '../pages/job-card.ts';
import { jobHref } from '../pages/link-button.ts';
import { alertText, type Notice, type Page, problemList } from '../pages/page.ts';
import {
  type Choice,
  checkAttributes,
  type EditField,
  type EditValues,
  field,
  formActions,
  postForm,
  select,
  submitButton,
} from '../pages/post-form.ts';
import { type EditableJob, editForm } from './edit-form.ts';

/** The content of the page that edits a job. */
export interface EditPageFacts {
  readonly name: string;
  readonly file: EditableJob;
  /** What the file has. */
  readonly shown: EditValues;
  /** What the fields have. */
  readonly values: EditValues;
  /** Sentences by the names of the fields; '' for those about no field. */
  readonly errors: ReadonlyMap<string, readonly string[]>;
  /** The settings of another server that were removed, after the file was saved. */
  readonly removed?: readonly string[];
  /** What the file had when the form was shown, if the file has been changed since. */
  readonly outdated?: EditValues;
  /** The file for people, without secrets. */
  readonly text: string;
  /** What became of a test of the notifications, after the file was saved. */
  readonly tested?: Notice;
  readonly program: string;
  readonly hasWorker: boolean;
}

/** The form for the settings of a job. */
export function editPage(facts: EditPageFacts, viewer: Viewer): Page {
  const { name, file, errors, outdated, text, removed, tested = null } = facts;
  const path = code(jobFile(name));
  const form = file.problems.length === 0;
  return {
    title: `Edit ${name}`,
    section: 'jobs',
    form: true,
    notice:
      outdated !== undefined
        ? OUTDATED
        : removed !== undefined
          ? savedWithout(removed)
          : errors.size > 0
            ? REFUSED
            : tested,
    lead: html`Changes only what you change here; everything else stays as it is, also comments in the file ${path}.${file.at(['import']) === undefined ? '' : html` Columns are changed under <a href="${jobHref(name)}/columns">Match columns</a>.`}`,
    body: html`${(errors.get('') ?? []).map((message) => alertText(message))}
${!form && html`<section class="notice bad"><h2>The form needs a file that is valid YAML</h2>${problemList(file.problems)}<p>Correct the file and load this page again.</p></section>`}
${outdated !== undefined && form && html`<details class="worth-knowing" open><summary>The file as it is now</summary><pre class="file" tabindex="0">${text}</pre></details>`}
${form && formPart(facts, viewer)}`,
  };
}

const OUTDATED = {
  tone: 'warning',
  text: 'The file was changed after this form was shown. Nothing was written. Fields that you changed have what you typed; the others have what the file has now. Look at both, then save again, or cancel.',
} as const;
const REFUSED = { tone: 'bad', text: 'Nothing was written: correct the marked fields.' } as const;

function savedWithout(removed: readonly string[]): Notice {
  const text = `Saved. The new address leads to another server, so what was meant for the old one was removed: ${listed(removed)}. If the new server needs them, write them into the file by hand.`;
  return { tone: 'warning', text };
}

function formPart(facts: EditPageFacts, viewer: Viewer): Markup {
  const { name, file, shown } = facts;
  const other = shown['schedule'] === 'other' ? shown['cron'] : undefined;
  const { location, what, source, groups } = editForm(file);
  const control = (one: Control) => controlOf(one, facts);
  const before = Object.entries(shown).map(([key, value]) => [`was.${key}`, value] as const);
  const hidden = 'The file names it in a way that is not changed here (S3, SFTP): edit the file.';
  const body = html`<fieldset><legend>${what === 'source' ? 'Source' : 'Destination'}</legend>
${
  location === 'none'
    ? html`<p>${hidden}</p>`
    : html`${location === 'any' && control({ name: 'place', label: 'Where is the file?', choices: PLACES })}
${control({ name: 'location', label: LOCATIONS[location], required: true, missing: LOCATION_MISSING, hint: what === 'source' ? SOURCE_HINT : DESTINATION_HINT })}`
}
${source.length > 0 && rarely('How the file is read', source, facts)}
</fieldset>
<fieldset><legend>Schedule</legend>
${scheduleControls(other).map(control)}
${other !== undefined && html`<p class="hint" data-when="schedule=other">The file of the job says these times: <small>${code(other)}</small></p>`}
${control(PAUSED)}
<p class="hint">Workers follow a change within seconds. ${workerNote(facts)}</p>
</fieldset>
${groups.map(({ legend, hint, rare, fields }) =>
  rare === true
    ? rarely(legend, fields, facts, hint)
    : html`<fieldset><legend>${legend}</legend>
${hint !== undefined && html`<p class="hint">${hint}</p>`}
${fields.map(control)}
</fieldset>`,
)}
${formActions('Save', jobHref(name))}
<p class="actions">${submitButton('Test the notifications', { name: 'do', value: 'test', weight: '' })} ${quiet('Keeps the changes above, then sends each recipient a message.')}</p>`;
  const fields = { sha256: file.sha256, ...Object.fromEntries(before) };
  return postForm({ action: `${jobHref(name)}/edit`, style: 'draft', fields, body }, viewer);
}

export const LOCATION_MISSING = 'Give the file or its address.';
const PLACES: readonly Choice[] = [
  ['path', 'In this workspace'],
  ['url', 'On the web'],
  ['watch', 'It arrives in a folder of this workspace: a run for each'],
];
const LOCATIONS = { any: 'File or address', url: 'Address', path: 'File' };
const SOURCE_HINT =
  'A file of the workspace, such as uploads/prices.csv (exports/*.csv: all that fit; files that arrive: inbox/*.csv), or an address, also the link of a Google Sheet. Secrets of an address stay hidden as long as it leads to the same server.';
const DESTINATION_HINT = 'In the folder exports, such as exports/orders.csv.';

/** Fields that most jobs leave as they are: closed, unless one of them is set, wrong, or changed elsewhere. */
function rarely(
  legend: string,
  fields: readonly EditField[],
  facts: EditPageFacts,
  hint: string | undefined = undefined,
): Markup {
  const isSet = ({ name, defaultValue = '', choices, member }: EditField) =>
    facts.values[name] !== (choices === undefined && member === undefined ? '' : defaultValue) ||
    facts.errors.has(name);
  return html`<details class="more-fields"${fields.some(isSet) && html` open`}><summary>${legend}</summary>
${hint !== undefined && html`<p class="hint">${hint}</p>`}
${fields.map((one) => controlOf(one, facts))}
</details>`;
}

/** The fields of a schedule. `other`: the expression of times that they cannot say. */
export function scheduleControls(other?: string): readonly Control[] {
  const choicesOf = (choices: typeof SCHEDULE_CHOICES) =>
    choices.map(({ value, name }): Choice => [value, name]);
  const kinds = withoutAbsent([
    ...choicesOf(SCHEDULE_CHOICES),
    other !== undefined && (['other', scheduleWords(other)] as const),
  ]);
  const fields = SCHEDULE_FIELD_NAMES.map((name): Control => {
    const { label, choices, hint = '', ...check } = SCHEDULE_FIELDS[name];
    const offered = choices.length > 0 && { choices: choicesOf(choices) };
    return { ...check, name, label, hint, ...offered, when: besideSchedule(name) };
  });
  return [
    { name: 'schedule', label: 'When does it run?', choices: kinds },
    ...fields,
    {
      name: 'timezone',
      label: 'Time zone',
      hint: 'Such as Europe/London',
      check: 'timezone',
      when: 'schedule!=no',
    },
  ];
}

const PAUSED: Control = {
  name: 'paused',
  label: 'Paused: it does not run until this is taken off',
  member: 'paused',
  when: 'schedule!=no',
};

type Control = Omit<EditField, 'path'>;
type ControlFacts = Pick<EditPageFacts, 'shown' | 'values' | 'errors' | 'outdated'>;

/** What is said about a field: what is wrong, and what the file has where both were changed. */
export function aboutField(
  { name, hint }: Pick<Control, 'name' | 'hint'>,
  { errors, outdated, shown, values }: ControlFacts,
) {
  const wrong = errors.get(name) ?? [];
  const theirs = shown[name] ?? '';
  const isContested = outdated !== undefined && outdated[name] !== theirs && values[name] !== theirs;
  const id = `about-${name}`;
  const lines: Slot[] = withoutAbsent([
    ...wrong.map((message) => html`<span class="field-error">${message}</span>`),
    isContested &&
      html`<span class="field-error">The file now has: ${theirs === '' ? 'nothing' : code(theirs)}</span>`,
    hint !== undefined && hint !== '' && quiet(hint),
  ]);
  return {
    text: lines.length > 0 && html`<span class="about" id="${id}">${lines}</span>`,
    attributes: html`${lines.length > 0 && html` aria-describedby="${id}"`}${wrong.length > 0 && html` aria-invalid="true"`}`,
  };
}

/** A field of the form, with its label and what is said of it. */
export function controlOf(control: Control, facts: ControlFacts): Markup {
  const { name, label, defaultValue, choices, member, when, secret } = control;
  const { text, attributes } = aboutField(control, facts);
  const value = facts.values[name] ?? '';
  // A placeholder stands for a text of the environment.
  const isTyped = !value.includes('${');
  const { shown, values } = facts;
  const isUnset = shown['schedule'] === 'no' && values['schedule'] === 'no';
  const zone = name === 'timezone' && (isUnset || value === '');
  const input =
    choices !== undefined
      ? select(name, choices, value, html` id="${name}"${attributes}`)
      : html`<input id="${name}" name="${name}"${secret === true ? html` type="password"` : html` value="${value}"`}${defaultValue !== undefined && html` placeholder="${defaultValue}"`}${attributes}${isTyped && checkAttributes(control)}${zone && html` data-browser-timezone`} autocomplete="off" spellcheck="false">`;
  const tick = html`<p class="field choice"><input type="checkbox" id="${name}" name="${name}" value="on"${value === 'on' && html` checked`}${attributes}> <label for="${name}">${label}</label></p>`;
  const whole = member === undefined ? field(name, label, input, text) : tick;
  if (when === undefined) return whole;
  const [condition, attribute] = when.includes('!=') ? [when.replace('!=', '='), 'unless'] : [when, 'when'];
  return attribute === 'when'
    ? html`<div data-when="${condition}">${whole}</div>`
    : html`<div data-unless="${condition}">${whole}</div>`;
}
