import { readFileSync } from 'node:fs';
import { type ConfigurationProblem, formatPlace, StoreferryError } from '../model/storeferry-error.ts';
import { literalSecrets } from './complete-places.ts';
import { editYaml, pausedPart, type YamlEdit } from './edit-yaml.ts';
import type { Inspection } from './inspection.ts';
import { replaceFile, sha256Of } from './new-workspace/write-together.ts';
import { type Path, valueAt } from './value-at.ts';
import type { Workspace } from './workspace.ts';
import { parseYaml } from './yaml-file.ts';

export type { Path, YamlEdit };

/** A YAML file of a workspace as a form shows it. */
export interface EditableFile {
  readonly text: string;
  readonly sha256: string;
  /** Values in addresses that are, or look like, secrets: they must not be shown. */
  readonly secrets: readonly string[];
  /** Why it is no YAML file. */
  readonly problems: readonly ConfigurationProblem[];
  /** The value at a path, with its placeholders as written. */
  at(path: Path): unknown;
  /** The value of a key that is paused: a comment that can become the key again. */
  paused(key: string): unknown;
}

/** The password of an address. */
const CREDENTIALS = /\/\/[^/\s:@"']*:([^/\s@"']+)@/g;

/** Reads a file, named relative to the workspace. */
export function readEditable({ path }: Workspace, file: string): EditableFile {
  const bytes = readFileSync(path(file));
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const { content, problems } = parseYaml(text, file);
  return {
    ...{ text, sha256: sha256Of(bytes), problems },
    secrets: [
      ...literalSecrets(text).map(({ value }) => value),
      ...[...text.matchAll(CREDENTIALS)].map(([, password = '']) => password),
    ],
    at: (path) => valueAt(content, path),
    paused: (key) => (problems.length > 0 ? undefined : pausedPart(text, key)),
  };
}

/** The text that a file would have, or why it cannot be changed so. */
export function editedText(
  { text }: Pick<EditableFile, 'text'>,
  edits: readonly YamlEdit[],
): { readonly text: string } | { readonly problem: string } {
  try {
    return { text: editYaml(text, edits) };
  } catch (error) {
    if (!(error instanceof StoreferryError)) throw error;
    const { message, hint = '' } = error;
    return { problem: `${message} ${hint}`.trim() };
  }
}

/** What became of a change. */
export type Saved =
  | { readonly kind: 'saved' }
  /** The file is no longer the one that was shown; nothing is written. */
  | { readonly kind: 'outdated' }
  /** The file would be wrong; nothing is written. */
  | { readonly kind: 'refused'; readonly problems: readonly EditProblem[] };

/** A problem of the changed file, with the path of the field that it is about, if it is about one of them. */
export interface EditProblem {
  readonly at: Path | undefined;
  readonly message: string;
}

/**
 * Changes a file that was shown with this hash, and that the checks accept afterwards. Synchronous: no other request comes
 * between. `fields` are the paths of the form; `check` gives what must have no problems.
 */
export function editFile(
  workspace: Workspace,
  file: string,
  {
    sha256,
    edits,
    fields,
    check,
  }: {
    readonly sha256: string;
    readonly edits: readonly YamlEdit[];
    readonly fields: readonly Path[];
    readonly check: (inspection: Inspection) => readonly ConfigurationProblem[];
  },
): Saved {
  const shown = readEditable(workspace, file);
  if (shown.sha256 !== sha256) return { kind: 'outdated' };
  const edited = editedText(shown, edits);
  if ('problem' in edited) return { kind: 'refused', problems: [{ at: undefined, message: edited.problem }] };
  const { text } = edited;
  const problems = check(workspace.inspectionWith({ [file]: text }));
  if (problems.length > 0) {
    const yaml = parseYaml(text, file);
    const isAt = (place: string, path: Path) =>
      valueAt(yaml.content, path) !== undefined &&
      (['value', 'key'] as const).some((part) => formatPlace(yaml.placeOf(path, part)) === place);
    return {
      kind: 'refused',
      problems: problems.map(({ place, message }) => ({
        at: fields.find((path) => isAt(formatPlace(place), path)),
        message: place.file === file ? message : `${formatPlace(place)}: ${message}`,
      })),
    };
  }
  return { kind: replaceFile(workspace.path(file), text, sha256) ? 'saved' : 'outdated' };
}
