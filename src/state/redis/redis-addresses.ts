import { z } from 'zod';
import { type AddressCheck, type CheckedAddresses, FORGOTTEN_MS } from '../state.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';

/** Addresses per call: Redis serves others in between. */
const CHUNK = 500;

/** What is remembered of image addresses in Redis: a key each, which expires. */
export function redisAddresses({ client, ask }: RedisConnection, keys: RedisKeys): CheckedAddresses {
  return {
    async find(addresses) {
      const found = await Promise.all(
        addresses.map((address) => ask(client.get(keys.checkedAddress(address)))),
      );
      return found.map((json) => readCheck(json));
    },
    async remember(checks, at) {
      for (let from = 0; from < checks.length; from += CHUNK) {
        await Promise.all(
          checks
            .slice(from, from + CHUNK)
            .map(({ address, version }) =>
              ask(
                client.set(keys.checkedAddress(address), JSON.stringify({ version, at }), 'PX', FORGOTTEN_MS),
              ),
            ),
        );
      }
    },
  };
}

const storedCheck: z.ZodType<AddressCheck> = z.object({ version: z.string().nullable(), at: z.number() });

/** What cannot be read is as if it were forgotten. */
function readCheck(json: string | null): AddressCheck | undefined {
  if (json === null) return undefined;
  try {
    return storedCheck.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}
