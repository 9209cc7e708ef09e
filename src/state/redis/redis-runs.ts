import { randomUUID } from 'node:crypto';
import { countUnder, recordOf } from '../../model/json-object.ts';
import type { Outcome } from '../../model/operation.ts';
import type { Refusal } from '../../model/reason.ts';
import type { Run } from '../../model/run.ts';
import { StateError } from '../../model/storeferry-error.ts';
import { encodeBody } from '../encode-body.ts';
import { ledgerRules, type OutcomeEffect, PRESENT_SERIAL } from '../ledger-rules.ts';
import {
  changedId,
  FORGOTTEN_MESSAGE,
  importTarget,
  MAX_DELETES_KEPT,
  type OperationResult,
  type Runs,
  TALLY_FIELDS,
} from '../state.ts';
import {
  parseChangedId,
  parseReason,
  parseRefusal,
  parseRun,
  UnreadableRecord,
} from '../unreadable-record.ts';
import type { RedisClient } from './redis-connection.ts';
import type { OutcomeKeys, RedisKeys } from './redis-keys.ts';
import { versionText } from './redis-ledger.ts';
import { APPLY_ROWS, formatMark, pairsIn, type ReadRows, redisRows, rowChanges } from './redis-rows.ts';

const PAGE_SIZE = 500;
/** Limits the memory: other processes remove runs without notifying this one. */
const MAX_RUNS_KNOWN = 1_000;
const UPDATE_SCRIPT = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV))
return 1`;

/**
 * Runs in Redis. A removed run has no outcomes. Others may write to the same Redis, so each record is checked when it
 * is read. Lists leave out a record that cannot be read, and call `onUnreadable` with the problem.
 */
export function redisRuns(
  client: RedisClient,
  keys: RedisKeys,
  onUnreadable: (problem: StateError) => void,
): Runs {
  const known = new Map<string, OutcomeKeys>();

  const get = async (id: string): Promise<Run | undefined> => {
    const fields = await client.hgetall(keys.run(id));
    if (fields['id'] === undefined) return undefined;
    const members = Object.entries(fields).map(([field, json]) => `${JSON.stringify(field)}:${json}`);
    return parseRun(`{${members.join()}}`, id);
  };
  const leaveOut = (error: unknown): [] => {
    if (!(error instanceof StateError)) throw error;
    onUnreadable(error);
    return [];
  };
  const readable = <Value>(read: () => Value) => {
    try {
      return [read()];
    } catch (error) {
      return leaveOut(error);
    }
  };
  const getReadable = async (id: string): Promise<readonly (Run | undefined)[]> => {
    try {
      return [await get(id)];
    } catch (error) {
      // Any other failure concerns all runs.
      const ofThisRun = error instanceof UnreadableRecord || String(error).includes('WRONGTYPE');
      return ofThisRun ? leaveOut(error) : Promise.reject(error);
    }
  };
  /** Where the outcomes of the run are stored, which never changes; nothing is stored under those of an unknown run. */
  const keysOf = async (id: string) => {
    const found = known.get(id);
    if (found !== undefined) return found;
    const run = await get(id);
    if (run === undefined) return keys.target({ storeId: '', resource: '' }).ofRun(id);
    if (known.size >= MAX_RUNS_KNOWN) known.clear();
    const own = keys.target(run).ofRun(id);
    known.set(id, own);
    return own;
  };

  return {
    async create(run) {
      const sequence = await client.incr(keys.runSequence);
      // Lists leave out an id without a run: a process that dies here leaves the run in both lists or in none.
      await client.zadd(keys.runs(), sequence, run.id);
      await client.zadd(keys.runs(run.job), sequence, run.id);
      await client.hset(keys.run(run.id), fieldsOf({ ...run, sequence }));
    },
    async update(id, changes) {
      // Read before the end is written: a run with a later sequence begins after everything that this one has sent.
      const ends =
        changes.finishedAt == null ? {} : { endSequence: Number(await client.get(keys.runSequence)) };
      const fields = Object.entries(fieldsOf({ ...changes, ...ends })).flat();
      const isKnown =
        fields.length === 0 || (await client.eval(UPDATE_SCRIPT, 1, keys.run(id), ...fields)) === 1;
      const run = isKnown ? await get(id) : undefined;
      if (run === undefined) {
        throw new StateError(`There is no run ${id}.`, { hint: '`storeferry runs` lists them.' });
      }
      return run;
    },
    get,
    async list({ job, kinds, statuses, limit = Number.POSITIVE_INFINITY }) {
      const found: Run[] = [];
      const ids = limit > 0 ? await client.zrange(keys.runs(job), 0, '-1', 'REV') : [];
      const pageSize = Math.min(limit, PAGE_SIZE);
      for (let from = 0; from < ids.length && found.length < limit; from += pageSize) {
        const page = await Promise.all(ids.slice(from, from + pageSize).map(getReadable));
        for (const run of page.flat()) {
          if (run === undefined) continue;
          if ((kinds?.includes(run.kind) ?? true) && (statuses?.includes(run.status) ?? true))
            found.push(run);
        }
      }
      return found.slice(0, limit);
    },
    async remove(id) {
      const run = await get(id);
      if (run === undefined) return;
      await client.unlink(...Object.values(keys.target(run).ofRun(id)));
      await client.zrem(keys.runs(), id);
      await client.zrem(keys.runs(run.job), id);
      await client.unlink(keys.run(id));
      known.delete(id);
    },

    record: redisRecord(client, keys),
    async outcomes(id, shard) {
      const { outcomes } = await keysOf(id);
      return parseOutcomes((await client.hget(outcomes, String(shard))) ?? '');
    },
    async tally(id) {
      const sums = await client.hgetall((await keysOf(id)).tally);
      return recordOf(TALLY_FIELDS, (field) => {
        const sum = Number(sums[field] ?? 0);
        return Number.isSafeInteger(sum) ? sum : 0;
      });
    },
    async forgetRefusals({ id }, key) {
      const { refusals } = await keysOf(id);
      for (const [text, score] of pairsIn(
        await client.zrangebyscore(refusals, '-inf', '+inf', 'WITHSCORES'),
      )) {
        const refusal = parseRefusal(text, `of run ${id}`);
        if (refusal.key !== key || refusal.reason.message === FORGOTTEN_MESSAGE) continue;
        const forgotten = { ...refusal, reason: { ...refusal.reason, message: FORGOTTEN_MESSAGE } };
        await client.zadd(refusals, score, JSON.stringify(forgotten));
        await client.zrem(refusals, text);
      }
    },
    async *refusals(id) {
      const { refusals } = await keysOf(id);
      for (let from = '-inf'; ; ) {
        const limit = ['WITHSCORES', 'LIMIT', 0, PAGE_SIZE] as const;
        const page = await client.zrangebyscore(refusals, from, '+inf', ...limit);
        const score = page.at(-1);
        if (score === undefined) return;
        yield pairsIn(page).flatMap(([text]) => readable(() => parseRefusal(text, `of run ${id}`)));
        from = `(${score}`;
      }
    },
    async unsentReasons(id) {
      const counts = new Map<string, number>();
      for (const text of await client.hvals((await keysOf(id)).unsent)) countUnder(counts, text);
      return [...counts]
        .sort(([one, count], [other, more]) => more - count || (one < other ? -1 : 1))
        .flatMap(([text, count]) => readable(() => ({ reason: parseReason(text, `of run ${id}`), count })));
    },
    async changedIds(id, limit) {
      if (limit <= 0) return [];
      const texts = await client.zrange((await keysOf(id)).changedIds, 0, String(limit - 1));
      return texts.flatMap((text) => readable(() => parseChangedId(text, `of run ${id}`)));
    },
    changedIdCount: async (id) => await client.zcard((await keysOf(id)).changedIds),
  };
}

/** Field by field, so that Redis merges changes; each as JSON, so that null and numbers can be read back. */
function fieldsOf(run: Partial<Run>) {
  const fields: Record<string, string> = {};
  for (const [field, value] of Object.entries(run)) {
    if (value !== undefined) fields[field] = JSON.stringify(value);
  }
  return fields;
}

function parseOutcomes(codes: string): Map<number, Outcome['kind']> {
  const kinds: Readonly<Record<string, Outcome['kind']>> = OUTCOME_KINDS;
  return new Map(
    [...codes].flatMap((code, operation) => {
      const kind = kinds[code];
      return kind === undefined ? [] : [[operation, kind]];
    }),
  );
}

/** How Redis stores the kind of an outcome: one character at the position of the operation in its shard; `d` for a delete. */
const OUTCOME_KINDS = { a: 'applied', d: 'applied', r: 'rejected', u: 'unsent', l: 'left' } as const;

/**
 * `Runs.record` in one step: no process sees a mark without its outcome, and nothing is written without the lock of the fence. An
 * outcome replaces an earlier one of its operation, also in the sums. Each process numbers its calls, so that a call that
 * Redis receives twice, because the connection broke before its answer, counts its requests once, unless it has changed rows that it
 * was decided by: then it is decided again.
 *
 * KEYS: those of APPLY_ROWS, bodies, keys of jobs, outcomes, tally, refusals, unsent, changed ids, whether products are indexed, the
 * keys to index, the prefix of the lists of versions, the run's list of keys, the sizes of versions, deletes, observations.
 * ARGV: those of APPLY_ROWS, run, shard, requests, process, number of the call; then for each outcome its code, operation, rows, key, payload
 * (body, refusal or reason), changed id, mark (empty: it is removed; `-`: it stays), its version: `-` if it is none, empty if the run
 * keeps no history, which removes the history of the key; and the observation of its mark (`-`: none).
 */
const RECORD_SCRIPT = `${APPLY_ROWS}
local marks, bodies, jobKeys, outcomes, tally = KEYS[1], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local refusals, unsent, changedIds, unindexed = KEYS[10], KEYS[11], KEYS[12], KEYS[14]
local versions, versionsOf, sizes, deletes, observations = KEYS[15], KEYS[16], KEYS[17], KEYS[18], KEYS[19]
local isIndexed = redis.call('EXISTS', KEYS[13]) == 1
local run, shard, requests = ARGV[nextArg], ARGV[nextArg + 1], tonumber(ARGV[nextArg + 2])
local process, call = 'process:' .. ARGV[nextArg + 3], tonumber(ARGV[nextArg + 4])

local sums = {}
local function add(field, number)
  sums[field] = (sums[field] or 0) + number
end
local names = { a = 'applied', r = 'rejected', d = 'deleted', l = 'left' }
local function count(code, rows, sign)
  if names[code] then add(names[code], sign) end
  if code == 'a' or code == 'r' then add(names[code] .. 'Rows', sign * rows) end
end

local function ownerIn(mark)
  return mark and string.match(mark, '^[^\\n]*\\n[^\\n]*\\n(.*)$')
end
local function setMark(key, mark, body, observation)
  local owner, job = ownerIn(redis.call('HGET', marks, key)), ownerIn(mark)
  if owner and owner ~= job then redis.call('ZREM', jobKeys, owner .. '\\0' .. key) end
  if job and owner ~= job then redis.call('ZADD', jobKeys, 0, job .. '\\0' .. key) end
  if job then
    redis.call('HSET', marks, key, (string.gsub(mark, '%z', serial, 1)))
    redis.call('HSET', bodies, key, body)
  else
    redis.call('HDEL', marks, key)
    redis.call('HDEL', bodies, key)
    redis.call('ZADD', deletes, serial, key)
    redis.call('ZREMRANGEBYRANK', deletes, 0, -${MAX_DELETES_KEPT + 1})
  end
  if observation == '-' then
    redis.call('HDEL', observations, key)
  else
    redis.call('HSET', observations, key, observation)
  end
  if isIndexed then redis.call('SADD', unindexed, key) end
end

local function addVersion(key, version)
  local list = versions .. key
  if version == '' then
    redis.call('UNLINK', list)
  elseif redis.call('LINDEX', list, -1) ~= version then
    redis.call('RPUSH', list, version)
    redis.call('RPUSH', versionsOf, key)
    redis.call('HINCRBY', sizes, run .. ':versions', 1)
    redis.call('HINCRBY', sizes, run .. ':bytes', #version + #key)
  end
end

local codes = redis.call('HGET', outcomes, shard) or ''
for first = nextArg + 5, #ARGV, 9 do
  local code, operation, rows, key = ARGV[first], tonumber(ARGV[first + 1]), tonumber(ARGV[first + 2]), ARGV[first + 3]
  local payload, changedId, mark, version = ARGV[first + 4], ARGV[first + 5], ARGV[first + 6], ARGV[first + 7]
  local observation = ARGV[first + 8]
  local score = tonumber(shard) * 65536 + operation
  local unsentField = shard .. ':' .. operation

  if #codes < operation then codes = codes .. string.rep('.', operation - #codes) end
  local before = string.sub(codes, operation + 1, operation + 1)
  codes = string.sub(codes, 1, operation) .. code .. string.sub(codes, operation + 2)
  count(before, rows, -1)
  count(code, rows, 1)
  if before == 'r' then redis.call('ZREMRANGEBYSCORE', refusals, score, score) end
  if before == 'u' then redis.call('HDEL', unsent, unsentField) end

  if changedId ~= '' then
    redis.call('ZREMRANGEBYSCORE', changedIds, score, score)
    redis.call('ZADD', changedIds, score, changedId)
  end
  if code == 'r' then redis.call('ZADD', refusals, score, payload) end
  if code == 'u' then redis.call('HSET', unsent, unsentField, payload) end
  if mark ~= '-' then setMark(key, mark, payload, observation) end
  if version ~= '-' then addVersion(key, version) end
end
if codes ~= '' then redis.call('HSET', outcomes, shard, codes) end

if requests > 0 and call > tonumber(redis.call('HGET', tally, process) or 0) then
  add('requests', requests)
  redis.call('HSET', tally, process, call)
end
for field, number in pairs(sums) do
  if number ~= 0 then redis.call('HINCRBY', tally, field, number) end
end
return 'written'
`;

/** `Runs.record` on Redis. */
function redisRecord(client: RedisClient, keys: RedisKeys): Runs['record'] {
  const process = randomUUID().slice(0, 8);
  let calls = 0;
  return async (run, shard, results, requests, fence, versionAt = null) => {
    const target = importTarget(run);
    const names = keys.target(target);
    const rows = redisRows(client, keys, target, fence);
    const others = [
      names.bodies,
      names.jobKeys,
      ...Object.values(names.ofRun(run.id)),
      names.indexed,
      names.unindexed,
      names.versions,
      names.versionsOf(run.id),
      names.versionSizes,
      names.deletes,
      names.observations,
    ];
    const effects = results.map((result) => ({ result, ...ledgerRules.outcomeEffect(run.job, result) }));
    const versioned = versionAt === null ? [] : effects.filter(({ version }) => version !== undefined);
    // The packed bodies that the outcomes replace: under the lock of the target nobody else writes them.
    const bodies =
      versioned.length === 0
        ? []
        : await client.hmgetBuffer(names.bodies, ...versioned.map(({ key }) => key));
    const replaced = new Map<OutcomeEffect, Buffer | null | undefined>(
      versioned.map((effect, at) => [effect, bodies[at]]),
    );
    const keepsSerial = ledgerRules.keepsSerials(run);
    const dependent = effects
      .filter((effect) => keepsSerial || ledgerRules.dependsOnDoubt(effect))
      .map(({ doubtedKey }) => doubtedKey);
    await rows.repeat(async () => {
      const { facts } = dependent.length === 0 ? NOTHING_READ : await rows.read(dependent, keepsSerial);
      const args = effects.flatMap((effect) => {
        const { mark } = facts.get(effect.doubtedKey) ?? {};
        const version =
          versionAt === null ? '' : versionText(run.id, versionAt, effect, replaced.get(effect) ?? null);
        return [
          ...outcomeArgs(shard, effect.result, effect),
          markArg(effect, keepsSerial ? (mark?.serial ?? 0) : PRESENT_SERIAL),
          effect.version === undefined ? '-' : version,
          effect.acknowledged?.observation ?? '-',
        ];
      });
      // Numbered in the order of sending: Redis counts the requests of a call only if its number is the highest so far.
      calls += 1;
      const { doubts } = ledgerRules.settleDoubts(effects, facts);
      // Marks that keep their serials must still have them.
      const marks = new Map(keepsSerial ? effects.map(({ doubtedKey }) => [doubtedKey, {}]) : []);
      return await rows.write({
        script: RECORD_SCRIPT,
        changes: rowChanges({ doubts, marks }, facts),
        others,
        args: [run.id, shard, requests, process, calls, ...args],
      });
    });
  };
}

const NOTHING_READ: Pick<ReadRows, 'facts'> = { facts: new Map() };

function markArg({ doubt, acknowledged }: OutcomeEffect, serial: number) {
  if (acknowledged !== undefined) return formatMark({ ...acknowledged.mark, serial });
  return doubt === 'forget-key' ? '' : '-';
}

/** The first arguments of the script for one outcome. */
function outcomeArgs(
  shard: number,
  result: OperationResult,
  { key, acknowledged }: OutcomeEffect,
): readonly (string | number | Buffer)[] {
  const { index, rows } = result.operation;
  const [code, payload] = codeAndPayload(shard, result, acknowledged?.body);
  const changed = changedId(result);
  return [code, index, rows, key, payload, changed === undefined ? '' : JSON.stringify(changed)];
}

function codeAndPayload(
  shard: number,
  { operation, outcome }: OperationResult,
  acknowledgedBody: string | undefined,
): readonly [code: keyof typeof OUTCOME_KINDS, payload: string | Buffer] {
  switch (outcome.kind) {
    case 'applied':
      if (acknowledgedBody === undefined) return ['d', ''];
      return ['a', encodeBody(acknowledgedBody)];
    case 'rejected': {
      const { index, key, rows, spans } = operation;
      const refusal: Refusal = { shard, index, key, rows, spans, reason: outcome.reason };
      return ['r', JSON.stringify(refusal)];
    }
    case 'unsent':
      return ['u', JSON.stringify(outcome.reason)];
    case 'left':
      return ['l', ''];
    default:
      return outcome satisfies never;
  }
}
