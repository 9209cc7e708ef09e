import { randomUUID } from 'node:crypto';
import { lockLost, StateError } from '../../model/storeferry-error.ts';
import type { OperationGroup, SendingStore } from '../open-sending.ts';
import { HEARTBEAT_VALID_MS, type Serial } from '../serial.ts';
import { type Fence, type LedgerTarget, targetTag } from '../state.ts';
import type { RedisConnection } from './redis-connection.ts';
import { DOUBT_FUNCTIONS, remainingOf } from './redis-doubts.ts';
import type { RedisKeys } from './redis-keys.ts';

/** Lua: returns 'lost' if another run has the lock of the fence; KEYS[at] is the lock, ARGV[1] its token. */
const refuseWithout = (at: number) =>
  `if KEYS[${at}] and redis.call('HGET', KEYS[${at}], 'token') ~= ARGV[1] then return 'lost' end`;

/** Lua: now, in milliseconds by the clock of Redis. */
const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/**
 * Lua: returns 'behind' if Redis no longer has the last serial of this sender: it lost recent writes or was restored.
 */
const refuseBehind = (senders: string, sender: string, last: string) => `
local row = redis.call('HGET', ${senders}, ${sender})
local value = string.match(row or '', ' (%d+)$')
if tonumber(value or 0) < tonumber(${last}) then return 'behind' end`;

/**
 * Puts keys in doubt before they are sent.
 * KEYS: doubts, marks, serial, senders, and the lock if there is a fence. ARGV: token, job, sender, its last serial,
 * a lineage if there is none, then key and id of its delete (`-`: no delete; `~` after the id: it is looked up
 * first), repeated. Returns lineage and value, then for each key the milliseconds to wait, or -1 if its delete is
 * outdated.
 */
const BEGIN_SCRIPT = `
${refuseWithout(5)}
local job, sender = ARGV[2], ARGV[3]
${refuseBehind('KEYS[4]', 'sender', 'ARGV[4]')}
${NOW}
${remainingOf('KEYS[4]')}
${DOUBT_FUNCTIONS}
redis.call('HSETNX', KEYS[3], 'lineage', ARGV[5])
local answer = { redis.call('HGET', KEYS[3], 'lineage'), redis.call('HINCRBY', KEYS[3], 'value', 1) }
local heartbeat = string.match(row or '', '^%d+ %d+') or string.format('%.0f 0', now)
redis.call('HSET', KEYS[4], sender, heartbeat .. ' ' .. answer[2])
for at = 6, #ARGV, 2 do
  local key, id = ARGV[at], ARGV[at + 1]
  local prior, atWork, before, doubtedBy = parseDoubt(redis.call('HGET', KEYS[1], key))
  local overtaken = false
  if id ~= '-' then
    local mark = redis.call('HGET', KEYS[2], key)
    local known, proof, owner = string.match(mark or '', '^(%d*)([~!]?)[^\\n]*\\n[^\\n]*\\n(.*)$')
    if doubtedBy and doubtedBy ~= job then
      overtaken = true
    else
      local planned, looksUp = string.match(id, '^(%d+)(~?)$')
      overtaken = owner ~= job or known ~= planned or proof == '!' or (proof == '~' and looksUp == '')
    end
  end
  if overtaken then
    answer[#answer + 1] = -1
  else
    local wait = everything
    local atWorkBy = sender
    for other in string.gmatch(atWork == '1' and before or '', '[^ ]+') do
      if other ~= sender and remaining[other] then
        wait = math.max(wait, remaining[other])
        atWorkBy = atWorkBy .. ' ' .. other
      end
    end
    if prior and id == '-' then
      -- What is in doubt may be a delete: then this upsert creates the product again, under another id.
      local known, others = string.match(redis.call('HGET', KEYS[2], key) or '', '^(%d+)([ \\n].*)$')
      if known then redis.call('HSET', KEYS[2], key, known .. '~' .. others) end
    end
    local whose = (not doubtedBy or doubtedBy == job) and job or '*'
    redis.call('HSET', KEYS[1], key, doubtRow(prior and '1' or '0', '1', atWorkBy, whose, answer[2]))
    answer[#answer + 1] = wait
  end
end
return answer`;

/**
 * KEYS: senders, and the lock if there is a fence. ARGV: token, sender, its last serial, how long after this heartbeat its
 * last request may run.
 */
const HEARTBEAT_SCRIPT = `
${refuseWithout(2)}
${refuseBehind('KEYS[1]', 'ARGV[2]', 'ARGV[3]')}
${NOW}
redis.call('HSET', KEYS[1], ARGV[2], string.format('%.0f', now) .. ' ' .. ARGV[4] .. ' ' .. (value or 0))
return 'written'`;

/** KEYS: doubts, and the lock if there is a fence. ARGV: token, sender, then keys. */
const WITHDRAW_SCRIPT = `
${refuseWithout(2)}
${DOUBT_FUNCTIONS}
for at = 3, #ARGV do
  local prior, atWork, senders, job, serial = parseDoubt(redis.call('HGET', KEYS[1], ARGV[at]))
  local others, isOwn = {}, false
  for other in string.gmatch(senders or '', '[^ ]+') do
    if other == ARGV[2] then isOwn = true else others[#others + 1] = other end
  end
  if prior == '0' and isOwn then
    redis.call('HDEL', KEYS[1], ARGV[at])
  elseif prior then
    if #others == 0 then atWork = '0' end
    redis.call('HSET', KEYS[1], ARGV[at], doubtRow(prior, atWork, table.concat(others, ' '), job, serial))
  end
end
return 'written'`;

/** KEYS: doubts, senders. ARGV: sender. Its requests have ended unless one of its keys may still be at work. */
const END_SCRIPT = `
${DOUBT_FUNCTIONS}
for _, doubt in ipairs(redis.call('HVALS', KEYS[1])) do
  local _, atWork, senders = parseDoubt(doubt)
  if atWork == '1' and string.find(' ' .. senders .. ' ', ' ' .. ARGV[1] .. ' ', 1, true) then return 'kept' end
end
return redis.call('HDEL', KEYS[2], ARGV[1])`;

/** The sending store of a target in Redis; `onBehind` is awaited if Redis has lost what this sender wrote. */
export function redisSendingStore(
  { client, ask, connections }: RedisConnection,
  keys: RedisKeys,
  target: LedgerTarget,
  fence: Fence | undefined,
  onBehind: (last: Serial) => Promise<void>,
): SendingStore {
  const tag = targetTag(target);
  let last = 0;
  let lineage = '';
  let requestsEndWithinMs = 0;
  let heartbeatAt = Number.NEGATIVE_INFINITY;
  const lock = fence === undefined ? [] : [keys.lock(fence.name)];
  const token = fence?.token ?? '';
  const run = async (script: string, written: readonly string[], ...args: readonly (string | number)[]) => {
    const answer = await ask(client.eval(script, written.length, ...written, ...args));
    if (answer === 'lost') throw lockLost(fence?.name ?? '');
    if (answer === 'behind') {
      await onBehind({ lineage, value: last });
      throw new StateError('Redis has lost its last writes: nothing more is sent.', {
        hint: 'It was restarted without its last writes, or an older copy was restored. Run the job again: it sends all records that may be affected.',
      });
    }
    return answer;
  };
  /**
   * After `requestsEndWithinMs` without a heartbeat others may delete the row; then its absence does not prove a
   * loss.
   */
  const lastKnown = (): number => {
    if (performance.now() - heartbeatAt >= requestsEndWithinMs) last = 0;
    return last;
  };
  return {
    connections,
    async begin(group) {
      const written = [keys.doubts(tag), keys.marks(tag), keys.serial(tag), keys.senders(tag), ...lock];
      const { job, sender } = group;
      const of = [token, job, sender, lastKnown(), randomUUID(), ...idsOf(group)];
      const begun = readBegun(await run(BEGIN_SCRIPT, written, ...of));
      last = begun.serial.value;
      lineage = begun.serial.lineage;
      return begun;
    },
    async heartbeat(sender, attemptMs) {
      const asked = performance.now();
      const known = lastKnown();
      requestsEndWithinMs = HEARTBEAT_VALID_MS + attemptMs;
      const written = [keys.senders(tag), ...lock];
      await run(HEARTBEAT_SCRIPT, written, token, sender, known, requestsEndWithinMs);
      heartbeatAt = asked;
    },
    async withdraw(sender, withdrawn) {
      await run(WITHDRAW_SCRIPT, [keys.doubts(tag), ...lock], token, sender, ...withdrawn);
    },
    async end(sender) {
      await run(END_SCRIPT, [keys.doubts(tag), keys.senders(tag)], sender);
    },
  };
}

function idsOf({ keys, deletes }: OperationGroup): string[] {
  const ids = new Map(
    deletes.map(({ position, id, looksUpId }) => [position, `${id}${looksUpId ? '~' : ''}`]),
  );
  return keys.flatMap((key, position) => [key, ids.get(position) ?? '-']);
}

function readBegun(answer: unknown): Awaited<ReturnType<SendingStore['begin']>> {
  const [lineage, value, ...waits]: unknown[] = Array.isArray(answer) ? answer : [];
  const waitMs = waits.map(Number);
  return {
    serial: { lineage: String(lineage), value: Number(value) },
    waitMs: waitMs.map((ms) => Math.max(0, ms)),
    overtaken: waitMs.map((ms) => ms < 0),
  };
}
