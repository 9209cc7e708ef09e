import type { EditableFile, Path, YamlEdit } from '../../config/edit-file.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import { code, html, type Markup, quiet, type Slot } from '../../report/html/markup.ts';
import {
  type Choice,
  checkAttributes,
  field,
  input,
  select,
  shownWhen,
  type TypedCheck,
} from '../pages/post-form.ts';

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
  /** Where it is shown (`shownWhen`). */
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

/** A field for a text or a number. */
export function typedField(
  path: Path,
  label: string,
  hint: string,
  more: Partial<EditField> = {},
): EditField {
  return { name: path.join('.'), path, label, hint, ...more };
}

/** Values that follow from others. */
export function mapValues(values: EditValues, give: (value: string, name: string) => string): EditValues {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, give(value, name)]));
}

/** What is wrong with fields, a sentence for each; '' for none of them. */
export function fieldErrors(errors: EditValues): ControlFacts['errors'] {
  return new Map(Object.entries(errors).map(([name, text]) => [name, [text]]));
}

/** A choice of which the first is the usual one. */
export function choice(
  path: Path,
  label: string,
  choices: readonly Choice[],
  more: Partial<EditField> = {},
): EditField {
  return { name: path.join('.'), path, label, choices, defaultValue: choices[0]?.[0] ?? '', ...more };
}

/** Whether a field is shown beside these values. */
function isShownWith({ when }: Pick<EditField, 'when'>, values: EditValues) {
  if (when === undefined) return true;
  const [, name = '', sign, value] = /^(.+?)(!?=)(.*)$/.exec(when) ?? [];
  return (value ?? '').split('|').includes(values[name] ?? '') === (sign === '=');
}

/** The value of a field of a file, as the form shows it. */
export function fieldValue(
  file: Pick<EditableFile, 'at'>,
  { path, list, member, choices, defaultValue = '', fixedValue }: EditField,
): string {
  if (fixedValue !== undefined) return fixedValue;
  const value = file.at(path);
  if (member !== undefined)
    return (Array.isArray(value) ? value.includes(member) : defaultValue === 'on') ? 'on' : '';
  if (list === true)
    return Array.isArray(value) ? value.map(displayedValue).join(', ') : displayedValue(value);
  return choices !== undefined && value === undefined ? defaultValue : displayedValue(value);
}

/** What must change in a file so that these fields have the wanted values. */
export function fieldEdits(
  file: Pick<EditableFile, 'at'>,
  fields: readonly EditField[],
  now: EditValues,
  wanted: EditValues,
): readonly YamlEdit[] {
  const members = Map.groupBy(
    fields.filter(({ member }) => member !== undefined),
    ({ path }) => path.join('.'),
  );
  const edits = fields.flatMap((field): readonly YamlEdit[] => {
    const { name, path, list, member, removedWhenHidden } = field;
    if (member !== undefined) return [];
    const isShown = isShownWith(field, wanted);
    if (!isShown && removedWhenHidden === true)
      return file.at(path) === undefined ? [] : [{ set: path, to: undefined }];
    const typed = wanted[name] ?? '';
    if (now[name] === typed) return [];
    if (list !== true || typed === '') return [{ set: path, to: parseTyped(typed, path, file.at(path)) }];
    const value = typed.split(',').map((one) => one.trim());
    return [{ set: path, value: value.map((one) => (/^\d{1,15}$/.test(one) ? Number(one) : one)) }];
  });
  const chosen = [...members.values()].flatMap((own): readonly YamlEdit[] => {
    const [first] = own;
    if (first === undefined || !isShownWith(first, wanted)) return [];
    if (own.every(({ name }) => now[name] === wanted[name])) return [];
    const value = own.flatMap(({ name, member }) => (wanted[name] === 'on' ? [member] : []));
    return [{ set: first.path, value }];
  });
  return [...edits, ...chosen];
}

/** Values of a file as its fields show them: on one line, placeholders as written. */
export function displayedValue(value: unknown): string {
  const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isPlain ? String(value).replaceAll(/[\r\n]+/g, ' ') : '';
}

function parseTyped(typed: string, path: Path, before: unknown) {
  if (typed === '') return undefined;
  const takesNumbers =
    typeof before === 'number' ||
    path[0] === 'safety' ||
    path[0] === 'apply' ||
    path[1] === 'headerRow' ||
    path[1] === 'limits';
  return takesNumbers && /^\d{1,15}$/.test(typed) ? Number(typed) : typed;
}

/** What the fields of a form show. */
export interface ControlFacts {
  /** What the file has. */
  readonly shown: EditValues;
  /** What the fields have. */
  readonly values: EditValues;
  /** Sentences by the names of the fields; '' for those about no field. */
  readonly errors: ReadonlyMap<string, readonly string[]>;
  /** What the file had when the form was shown, if the file has been changed since. */
  readonly outdated?: EditValues;
}

/** A field of a form, whatever its value is in a file. */
export type Control = Omit<EditField, 'path'>;

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
    attributes: {
      'aria-describedby': lines.length > 0 && id,
      'aria-invalid': wrong.length > 0 && 'true',
    },
  };
}

/** A field of the form, with its label and what is said of it. */
export function controlOf(control: Control, facts: ControlFacts): Markup {
  const { name, label, defaultValue, choices, member, when, secret } = control;
  const { text, attributes: about } = aboutField(control, facts);
  const value = facts.values[name] ?? '';
  // A placeholder stands for a text of the environment.
  const isTyped = !value.includes('${');
  const isUnset = facts.shown['schedule'] === 'no' && facts.values['schedule'] === 'no';
  const zone = name === 'timezone' && (isUnset || value === '');
  const typed = {
    ...(secret === true ? { type: 'password' } : { value }),
    placeholder: defaultValue,
    ...about,
    ...(isTyped && checkAttributes(control)),
    'data-browser-timezone': zone,
    autocomplete: 'off',
    spellcheck: 'false',
  };
  return shownWhen(
    when,
    member !== undefined
      ? html`<p class="field choice">${input(name, { type: 'checkbox', value: 'on', checked: value === 'on', ...about })} <label for="${name}">${label}</label></p>`
      : field(
          name,
          label,
          choices === undefined ? input(name, typed) : select(name, choices, value, { id: name, ...about }),
          text,
        ),
  );
}

/** The problems by the names of the fields; '' for those of no field. */
export function besideFields(
  problems: readonly { readonly at: Path | undefined; readonly message: string }[],
  paths: ReadonlyMap<string, readonly Path[]>,
  redact: (text: string) => string,
): ControlFacts['errors'] {
  const nameOf = (at: Path | undefined) =>
    [...paths].find(([, own]) => own.some((path) => path === at))?.[0] ?? '';
  const byName = Map.groupBy(problems, ({ at }) => nameOf(at));
  return new Map([...byName].map(([name, found]) => [name, found.map(({ message }) => redact(message))]));
}
