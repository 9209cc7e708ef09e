import type { SqliteDoubts } from './doubts.ts';
import type { SqliteLedger } from './ledger.ts';
import type { SqliteLockRows } from './lock-rows.ts';
import type { SqliteOutcomes } from './outcomes.ts';
import type { SqliteRuns } from './runs.ts';

/** Everything the thread of the database does. */
export interface SqliteCalls extends SqliteLedger, SqliteDoubts, SqliteRuns, SqliteOutcomes, SqliteLockRows {}

/** A call on its way to the thread. */
export type SqliteCall = {
  [Method in keyof SqliteCalls]: {
    readonly number: number;
    readonly method: Method;
    readonly args: Parameters<SqliteCalls[Method]>;
  };
}[keyof SqliteCalls];

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
export function perform(calls: SqliteCalls, call: SqliteCall): unknown {
  switch (call.method) {
    case 'marks':
      return calls.marks(...call.args);
    case 'remember':
      return calls.remember(...call.args);
    case 'begin':
      return calls.begin(...call.args);
    case 'heartbeat':
      return calls.heartbeat(...call.args);
    case 'endSender':
      return calls.endSender(...call.args);
    case 'withdraw':
      return calls.withdraw(...call.args);
    case 'unconfirmedAfter':
      return calls.unconfirmedAfter(...call.args);
    case 'hasDoubts':
      return calls.hasDoubts(...call.args);
    case 'lostSince':
      return calls.lostSince(...call.args);
    case 'reconcile':
      return calls.reconcile(...call.args);
    case 'bodies':
      return calls.bodies(...call.args);
    case 'count':
      return calls.count(...call.args);
    case 'sharedIds':
      return calls.sharedIds(...call.args);
    case 'proveIdsAgain':
      return calls.proveIdsAgain(...call.args);
    case 'keysAfter':
      return calls.keysAfter(...call.args);
    case 'create':
      return calls.create(...call.args);
    case 'update':
      return calls.update(...call.args);
    case 'get':
      return calls.get(...call.args);
    case 'list':
      return calls.list(...call.args);
    case 'remove':
      return calls.remove(...call.args);
    case 'record':
      return calls.record(...call.args);
    case 'outcomes':
      return calls.outcomes(...call.args);
    case 'tally':
      return calls.tally(...call.args);
    case 'refusalsAfter':
      return calls.refusalsAfter(...call.args);
    case 'unsentReasons':
      return calls.unsentReasons(...call.args);
    case 'changedIds':
      return calls.changedIds(...call.args);
    case 'changedIdCount':
      return calls.changedIdCount(...call.args);
    case 'lockRow':
      return calls.lockRow(...call.args);
    case 'takeLock':
      return calls.takeLock(...call.args);
    case 'moveLock':
      return calls.moveLock(...call.args);
    case 'freeLock':
      return calls.freeLock(...call.args);
    default:
      return call satisfies never;
  }
}
