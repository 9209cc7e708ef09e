import { z } from 'zod';
import { LockedError, StateError } from '../../model/errors.ts';
import type { StateLoss } from '../../model/run.ts';
import { targetTag } from '../lock-names.ts';
import { LEASE_MS, presentBeat, remainingMs } from '../sender-time.ts';
import type { OperationGroup, SendingStore } from '../sending.ts';
import { type Fence, IN_DOUBT, type Ledger, type LedgerTarget } from '../state.ts';
import { lossOf, type Serial, type Witness, type WitnessFile } from '../witness.ts';
import type { RedisConnection } from './connect.ts';
import type { RedisKeys } from './keys.ts';
import { parseMark } from './mark-text.ts';
import { DOUBT_SCRIPT } from './memo-scripts.ts';

/** In a script: gives up where the lock of the fence is somebody else's; KEYS[at] is the lock, ARGV[1] its token. */
const refuseWithout = (at: number) =>
  `if KEYS[${at}] and redis.call('HGET', KEYS[${at}], 'token') ~= ARGV[1] then return 'lost' end`;

/** In a script: the present in milliseconds by the clock of Redis. */
const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/** A sender as Redis keeps it: `beat lasts value`, the serial of its last group; `*` instead where it may have sent anything. */
const REMAINING = `
local remaining, everything = {}, 0
local senders = redis.call('HGETALL', KEYS[4])
for at = 1, #senders, 2 do
  local beat, lasts, star = string.match(senders[at + 1], '^(%d+) (%d+)( ?%*?)')
  local ms = math.min(tonumber(lasts), math.max(0, beat + lasts - now))
  if ms == 0 then
    redis.call('HDEL', KEYS[4], senders[at])
  elseif star == ' *' then
    everything = math.max(everything, ms)
  else
    remaining[senders[at]] = ms
  end
end`;

/**
 * In a script: gives up where Redis does not know the last group that this sender was given a serial for. It has lost its
 * last moments, or an older copy was put back, while the sender was at work.
 */
const refuseBehind = (senders: string, sender: string, last: string) => `
local row = redis.call('HGET', ${senders}, ${sender})
local value = string.match(row or '', ' (%d+)$')
if tonumber(value or 0) < tonumber(${last}) then return 'behind' end`;

/**
 * Puts keys in doubt before they are sent. A doubt is kept as `prior at-work`, a digit each, then senders and job, a line
 * each; `*` is no job. Senders are several, with blanks between, where one has taken the key over from another whose
 * requests it still waits for.
 *
 * KEYS: doubts, marks, serial, senders, and the lock if there is a fence. ARGV: token, job, sender, its last serial, a lineage to
 * begin with, then key and id of the delete (`-`: none is deleted; `~` behind it: it is learned first) again and again. Gives lineage and value, then of
 * each key how many milliseconds to wait, or -1 when its delete is overtaken.
 */
const BEGIN_SCRIPT = `
${refuseWithout(5)}
local job, sender = ARGV[2], ARGV[3]
${refuseBehind('KEYS[4]', 'sender', 'ARGV[4]')}
${NOW}
${REMAINING}
redis.call('HSETNX', KEYS[3], 'lineage', ARGV[5])
local answer = { redis.call('HGET', KEYS[3], 'lineage'), redis.call('HINCRBY', KEYS[3], 'value', 1) }
local beat = string.match(row or '', '^%d+ %d+') or string.format('%.0f 0', now)
redis.call('HSET', KEYS[4], sender, beat .. ' ' .. answer[2])
for at = 6, #ARGV, 2 do
  local key, id = ARGV[at], ARGV[at + 1]
  local overtaken = false
  if id ~= '-' then
    local mark = redis.call('HGET', KEYS[2], key)
    local known, proof, owner = string.match(mark or '', '^(%d*)([^\\n]*)\\n[^\\n]*\\n(.*)$')
    local doubted = string.match(redis.call('HGET', KEYS[1], key) or '', '^[^\\n]*\\n[^\\n]*\\n(.*)$')
    if doubted and doubted ~= job then
      overtaken = true
    else
      local planned, learns = string.match(id, '^(%d+)(~?)$')
      overtaken = owner ~= job or known ~= planned or proof == '!' or (proof == '~' and learns == '')
    end
  end
  if overtaken then
    answer[#answer + 1] = -1
  else
    local wait = everything
    local prior, atWork, before, owner = string.match(redis.call('HGET', KEYS[1], key) or '', '^(%d)(%d)\\n([^\\n]*)\\n(.*)$')
    local atWorkBy = sender
    for other in string.gmatch(atWork == '1' and before or '', '[^ ]+') do
      if other ~= sender and remaining[other] then
        wait = math.max(wait, remaining[other])
        atWorkBy = atWorkBy .. ' ' .. other
      end
    end
    if prior and id == '-' then
      -- What is in doubt may be a delete: then this upsert creates the product anew, under another id.
      local known, others = string.match(redis.call('HGET', KEYS[2], key) or '', '^(%d+)(\\n.*)$')
      if known then redis.call('HSET', KEYS[2], key, known .. '~' .. others) end
    end
    local whose = (not owner or owner == job) and job or '*'
    redis.call('HSET', KEYS[1], key, (prior and '1' or '0') .. '1\\n' .. atWorkBy .. '\\n' .. whose)
    answer[#answer + 1] = wait
  end
end
return answer`;

/** KEYS: senders, and the lock if there is a fence. ARGV: token, sender, its last serial, how long its requests last. */
const BEAT_SCRIPT = `
${refuseWithout(2)}
${refuseBehind('KEYS[1]', 'ARGV[2]', 'ARGV[3]')}
${NOW}
redis.call('HSET', KEYS[1], ARGV[2], string.format('%.0f', now) .. ' ' .. ARGV[4] .. ' ' .. (value or 0))
return 'written'`;

/** KEYS: doubts, and the lock if there is a fence. ARGV: token, sender, then keys. */
const WITHDRAW_SCRIPT = `
${refuseWithout(2)}
for at = 3, #ARGV do
  local prior, atWork, senders, job = string.match(redis.call('HGET', KEYS[1], ARGV[at]) or '', '^(%d)(%d)\\n([^\\n]*)\\n(.*)$')
  local others, isOwn = {}, false
  for other in string.gmatch(senders or '', '[^ ]+') do
    if other == ARGV[2] then isOwn = true else others[#others + 1] = other end
  end
  if prior == '0' and isOwn then
    redis.call('HDEL', KEYS[1], ARGV[at])
  elseif prior then
    if #others == 0 then atWork = '0' end
    redis.call('HSET', KEYS[1], ARGV[at], prior .. atWork .. '\\n' .. table.concat(others, ' ') .. '\\n' .. job)
  end
end
return 'written'`;

/** KEYS: doubts, senders. ARGV: sender. Its requests are over unless one of its keys may be at work. */
const END_SCRIPT = `
for _, doubt in ipairs(redis.call('HVALS', KEYS[1])) do
  local atWork, senders = string.match(doubt, '^%d(%d)\\n([^\\n]*)')
  if atWork == '1' and string.find(' ' .. senders .. ' ', ' ' .. ARGV[1] .. ' ', 1, true) then return 'kept' end
end
return redis.call('HDEL', KEYS[2], ARGV[1])`;

/** What a state on Redis does for those that send; `onBehind` is awaited when Redis has lost what one of them wrote. */
export function redisSendingStore(
  { client, ask, connections }: RedisConnection,
  keys: RedisKeys,
  target: LedgerTarget,
  fence: Fence | undefined,
  newLineage: () => string,
  onBehind: (last: Serial) => Promise<void>,
): SendingStore {
  const tag = targetTag(target);
  let last = 0;
  let lineage = '';
  let lastsMs = 0;
  let heardAt = Number.NEGATIVE_INFINITY;
  const lock = fence === undefined ? [] : [keys.lock(fence.name)];
  const token = fence?.token ?? '';
  const run = async (script: string, written: readonly string[], ...args: readonly (string | number)[]) => {
    const answer = await ask(client.eval(script, written.length, ...written, ...args));
    if (answer === 'lost') {
      throw new LockedError(`The lock ${fence?.name} was lost: nothing more is sent.`, {
        hint: 'Another process may have taken over; run again to continue.',
      });
    }
    if (answer === 'behind') {
      await onBehind({ lineage, value: last });
      throw new StateError('Redis has lost what was written to it last: nothing more is sent.', {
        hint: 'It was restarted without its last moments, or an older copy was put back. Run the job again: it sends everything that may be affected.',
      });
    }
    return answer;
  };
  /** Once its requests must be over others remove a sender: then its row says nothing about what was lost. */
  const lastKnown = (): number => {
    if (performance.now() - heardAt >= lastsMs) last = 0;
    return last;
  };
  return {
    connections,
    async begin(group) {
      const written = [keys.doubts(tag), keys.marks(tag), keys.serial(tag), keys.senders(tag), ...lock];
      const { job, sender } = group;
      const of = [token, job, sender, lastKnown(), newLineage(), ...idsOf(group)];
      const begun = readBegun(await run(BEGIN_SCRIPT, written, ...of));
      last = begun.serial.value;
      lineage = begun.serial.lineage;
      return begun;
    },
    async beat(sender, attemptMs) {
      const asked = performance.now();
      const known = lastKnown();
      lastsMs = LEASE_MS + attemptMs;
      await run(BEAT_SCRIPT, [keys.senders(tag), ...lock], token, sender, known, lastsMs);
      heardAt = asked;
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
  const ids = new Map(deletes.map(({ position, id, learns }) => [position, `${id}${learns ? '~' : ''}`]));
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

const SCANNED = 1_000;

/** Leaves proven ids to be answered once more. KEYS: marks. ARGV: keys. */
const PROVE_AGAIN_SCRIPT = `
for at = 1, #ARGV do
  local id, rest = string.match(redis.call('HGET', KEYS[1], ARGV[at]) or '', '^(%d+)(\\n.*)$')
  if id then redis.call('HSET', KEYS[1], ARGV[at], id .. '~' .. rest) end
end`;

/**
 * Sets the serial that a state which has lost something goes on with, higher than any before; others may begin meanwhile.
 *
 * KEYS: serial. ARGV: a lineage to begin with, the least value, the newest run. Gives lineage and value.
 */
const GO_ON_SCRIPT = `
redis.call('HSETNX', KEYS[1], 'lineage', ARGV[1])
local value = math.max(tonumber(redis.call('HGET', KEYS[1], 'value') or 0) + 1, tonumber(ARGV[2]))
redis.call('HSET', KEYS[1], 'value', value, 'doubtedAt', ARGV[3])
return { redis.call('HGET', KEYS[1], 'lineage'), value }`;

/** The part of a ledger on Redis that is about doubt. */
export function redisDoubts(
  { client, ask }: RedisConnection,
  keys: RedisKeys,
  target: LedgerTarget,
  witness: WitnessFile | undefined,
  newLineage: () => string,
): Pick<Ledger, 'unconfirmed' | 'sharedIds' | 'proveIdsAgain' | 'hasDoubts' | 'lostSince' | 'reconcile'> {
  const tag = targetTag(target);
  const marks = keys.marks(tag);
  const scan = async function* (hash: string): AsyncGenerator<readonly (readonly [string, string])[]> {
    let cursor = '0';
    do {
      const [next, found] = await ask(client.hscan(hash, cursor, 'COUNT', SCANNED));
      cursor = next;
      yield found.flatMap((field, at) => (at % 2 === 0 ? [[field, found[at + 1] ?? ''] as const] : []));
    } while (cursor !== '0');
  };
  const doubtAll = async (): Promise<number> => {
    const seen = new Set<string>();
    for await (const page of scan(marks)) {
      const fresh = page.map(([key]) => key).filter((key) => !seen.has(key));
      for (const key of fresh) seen.add(key);
      if (fresh.length > 0) await ask(client.eval(DOUBT_SCRIPT, 1, marks, IN_DOUBT, ...fresh));
    }
    return seen.size;
  };
  const known = async (): Promise<Serial | null> => {
    const [lineage, value] = await ask(client.hmget(keys.serial(tag), 'lineage', 'value'));
    return typeof lineage === 'string' ? { lineage, value: Number(value ?? 0) } : null;
  };
  /** What the state cannot remember of those that sent: their last request, by the witness. */
  const noteSenders = async (witnesses: readonly Witness[]): Promise<void> => {
    const [seconds] = await ask(client.time());
    const redisMs = Number(seconds) * 1_000;
    for (const [place, { lastsMs, ...from }] of witnesses.entries()) {
      const agoMs = lastsMs - remainingMs(from, lastsMs, presentBeat());
      await ask(client.hset(keys.senders(tag), `witness ${place}`, `${redisMs - agoMs} ${lastsMs} *`));
    }
  };
  return {
    async *unconfirmed(job) {
      for await (const page of scan(keys.doubts(tag))) {
        const isReported = (doubt: string) => doubt.endsWith(`\n${job}`) || doubt.endsWith('\n*');
        const own = page.flatMap(([key, doubt]) => (isReported(doubt) ? [key] : []));
        if (own.length === 0) continue;
        const found = await ask(client.hmget(marks, ...own));
        yield own.filter((_, position) => found[position] === null);
      }
    },
    async sharedIds(ids) {
      // A scan may give a key twice.
      const keysOf = new Map<number, Set<string>>();
      for await (const page of scan(marks)) {
        for (const [key, mark] of page) {
          const id = parseMark(mark)?.id ?? null;
          if (id !== null && ids.has(id)) keysOf.set(id, (keysOf.get(id) ?? new Set()).add(key));
        }
      }
      return new Map([...keysOf].flatMap(([id, found]) => (found.size > 1 ? [[id, [...found]]] : [])));
    },
    async proveIdsAgain() {
      for await (const page of scan(marks)) {
        const proven = page.flatMap(([key, mark]) => (/^\d+\n/.test(mark) ? [key] : []));
        if (proven.length > 0) await ask(client.eval(PROVE_AGAIN_SCRIPT, 1, marks, ...proven));
      }
    },
    async hasDoubts() {
      return (await ask(client.hlen(keys.doubts(tag)))) > 0;
    },
    async lostSince({ sequence }) {
      const doubtedAt = await ask(client.hget(keys.serial(tag), 'doubtedAt'));
      return doubtedAt !== null && Number(doubtedAt) >= sequence;
    },
    async reconcile(): Promise<StateLoss | null> {
      if (witness === undefined) return null;
      const witnesses = await witness.all();
      const own = await known();
      const kind = lossOf(witnesses, own);
      if (kind === null) return null;
      await noteSenders(witnesses);
      const lost = await doubtAll();
      const doubtedAt = (await ask(client.get(keys.runSequence()))) ?? '0';
      const least = Math.max(0, ...witnesses.map((one) => one.serial.value)) + 1;
      const given = [newLineage(), least, doubtedAt];
      const [lineage, value] = z
        .tuple([z.string(), z.coerce.number()])
        .parse(await ask(client.eval(GO_ON_SCRIPT, 1, keys.serial(tag), ...given)));
      const serial: Serial = { lineage, value };
      await witness.replaceOthers(serial, witnesses);
      return { kind, keys: lost };
    },
  };
}
