import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Place } from '../model/errors.ts';
import { pathFrom } from '../run/shown-file.ts';

/** Set by `demo`, whose commands are typed in its own folder: their paths are opened from the one that it was typed in. */
export const TYPED_IN_VARIABLE = 'STOREFERRY_TYPED_IN';

/** The folder that paths which are printed must open from. */
export function currentFolder(): string {
  return process.env[TYPED_IN_VARIABLE] ?? process.cwd();
}

/**
 * A place in a file of a workspace by a path that opens from the current folder. What is no file of it (`environment`, a file
 * within an archive) stays as it is.
 */
export function placeFromHere(directory: string, place: Place): Place {
  const path = resolve(directory, place.file);
  return existsSync(path) ? { ...place, file: pathFrom(currentFolder(), path) } : place;
}

/** What a shell reads as itself; anything else is quoted. */
const PLAIN = /^[\w@%+=:,./~-]+$/;

/** A word as it must be typed for the shell of the platform to read it as one. */
export function shellWord(word: string, platform: NodeJS.Platform = process.platform): string {
  if (platform === 'win32') return /^[\w@%+=:,./\\~-]+$/.test(word) ? word : `"${word}"`;
  return PLAIN.test(word) && !word.startsWith('~') ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

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

/** A command within a text; what writes it knows nothing of how the program was started. */
const COMMAND =
  /\bstoreferry (?=(?:approve|cancel|check|dashboard|enqueue|plan|retry|run|runs|sandbox|stats|verify|worker)\b)/g;

/** A text whose commands begin with `program`, so that they reach the same workspace when they are copied. */
export function withProgram(text: string, program: string): string {
  return text.replaceAll(COMMAND, () => `${program} `);
}
