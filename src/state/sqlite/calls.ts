import type { SqliteDoubts } from './doubts.ts';
import type { SqliteLedger } from './ledger.ts';
import type { SqliteLockRows } from './lock-rows.ts';
import type { SqliteOutcomes } from './outcomes.ts';
import type { SqliteRuns } from './runs.ts';

/** Everything the thread of the database does. */
export interface SqliteCalls extends SqliteLedger, SqliteDoubts, SqliteRuns, SqliteOutcomes, SqliteLockRows {}

/** The arguments of each call. */
type CallArgs = { readonly [Method in keyof SqliteCalls]: Parameters<SqliteCalls[Method]> };

/** A call on its way to the thread. */
export type SqliteCall<Method extends keyof SqliteCalls = keyof SqliteCalls> = {
  [Each in Method]: { readonly number: number; readonly method: Each; readonly args: CallArgs[Each] };
}[Method];

/** What comes back: a value, or an error in plain data. `number` 0 is about the thread itself: opened, or not. */
export type SqliteAnswer =
  | { readonly number: number; readonly value: unknown }
  | { readonly number: number; readonly error: PlainError };

/** A StateError, or a bug (`state` false). */
export interface PlainError {
  readonly state: boolean;
  readonly message: string;
  readonly hint: string | undefined;
  readonly stack: string | undefined;
}

/** Performs a call. */
export function perform<Method extends keyof SqliteCalls>(
  calls: { readonly [Each in keyof CallArgs]: (...args: CallArgs[Each]) => unknown },
  { method, args }: SqliteCall<Method>,
): unknown {
  return calls[method](...args);
}
