import { withoutUndefined } from '../../model/json-object.ts';
import { html, type Markup, quiet, type Slot, styledText } from '../../report/html/markup.ts';
import type { Viewer } from '../access/sessions.ts';
import { buttonRow, linkButton } from './link-button.ts';

/** The hidden field of every form that has an effect, with the token of the session. */
export const CSRF_FIELD = 'csrfToken';

/** The content of a form that has an effect. */
interface FormParts {
  /** Its address. */
  readonly action: string;
  /** Its class; `draft` loads the script that renders it again. */
  readonly style: 'confirm' | 'correct' | 'draft' | 'inline' | 'sign-out' | 'upload' | 'panel upload';
  /** Hidden fields. Absent values have no field. */
  readonly fields?: Readonly<Record<string, string | number | undefined>>;
  /** Whether it sends a file, which its route reads as a stream. */
  readonly streamed?: boolean;
  readonly body: Slot;
}

/** The form of a session: it has the token which proves that it comes from a page of the dashboard. */
export function postForm(
  { action, style, fields = {}, streamed = false, body }: FormParts,
  { csrfToken }: Pick<Viewer, 'csrfToken'>,
): Markup {
  const hidden = Object.entries({ [CSRF_FIELD]: csrfToken, ...fields });
  return html`<form class="${style}" method="post" action="${action}"${attributes({ enctype: streamed && 'multipart/form-data' })}>
${hidden.map(([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`)}
${body}
</form>`;
}

/** Attributes of an element: absent and false ones are left out, true ones have no value. */
export function attributes(all: Readonly<Record<string, string | number | boolean | undefined>>): Markup {
  const given = Object.entries(all).filter(([, value]) => value !== undefined && value !== false);
  return html`${given.map(([name, value]) => (value === true ? ` ${name}` : html` ${name}="${String(value)}"`))}`;
}

/** A field for a text or a number, of this id and, unless another is given, name. */
export function input(id: string, more: Parameters<typeof attributes>[0]): Markup {
  return html`<input${attributes({ id, name: id, ...more })}>`;
}

/** The button that sends a form; of several, each has its value of the field `name`. */
export function submitButton(
  label: Slot,
  { weight = 'primary', name, value, about }: SubmitOptions = {},
): Markup {
  return html`<button type="submit"${attributes({ name, value })} class="button ${weight}">${label}${about !== undefined && html`<span class="unseen"> ${about}</span>`}</button>`;
}

interface SubmitOptions {
  readonly weight?: string | undefined;
  readonly name?: string;
  readonly value?: string;
  /** What screen readers hear after the label. */
  readonly about?: string;
}

/** The end of a form: the button that sends it, and the way back. */
export function formActions(label: string, back: string, submit?: SubmitOptions): Markup {
  return buttonRow(submitButton(label, submit), linkButton(back, { label: 'Cancel' }));
}

interface UploadParts {
  readonly action: string;
  /** Above the form, in a panel. */
  readonly heading?: string;
  readonly label: Slot;
  readonly hint?: string;
  readonly button: string;
  /** The types of files that a browser offers; absent for all. */
  readonly accept?: string;
  /** The address of the cancel link. */
  readonly back?: string;
}

/** The form that uploads one file. */
export function uploadForm(
  { action, heading, label, hint, button, accept, back }: UploadParts,
  viewer: Viewer,
): Markup {
  const body = html`${heading !== undefined && html`<h2>${heading}</h2>`}
<p><label for="file">${label}</label>
<input id="file" name="file" type="file"${attributes({ accept })} required data-missing="Choose a file."></p>
${hint !== undefined && styledText('hint', hint)}
${back === undefined ? buttonRow(submitButton(button)) : formActions(button, back)}`;
  return postForm(
    { action, style: heading === undefined ? 'upload' : 'panel upload', streamed: true, body },
    viewer,
  );
}

/** A choice: its value, and what people read. */
export type Choice = readonly [value: string, label: string];

/** Choices of values that people read as they are. */
export function namedChoices(values: readonly string[]): readonly Choice[] {
  return values.map((value) => [value, value]);
}

/** A list of choices. `more`: further attributes, such as an id that is not the name. */
export function select(
  name: string,
  choices: readonly Choice[],
  chosen: string | undefined,
  more: Parameters<typeof attributes>[0] = { id: name },
): Markup {
  const options = choices.map(
    ([value, label]) =>
      html`<option value="${value}"${attributes({ selected: value === chosen })}>${label}</option>`,
  );
  return html`<select name="${name}"${attributes(more)}>${options}</select>`;
}

/** A control under its label, with what is to be said of it. */
export function field(name: string, label: Slot, control: Slot, about: Slot = '', style = 'field'): Markup {
  return html`<p class="${style}"><label for="${name}">${label}</label>${control}${about}</p>`;
}

/** A part of a form that is shown where another field has a value, or has it not: `mode=update`, `schedule!=no`. */
export function shownWhen(when: string | undefined, part: Markup): Markup {
  if (when === undefined) return part;
  const condition = when.includes('!=') ? { 'data-unless': when.replace('!=', '=') } : { 'data-when': when };
  return html`<div${attributes(condition)}>${part}</div>`;
}

/** What a typed text must be, for the browser to check before it is sent. The server decides. */
export interface TypedCheck {
  /** The regular expression of the whole text. */
  readonly pattern?: string;
  /** What is said of a text that is not of the pattern; a sentence. */
  readonly wrong?: string;
  /** What is said of an empty one; a sentence. Without `required` only while the control is shown. */
  readonly missing?: string;
  readonly required?: boolean;
  /** What else it must be. */
  readonly check?: 'timezone';
}

/** The name of a job or store. */
export const NAME_CHECK: TypedCheck = {
  pattern: String.raw`[A-Za-z0-9][A-Za-z0-9._\-]{0,63}`,
  wrong: 'Give letters, digits, dots, - and _, beginning with a letter or digit; at most 64.',
  missing: 'Give a name.',
  required: true,
};

/** The address of a page or a store. */
export const WEB_CHECK: TypedCheck = {
  pattern: '[Hh][Tt][Tt][Pp][Ss]?://.+',
  wrong: 'Give an address that begins with https:// or http://.',
};

/** The code of a currency. */
export const CURRENCY_CHECK = {
  pattern: '[A-Za-z]{3}',
  wrong: 'Give a code of three letters, such as EUR.',
} as const satisfies TypedCheck;

/** The attributes of a control that is checked. */
export function checkAttributes({ pattern, wrong: title, missing, required, check }: TypedCheck) {
  // Absent ones override none of those beside them.
  return withoutUndefined<Parameters<typeof attributes>[0]>({
    required,
    pattern,
    title,
    'data-missing': missing,
    'data-check': check,
  });
}

/** Fields that are folded unless `open`: the caller opens them where one is set. */
export function moreFields(summary: string, fields: Slot, open: boolean): Markup {
  return html`<details class="more-fields"${attributes({ open })}><summary>${summary}</summary>
${fields}
</details>`;
}

/** The fields of a form under one heading. */
export function fieldset(legend: Slot, body: Slot): Markup {
  return html`<fieldset><legend>${legend}</legend>
${body}
</fieldset>`;
}

/** Quiet words beside a control. */
export function note(words: Slot): Markup {
  return html` ${quiet(words)}`;
}

/** A form that shows another part of a page, and has no effect. */
export function filterForm(
  action: string,
  controls: readonly { readonly name: string; readonly label: string; readonly control: Markup }[],
  button = 'Show',
): Markup {
  return html`<form class="filter" method="get" action="${action}">
${controls.map(({ name, label, control }) => html`<p><label for="${name}">${label}</label>${control}</p>`)}
<p><button type="submit" class="button">${button}</button></p>
</form>`;
}
