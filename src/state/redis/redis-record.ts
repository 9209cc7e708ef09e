import { randomUUID } from 'node:crypto';
import type { Refusal } from '../../model/reason.ts';
import { lockLost } from '../../model/storeferry-error.ts';
import { encodeBody } from '../encode-body.ts';
import {
  END_DOUBT,
  FORGET_KEY,
  KEEP_AT_WORK,
  type OutcomeEffect,
  outcomeEffect,
  RESTORE_PREVIOUS,
} from '../outcome-effect.ts';
import {
  changedId,
  importTarget,
  MAX_DELETES_KEPT,
  type OperationResult,
  type Runs,
  targetTag,
} from '../state.ts';
import type { RedisConnection } from './redis-connection.ts';
import { DOUBT_FUNCTIONS } from './redis-doubts.ts';
import { versionText } from './redis-history.ts';
import type { RedisKeys } from './redis-keys.ts';
import { markText } from './redis-ledger.ts';

/** How Redis stores the kind of an outcome: one character at the position of the operation in its shard. */
export const OUTCOME_CODES = { applied: 'a', deleted: 'd', rejected: 'r', unsent: 'u', left: 'l' } as const;

/**
 * `Runs.record` in one step: no process sees a mark without its outcome, and nothing is written without the lock of the fence. An
 * outcome replaces an earlier one of its operation, also in the sums. Each process numbers its calls, so that a call that
 * Redis receives twice, because the connection broke before its answer, counts its requests once.
 *
 * KEYS: marks, bodies, keys of jobs, outcomes, tally, refusals, unsent, changed ids, doubts, whether products are indexed, the
 * keys to index, the prefix of the lists of versions, the run's list of keys, the sizes of versions, serial, deletes, and the lock if there
 * is a fence.
 * ARGV: token, run, shard, requests, process, number of the call, `1` where marks keep their serials; then for each outcome its code, operation, rows, key, mark,
 * payload (body, refusal or reason), changed id, its DoubtEffect, and its version: `-` if it is none, empty if the run
 * keeps no history, which removes the history of the key.
 */
const RECORD_SCRIPT = `
local marks, bodies, jobKeys, outcomes = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local tally, refusals, unsent, changedIds = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local doubts, unindexed, versions, versionsOf = KEYS[9], KEYS[11], KEYS[12], KEYS[13]
local sizes, deletes, lock = KEYS[14], KEYS[16], KEYS[17]
local serial = redis.call('HGET', KEYS[15], 'value') or '0'
local token, run, shard = ARGV[1], ARGV[2], ARGV[3]
local isIndexed = redis.call('EXISTS', KEYS[10]) == 1

if lock and redis.call('HGET', lock, 'token') ~= token then
  return 'lost'
end

${DOUBT_FUNCTIONS}
local sums = {}
local function add(field, number)
  sums[field] = (sums[field] or 0) + number
end
local function count(code, rows, sign)
  if code == 'a' then
    add('applied', sign)
    add('appliedRows', sign * rows)
  elseif code == 'r' then
    add('rejected', sign)
    add('rejectedRows', sign * rows)
  elseif code == 'd' then
    add('deleted', sign)
  elseif code == 'l' then
    add('left', sign)
  end
end
local function ownerIn(mark)
  return mark and string.match(mark, '^[^\\n]*\\n[^\\n]*\\n(.*)$')
end
local function ownerOf(key)
  return ownerIn(redis.call('HGET', marks, key))
end

local function withSerial(key, mark)
  local own = serial
  if ARGV[7] == '1' then own = string.match(redis.call('HGET', marks, key) or '', '^%S* (%d+)\\n') or '0' end
  return (string.gsub(mark, '\\n', ' ' .. own .. '\\n', 1))
end

local function forget(key)
  local owner = ownerOf(key)
  if owner then redis.call('ZREM', jobKeys, owner .. '\\0' .. key) end
  redis.call('HDEL', marks, key)
  redis.call('HDEL', bodies, key)
  redis.call('ZADD', deletes, serial, key)
  redis.call('ZREMRANGEBYRANK', deletes, 0, -${MAX_DELETES_KEPT + 1})
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
for first = 8, #ARGV, 9 do
  local code, operation, rows = ARGV[first], tonumber(ARGV[first + 1]), tonumber(ARGV[first + 2])
  local key, mark, payload, changedId = ARGV[first + 3], ARGV[first + 4], ARGV[first + 5], ARGV[first + 6]
  local doubt, version = ARGV[first + 7], ARGV[first + 8]
  local score = tonumber(shard) * 65536 + operation
  local unsentField = shard .. ':' .. operation

  if #codes < operation then codes = codes .. string.rep('.', operation - #codes) end
  local before = string.sub(codes, operation + 1, operation + 1)
  codes = string.sub(codes, 1, operation) .. code .. string.sub(codes, operation + 2)
  count(before, rows, -1)
  count(code, rows, 1)
  if before == 'r' then redis.call('ZREMRANGEBYSCORE', refusals, score, score) end
  if before == 'u' then redis.call('HDEL', unsent, unsentField) end

  if code == 'a' then
    local owner, job = ownerOf(key), ownerIn(mark)
    if owner and owner ~= job then redis.call('ZREM', jobKeys, owner .. '\\0' .. key) end
    if owner ~= job then redis.call('ZADD', jobKeys, 0, job .. '\\0' .. key) end
    redis.call('HSET', marks, key, withSerial(key, mark))
    redis.call('HSET', bodies, key, payload)
    if isIndexed then redis.call('SADD', unindexed, key) end
    if changedId ~= '' then
      redis.call('ZREMRANGEBYSCORE', changedIds, score, score)
      redis.call('ZADD', changedIds, score, changedId)
    end
  elseif code == 'd' then
    forget(key)
  elseif code == 'r' then
    redis.call('ZADD', refusals, score, payload)
    if doubt == '${FORGET_KEY}' then forget(key) end
  elseif code == 'u' then
    redis.call('HSET', unsent, unsentField, payload)
  end
  if version ~= '-' then addVersion(key, version) end
  if doubt == '${END_DOUBT}' or doubt == '${FORGET_KEY}' then
    redis.call('HDEL', doubts, key)
  elseif doubt ~= '${KEEP_AT_WORK}' then
    local prior, _, senders, doubtedBy, doubtedAt = parseDoubt(redis.call('HGET', doubts, key))
    if prior == '0' and doubt == '${RESTORE_PREVIOUS}' then
      redis.call('HDEL', doubts, key)
    elseif prior then
      redis.call('HSET', doubts, key, doubtRow(prior, '0', senders, doubtedBy, doubtedAt))
    end
  end
end
if codes ~= '' then redis.call('HSET', outcomes, shard, codes) end

local requests, process, call = tonumber(ARGV[4]), 'process:' .. ARGV[5], tonumber(ARGV[6])
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
export function redisRecord({ client, ask }: RedisConnection, keys: RedisKeys): Runs['record'] {
  const process = randomUUID().slice(0, 8);
  let calls = 0;
  /** The packed bodies that the outcomes replace; null for an outcome that replaces none. */
  const replacedBodies = async (
    bodies: string,
    results: readonly OperationResult[],
    effects: readonly OutcomeEffect[],
  ): Promise<readonly (Buffer | null)[]> => {
    const wanted = results.filter((_, index) => effects[index]?.version !== undefined);
    if (wanted.length === 0) return [];
    const found = await ask(client.hmgetBuffer(bodies, ...wanted.map(({ operation }) => operation.key)));
    const byResult = new Map(wanted.map((result, index) => [result, found[index] ?? null]));
    return results.map((result) => byResult.get(result) ?? null);
  };
  return async (run, shard, results, requests, fence, versionAt = null) => {
    const tag = targetTag(importTarget(run));
    const written = [
      keys.marks(tag),
      keys.bodies(tag),
      keys.jobKeys(tag),
      keys.outcomes(tag, run.id),
      keys.tally(tag, run.id),
      keys.refusals(tag, run.id),
      keys.unsent(tag, run.id),
      keys.changedIds(tag, run.id),
      keys.doubts(tag),
      keys.indexed(tag),
      keys.unindexed(tag),
      keys.versions(tag),
      keys.versionsOf(tag, run.id),
      keys.versionSizes(tag),
      keys.serial(tag),
      keys.deletes(tag),
      ...(fence === undefined ? [] : [keys.lock(fence.name)]),
    ];
    const effects = results.map((result) => outcomeEffect(run.job, result));
    // Under the lock of the target nobody else writes these bodies.
    const replaced = versionAt === null ? [] : await replacedBodies(keys.bodies(tag), results, effects);
    // Numbered in the order of sending: Redis counts the requests of a call only if its number is the highest so far.
    calls += 1;
    const args = [fence?.token ?? '', run.id, shard, requests, process, calls, run.kind === 'verify' ? 1 : 0];
    const outcomes = results.flatMap((result, index) => {
      const effect = effects[index] ?? { doubt: KEEP_AT_WORK };
      const version =
        versionAt === null ? '' : versionText(run.id, versionAt, effect, replaced[index] ?? null);
      return [...outcomeArgs(shard, result, effect), effect.version === undefined ? '-' : version];
    });
    const answer = await ask(client.eval(RECORD_SCRIPT, written.length, ...written, ...args, ...outcomes));
    if (answer !== 'written') throw lockLost(fence?.name ?? '');
  };
}

/** The arguments of the script for one outcome, without its version. */
function outcomeArgs(
  shard: number,
  result: OperationResult,
  { doubt, acknowledged }: OutcomeEffect,
): readonly (string | number | Buffer)[] {
  const { index, rows, key } = result.operation;
  const [code, payload] = codeAndPayload(shard, result, acknowledged?.body);
  const mark = acknowledged === undefined ? '' : markText(acknowledged.mark);
  const changed = changedId(result);
  return [code, index, rows, key, mark, payload, changed === undefined ? '' : JSON.stringify(changed), doubt];
}

function codeAndPayload(
  shard: number,
  { operation, outcome }: OperationResult,
  acknowledgedBody: string | undefined,
): readonly [code: string, payload: string | Buffer] {
  switch (outcome.kind) {
    case 'applied':
      if (acknowledgedBody === undefined) return [OUTCOME_CODES.deleted, ''];
      return [OUTCOME_CODES.applied, encodeBody(acknowledgedBody)];
    case 'rejected': {
      const { index, key, rows, spans } = operation;
      const refusal: Refusal = { shard, index, key, rows, spans, reason: outcome.reason };
      return [OUTCOME_CODES.rejected, JSON.stringify(refusal)];
    }
    case 'unsent':
      return [OUTCOME_CODES.unsent, JSON.stringify(outcome.reason)];
    case 'left':
      return [OUTCOME_CODES.left, ''];
    default:
      return outcome satisfies never;
  }
}
