import { createHash, randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { SharedStore } from '../shared-store.ts';
import type { RedisConnection } from './connect.ts';
import type { RedisKeys } from './keys.ts';

/** KEYS: pause. ARGV: milliseconds, channel, message. The longest pause counts. */
const PAUSE_SCRIPT = `
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], '', 'PX', ARGV[1]) end
return redis.call('PUBLISH', ARGV[2], ARGV[3])`;

/**
 * KEYS: line. ARGV: places a second, most places. The line is the moment, by Redis's clock in microseconds, at which
 * its next place is free; who comes takes places from there on, so that no two processes ever have the same one.
 */
const RESERVE_SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local gap = 1000000 / tonumber(ARGV[1])
local places = tonumber(ARGV[2])
local first = math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0))
local next = first + places * gap
redis.call('SET', KEYS[1], string.format('%.0f', next), 'PX', math.ceil((next - now) / 1000) + 1000)
return math.ceil((first - now) / 1000)`;

/** The stores that processes share, by their identity. */
export interface SharedStores {
  open(storeId: string): SharedStore;
  close(): Promise<void>;
}

/**
 * Pauses travel by publishing, which reaches everybody at once, and are kept as a key for as long as they last, for
 * whoever comes later. A process listens on a connection of its own, made when it first listens.
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
    // It comes back by itself, and takes its channels up again.
    duplicate.on('error', () => {});
    duplicate.on('message', (channel: string, message: string) => {
      const [sender, forMs] = message.split(' ');
      if (sender === self || !Number.isFinite(Number(forMs))) return;
      for (const tell of listeners.get(channel) ?? []) tell(Number(forMs));
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
            const forMs = await client.pttl(pause);
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
