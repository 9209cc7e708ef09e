import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Place } from '../model/storeferry-error.ts';
import { pathFrom } from '../run/shown-file.ts';

/**
 * How a further command must begin to reach the same workspace when it is copied: with the -C that was given, and
 * through npm where npm's script of that name started this process.
 */
export function typedProgram(
  directory: string | undefined,
  variables: Readonly<Record<string, string | undefined>>,
): string {
  const program =
    variables['npm_lifecycle_event'] === 'storeferry' ? 'npm run --silent storeferry --' : 'storeferry';
  return directory === undefined ? program : `${program} -C ${shellWord(directory)}`;
}

/** A command within a text, but for those that work in no workspace. */
const COMMAND = /\bstoreferry (?!(?:init|schema|demo|help)\b)(?=[a-z]+\b)/g;

/** A text whose commands begin with `program`, so that they reach the same workspace when they are copied. */
export function withProgram(text: string, program: string): string {
  return text.replaceAll(COMMAND, () => `${program} `);
}

/** What a shell reads as itself; anything else is quoted. */
const PLAIN = /^[\w@%+=:,./~-]+$/;

/** A word as it must be typed for the shell of the platform to read it as one. */
export function shellWord(word: string, platform: NodeJS.Platform = process.platform): string {
  if (platform === 'win32') return /^[\w@%+=:,./\\~-]+$/.test(word) ? word : `"${word}"`;
  return PLAIN.test(word) && !word.startsWith('~') ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Set by `demo`, whose commands run in its own folder: paths are printed relative to the folder of the user. */
export const TYPED_IN_VARIABLE = 'STOREFERRY_TYPED_IN';

/** The folder in which printed paths must open. */
export function currentFolder(): string {
  return process.env[TYPED_IN_VARIABLE] ?? process.cwd();
}

/** The path of a file of a workspace, as it opens from the current folder. */
export function pathFromHere(directory: string, file: string): string {
  return pathFrom(currentFolder(), resolve(directory, file));
}

/** A place in a file of a workspace, as it opens from the current folder. Other places (`environment`) stay as they are. */
export function placeFromHere(directory: string, place: Place): Place {
  return existsSync(resolve(directory, place.file))
    ? { ...place, file: pathFromHere(directory, place.file) }
    : place;
}
