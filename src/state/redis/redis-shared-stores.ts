import { createHash, randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { SharedStore } from '../state.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';

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
 * KEYS: line. ARGV: places per second, number of places. The line is the time of its next free place, in microseconds
 * by the clock of Redis; each process takes the following places, so that no two share one. It also has the time of
 * writing: if that is in the future, the clock was set back, and the line is set back as well.
 */
const RESERVE_SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local gap = 1000000 / tonumber(ARGV[1])
local places = tonumber(ARGV[2])
local free, written = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+)$')
free, written = tonumber(free or 0), tonumber(written or 0)
if written > now then free = free - (written - now) end
local first = math.max(now, free)
local next = first + places * gap
local line = string.format('%.0f %.0f', next, now)
redis.call('SET', KEYS[1], line, 'PX', math.ceil((next - now) / 1000) + 1000)
return math.ceil((first - now) / 1000)`;

/** The stores that processes share, by identity. */
export interface SharedStores {
  open(storeId: string): SharedStore;
  close(): Promise<void>;
}

/**
 * Pauses are published, which reaches all processes at once, and stored as a key while they last, for processes that
 * start later. A process listens on a second connection, which it opens on first use.
 */
export function redisSharedStores(connection: RedisConnection, keys: RedisKeys): SharedStores {
  const { client, ask } = connection;
  const self = randomUUID();
  const listeners = new Map<string, Set<(forMs: number) => void>>();
  let subscriber: typeof client | undefined;

  const listenOn = (channel: string): Set<(forMs: number) => void> => {
    const known = listeners.get(channel);
    if (known !== undefined) return known;
    const callbacks = new Set<(forMs: number) => void>();
    listeners.set(channel, callbacks);
    subscriber ??= subscribing(client instanceof Redis ? client.duplicate() : client.duplicate());
    subscriber.subscribe(channel).catch(() => {});
    return callbacks;
  };
  const subscribing = (duplicate: typeof client): typeof client => {
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
    open(storeId) {
      const store = createHash('sha256').update(storeId).digest('base64url').slice(0, 22);
      const pause = keys.pause(store);
      return {
        announce(forMs) {
          const ms = Math.ceil(forMs);
          ask(client.eval(PAUSE_SCRIPT, 1, pause, ms, pause, `${self} ${ms}`)).catch(() => {});
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
        async reserve(perSecond, most) {
          const afterMs = await ask(client.eval(RESERVE_SCRIPT, 1, keys.line(store), perSecond, most));
          return { places: most, afterMs: Number(afterMs) };
        },
      };
    },
    async close() {
      await subscriber?.quit().catch(() => subscriber?.disconnect());
    },
  };
}
