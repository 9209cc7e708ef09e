import { sumOf } from '../../model/json-object.ts';
import { StateError } from '../../model/storeferry-error.ts';
import { decodeBody } from '../encode-body.ts';
import type { OutcomeEffect } from '../ledger-rules.ts';
import { chunksOf, type History, type HistoryRun, type LedgerTarget } from '../state.ts';
import {
  encodeBefore,
  encodeVersion,
  restoreVersions,
  type StoredVersion,
  UNKNOWN_RUN,
} from '../stored-version.ts';
import { storedHistoryRun } from '../unreadable-record.ts';
import type { RedisClient } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';

/** Keys per call, so that Redis can serve other clients in between. */
const CHUNK = 100;
/** Keys of a run per page. */
const PAGE = 1_000;
/** The overhead of a version in its list and in the run's list of keys. */
const BYTES_PER_VERSION = 12;

/**
 * Reads bodies and versions of the same moment. KEYS: bodies, the beginning of the names of lists of versions. ARGV: keys of the
 * ledger.
 */
const READ_SCRIPT = `
local found = {}
for _, key in ipairs(ARGV) do
  found[#found + 1] = { redis.call('HGET', KEYS[1], key) or '', redis.call('LRANGE', KEYS[2] .. key, 0, -1) }
end
return found`;

/**
 * Removes the oldest versions of a key, up to the newest one of an expired run: older ones are differences to newer ones.
 * KEYS: the beginning of the names of lists of versions. ARGV: how many expired runs, their ids, keys of the ledger.
 */
const PRUNE_SCRIPT = `
local expired = {}
for at = 2, tonumber(ARGV[1]) + 1 do expired[ARGV[at]] = true end
for at = tonumber(ARGV[1]) + 2, #ARGV do
  local list = KEYS[1] .. ARGV[at]
  local last = 0
  for place, version in ipairs(redis.call('LRANGE', list, 0, -1)) do
    if expired[string.match(version, '^%S*')] then last = place end
  end
  if last > 0 then redis.call('LTRIM', list, last, -1) end
end`;

const LINE_BREAK = 10;

/** The history of a target in Redis: per key a list of versions, per run a list of the keys that it wrote. */
export function redisHistory(client: RedisClient, keys: RedisKeys, target: LedgerTarget): History {
  const names = keys.target(target);
  const runsHash = names.versionRuns;

  const runsById = async (): Promise<Map<string, HistoryRun>> => {
    const stored = Object.values(await client.hgetall(runsHash));
    return new Map(stored.flatMap((json) => storedHistoryRun(json) ?? []).map((run) => [run.id, run]));
  };
  async function* keysOf(run: string): AsyncGenerator<readonly string[]> {
    for (let from = 0; ; from += PAGE) {
      const page = await client.lrange(names.versionsOf(run), from, from + PAGE - 1);
      if (page.length === 0) return;
      yield page;
    }
  }
  return {
    async begin({ id, job }, at, files) {
      const run: HistoryRun = { id, job, at, files };
      await client.hsetnx(runsHash, id, JSON.stringify(run));
    },
    async versions(wanted) {
      if (wanted.length === 0) return [];
      const runs = await runsById();
      const answers = await Promise.all(
        chunksOf(wanted, CHUNK).map((chunk) =>
          client.callBuffer('eval', READ_SCRIPT, 2, names.bodies, names.versions, ...chunk),
        ),
      );
      return answers
        .flatMap((answer) => (Array.isArray(answer) ? answer : []))
        .map((found) => {
          const [body, list]: unknown[] = Array.isArray(found) ? found : [];
          if (!(body instanceof Buffer) || !Array.isArray(list)) {
            throw new StateError('Redis gave an unexpected answer to a request for versions.');
          }
          const rows = list.map((version) => versionRow(version, runs)).reverse();
          return restoreVersions(rows, body.length === 0 ? null : decodeBody(body));
        });
    },
    keysOf,
    async runs() {
      return [...(await runsById()).values()].sort((one, other) => other.at - one.at);
    },
    async prune(before) {
      const expired = [...(await runsById()).values()].filter(({ at }) => at < before).map(({ id }) => id);
      for (const run of expired) {
        for await (const page of keysOf(run)) {
          for (const some of chunksOf(page, CHUNK)) {
            await client.eval(PRUNE_SCRIPT, 1, names.versions, expired.length, ...expired, ...some);
          }
        }
      }
      for (const run of expired) {
        await client.hdel(names.versionSizes, `${run}:versions`, `${run}:bytes`);
        await client.unlink(names.versionsOf(run));
        // Last: a prune that is interrupted here is repeated.
        await client.hdel(runsHash, run);
      }
    },
    async size() {
      const sizes = Object.entries(await client.hgetall(names.versionSizes));
      const sum = (name: string) =>
        sumOf(sizes, ([field, value]) => (field.endsWith(name) ? Number(value) : 0));
      const versions = sum(':versions');
      return { versions, bytes: sum(':bytes') + BYTES_PER_VERSION * versions };
    },
  };
}

/** A version as its list has it: run and time, then as `encodeVersion` makes it. `replaced` is the packed body before it. */
export function versionText(
  run: string,
  at: number,
  { version = '', acknowledged }: OutcomeEffect,
  replaced: Buffer | null,
): Buffer {
  // A body without a successor is stored as the ledger had it.
  const before =
    replaced === null || acknowledged === undefined
      ? replaced
      : encodeBefore(() => ({ body: decodeBody(replaced), after: acknowledged.body }));
  return Buffer.concat([Buffer.from(`${run} ${at.toString(36)}\n`), encodeVersion(version, before)]);
}

/** The version that `versionText` made. */
function versionRow(stored: unknown, runs: ReadonlyMap<string, HistoryRun>): StoredVersion {
  const bytes = stored instanceof Buffer ? stored : Buffer.alloc(0);
  const end = Math.max(0, bytes.indexOf(LINE_BREAK));
  const [run = '', at = ''] = bytes.toString('latin1', 0, end).split(' ');
  return {
    run: runs.get(run) ?? { ...UNKNOWN_RUN, id: run },
    at: Number.parseInt(at, 36) || 0,
    content: bytes.subarray(end + 1),
  };
}
