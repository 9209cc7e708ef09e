import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Place } from '../model/storeferry-error.ts';
import { pathFrom, shellWord } from '../text/printable.ts';

/**
 * The beginning of further commands that use the same workspace: with the given -C, and through npm if this process
 * was started by npm's script of that name.
 */
export function typedProgram(
  directory: string | undefined,
  variables: Readonly<Record<string, string | undefined>>,
): string {
  const program =
    variables['npm_lifecycle_event'] === 'storeferry' ? 'npm run --silent storeferry --' : 'storeferry';
  return directory === undefined ? program : `${program} -C ${shellWord(directory)}`;
}

/** A command within a text, except these, which need no workspace. `completion`, which needs none either, is in no text. */
const COMMAND = /\bstoreferry (?!(?:init|schema|demo|sandbox|help)\b)(?=[a-z]+\b)/g;

/** A text with its commands changed to begin with `program`, so that they use the same workspace when copied. */
export function withProgram(text: string, program: string): string {
  return text.replaceAll(COMMAND, () => `${program} `);
}

/** Set by `demo`, whose commands run in its own folder: paths are printed relative to the folder of the user. */
export const TYPED_IN_VARIABLE = 'STOREFERRY_TYPED_IN';

/** The folder from which printed paths must open. */
export function currentFolder(): string {
  return process.env[TYPED_IN_VARIABLE] ?? process.cwd();
}

/** The path of a file of a workspace, relative to the current folder. */
export function pathFromHere(directory: string, file: string): string {
  return pathFrom(currentFolder(), resolve(directory, file));
}

/** A place in a file of a workspace, relative to the current folder. Other places (`environment`) are not changed. */
export function placeFromHere(directory: string, place: Place): Place {
  return existsSync(resolve(directory, place.file))
    ? { ...place, file: pathFromHere(directory, place.file) }
    : place;
}
