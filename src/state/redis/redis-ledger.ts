import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { sumOf } from '../../model/json-object.ts';
import { observationText, parseObservation } from '../../model/observation.ts';
import { StateError } from '../../model/storeferry-error.ts';
import { decodeBody, encodeBody } from '../encode-body.ts';
import {
  editedKey,
  type FactsByKey,
  type KeyWrites,
  ledgerRules,
  type OutcomeEffect,
  UNKNOWN,
} from '../ledger-rules.ts';
import { handlesOf, INDEXED_AT_ONCE, NAME_HANDLES, storedHandle } from '../product-handle.ts';
import { detectLoss, formatPosition, type Serial, serialSince } from '../serial.ts';
import {
  type CompareQuery,
  chunksOf,
  FORGOTTEN_BODY,
  type History,
  type HistoryRun,
  IN_DOUBT,
  type Ledger,
  type LedgerMark,
  type LedgerTarget,
} from '../state.ts';
import { presentStoredMoment, remainingMs } from '../stored-moment.ts';
import {
  encodeBefore,
  encodeVersion,
  restoreVersions,
  type StoredVersion,
  UNKNOWN_RUN,
} from '../stored-version.ts';
import { storedHistoryRun } from '../unreadable-record.ts';
import type { WitnessFile } from '../witness-files.ts';
import type { RedisClient } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';
import { anyKeySenderRow, pairsIn, parseMark, redisRows } from './redis-rows.ts';

/** Keys per HMGET or HSCAN, so that Redis can serve other clients in between. */
const CHUNK = 1_000;
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

/**
 * Sets the serial with which a state continues after a loss, higher than any before; others may begin groups
 * meanwhile.
 * KEYS: serial. ARGV: a lineage if there is none, the lowest value, the newest run. Returns lineage and value.
 */
const RAISE_SERIAL_SCRIPT = `
redis.call('HSETNX', KEYS[1], 'lineage', ARGV[1])
local value = math.max(tonumber(redis.call('HGET', KEYS[1], 'value') or 0) + 1, tonumber(ARGV[2]))
redis.call('HSET', KEYS[1], 'value', value, 'doubtedAt', ARGV[3])
return { redis.call('HGET', KEYS[1], 'lineage'), value }`;

/**
 * The ledger of a target in Redis. An emptied Redis gives an empty ledger, and without a witness nothing is compared. A rule about all
 * keys reads them in pages.
 */
export function redisLedger(
  client: RedisClient,
  keys: RedisKeys,
  target: LedgerTarget,
  witness: WitnessFile | undefined,
): Ledger {
  const names = keys.target(target);
  const { marks, bodies, jobKeys, handles, unindexed, indexed, observations, doubts, senders } = names;
  const rows = redisRows(client, keys, target);

  const compare = ({ job, keys: wanted, memos }: CompareQuery) =>
    inChunks(
      wanted.map((key, position) => [memos[position] ?? '', key]),
      async (chunk) => {
        const answer = await client.eval(COMPARE_SCRIPT, 2, marks, doubts, job, IN_DOUBT, ...chunk.flat());
        return readComparison(answer, chunk.length);
      },
    );
  const readMarks = async (wanted: readonly string[]) => {
    const found = await compare({ job: '', keys: wanted, memos: [] });
    return found.map((mark) => (mark === 'same' ? undefined : mark));
  };
  const readBodies = async (wanted: readonly string[]) => {
    const stored = await inChunks(wanted, (chunk) => client.hmgetBuffer(bodies, ...chunk));
    return stored.map((body) => (body === null ? undefined : decodeBody(body)));
  };
  const readFacts = async (wanted: readonly string[]): Promise<FactsByKey> =>
    new Map(await inChunks(wanted, async (chunk) => [...(await rows.read(chunk, true)).facts]));
  const readSerial = async (): Promise<Serial | null> => {
    const [lineage, value] = await client.hmget(names.serial, 'lineage', 'value');
    return typeof lineage === 'string' ? { lineage, value: Number(value ?? 0) } : null;
  };
  async function* markedKeys(): AsyncGenerator<string[]> {
    const isNew = firstOfEach();
    for await (const page of hashPages(client, marks)) yield page.map(([key]) => key).filter(isNew);
  }
  const updateAll = async (rule: (facts: FactsByKey) => KeyWrites) => {
    let count = 0;
    for await (const page of markedKeys()) {
      count += page.length;
      for (const chunk of chunksOf(page, CHUNK)) await rows.update(chunk, rule);
    }
    return count;
  };
  /** Brings a page of the index up to date; whether there was any. */
  const index = async () => {
    const page = await client.srandmember(unindexed, INDEXED_AT_ONCE);
    if (page.length === 0) return false;
    // Marks before bodies: if the mark is unchanged afterwards (INDEX_SCRIPT), the body belongs to it.
    const found = await client.hmget(marks, ...page);
    const texts = await readBodies(page);
    const args = page.flatMap((key, position) => {
      const mark = found[position] ?? '';
      const now = mark === '' ? [] : handlesOf(key, texts[position], parseMark(mark)?.id ?? null);
      return [key, mark, now.join('\0')];
    });
    await client.eval(INDEX_SCRIPT, 4, marks, handles, names.handlesOfKeys, unindexed, ...args);
    return true;
  };
  const updateIndex = async () => {
    // Once per target: adds all keys to `unindexed`. From then on each acknowledgement adds its key.
    if ((await client.get(indexed)) !== WHOLE) {
      await client.set(indexed, 'begun');
      for await (const page of hashPages(client, marks)) {
        if (page.length > 0) await client.sadd(unindexed, ...page.map(([key]) => key));
      }
      await client.set(indexed, WHOLE);
    }
    while (await index());
  };
  return {
    marks: readMarks,
    compare,
    async remember(facts) {
      for (const chunk of chunksOf(facts, CHUNK)) {
        const args = chunk.flatMap(({ key, fingerprint, memo }) => [key, fingerprint, memo]);
        await client.eval(REMEMBER_SCRIPT, 1, marks, ...args);
      }
    },
    bodies: readBodies,
    async views(wanted) {
      const [contents, facts] = await Promise.all([
        inChunks(wanted, (chunk) => client.hmget(observations, ...chunk)),
        readFacts(wanted),
      ]);
      return wanted.map((key, position) => {
        const content = contents[position] ?? null;
        return {
          observation: content === null ? undefined : parseObservation(content),
          doubted: ledgerRules.doubtedFields(facts.get(key) ?? UNKNOWN),
        };
      });
    },
    async observe(observed) {
      for (const chunk of chunksOf(observed, CHUNK)) {
        const args = chunk.flatMap(({ key, fingerprint, observation }) => [
          key,
          fingerprint,
          observationText(observation),
        ]);
        await client.eval(OBSERVE_SCRIPT, 2, marks, observations, ...args);
      }
    },
    async *edited() {
      const isNew = firstOfEach();
      for await (const page of hashPages(client, observations)) {
        const found = page.flatMap(([key, content]) => editedKey({ key, content }));
        yield found.filter(({ key }) => isNew(key));
      }
    },
    async keysBy(handle, values) {
      await updateIndex();
      const wanted = values.map((value) => storedHandle(handle, value));
      const found = await inChunks(wanted, (chunk) => client.hmget(handles, ...chunk));
      return found.map((named) => named?.split('\0').sort() ?? []);
    },
    async keysNamed(part, limit) {
      await updateIndex();
      const pattern = `${NAME_HANDLES.from}*${part.toLowerCase().replaceAll(/[*?[\]\\^]/g, '\\$&')}*`;
      const found = new Set<string>();
      for await (const page of hashPages(client, handles, pattern)) {
        for (const key of page.flatMap(([, named]) => named.split('\0'))) found.add(key);
        if (found.size >= limit) break;
      }
      return [...found].slice(0, limit);
    },
    async *allBodies() {
      for await (const page of markedKeys()) {
        const found = await readBodies(page);
        yield page.flatMap((key, position) => {
          const body = found[position];
          return body === undefined ? [] : [{ key, body }];
        });
      }
    },
    async forget(key) {
      if ((await client.hexists(bodies, key)) === 1)
        await client.hset(bodies, key, encodeBody(FORGOTTEN_BODY));
      const list = names.versions + key;
      const versions = await client.lrangeBuffer(list, 0, -1);
      await client.unlink(list);
      await client.hdel(observations, key);
      for (const version of versions) {
        const run = version.toString('latin1', 0, Math.max(0, version.indexOf(' ')));
        await client.hincrby(names.versionSizes, `${run}:versions`, -1);
        await client.hincrby(names.versionSizes, `${run}:bytes`, -version.length - Buffer.byteLength(key));
      }
      return true;
    },
    count: (job) => client.zlexcount(jobKeys, ...rangeOf(job)),
    async *keysOf(job) {
      const [first, end] = rangeOf(job);
      for (let from = first; ; ) {
        const members = await client.zrangebylex(jobKeys, from, end, 'LIMIT', 0, CHUNK);
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
    async *unconfirmed(job) {
      for await (const page of hashPages(client, doubts)) {
        const facts = await readFacts(page.map(([key]) => key));
        yield [...facts].flatMap(([key, fact]) => (ledgerRules.isUnconfirmed(job, fact) ? [key] : []));
      }
    },
    async sharedIds(ids) {
      // A scan may return a key twice.
      const keysOf = new Map<number, Set<string>>();
      for await (const page of hashPages(client, marks)) {
        for (const [key, mark] of page) {
          const id = parseMark(mark)?.id ?? null;
          if (id !== null && ids.has(id)) keysOf.set(id, (keysOf.get(id) ?? new Set()).add(key));
        }
      }
      return new Map([...keysOf].flatMap(([id, found]) => (found.size > 1 ? [[id, [...found]]] : [])));
    },
    async proveIdsAgain() {
      await updateAll(ledgerRules.proveIdsAgain);
    },
    async doubtedOnlyBy(job, wanted) {
      const facts = await readFacts(wanted);
      return new Set(wanted.filter((key) => ledgerRules.isDoubtedOnlyBy(job, facts.get(key) ?? UNKNOWN)));
    },
    async hasDoubts() {
      return (await client.hlen(doubts)) > 0;
    },
    position: async () => formatPosition(await readSerial()),
    async writtenSince(position, wanted) {
      const since = serialSince(position, formatPosition(await readSerial()));
      if (since === undefined) return new Set(wanted);
      // Marks before deletes: a key that is deleted in between is found in one of them.
      const facts = await readFacts(wanted);
      const deletes = await inChunks(wanted, (chunk) => client.zmscore(names.deletes, ...chunk));
      const written = wanted.filter((key, index) =>
        ledgerRules.wasWrittenSince(since, facts.get(key) ?? UNKNOWN, Number(deletes[index] ?? 0)),
      );
      return new Set(written);
    },
    async confirm(confirmed) {
      for (const chunk of chunksOf(confirmed, CHUNK)) await rows.update(chunk, ledgerRules.confirmKeys, true);
    },
    async lostSince({ sequence }) {
      const doubtedAt = await client.hget(names.serial, 'doubtedAt');
      if (doubtedAt !== null && Number(doubtedAt) >= sequence) return true;
      // The state is read after its witnesses, so other processes can only have moved it ahead.
      const witnesses = await witness?.all();
      return witnesses !== undefined && detectLoss(witnesses, await readSerial()) !== null;
    },
    async reconcile(mode) {
      return (
        (await witness?.reconcile(mode, async (witnesses) => {
          const own = await readSerial();
          const kind = detectLoss(witnesses, own);
          if (kind === null) return null;
          // How long requests of senders that the state has lost may run.
          const [seconds] = await client.time();
          for (const [place, { requestsEndWithinMs, ...from }] of witnesses.entries()) {
            const agoMs = requestsEndWithinMs - remainingMs(from, requestsEndWithinMs, presentStoredMoment());
            const row = anyKeySenderRow(Number(seconds) * 1_000 - agoMs, requestsEndWithinMs);
            await client.hset(senders, `witness ${place}`, row);
          }
          const lowest = Math.max(own?.value ?? 0, ...witnesses.map(({ serial }) => serial.value)) + 1;
          const lost = await updateAll((facts) => ledgerRules.loseMarks(facts, lowest));
          const doubtedAt = (await client.get(keys.runSequence)) ?? '0';
          const args = [randomUUID(), lowest, doubtedAt];
          const [lineage, value] = z
            .tuple([z.string(), z.coerce.number()])
            .parse(await client.eval(RAISE_SERIAL_SCRIPT, 1, names.serial, ...args));
          return { kind, keys: lost, serial: { lineage, value } };
        })) ?? null
      );
    },
  };
}

/** True for the first of equal keys: pages of a hash may have a key twice while it grows. */
function firstOfEach(): (key: string) => boolean {
  const seen = new Set<string>();
  return (key) => seen.size < seen.add(key).size;
}

/** The fields of a hash with their values, in pages. A field may come twice while the hash grows. */
async function* hashPages(client: RedisClient, hash: string, match = '*') {
  let cursor = '0';
  do {
    const [next, found] = await client.hscan(hash, cursor, 'MATCH', match, 'COUNT', CHUNK);
    cursor = next;
    yield pairsIn(found);
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
  read: (chunk: Item[]) => Promise<Value[]>,
): Promise<Value[]> {
  const found = await Promise.all(chunksOf(items, CHUNK).map(read));
  return found.flat();
}

/** Keys per call that reads or prunes lists of versions. */
const HISTORY_CHUNK = 100;
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
        chunksOf(wanted, HISTORY_CHUNK).map((chunk) =>
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
          for (const some of chunksOf(page, HISTORY_CHUNK)) {
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
