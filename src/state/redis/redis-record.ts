import { randomUUID } from 'node:crypto';
import type { Refusal } from '../../model/reason.ts';
import { encodeBody } from '../encode-body.ts';
import {
  FORGET_KEY,
  KEEP_AT_WORK,
  ledgerRules,
  type OutcomeEffect,
  PRESENT_SERIAL,
  type SettledEffect,
} from '../ledger-rules.ts';
import {
  changedId,
  importTarget,
  MAX_DELETES_KEPT,
  type OperationResult,
  type Runs,
  targetTag,
} from '../state.ts';
import type { RedisConnection } from './redis-connection.ts';
import { versionText } from './redis-history.ts';
import type { RedisKeys } from './redis-keys.ts';
import { APPLY_ROWS, formatMark, type ReadRows, redisRows, rowChanges } from './redis-rows.ts';

/** How Redis stores the kind of an outcome: one character at the position of the operation in its shard; `d` for a delete. */
export const OUTCOME_KINDS = { a: 'applied', d: 'applied', r: 'rejected', u: 'unsent', l: 'left' } as const;

/**
 * `Runs.record` in one step: no process sees a mark without its outcome, and nothing is written without the lock of the fence. An
 * outcome replaces an earlier one of its operation, also in the sums. Each process numbers its calls, so that a call that
 * Redis receives twice, because the connection broke before its answer, counts its requests once.
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
export function redisRecord(connection: RedisConnection, keys: RedisKeys): Runs['record'] {
  const { client, ask } = connection;
  const process = randomUUID().slice(0, 8);
  let calls = 0;
  /** The packed bodies that the outcomes replace; null for an outcome that replaces none. */
  const replacedBodies = async (
    bodies: string,
    effects: readonly OutcomeEffect[],
  ): Promise<readonly (Buffer | null)[]> => {
    const wanted = effects.filter(({ version }) => version !== undefined);
    if (wanted.length === 0) return [];
    const found = await ask(client.hmgetBuffer(bodies, ...wanted.map(({ key }) => key)));
    const byEffect = new Map(wanted.map((effect, index) => [effect, found[index] ?? null]));
    return effects.map((effect) => byEffect.get(effect) ?? null);
  };
  return async (run, shard, results, requests, fence, versionAt = null) => {
    const target = importTarget(run);
    const tag = targetTag(target);
    const rows = redisRows(connection, keys, target, fence);
    const others = [
      keys.bodies(tag),
      keys.jobKeys(tag),
      keys.outcomes(tag, run.id),
      keys.tally(tag, run.id),
      keys.refusals(tag, run.id),
      keys.unsent(tag, run.id),
      keys.changedIds(tag, run.id),
      keys.indexed(tag),
      keys.unindexed(tag),
      keys.versions(tag),
      keys.versionsOf(tag, run.id),
      keys.versionSizes(tag),
      keys.deletes(tag),
      keys.observations(tag),
    ];
    const effects = results.map((result) => ledgerRules.outcomeEffect(run.job, result));
    const recorded = results.map(({ operation }) => operation.key);
    // Under the lock of the target nobody else writes these bodies.
    const replaced = versionAt === null ? [] : await replacedBodies(keys.bodies(tag), effects);
    const keepsSerial = ledgerRules.keepsSerials(run);
    const dependent = recorded.filter(
      (_, at) => keepsSerial || ledgerRules.dependsOnDoubt(effects[at] ?? NO_EFFECT),
    );
    await rows.repeat(async () => {
      const { facts } = dependent.length === 0 ? NOTHING_READ : await rows.read(dependent, keepsSerial);
      const args = results.flatMap((result, position) => {
        const effect = effects[position] ?? { ...NO_EFFECT, key: result.operation.key };
        const { mark } = facts.get(result.operation.key) ?? {};
        const version =
          versionAt === null ? '' : versionText(run.id, versionAt, effect, replaced[position] ?? null);
        return [
          ...outcomeArgs(shard, result, effect),
          markArg(effect, keepsSerial ? (mark?.serial ?? 0) : PRESENT_SERIAL),
          effect.version === undefined ? '-' : version,
          effect.acknowledged?.observation ?? '-',
        ];
      });
      // Numbered in the order of sending: Redis counts the requests of a call only if its number is the highest so far.
      calls += 1;
      const { doubts: settled } = ledgerRules.settleDoubts(recorded, effects, facts);
      // Marks that keep their serials must still have them.
      const marks = new Map(keepsSerial ? recorded.map((key) => [key, {}]) : []);
      return await rows.write({
        script: RECORD_SCRIPT,
        changes: rowChanges({ doubts: settled, marks }, facts),
        others,
        args: [run.id, shard, requests, process, calls, ...args],
      });
    });
  };
}

const NO_EFFECT: SettledEffect = { doubt: KEEP_AT_WORK };
const NOTHING_READ: Pick<ReadRows, 'facts'> = { facts: new Map() };

function markArg({ doubt, acknowledged }: OutcomeEffect, serial: number): string {
  if (acknowledged !== undefined) return formatMark({ ...acknowledged.mark, serial });
  return doubt === FORGET_KEY ? '' : '-';
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
