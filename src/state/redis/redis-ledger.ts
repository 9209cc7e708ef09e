import { observationText, parseObservation } from '../../model/observation.ts';
import { StateError } from '../../model/storeferry-error.ts';
import { decodeBody, encodeBody } from '../encode-body.ts';
import { editedKey } from '../ledger-rules.ts';
import { handlesOf, INDEXED_AT_ONCE, NAME_HANDLES, storedHandle } from '../product-handle.ts';
import {
  type CompareQuery,
  chunksOf,
  FORGOTTEN_BODY,
  IN_DOUBT,
  type Ledger,
  type LedgerMark,
  type LedgerTarget,
  type MemoFact,
  type ObservedKey,
  type StoredView,
  targetTag,
} from '../state.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';
import { parseMark } from './redis-rows.ts';

/** Keys per HMGET or HSCAN, so that Redis can serve other clients in between. */
export const CHUNK = 1_000;
/** Marks a complete index. An earlier version wrote `whole` for an index without names. */
const WHOLE = 'whole with names';

/**
 * Compares marks with memos in Redis, so that a single character answers most keys: the marks of a whole ledger have
 * 40 MB, and reading them would cost more than all other use of Redis by a run.
 * KEYS: marks, doubts. ARGV: job, IN_DOUBT, then memo (empty if there is none) and key, repeated. Returns a character
 * per key (`=` as expected, `-` unknown, `?` another mark), then the other marks in order.
 */
const COMPARE_SCRIPT = `
local job = ARGV[1]
local wanted = {}
for at = 4, #ARGV, 2 do wanted[#wanted + 1] = ARGV[at] end
local found = redis.call('HMGET', KEYS[1], unpack(wanted))
local doubts = redis.call('HLEN', KEYS[2]) > 0 and redis.call('HMGET', KEYS[2], unpack(wanted)) or {}
local codes, answer = {}, { '' }
for at, mark in ipairs(found) do
  if not mark then
    codes[at] = '-'
  else
    if doubts[at] then
      local id, owner = string.match(mark, '^([^\\n]*)\\n[^\\n]*\\n(.*)$')
      mark = id .. '\\n' .. ARGV[2] .. '\\n' .. owner
    end
    local memo = ARGV[at * 2 + 1]
    local ending = ' ' .. memo .. '\\n' .. job
    if memo ~= '' and string.sub(mark, -#ending) == ending then
      codes[at] = '='
    else
      codes[at] = '?'
      answer[#answer + 1] = mark
    end
  end
end
answer[1] = table.concat(codes)
return answer
`;

/** Adds memos to marks that still have their fingerprint. KEYS: marks. ARGV: key, fingerprint and memo, repeated. */
const REMEMBER_SCRIPT = `
for first = 1, #ARGV, 3 do
  local key, fingerprint, memo = ARGV[first], ARGV[first + 1], ARGV[first + 2]
  local mark = redis.call('HGET', KEYS[1], key)
  local id, known, job = string.match(mark or '', '^([^\\n]*)\\n([^ \\n]*)[^\\n]*\\n(.*)$')
  if known == fingerprint then
    redis.call('HSET', KEYS[1], key, id .. '\\n' .. known .. ' ' .. memo .. '\\n' .. job)
  end
end
`;

/**
 * Sets the handles of keys whose mark is still the one that they were read with; the others stay in `unindexed`. KEYS: marks,
 * handles, handles of keys, unindexed. ARGV: key, mark (empty where there is none) and handles, repeated.
 */
const INDEX_SCRIPT = `
local function each(list)
  return string.gmatch(list or '', '[^%z]+')
end
for at = 1, #ARGV, 3 do
  local key, handles = ARGV[at], ARGV[at + 2]
  if (redis.call('HGET', KEYS[1], key) or '') == ARGV[at + 1] then
    local before = redis.call('HGET', KEYS[3], key) or ''
    if before ~= handles then
      for handle in each(before) do
        local others = {}
        for other in each(redis.call('HGET', KEYS[2], handle)) do
          if other ~= key then others[#others + 1] = other end
        end
        if #others == 0 then
          redis.call('HDEL', KEYS[2], handle)
        else
          redis.call('HSET', KEYS[2], handle, table.concat(others, '\\0'))
        end
      end
      for handle in each(handles) do
        local others = redis.call('HGET', KEYS[2], handle)
        redis.call('HSET', KEYS[2], handle, others and others .. '\\0' .. key or key)
      end
      if handles == '' then
        redis.call('HDEL', KEYS[3], key)
      else
        redis.call('HSET', KEYS[3], key, handles)
      end
    end
    redis.call('SREM', KEYS[4], key)
  end
end
`;

/** Keeps observations of marks that still have their fingerprint. KEYS: marks, observations. ARGV: key, fingerprint and observation, repeated. */
const OBSERVE_SCRIPT = `
for first = 1, #ARGV, 3 do
  local known = string.match(redis.call('HGET', KEYS[1], ARGV[first]) or '', '^[^\\n]*\\n([^ \\n]*)')
  if known == ARGV[first + 1] then redis.call('HSET', KEYS[2], ARGV[first], ARGV[first + 2]) end
end
`;

/** The operations of a ledger about doubt (redis-doubts.ts). */
export type LedgerDoubts = {
  readonly doubtedFields: (keys: readonly string[]) => Promise<StoredView['doubted'][]>;
} & Pick<
  Ledger,
  | 'unconfirmed'
  | 'sharedIds'
  | 'proveIdsAgain'
  | 'doubtedOnlyBy'
  | 'hasDoubts'
  | 'position'
  | 'writtenSince'
  | 'confirm'
  | 'lostSince'
  | 'reconcile'
>;

/** The marks and bodies of a target in Redis. An emptied Redis gives an empty ledger. */
export function redisLedger(
  connection: RedisConnection,
  keys: RedisKeys,
  target: LedgerTarget,
  doubtedFields: LedgerDoubts['doubtedFields'],
): Omit<Ledger, keyof LedgerDoubts> {
  const { client, ask } = connection;
  const tag = targetTag(target);
  const marks = keys.marks(tag);
  const bodies = keys.bodies(tag);
  const jobKeys = keys.jobKeys(tag);

  const compareChunk = async ({ job, keys: wanted, memos }: CompareQuery) => {
    const args = wanted.flatMap((key, position) => [memos[position] ?? '', key]);
    const answer = await client.eval(COMPARE_SCRIPT, 2, marks, keys.doubts(tag), job, IN_DOUBT, ...args);
    return readComparison(answer, wanted.length);
  };
  const compare = ({ job, keys: wanted, memos }: CompareQuery) =>
    ask(
      inChunks(wanted, (chunk, from) =>
        compareChunk({ job, keys: chunk, memos: memos.slice(from, from + chunk.length) }),
      ),
    );
  const readMarks = async (wanted: readonly string[]) => {
    const found = await compare({ job: '', keys: wanted, memos: [] });
    return found.map((mark) => (mark === 'same' ? undefined : mark));
  };
  const handles = keys.handles(tag);
  const unindexed = keys.unindexed(tag);
  /** Once per target: adds all keys to `unindexed`. From then on each acknowledgement adds its key. */
  const beginIndex = async () => {
    if ((await ask(client.get(keys.indexed(tag)))) === WHOLE) return;
    await ask(client.set(keys.indexed(tag), 'begun'));
    for await (const page of hashPages(connection, marks)) {
      if (page.length > 0) await ask(client.sadd(unindexed, ...page.map(([key]) => key)));
    }
    await ask(client.set(keys.indexed(tag), WHOLE));
  };
  /** Brings a page of the index up to date; whether there was any. */
  const index = async (): Promise<boolean> => {
    const page = await ask(client.srandmember(unindexed, INDEXED_AT_ONCE));
    if (page.length === 0) return false;
    // Marks before bodies: if the mark is unchanged afterwards (INDEX_SCRIPT), the body belongs to it.
    const found = await ask(client.hmget(marks, ...page));
    const stored = await ask(client.hmgetBuffer(bodies, ...page));
    const args = page.flatMap((key, position) => {
      const mark = found[position] ?? '';
      const body = stored[position];
      const text = body == null ? undefined : decodeBody(body);
      const now = mark === '' ? [] : handlesOf(key, text, parseMark(mark)?.id ?? null);
      return [key, mark, now.join('\0')];
    });
    await ask(client.eval(INDEX_SCRIPT, 4, marks, handles, keys.handlesOfKeys(tag), unindexed, ...args));
    return true;
  };
  return {
    marks: readMarks,
    compare,
    async remember(facts) {
      const write = async (chunk: readonly MemoFact[]) => {
        const args = chunk.flatMap(({ key, fingerprint, memo }) => [key, fingerprint, memo]);
        await client.eval(REMEMBER_SCRIPT, 1, marks, ...args);
        return [];
      };
      await ask(inChunks(facts, write));
    },
    async bodies(wanted) {
      const stored = await ask(inChunks(wanted, (chunk) => client.hmgetBuffer(bodies, ...chunk)));
      return stored.map((body) => (body === null ? undefined : decodeBody(body)));
    },
    async views(wanted) {
      const [contents, doubted] = await Promise.all([
        ask(inChunks(wanted, (chunk) => client.hmget(keys.observations(tag), ...chunk))),
        doubtedFields(wanted),
      ]);
      return wanted.map((_, position) => {
        const content = contents[position] ?? null;
        return {
          observation: content === null ? undefined : parseObservation(content),
          doubted: doubted[position] ?? null,
        };
      });
    },
    async observe(observed) {
      const write = async (chunk: readonly ObservedKey[]) => {
        const args = chunk.flatMap(({ key, fingerprint, observation }) => [
          key,
          fingerprint,
          observationText(observation),
        ]);
        await client.eval(OBSERVE_SCRIPT, 2, marks, keys.observations(tag), ...args);
        return [];
      };
      await ask(inChunks(observed, write));
    },
    async *edited() {
      const seen = new Set<string>();
      for await (const page of hashPages(connection, keys.observations(tag))) {
        const found = page.flatMap(([key, content]) => editedKey({ key, content }));
        const fresh = found.filter(({ key }) => !seen.has(key));
        for (const { key } of fresh) seen.add(key);
        if (fresh.length > 0) yield fresh;
      }
    },
    async keysBy(handle, values) {
      await beginIndex();
      while (await index());
      const wanted = values.map((value) => storedHandle(handle, value));
      const found = await ask(inChunks(wanted, (chunk) => client.hmget(handles, ...chunk)));
      return found.map((named) => named?.split('\0').sort() ?? []);
    },
    async keysNamed(part, limit) {
      await beginIndex();
      while (await index());
      const pattern = `${NAME_HANDLES.from}*${part.toLowerCase().replaceAll(/[*?[\]\\^]/g, '\\$&')}*`;
      const found = new Set<string>();
      for await (const page of hashPages(connection, handles, pattern)) {
        for (const key of page.flatMap(([, named]) => named.split('\0'))) found.add(key);
        if (found.size >= limit) break;
      }
      return [...found].slice(0, limit);
    },
    async *allBodies() {
      const seen = new Set<string>();
      let cursor = '0';
      do {
        const [next, found] = await ask(client.hscanBuffer(bodies, cursor, 'COUNT', CHUNK));
        const page = found.flatMap((key, at) => {
          const body = found[at + 1];
          // A key may come twice while the hash grows.
          if (at % 2 === 1 || body === undefined || seen.has(key.toString())) return [];
          seen.add(key.toString());
          return [{ key: key.toString(), body: decodeBody(body) }];
        });
        if (page.length > 0) yield page;
        cursor = next.toString();
      } while (cursor !== '0');
    },
    async forget(key) {
      if ((await ask(client.hexists(bodies, key))) === 1)
        await ask(client.hset(bodies, key, encodeBody(FORGOTTEN_BODY)));
      const list = keys.versions(tag) + key;
      const versions = await ask(client.lrangeBuffer(list, 0, -1));
      await ask(client.unlink(list));
      await ask(client.hdel(keys.observations(tag), key));
      for (const version of versions) {
        const run = version.toString('latin1', 0, Math.max(0, version.indexOf(' ')));
        await ask(client.hincrby(keys.versionSizes(tag), `${run}:versions`, -1));
        await ask(
          client.hincrby(keys.versionSizes(tag), `${run}:bytes`, -version.length - Buffer.byteLength(key)),
        );
      }
      return true;
    },
    count: (job) => ask(client.zlexcount(jobKeys, ...rangeOf(job))),
    async *keysOf(job) {
      const [first, end] = rangeOf(job);
      for (let from = first; ; ) {
        const members = await ask(client.zrangebylex(jobKeys, from, end, 'LIMIT', 0, CHUNK));
        const last = members.at(-1);
        if (last === undefined) return;
        const page = members.map((member) => member.slice(job.length + 1));
        const found = await readMarks(page);
        yield page.map((key, position) => {
          const { id = null, idProof } = found[position] ?? {};
          return { key, id, ...(idProof !== undefined && { idProof }) };
        });
        from = `(${last}`;
      }
    },
  };
}

/** The fields of a hash with their values, in pages. A field may come twice while the hash grows. */
export async function* hashPages({ client, ask }: RedisConnection, hash: string, match = '*') {
  let cursor = '0';
  do {
    const [next, found] = await ask(client.hscan(hash, cursor, 'MATCH', match, 'COUNT', CHUNK));
    cursor = next;
    yield found.flatMap((field, at) => (at % 2 === 0 ? [[field, found[at + 1] ?? ''] as const] : []));
  } while (cursor !== '0');
}

/** The members `job NUL key` of a job; job names contain no NUL. */
export function rangeOf(job: string): readonly [from: string, end: string] {
  return [`[${job}\0`, `(${job}\u0001`];
}

/** The answer of COMPARE_SCRIPT. */
function readComparison(answer: unknown, count: number): (LedgerMark | 'same' | undefined)[] {
  const [codes, ...others]: unknown[] = Array.isArray(answer) ? answer : [];
  if (typeof codes !== 'string' || codes.length !== count) {
    throw new StateError('Redis gave an unexpected answer to a comparison of marks.');
  }
  let next = 0;
  return Array.from(codes, (code) => {
    if (code === '=') return 'same';
    return code === '-' ? undefined : ledgerMark(String(others[next++]));
  });
}

function ledgerMark(text: string): LedgerMark | undefined {
  const { serial: _, ...mark } = parseMark(text) ?? {};
  return 'job' in mark ? mark : undefined;
}

async function inChunks<Item, Value>(
  items: readonly Item[],
  read: (chunk: Item[], from: number) => Promise<Value[]>,
): Promise<Value[]> {
  if (items.length === 0) return [];
  const chunks = [...chunksOf(items, CHUNK)].map((chunk, index) => read(chunk, index * CHUNK));
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : (await Promise.all(chunks)).flat();
}
