import type { Path } from '../../config/edit-file.ts';
import type { Choice, TypedCheck } from '../pages/post-form.ts';

/** A field of a form that shows a value of a file. */
export interface EditField extends TypedCheck {
  readonly name: string;
  readonly path: Path;
  readonly label: string;
  /** What an empty field means; of a choice the value that a file need not have. */
  readonly usual?: string;
  readonly hint?: string;
  readonly choices?: readonly Choice[];
  /** The value is a list: texts with commas between them. */
  readonly list?: true;
  /** Whether the list has this value: a check box. */
  readonly member?: string;
  /** Where the field is shown, as another one and its value: `mode=update`. */
  readonly when?: string;
  /** What is shown, where it is not the value of the file as it stands. */
  readonly shows?: string;
  /** Typed and never shown. */
  readonly secret?: true;
  /** The setting is removed where it is not shown. */
  readonly dropped?: true;
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
  return { name: path.join('.'), path, label, choices, usual: choices[0]?.[0] ?? '', ...more };
}
