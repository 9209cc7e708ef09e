import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Place } from '../model/errors.ts';
import { pathFrom } from '../run/export/shown-location.ts';

/**
 * A place in a file of a workspace by a path that opens from the current folder. What is no file of it (`environment`, a file
 * within an archive) stays as it is.
 */
export function placeFromHere(directory: string, place: Place): Place {
  const path = resolve(directory, place.file);
  return existsSync(path) ? { ...place, file: pathFrom(process.cwd(), path) } : place;
}
