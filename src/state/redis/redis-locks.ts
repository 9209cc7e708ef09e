import { randomUUID } from 'node:crypto';
import { lockLostError, StoreferryError } from '../../model/storeferry-error.ts';
import { pollForLock } from '../poll-for-lock.ts';
import type { Lock, Locks } from '../state.ts';
import { elapsedMs, type Moment, presentMoment } from '../stored-moment.ts';
import type { RedisClient } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';

/** KEYS: lock. ARGV: token, job, run, milliseconds. Returns 1, or the holder. A token may take its own lock again. */
const ACQUIRE_SCRIPT = `
local token = redis.call('HGET', KEYS[1], 'token')
if token and token ~= ARGV[1] then return redis.call('HMGET', KEYS[1], 'job', 'run') end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'job', ARGV[2], 'run', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1`;

const RENEW_SCRIPT = `
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

const FREE_SCRIPT = `
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`;

/** The locks of the shared state. */
export interface RedisLocks extends Locks {
  /** Stops renewing all held locks; their leases expire. */
  leaveAll(): void;
}

/**
 * Locks are leases: unless they are renewed, they expire by the clock of Redis. Each holder has its own token;
 * processes that share a lock share the token of their run.
 */
export function redisLocks(
  client: RedisClient,
  keys: RedisKeys,
  options: { readonly leaseMs: number },
): RedisLocks {
  const { leaseMs } = options;
  const held = new Set<Lease>();

  const locks: Omit<RedisLocks, 'acquire'> = {
    async tryAcquire(name, holder, options) {
      const key = keys.lock(name);
      const token = options?.together === true ? `run:${holder.run}` : randomUUID();
      const asked = presentMoment();
      const answer = await client.eval(ACQUIRE_SCRIPT, 1, key, token, holder.job, holder.run, leaseMs);
      if (Array.isArray(answer)) return { heldBy: { job: String(answer[0]), run: String(answer[1]) } };
      const lease = holdLease({
        name,
        token,
        leaseMs,
        confirmed: asked,
        renew: async () => (await client.eval(RENEW_SCRIPT, 1, key, token, leaseMs)) === 1,
        free: async () => {
          await client.eval(FREE_SCRIPT, 1, key, token);
        },
        onEnd: () => held.delete(lease),
      });
      held.add(lease);
      return lease;
    },
    leaseMs,
    async holderOf(name) {
      const [job, run] = await client.hmget(keys.lock(name), 'job', 'run');
      return typeof job === 'string' && typeof run === 'string' ? { job, run } : undefined;
    },
    leaveAll() {
      for (const lease of held) lease.stop();
    },
  };
  return pollForLock(locks, Math.min(500, leaseMs / 4));
}

/** A lock that must be renewed. */
interface Lease extends Lock {
  /** Stops renewing. */
  stop(): void;
}

/** A lease that Redis has granted, and how to renew it. */
interface LeaseOptions {
  readonly name: string;
  readonly token: string;
  readonly leaseMs: number;
  /** When the lease was requested: it lasts at least until this time plus its duration. */
  readonly confirmed: Moment;
  /** False if the lease is lost. */
  readonly renew: () => Promise<boolean>;
  readonly free: () => Promise<void>;
  readonly onEnd: () => void;
}

/**
 * Renews the lease three times in its duration. By the clocks of this process it is lost if the last confirmed
 * renewal was requested longer ago than the lease lasts, whatever happened to the process in between.
 */
function holdLease({ name, token, leaseMs, confirmed, renew, free, onEnd }: LeaseOptions): Lease {
  const loss = new AbortController();
  let held = true;
  let lastConfirmed = confirmed;
  /** Why the last renewal is not confirmed, for the message. */
  let trouble = '';

  const stop = () => {
    if (!held) return;
    held = false;
    clearInterval(renewal);
    clearTimeout(deadline);
    onEnd();
  };
  const lose = () => {
    if (!held) return;
    stop();
    loss.abort(lockLostError(name, `it was not renewed in time.${trouble}`));
  };
  const isHeld = () => {
    if (held && elapsedMs(lastConfirmed) >= leaseMs) lose();
    return held;
  };
  const renewOnce = async () => {
    if (!isHeld()) return;
    const asked = presentMoment();
    trouble = ' Redis does not answer.';
    try {
      if (await renew()) {
        lastConfirmed = asked;
        trouble = '';
        deadline.refresh();
      } else {
        lose();
      }
    } catch (error) {
      // Redis may be back before the lease expires.
      trouble = error instanceof StoreferryError ? ` ${error.message}` : trouble;
    }
  };
  const renewal = setInterval(renewOnce, leaseMs / 3).unref();
  const deadline = setTimeout(lose, leaseMs).unref();

  const release = async () => {
    if (!held) return;
    stop();
    await free();
  };
  return {
    fence: { name, token },
    lost: loss.signal,
    isHeld,
    release,
    async leave() {
      stop();
    },
    stop,
    [Symbol.asyncDispose]: release,
  };
}
