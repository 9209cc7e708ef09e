import { stat } from 'node:fs/promises';

/** A temporary file that was not touched for so long has no writer any more, on whatever machine. */
const ABANDONED_AFTER_MS = 60 * 60 * 1_000;

/** Whether nobody writes the temporary file any more; false when it is gone. */
export async function isAbandoned(path: string): Promise<boolean> {
  const modified = (await stat(path).catch(() => undefined))?.mtimeMs ?? Date.now();
  return Date.now() - modified > ABANDONED_AFTER_MS;
}
