import type { EditableFile } from '../../config/edit-file.ts';
import { jobFile } from '../../model/job-file.ts';
import { FLOOR_TEXT } from '../../model/safety-limits.ts';
import { html, type Markup, type Slot } from '../../report/html/markup.ts';
import { listed } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import { scheduleChoices, workerNote } from '../new-job/draft-page.ts';
import { scheduleWords } from '../pages/job-card.ts';
import { jobHref } from '../pages/link-button.ts';
import { type Notice, type Page, problemList } from '../pages/page.ts';
import { type Choice, field, postForm, select } from '../pages/post-form.ts';
import { type EditField, type EditValues, editForm } from './edit-form.ts';

/** The content of the page that edits a job. */
export interface EditPageFacts {
  readonly name: string;
  readonly file: EditableFile;
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
  readonly program: string;
  readonly hasWorker: boolean;
}

/** The form for source, schedule and limits of a job. */
export function editPage(facts: EditPageFacts, viewer: Viewer): Page {
  const { name, file, errors, outdated, text, removed } = facts;
  const path = html`<code>${jobFile(name)}</code>`;
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
            : null,
    body: html`<p class="page-lead">Changes ${path}: only what you change here; comments and everything else stay as they are. Mode and other settings are changed in the file${file.at(['import']) === undefined ? '' : html`, columns under <a href="${jobHref(name)}/columns">Match columns</a>`}.</p>
${(errors.get('') ?? []).map((message) => html`<p class="notice bad" role="alert">${message}</p>`)}
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
  const { name, file, shown, values } = facts;
  const { location, source, limits } = editForm(file);
  const text = (control: Control) => textField(control, facts);
  const before = Object.entries(shown).map(([key, value]) => [`was.${key}`, value] as const);
  const body = html`${
    source.length > 0 &&
    html`<fieldset><legend>Source</legend>
${
  location === 'none'
    ? html`<p>The file names its source in a way that is not changed here (S3, SFTP): edit the file.</p>`
    : html`${
        location === 'any' &&
        selectField(
          { name: 'place', label: 'Where is the file?' },
          [
            ['path', 'In the workspace: a path'],
            ['url', 'On the web: an address'],
          ],
          facts,
        )
      }
${text({ name: 'location', label: location === 'any' ? 'Path or address' : 'Address', hint: `A path such as exports/*.csv takes all files that fit; an address may be a link to a Google Sheet. A placeholder such as \${FEED_TOKEN} stays where the file has it, as long as the address leads to the same server; any other one is written as plain text. Add placeholders in the file, by hand.` })}`
}
${source.map(text)}
</fieldset>`
  }
<fieldset><legend>Schedule</legend>
${selectField({ name: 'schedule', label: 'When does it run?' }, choicesOf(shown), facts)}
<div data-when="schedule=other">${text({ name: 'cron', label: 'Minute, hour, day, month, weekday', hint: values['schedule'] === 'other' ? scheduleWords(values['cron'] ?? '') : '' })}</div>
<div data-unless="schedule=no">${text({ name: 'timezone', label: 'Time zone' })}</div>
<p class="hint">Workers follow a change within seconds. ${workerNote(facts)}</p>
</fieldset>
${
  limits.length > 0 &&
  html`<fieldset><legend>Safety limits</legend>
<p class="hint">They stop a run before its first request. Each is a number, a percentage such as 5%, or off. ${FLOOR_TEXT}</p>
${limits.map(text)}
</fieldset>`
}
<p class="actions"><button type="submit" class="button primary">Save</button> <a class="button" href="${jobHref(name)}">Cancel</a></p>`;
  const fields = { sha256: file.sha256, ...Object.fromEntries(before) };
  return postForm({ action: `${jobHref(name)}/edit`, style: 'draft', fields, body }, viewer);
}

function choicesOf({ schedule = 'no', cron = '' }: EditValues): readonly Choice[] {
  const words = scheduleWords(cron);
  return scheduleChoices([
    ...(schedule === 'paused' ? ([['resume', `Resume: ${words}`]] as const) : []),
    ...(schedule === 'no' ? [] : ([['paused', `Paused: ${words}, as a comment in the file`]] as const)),
  ]);
}

type Control = Pick<EditField, 'name' | 'label' | 'usual' | 'hint'>;

/** What is said about a field: what is wrong, and what the file has where both were changed. */
function aboutField({ name, hint }: Control, { errors, outdated, shown, values }: EditPageFacts) {
  const wrong = errors.get(name) ?? [];
  const theirs = shown[name] ?? '';
  const isContested = outdated !== undefined && outdated[name] !== theirs && values[name] !== theirs;
  const id = `about-${name}`;
  const lines: Slot[] = [
    ...wrong.map((message) => html`<span class="field-error">${message}</span>`),
    isContested &&
      html`<span class="field-error">The file now has: ${theirs === '' ? 'nothing' : html`<code>${theirs}</code>`}</span>`,
    hint !== undefined && hint !== '' && html`<span class="quiet">${hint}</span>`,
  ].filter((line) => line !== false);
  return {
    text: lines.length > 0 && html`<span class="about" id="${id}">${lines}</span>`,
    attributes: html`${lines.length > 0 && html` aria-describedby="${id}"`}${wrong.length > 0 && html` aria-invalid="true"`}`,
  };
}

function textField(control: Control, facts: EditPageFacts): Markup {
  const { name, label, usual } = control;
  const { text, attributes } = aboutField(control, facts);
  const zone = name === 'timezone' && facts.shown['schedule'] === 'no' && facts.values['schedule'] === 'no';
  const input = html`<input id="${name}" name="${name}" value="${facts.values[name] ?? ''}"${usual !== undefined && html` placeholder="${usual}"`}${attributes}${zone && html` data-browser-timezone`} autocomplete="off" spellcheck="false">`;
  return field(name, label, input, text);
}

function selectField(control: Control, choices: readonly Choice[], facts: EditPageFacts): Markup {
  const { name, label } = control;
  const { text, attributes } = aboutField(control, facts);
  const list = select(name, choices, facts.values[name], html` id="${name}"${attributes}`);
  return field(name, label, list, text);
}
