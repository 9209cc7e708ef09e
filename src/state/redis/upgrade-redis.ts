import { createHash } from 'node:crypto';
import { normalisedAddress } from '../../model/store-identity.ts';
import { StateError } from '../../model/storeferry-error.ts';
import { IN_DOUBT, type Locks, targetTag } from '../state.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';

/**
 * The version of the keys in Redis. 2: a target is the identity of a store and a resource; before, it was a name and
 * an address.
 */
const VERSION = 2;

/** Fields per page: between pages Redis serves others. */
const PAGE = 1_000;

/**
 * KEYS: marks, keys of jobs. ARGV: `1` if several targets become one, IN_DOUBT, then key and mark, repeated. May be
 * run again. A key that several jobs sent belongs to none of them until it is sent again.
 */
const MOVE_MARKS_SCRIPT = `
for at = 3, #ARGV, 2 do
  local key, mark = ARGV[at], ARGV[at + 1]
  local id, job = string.match(mark, '^([^\\n]*)\\n[^\\n]*\\n(.*)$')
  if ARGV[1] == '1' then
    local known = redis.call('HGET', KEYS[1], key)
    if known then
      local knownId, knownJob = string.match(known, '^([^\\n]*)\\n[^\\n]*\\n(.*)$')
      if knownId ~= '' then id = knownId end
      if knownJob ~= job then
        redis.call('ZREM', KEYS[2], knownJob .. '\\0' .. key)
        job = ''
      end
    end
    mark = id .. '\\n' .. ARGV[2] .. '\\n' .. job
  end
  redis.call('HSET', KEYS[1], key, mark)
  redis.call('ZADD', KEYS[2], 0, job .. '\\0' .. key)
end`;

/** A run of a version before 2, with the parts of its target. */
interface OldRun {
  readonly id: string;
  readonly store: string;
  readonly baseUrl: string;
  readonly resource: string;
}

/**
 * Upgrades the keys of an earlier version once: the ledgers of one store, under all names and spellings of its
 * address, become one. A single ledger is moved unchanged. Of several, each may have changed or deleted what another
 * acknowledged, so all of their keys are put in doubt. May be repeated after a crash. StateError while an earlier
 * version is running, and if a newer one has been used.
 */
export async function upgradeRedis(
  connection: RedisConnection,
  keys: RedisKeys,
  locks: Locks,
): Promise<void> {
  if (await isPresent(connection, keys)) return;
  const waiting = { signal: new AbortController().signal, onWait: () => {} };
  await using lock = await locks.acquire('upgrade', { job: 'upgrade', run: 'upgrade' }, waiting);
  if (await isPresent(connection, keys)) return;
  const { client, ask } = connection;
  const runs = await oldRuns(connection, keys);
  const targets = Map.groupBy(runs, oldTag);
  for (const tag of targets.keys()) await refuseWhileHeld(connection, keys, tag);
  const newTags = new Map([...targets].map(([tag, [run]]) => [tag, run === undefined ? tag : newTag(run)]));
  const together = Map.groupBy(newTags.keys(), (tag) => newTags.get(tag) ?? tag);
  for (const [to, tags] of together) {
    for (const from of tags) {
      lock.lost.throwIfAborted();
      await moveLedger(connection, keys, from, to, tags.length > 1);
      for (const { id } of targets.get(from) ?? []) await moveOutcomes(connection, keys, from, to, id);
    }
  }
  for (const [from] of targets) {
    lock.lost.throwIfAborted();
    await ask(client.unlink(keys.marks(from), keys.bodies(from), keys.jobKeys(from)));
  }
  // Last, because runs without it identify old targets.
  for (const { id, baseUrl } of runs) {
    await ask(client.hset(keys.run(id), 'storeId', JSON.stringify(normalisedAddress(baseUrl))));
  }
  await ask(client.set(keys.version(), VERSION));
}

async function isPresent({ client, ask }: RedisConnection, keys: RedisKeys): Promise<boolean> {
  const version = Number(await ask(client.get(keys.version())));
  if (version <= VERSION) return version === VERSION;
  throw new StateError(`Redis has version ${version} of the state; this Storeferry knows versions up to 2.`, {
    hint: 'A newer version of Storeferry was used here: update this one.',
  });
}

/** Ignores a run that cannot be read: this version does not know what it wrote, so it is sent again. */
async function oldRuns({ client, ask }: RedisConnection, keys: RedisKeys): Promise<OldRun[]> {
  const runs: OldRun[] = [];
  for (const id of await ask(client.zrange(keys.runs(), 0, '-1'))) {
    const fields = client.hmget(keys.run(id), 'store', 'baseUrl', 'resource', 'storeId');
    const [store, baseUrl, resource, storeId] = (await ask(fields.catch(noneIfOfAnotherType))).map(
      parsedText,
    );
    if (storeId !== undefined || store === undefined || baseUrl === undefined || resource === undefined)
      continue;
    runs.push({ id, store, baseUrl, resource });
  }
  return runs;
}

function noneIfOfAnotherType(error: unknown): null[] {
  if (String(error).includes('WRONGTYPE')) return [];
  throw error;
}

function parsedText(json: string | null): string | undefined {
  try {
    const value: unknown = json === null ? undefined : JSON.parse(json);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** `targetTag` before version 2. */
function oldTag({ store, baseUrl, resource }: OldRun): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([store, baseUrl, resource]))
    .digest('base64url');
  return `{${store.replaceAll(/[^\w-]/g, '_')}-${resource}-${digest.slice(0, 12)}}`;
}

function newTag({ baseUrl, resource }: OldRun): string {
  return targetTag({ storeId: normalisedAddress(baseUrl), resource });
}

async function refuseWhileHeld({ client, ask }: RedisConnection, keys: RedisKeys, tag: string) {
  const [job, run] = await ask(client.hmget(keys.lock(`target:${tag}`), 'job', 'run'));
  if (!job) return;
  throw new StateError(`Run ${run} of ${job} is under way in an earlier version of Storeferry.`, {
    hint: 'Stop its workers, or wait for its end (after a crash, 15 seconds).',
  });
}

async function moveLedger(
  { client, ask }: RedisConnection,
  keys: RedisKeys,
  from: string,
  to: string,
  doubtful: boolean,
): Promise<void> {
  await eachPage(
    (cursor) => ask(client.hscan(keys.marks(from), cursor, 'COUNT', PAGE)),
    (page) =>
      ask(
        client.eval(
          MOVE_MARKS_SCRIPT,
          2,
          keys.marks(to),
          keys.jobKeys(to),
          doubtful ? '1' : '0',
          IN_DOUBT,
          ...page,
        ),
      ),
  );
  await eachPage(
    (cursor) => ask(client.hscanBuffer(keys.bodies(from), cursor, 'COUNT', PAGE)),
    (page) => ask(client.hset(keys.bodies(to), ...page)),
  );
}

async function moveOutcomes(
  { client, ask }: RedisConnection,
  keys: RedisKeys,
  from: string,
  to: string,
  run: string,
): Promise<void> {
  for (const hash of [keys.outcomes, keys.tally, keys.unsent]) {
    await eachPage(
      (cursor) => ask(client.hscan(hash(from, run), cursor, 'COUNT', PAGE)),
      (page) => ask(client.hset(hash(to, run), ...page)),
    );
    await ask(client.unlink(hash(from, run)));
  }
  for (const set of [keys.refusals, keys.changedIds]) {
    await eachPage(
      (cursor) => ask(client.zscan(set(from, run), cursor, 'COUNT', PAGE)),
      (page) => ask(client.zadd(set(to, run), ...pairsTurned(page))),
    );
    await ask(client.unlink(set(from, run)));
  }
}

/** ZSCAN returns a member and its score, ZADD takes a score and its member. */
function pairsTurned(page: readonly string[]): string[] {
  return page.map((_, position) => page[position ^ 1] ?? '');
}

async function eachPage<Item>(
  scan: (cursor: string) => Promise<[cursor: string | Buffer, items: Item[]]>,
  take: (items: Item[]) => Promise<unknown>,
): Promise<void> {
  let cursor = '0';
  do {
    const [next, items] = await scan(cursor);
    if (items.length > 0) await take(items);
    cursor = String(next);
  } while (cursor !== '0');
}
