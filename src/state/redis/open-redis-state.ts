import { randomUUID } from 'node:crypto';
import type { StateError } from '../../model/storeferry-error.ts';
import type { Artifacts } from '../artifacts.ts';
import { openSending } from '../open-sending.ts';
import { importTarget, type State } from '../state.ts';
import { witnessFiles } from '../witness.ts';
import { redisAddresses } from './redis-addresses.ts';
import { redisAudit } from './redis-audit.ts';
import { connectRedis, type RedisConnectionOptions } from './redis-connection.ts';
import { redisDoubts } from './redis-doubts.ts';
import { redisHistory } from './redis-history.ts';
import { redisKeys } from './redis-keys.ts';
import { redisLedger } from './redis-ledger.ts';
import { redisLocks } from './redis-locks.ts';
import { redisRuns } from './redis-runs.ts';
import { redisSendingStore } from './redis-sending-store.ts';
import { redisSharedStores } from './redis-shared-stores.ts';
import { upgradeRedis } from './upgrade-redis.ts';

/**
 * Longer than a pause of garbage collection or a restart of Redis, but short enough to wait for the locks of a killed
 * process.
 */
const LOCK_LEASE_MS = 15_000;

/** The location of the shared state, and its settings. */
export interface RedisStateOptions extends RedisConnectionOptions {
  /** The prefix of every key, without braces. Each workspace that shares a Redis needs its own. */
  readonly prefix: string;
  /** The location of witnesses; without them nothing detects that the state was restored. */
  readonly artifacts?: Artifacts | undefined;
  /** How long a lock remains after its last renewal. */
  readonly leaseMs?: number;
  /** Called while waiting for Redis. */
  readonly meanwhile?: (() => Promise<unknown>) | undefined;
  /** Called with the problem of each stored record that cannot be read and is ignored. */
  readonly onUnreadable?: ((problem: StateError) => void) | undefined;
}

/** Opens the shared state. StateError if Redis cannot be reached; close it by `await using`. */
export async function openRedisState({
  prefix,
  artifacts,
  leaseMs = LOCK_LEASE_MS,
  meanwhile,
  onUnreadable = () => {},
  ...options
}: RedisStateOptions): Promise<State> {
  const [connection] = await Promise.all([connectRedis(options), meanwhile?.()]);
  const keys = redisKeys(prefix);
  const locks = redisLocks(connection, keys, { leaseMs });
  try {
    await upgradeRedis(connection, keys, locks);
  } catch (error) {
    locks.leaveAll();
    await connection.close();
    throw error;
  }
  const stores = redisSharedStores(connection, keys);
  const witnesses = artifacts === undefined ? undefined : witnessFiles(artifacts);
  const process = randomUUID();
  let senders = 0;
  return {
    ledger(target) {
      return {
        ...redisLedger(connection, keys, target),
        ...redisDoubts(connection, keys, target, witnesses?.of(target)),
      };
    },
    history: (target) => redisHistory(connection, keys, target),
    sending(options) {
      const target = importTarget(options.run);
      const witness = witnesses?.of(target);
      const store = redisSendingStore(connection, keys, target, options.fence, async (serial) => {
        await witness?.noteLoss(serial, options.attemptMs);
      });
      senders += 1;
      return openSending(options, store, witness, `${process}-${senders}`);
    },
    runs: redisRuns(connection, keys, onUnreadable),
    locks,
    checkedAddresses: redisAddresses(connection, keys),
    audit: redisAudit(connection, keys),
    sharedStore: stores.open,
    async [Symbol.asyncDispose]() {
      locks.leaveAll();
      await stores.close();
      await connection.close();
    },
  };
}
