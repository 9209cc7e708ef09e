import type { Path } from '../../config/edit-file.ts';
import { html, type Markup, quiet, type Slot, styledText } from '../../report/html/markup.ts';
import type { Viewer } from '../access/sessions.ts';

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
  /** Whether a file can be sent. */
  readonly streamed?: boolean;
  readonly body: Slot;
}

/** The form of a session: it has the token which proves that it comes from a page of the dashboard. */
export function postForm(
  { action, style, fields = {}, streamed = false, body }: FormParts,
  { csrfToken }: Pick<Viewer, 'csrfToken'>,
): Markup {
  const hidden = Object.entries({ [CSRF_FIELD]: csrfToken, ...fields });
  return html`<form class="${style}" method="post" action="${action}"${streamed && html` enctype="multipart/form-data"`}>
${hidden.map(([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`)}
${body}
</form>`;
}

/** The button that sends a form; of several, each has its value of the field `name`. */
export function submitButton(
  label: Slot,
  { weight = 'primary', name, value = '', about }: SubmitOptions = {},
): Markup {
  return html`<button type="submit"${name !== undefined && html` name="${name}" value="${value}"`} class="button ${weight}">${label}${about !== undefined && html`<span class="unseen"> ${about}</span>`}</button>`;
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
  return html`<p class="actions">${submitButton(label, submit)} <a class="button" href="${back}">Cancel</a></p>`;
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
<input id="file" name="file" type="file"${accept !== undefined && html` accept="${accept}"`} required data-missing="Choose a file."></p>
${hint !== undefined && styledText('hint', hint)}
${back === undefined ? styledText('actions', submitButton(button)) : formActions(button, back)}`;
  return postForm(
    { action, style: heading === undefined ? 'upload' : 'panel upload', streamed: true, body },
    viewer,
  );
}

/** A choice: its value, and what people read. */
export type Choice = readonly [value: string, label: string];

/** A list of choices. `attributes`: further ones, such as an id that is not the name. */
export function select(
  name: string,
  choices: readonly Choice[],
  chosen: string | undefined,
  attributes: Slot = html` id="${name}"`,
): Markup {
  const options = choices.map(
    ([value, label]) =>
      html`<option value="${value}"${value === chosen && html` selected`}>${label}</option>`,
  );
  return html`<select name="${name}"${attributes}>${options}</select>`;
}

/** A control under its label, with what is to be said of it. */
export function field(name: string, label: Slot, control: Slot, about: Slot = ''): Markup {
  return html`<p class="field"><label for="${name}">${label}</label>${control}${about}</p>`;
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
export function checkAttributes({ pattern, wrong, missing, required, check }: TypedCheck): Markup {
  return html`${required === true && html` required`}${pattern !== undefined && html` pattern="${pattern}"`}${wrong !== undefined && html` title="${wrong}"`}${missing !== undefined && html` data-missing="${missing}"`}${check !== undefined && html` data-check="${check}"`}`;
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

/** A field of a form that shows a value of a file. */
export interface EditField extends TypedCheck {
  readonly name: string;
  readonly path: Path;
  readonly label: string;
  /** What an empty field means; of a choice the value that a file need not have. */
  readonly defaultValue?: string;
  readonly hint?: string;
  readonly choices?: readonly Choice[];
  /** The value is a list: texts with commas between them. */
  readonly list?: true;
  /** Whether the list has this value: a check box. */
  readonly member?: string;
  /** Where the field is shown, as another one and its value: `mode=update`. */
  readonly when?: string;
  /** What is shown, where it is not the value of the file as it stands. */
  readonly fixedValue?: string;
  /** Typed and never shown. */
  readonly secret?: true;
  /** The setting is removed where it is not shown. */
  readonly removedWhenHidden?: true;
}

/** Fields under one heading. */
export interface EditGroup {
  readonly legend: string;
  readonly hint?: string;
  /** Closed at first, unless the file has one of them. */
  readonly rare?: true;
  readonly fields: readonly EditField[];
}

/** The values of a form by the names of its fields. */
export type EditValues = Readonly<Record<string, string>>;

/** A choice of which the first is the usual one. */
export function choice(
  path: Path,
  label: string,
  choices: readonly Choice[],
  more: Partial<EditField> = {},
): EditField {
  return { name: path.join('.'), path, label, choices, defaultValue: choices[0]?.[0] ?? '', ...more };
}
