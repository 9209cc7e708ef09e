import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Place } from '../model/errors.ts';
import { pathFrom } from '../run/export/shown-location.ts';

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
