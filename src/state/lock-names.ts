import { createHash } from 'node:crypto';
import type { LedgerTarget } from './state.ts';

/**
 * The short name of a store's resource within keys and lock names, in braces: what carries the same tag lives on
 * the same node of a Redis Cluster, which is what lets a run's writes be atomic with the ledger and with the fence.
 */
export function targetTag({ storeId, resource }: Readonly<Record<keyof LedgerTarget, string>>): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([storeId, resource]))
    .digest('base64url');
  const readable = storeId.replaceAll(/[^\w-]+/g, '_').slice(0, 64);
  return `{${readable}-${resource}-${digest.slice(0, 12)}}`;
}

/** Held by a run of a job: a second one is refused. */
export function jobLockName(job: string): string {
  return `job:${job}`;
}

/** Held by a plan of a job that is being made: a second one waits. */
export function planLockName(job: string): string {
  return `plan:${job}`;
}

/** Held by the run that writes to a store's resource: others wait. */
export function targetLockName(target: LedgerTarget): string {
  return `target:${targetTag(target)}`;
}

/** Held by the one process that sends a shard of a run. */
export function shardLockName(target: LedgerTarget, run: string, shard: number): string {
  return `shard:${targetTag(target)}:${run}:${shard}`;
}

/** Held by an export from before it reads its destination until it has written it: two jobs may name one file. */
export function destinationLockName(location: string): string {
  return `destination:${createHash('sha256').update(location).digest('base64url')}`;
}
