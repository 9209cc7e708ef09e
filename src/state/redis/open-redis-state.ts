import { hash, randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { type AuditLog, storedAuditEntries } from '../../model/action.ts';
import { isJsonObject, member, parsedJson } from '../../model/json-object.ts';
import { lockLostError, StateError, StoreferryError } from '../../model/storeferry-error.ts';
import { chainAuditEntry } from '../chain-audit-entry.ts';
import { openSending } from '../open-sending.ts';
import { pollForLock } from '../poll-for-lock.ts';
import {
  type AddressCheck,
  AUDIT_KEPT_MS,
  CHECK_KEPT_MS,
  type CheckedAddresses,
  chunksOf,
  importTarget,
  type Lock,
  type Locks,
  MAX_AUDIT_ENTRIES,
  type SharedStore,
  type State,
  type StateOptions,
} from '../state.ts';
import { elapsedMs, type Moment, presentMoment } from '../stored-moment.ts';
import { witnessFiles } from '../witness-files.ts';
import { connectRedis, type RedisClient, type RedisConnectionOptions } from './redis-connection.ts';
import { type RedisKeys, redisKeys } from './redis-keys.ts';
import { rangeOf, redisHistory, redisLedger } from './redis-ledger.ts';
import { redisSendingStore } from './redis-rows.ts';
import { redisRuns } from './redis-runs.ts';

/** KEYS: pause. The remaining milliseconds: at most its length, also if the clock was set back since. */
const LEFT_OF_PAUSE = `
local function left()
  local length = tonumber(redis.call('GET', KEYS[1]) or '0') or 0
  return math.min(redis.call('PTTL', KEYS[1]), length)
end`;

/** KEYS: pause. ARGV: milliseconds, channel, message. The longest pause counts. */
const PAUSE_SCRIPT = `${LEFT_OF_PAUSE}
if left() < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[1]) end
return redis.call('PUBLISH', ARGV[2], ARGV[3])`;

const LEFT_SCRIPT = `${LEFT_OF_PAUSE}
return left()`;

/**
 * KEYS: start times. ARGV: requests per second, number of requests. The value is the next free start time, in microseconds
 * by the clock of Redis; each process takes the start times that follow, so that no two share one. The value also has the
 * time of writing: if that is in the future, the clock was set back, and the next start time is set back as well.
 */
const RESERVE_SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local gap = 1000000 / tonumber(ARGV[1])
local requests = tonumber(ARGV[2])
local free, written = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+)$')
free, written = tonumber(free or 0), tonumber(written or 0)
if written > now then free = free - (written - now) end
local first = math.max(now, free)
local next = first + requests * gap
redis.call('SET', KEYS[1], string.format('%.0f %.0f', next, now), 'PX', math.ceil((next - now) / 1000) + 1000)
return math.ceil((first - now) / 1000)`;

/**
 * The stores that processes share, by identity. Pauses are published, which reaches all processes at once, and stored as a key while they last, for processes that
 * start later. A process listens on a second connection, which it opens on first use.
 */
function redisSharedStores(client: RedisClient, keys: RedisKeys) {
  const self = randomUUID();
  const listeners = new Map<string, Set<(forMs: number) => void>>();
  let subscriber: RedisClient | undefined;

  const listenOn = (channel: string) => {
    const known = listeners.get(channel);
    if (known !== undefined) return known;
    const callbacks = new Set<(forMs: number) => void>();
    listeners.set(channel, callbacks);
    // Twice the same call, because `duplicate` of Redis and of Cluster have different types.
    subscriber ??= subscribing(client instanceof Redis ? client.duplicate() : client.duplicate());
    subscriber.subscribe(channel).catch(() => {});
    return callbacks;
  };
  const subscribing = (duplicate: RedisClient) => {
    // It reconnects and subscribes again automatically.
    duplicate.on('error', () => {});
    duplicate.on('message', (channel: string, message: string) => {
      const [sender, forMs] = message.split(' ');
      if (sender === self || !Number.isFinite(Number(forMs))) return;
      for (const onPause of listeners.get(channel) ?? []) onPause(Number(forMs));
    });
    return duplicate;
  };

  return {
    open(storeId: string): SharedStore {
      const store = hash('sha256', storeId, 'base64url').slice(0, 22);
      const pause = keys.pause(store);
      return {
        announce(forMs) {
          const ms = Math.ceil(forMs);
          client.eval(PAUSE_SCRIPT, 1, pause, ms, pause, `${self} ${ms}`).catch(() => {});
        },
        listen(onPause) {
          const callbacks = listenOn(pause);
          callbacks.add(onPause);
          const present = async () => {
            const forMs = Number(await client.eval(LEFT_SCRIPT, 1, pause));
            if (forMs > 0 && callbacks.has(onPause)) onPause(forMs);
          };
          present().catch(() => {});
          return () => callbacks.delete(onPause);
        },
        reserve: async (perSecond, requests) =>
          Number(await client.eval(RESERVE_SCRIPT, 1, keys.startTimes(store), perSecond, requests)),
      };
    },
    async close(): Promise<void> {
      await subscriber?.quit().catch(() => subscriber?.disconnect());
    },
  };
}

/** Addresses per call, so that Redis can serve other clients in between. */
const CHUNK = 500;

/** The checks of image addresses in Redis: one key each, with an expiry. */
function redisAddresses(client: RedisClient, keys: RedisKeys): CheckedAddresses {
  return {
    async find(addresses) {
      const found = await Promise.all(addresses.map((address) => client.get(keys.checkedAddress(address))));
      // A check that cannot be read counts as none: the address is checked again.
      return found.map((json) => storedCheck.safeParse(parsedJson(json ?? '')).data);
    },
    async remember(checks, at) {
      for (const some of chunksOf(checks, CHUNK)) {
        await Promise.all(
          some.map(({ address, version }) =>
            client.set(keys.checkedAddress(address), JSON.stringify({ version, at }), 'PX', CHECK_KEPT_MS),
          ),
        );
      }
    },
  };
}

const storedCheck: z.ZodType<AddressCheck> = z.object({ version: z.string().nullable(), at: z.number() });

/**
 * Longer than a pause of garbage collection or a restart of Redis, but short enough to wait for the locks of a killed
 * process.
 */
const LOCK_LEASE_MS = 15_000;

/** The location of the shared state, and its settings. */
interface RedisStateOptions
  extends RedisConnectionOptions,
    Pick<StateOptions, 'artifacts' | 'leaseMs' | 'meanwhile' | 'onUnreadable'> {
  /** The prefix of every key, without braces. Each workspace that shares a Redis needs its own. */
  readonly prefix: string;
}

/** Of the keys in Redis: raised when an older Storeferry must not open the state. */
const VERSION = 3;

/** StateError for a newer state. An older one is marked as this version and not converted: this version must read its keys. */
async function claimVersion(client: RedisClient, keys: RedisKeys) {
  const version = Number((await client.get(keys.version)) ?? 0);
  if (version < VERSION) await client.set(keys.version, VERSION);
  if (version <= VERSION) return;
  throw new StateError(
    `Redis has version ${version} of the state; this Storeferry knows version ${VERSION}.`,
    {
      hint: 'A newer version of Storeferry was used here: update this one.',
    },
  );
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
  const { client } = connection;
  try {
    await claimVersion(client, keys);
  } catch (error) {
    await connection.close();
    throw error;
  }
  const locks = redisLocks(client, keys, { leaseMs });
  const stores = redisSharedStores(client, keys);
  const witnesses = artifacts === undefined ? undefined : witnessFiles(artifacts);
  const process = randomUUID();
  let senders = 0;
  return {
    ledger: (target) => redisLedger(client, keys, target, witnesses?.of(target)),
    history: (target) => redisHistory(client, keys, target),
    sending(options) {
      const target = importTarget(options.run);
      const witness = witnesses?.of(target);
      const store = redisSendingStore(connection, keys, target, options.fence, async (serial) => {
        await witness?.noteLoss(serial, options.attemptMs);
      });
      senders += 1;
      return openSending(options, store, witness, `${process}-${senders}`);
    },
    runs: redisRuns(client, keys, onUnreadable),
    locks,
    checkedAddresses: redisAddresses(client, keys),
    audit: redisAudit(client, keys),
    renameJob: redisRenaming(client, keys),
    sharedStore: stores.open,
    async [Symbol.asyncDispose]() {
      locks.leaveAll();
      await stores.close();
      await connection.close();
    },
  };
}

/** KEYS: marks or doubts, and with marks the keys of jobs. ARGV: old and new name of the job, then keys that may have it. */
const RENAME_SCRIPT = `
for at = 3, #ARGV do
  local key = ARGV[at]
  local rest, job = string.match(redis.call('HGET', KEYS[1], key) or '', '^([^\\n]*\\n[^\\n]*\\n)(.*)$')
  if job == ARGV[1] then
    redis.call('HSET', KEYS[1], key, rest .. ARGV[2])
    if KEYS[2] then redis.call('ZADD', KEYS[2], 0, ARGV[2] .. '\\0' .. key) end
  end
  if KEYS[2] then redis.call('ZREM', KEYS[2], ARGV[1] .. '\\0' .. key) end
end`;

/** Renames a job key by key: what a killed process has left is found by the old name. */
function redisRenaming(client: RedisClient, keys: RedisKeys): State['renameJob'] {
  return async (from, to, targets) => {
    for (const { marks, jobKeys, doubts, versionRuns } of targets.map(keys.target)) {
      const range = rangeOf(from);
      for (;;) {
        const members = await client.zrangebylex(jobKeys, ...range, 'LIMIT', 0, CHUNK);
        if (members.length === 0) break;
        const sent = members.map((member) => member.slice(from.length + 1));
        await client.eval(RENAME_SCRIPT, 2, marks, jobKeys, from, to, ...sent);
      }
      const doubted = await client.hkeys(doubts);
      for (const some of chunksOf(doubted, CHUNK))
        await client.eval(RENAME_SCRIPT, 1, doubts, from, to, ...some);
      for (const [id, json] of Object.entries(await client.hgetall(versionRuns))) {
        const run = parsedJson(json);
        if (isJsonObject(run) && member(run, 'job') === from)
          await client.hset(versionRuns, id, JSON.stringify({ ...run, job: to }));
      }
    }
    for (const id of await client.zrange(keys.runs(from), '0', '-1')) {
      const sequence = await client.zscore(keys.runs(from), id);
      if ((await client.exists(keys.run(id))) === 1)
        await client.hset(keys.run(id), 'job', JSON.stringify(to));
      await client.zadd(keys.runs(to), Number(sequence), id);
      await client.zrem(keys.runs(from), id);
    }
  };
}

/**
 * KEYS: audit log. ARGV: the newest entry as it was read, or an empty text; the new entry, its score, the lowest score and the
 * highest number that are kept. Whether the new entry is in the log, also after an earlier request without an answer.
 */
const AUDIT_SCRIPT = `
if redis.call('ZSCORE', KEYS[1], ARGV[2]) then return 1 end
if (redis.call('ZREVRANGE', KEYS[1], 0, 0)[1] or '') ~= ARGV[1] then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[4])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -ARGV[5] - 1)
return 1`;

/** The audit log in Redis: a sorted set by time; an entry that a clock puts before the newest follows it by a millisecond. */
function redisAudit(client: RedisClient, keys: RedisKeys): AuditLog {
  const key = keys.audit;
  return {
    async append(entry) {
      // With an id, because a set stores equal members only once.
      const identified = { ...entry, id: randomUUID() };
      for (let isStored = false; !isStored; ) {
        const [last, score = 0] = await client.zrevrange(key, 0, 0, 'WITHSCORES');
        const place = last === undefined ? entry.at : Math.max(entry.at, Number(score) + 1);
        const added = [last ?? '', chainAuditEntry(identified, last), `${place}`];
        const kept = [`${entry.at - AUDIT_KEPT_MS}`, `${MAX_AUDIT_ENTRIES}`];
        isStored = (await client.eval(AUDIT_SCRIPT, 1, key, ...added, ...kept)) === 1;
      }
    },
    async newest(offset, count) {
      return storedAuditEntries(await client.zrevrange(key, offset, offset + count - 1));
    },
    stored: () => client.zrange(key, '0', '-1'),
  };
}

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
interface RedisLocks extends Locks {
  /** Stops renewing all held locks; their leases expire. */
  leaveAll(): void;
}

/**
 * Locks are leases: unless they are renewed, they expire by the clock of Redis. Each holder has its own token;
 * processes that share a lock share the token of their run.
 */
function redisLocks(client: RedisClient, keys: RedisKeys, options: { readonly leaseMs: number }): RedisLocks {
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
