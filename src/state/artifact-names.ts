import { StateError } from '../model/errors.ts';

/** Marks a file that is still being written. */
const TEMPORARY = /^\..*\.tmp$/;
const FLAT_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/;

/** Whether a file or run folder could be called so. */
export function isName(name: string): boolean {
  return FLAT_NAME.test(name);
}

/** The name itself, if it is one of a file or run folder: it cannot lead anywhere else. StateError otherwise. */
export function checkedName(name: string): string {
  if (isName(name)) return name;
  throw new StateError(
    `${JSON.stringify(name)} is no name of a run or an artifact: letters, digits, '.', '-' and '_' only.`,
  );
}

/** Where a file of that name is written before it is whole. `unique` tells writers apart. */
export function temporaryName(name: string, unique: string): string {
  return `.${name}.${unique}.tmp`;
}

/** Whether this is a file that was never finished, or is not yet. */
export function isTemporary(name: string): boolean {
  return TEMPORARY.test(name);
}
