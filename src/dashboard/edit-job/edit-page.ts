import { SCHEDULE_CHOICES, SCHEDULE_FIELD_NAMES, SCHEDULE_FIELDS } from '../../config/job/job.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import { jobFile } from '../../model/run.ts';
import { code, html, quiet, styledText } from '../../report/html/markup.ts';
import { listed } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import { besideSchedule, workerNote } from '../new-job/draft-page.ts';
import { scheduleWords } from '../pages/job-card.ts';
import { buttonRow, jobHref } from '../pages/link-button.ts';
import { alertText, fileProblems, foldedPart, type Notice, type Page } from '../pages/page.ts';
import {
  type Choice,
  fieldset,
  formActions,
  moreFields,
  postForm,
  submitButton,
} from '../pages/post-form.ts';
import { type Control, type ControlFacts, controlOf, type EditField, type EditGroup } from './edit-field.ts';
import { type EditableJob, editForm } from './edit-form.ts';

/** The content of the page that edits a job. */
export interface EditPageFacts extends ControlFacts {
  readonly name: string;
  readonly file: EditableJob;
  /** The settings of another server that were removed, after the file was saved. */
  readonly removed?: readonly string[];
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
${!form && fileProblems('The form needs a file that is valid YAML', file.problems)}
${outdated !== undefined && form && foldedPart('The file as it is now', html`<pre class="file" tabindex="0">${text}</pre>`, true)}
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

function formPart(facts: EditPageFacts, viewer: Viewer) {
  const { name, file, shown } = facts;
  const other = shown['schedule'] === 'other' ? shown['cron'] : undefined;
  const { location, what, source, groups } = editForm(file);
  const control = (one: Control) => controlOf(one, facts);
  const before = Object.entries(shown).map(([key, value]) => [`was.${key}`, value] as const);
  const hidden = 'The file names it in a way that is not changed here (S3, SFTP): edit the file.';
  const place =
    location === 'none'
      ? html`<p>${hidden}</p>`
      : html`${location === 'any' && control({ name: 'place', label: 'Where is the file?', choices: PLACES })}
${control({ name: 'location', label: LOCATIONS[location], required: true, missing: LOCATION_MISSING, hint: what === 'source' ? SOURCE_HINT : DESTINATION_HINT })}`;
  const schedule = html`${scheduleControls(other).map(control)}
${other !== undefined && html`<p class="hint" data-when="schedule=other">The file of the job says these times: <small>${code(other)}</small></p>`}
${control(PAUSED)}
<p class="hint">Workers follow a change within seconds. ${workerNote(facts)}</p>`;
  const body = html`${fieldset(what === 'source' ? 'Source' : 'Destination', [place, source.length > 0 && rarely({ legend: 'How the file is read', fields: source }, facts)])}
${fieldset('Schedule', schedule)}
${groups.map((group) =>
  group.rare === true
    ? rarely(group, facts)
    : fieldset(group.legend, [
        group.hint !== undefined && styledText('hint', group.hint),
        ...group.fields.map(control),
      ]),
)}
${formActions('Save', jobHref(name))}
${buttonRow(submitButton('Test the notifications', { name: 'do', value: 'test', weight: '' }), quiet('Keeps the changes above, then sends each recipient a message.'))}`;
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
function rarely({ legend, hint, fields }: EditGroup, facts: EditPageFacts) {
  const isSet = ({ name, defaultValue = '', choices, member }: EditField) =>
    facts.values[name] !== (choices === undefined && member === undefined ? '' : defaultValue) ||
    facts.errors.has(name);
  return moreFields(
    legend,
    [hint !== undefined && styledText('hint', hint), ...fields.map((one) => controlOf(one, facts))],
    fields.some(isSet),
  );
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
