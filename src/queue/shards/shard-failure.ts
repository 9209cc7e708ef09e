import {
  SafetyLimitError,
  StateError,
  StoreferryError,
  StoreUnavailableError,
  UnauthorizedError,
} from '../../model/errors.ts';
import type { ShardFailure, ShardJobResult } from '../queues.ts';

type Failed = Extract<ShardJobResult, { readonly status: ShardFailure }>;

/** The failure of a shard as its result, with a message that may be stored. A bug is thrown again: BullMQ keeps its stack. */
export function shardFailure(error: unknown, message: string): Failed {
  if (!(error instanceof StoreferryError)) throw error;
  if (error instanceof UnauthorizedError) return { status: 'unauthorized', message };
  if (error instanceof StoreUnavailableError) return { status: 'store-unavailable', message };
  if (error instanceof SafetyLimitError) return { status: 'safety-limit', message };
  return { status: 'failed', message };
}

/** The error that a shard ended with, for the process that waits for it. */
export function errorOf({ status, message }: Failed): StoreferryError {
  switch (status) {
    case 'unauthorized':
      return new UnauthorizedError(message);
    case 'store-unavailable':
      return new StoreUnavailableError(message);
    case 'safety-limit':
      return new SafetyLimitError(message);
    case 'failed':
      return new StateError(message);
    default:
      throw new Error(`Unknown failure: ${status satisfies never}`);
  }
}
