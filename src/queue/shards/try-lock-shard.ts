import type { Run } from '../../model/run.ts';
import {
  type LedgerTarget,
  type Lock,
  type Locks,
  shardLockName,
  targetLockName,
} from '../../state/state.ts';

/**
 * What a worker holds to send a shard: the shard itself, alone, and the store's resource together with the other
 * workers of the run, so that no other run begins there even when no process coordinates this one at the moment.
 * Undefined when either is somebody else's. Freeing it leaves the resource to the other workers.
 */
export async function tryLockShard(
  locks: Locks,
  target: LedgerTarget,
  run: Run,
  shard: number,
): Promise<Lock | undefined> {
  const holder = { job: run.job, run: run.id };
  const shared = await locks.tryAcquire(targetLockName(target), holder, { together: true });
  if ('heldBy' in shared) return undefined;
  const own = await locks.tryAcquire(shardLockName(target, run.id, shard), holder);
  if ('heldBy' in own) {
    await shared.leave();
    return undefined;
  }
  const leave = async () => {
    await Promise.all([shared.leave(), own.leave()]);
  };
  const release = async () => {
    await Promise.all([shared.leave(), own.release()]);
  };
  return {
    fence: own.fence,
    lost: AbortSignal.any([shared.lost, own.lost]),
    isHeld: () => shared.isHeld() && own.isHeld(),
    leave,
    release,
    [Symbol.asyncDispose]: release,
  };
}
