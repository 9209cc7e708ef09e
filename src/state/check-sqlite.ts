import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { openDatabase } from './sqlite/open-database.ts';
import { asStateError, damageBehind } from './sqlite/sqlite-error.ts';

/** What a look at the embedded state has shown: not there yet, a file without content, or a sound database of so many bytes. */
export type SqliteLook =
  | { readonly kind: 'absent' | 'empty' }
  | { readonly kind: 'sound'; readonly bytes: number };

/**
 * Opens the embedded state of a folder (`.storeferry`) as every command does, and reads all of it once (`quick_check`), which
 * keeps this thread busy for as long. StateError when it is damaged or cannot be used.
 */
export async function checkSqlite(folder: string): Promise<SqliteLook> {
  const path = join(folder, 'state.db');
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return { kind: 'absent' };
  if (found.size === 0) return { kind: 'empty' };
  const database = await openDatabase(path);
  try {
    const problem = damageBehind(null, database, path);
    if (problem !== null) throw asStateError(problem, path);
    return { kind: 'sound', bytes: found.size };
  } finally {
    database.close();
  }
}
