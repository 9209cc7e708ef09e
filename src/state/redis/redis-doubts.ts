import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { StateLoss } from '../../model/run.ts';
import { lossOf, positionOf, type Serial, serialSince, type Witness } from '../serial.ts';
import { IN_DOUBT, type LedgerTarget, targetTag } from '../state.ts';
import { presentStoredMoment, remainingMs } from '../stored-moment.ts';
import type { WitnessFile } from '../witness-files.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';
import { CHUNK, hashPages, type LedgerDoubts, parseMark } from './redis-ledger.ts';

/*
 * How Redis stores doubts and senders; sqlite-doubts.ts stores the same in columns.
 * A doubt, by its key, in three lines: `prior` and `at_work`, one digit each, and the serial of the group that put it in doubt; the senders, separated by blanks; the
 * job, or `*` if several jobs have sent the key.
 * A sender, by its name, separated by blanks: the time of its last heartbeat by the clock of Redis; how long after
 * that its last request may run; and the serial of its last group, or `*` if it may have sent any key.
 */

/** Lua: functions that read and write the row of a doubt. `parseDoubt` returns nothing if there is no row. */
export const DOUBT_FUNCTIONS = `
local function parseDoubt(row)
  local prior, atWork, serial, senders, job = string.match(row or '', '^(%d)(%d) ?(%d*)\\n([^\\n]*)\\n(.*)$')
  return prior, atWork, senders, job, serial
end
local function doubtRow(prior, atWork, senders, job, serial)
  return prior .. atWork .. ' ' .. serial .. '\\n' .. senders .. '\\n' .. job
end`;

/**
 * Lua, with `now` and the hash of senders: the milliseconds until the last request of each sender has ended
 * (`remaining`), and of those that may have sent any key (`everything`). Removes senders whose requests have ended.
 */
export const remainingOf = (senders: string): string => `
local remaining, everything = {}, 0
local rows = redis.call('HGETALL', ${senders})
for at = 1, #rows, 2 do
  local heartbeat, within, star = string.match(rows[at + 1], '^(%d+) (%d+)( ?%*?)')
  local ms = math.min(tonumber(within), math.max(0, heartbeat + within - now))
  if ms == 0 then
    redis.call('HDEL', ${senders}, rows[at])
  elseif star == ' *' then
    everything = math.max(everything, ms)
  else
    remaining[rows[at]] = ms
  end
end`;

/** Changes proven ids to ids that were answered once. KEYS: marks. ARGV: keys. */
const PROVE_AGAIN_SCRIPT = `
for at = 1, #ARGV do
  local id, rest = string.match(redis.call('HGET', KEYS[1], ARGV[at]) or '', '^(%d+)([ \\n].*)$')
  if id then redis.call('HSET', KEYS[1], ARGV[at], id .. '~' .. rest) end
end`;

/**
 * Puts whole marks in doubt: IN_DOUBT replaces fingerprint and memo, and ids count as changed. KEYS: marks. ARGV:
 * IN_DOUBT, the serial of this loss, then keys.
 */
const DOUBT_SCRIPT = `
for at = 3, #ARGV do
  local id, job = string.match(redis.call('HGET', KEYS[1], ARGV[at]) or '', '^(%d*)[^\\n]*\\n[^\\n]*\\n(.*)$')
  if id then redis.call('HSET', KEYS[1], ARGV[at], id .. '! ' .. ARGV[2] .. '\\n' .. ARGV[1] .. '\\n' .. job) end
end
`;

/**
 * The places of keys with a higher serial than this. KEYS: marks, doubts, deletes. ARGV: serial, then keys.
 */
const WRITTEN_SCRIPT = `
${DOUBT_FUNCTIONS}
local written = {}
for at = 2, #ARGV do
  local key, newest = ARGV[at], 0
  local function see(serial)
    newest = math.max(newest, tonumber(serial or '') or 0)
  end
  see(string.match(redis.call('HGET', KEYS[1], key) or '', '^%S* (%d+)\\n'))
  see((select(5, parseDoubt(redis.call('HGET', KEYS[2], key)))))
  see(redis.call('ZSCORE', KEYS[3], key))
  if newest > tonumber(ARGV[1]) then written[#written + 1] = at - 2 end
end
return written`;

/** Marks get the next serial. KEYS: marks, serial. ARGV: keys. */
const CONFIRM_SCRIPT = `
local serial = redis.call('HINCRBY', KEYS[2], 'value', 1)
for at = 1, #ARGV do
  local id, rest = string.match(redis.call('HGET', KEYS[1], ARGV[at]) or '', '^([^ \\n]*)[^\\n]*(\\n.*)$')
  if id then redis.call('HSET', KEYS[1], ARGV[at], id .. ' ' .. serial .. rest) end
end`;

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

/** The doubts of a target in Redis. Without a witness nothing is compared. */
export function redisDoubts(
  connection: RedisConnection,
  keys: RedisKeys,
  target: LedgerTarget,
  witness: WitnessFile | undefined,
): LedgerDoubts {
  const { client, ask } = connection;
  const tag = targetTag(target);
  const marks = keys.marks(tag);
  const doubtAll = async (serial: number): Promise<number> => {
    const seen = new Set<string>();
    for await (const page of hashPages(connection, marks)) {
      const fresh = page.map(([key]) => key).filter((key) => !seen.has(key));
      for (const key of fresh) seen.add(key);
      if (fresh.length > 0) await ask(client.eval(DOUBT_SCRIPT, 1, marks, IN_DOUBT, serial, ...fresh));
    }
    return seen.size;
  };
  const known = async (): Promise<Serial | null> => {
    const [lineage, value] = await ask(client.hmget(keys.serial(tag), 'lineage', 'value'));
    return typeof lineage === 'string' ? { lineage, value: Number(value ?? 0) } : null;
  };
  /** Records how long requests of senders that the state has lost may run, according to the witnesses. */
  const noteSenders = async (witnesses: readonly Witness[]): Promise<void> => {
    const [seconds] = await ask(client.time());
    const redisMs = Number(seconds) * 1_000;
    for (const [place, { requestsEndWithinMs, ...from }] of witnesses.entries()) {
      const agoMs = requestsEndWithinMs - remainingMs(from, requestsEndWithinMs, presentStoredMoment());
      const row = senderOfAnyKey(redisMs - agoMs, requestsEndWithinMs);
      await ask(client.hset(keys.senders(tag), `witness ${place}`, row));
    }
  };
  return {
    async *unconfirmed(job) {
      for await (const page of hashPages(connection, keys.doubts(tag))) {
        const own = page.flatMap(([key, doubt]) => (isDoubtOf(job, doubt) ? [key] : []));
        if (own.length === 0) continue;
        const found = await ask(client.hmget(marks, ...own));
        yield own.filter((_, position) => found[position] === null);
      }
    },
    async sharedIds(ids) {
      // A scan may return a key twice.
      const keysOf = new Map<number, Set<string>>();
      for await (const page of hashPages(connection, marks)) {
        for (const [key, mark] of page) {
          const id = parseMark(mark)?.id ?? null;
          if (id !== null && ids.has(id)) keysOf.set(id, (keysOf.get(id) ?? new Set()).add(key));
        }
      }
      return new Map([...keysOf].flatMap(([id, found]) => (found.size > 1 ? [[id, [...found]]] : [])));
    },
    async proveIdsAgain() {
      for await (const page of hashPages(connection, marks)) {
        const proven = page.flatMap(([key, mark]) => (/^\d+[ \n]/.test(mark) ? [key] : []));
        if (proven.length > 0) await ask(client.eval(PROVE_AGAIN_SCRIPT, 1, marks, ...proven));
      }
    },
    async doubtedOnlyBy(job, wanted) {
      if (wanted.length === 0) return new Set();
      // Doubts before marks: if a doubt ends in between, its mark is new, and the plan notices that it is outdated.
      const doubts = await ask(client.hmget(keys.doubts(tag), ...wanted));
      const found = await ask(client.hmget(marks, ...wanted));
      return new Set(
        wanted.filter((_, at) => {
          const [, , by] = doubts[at]?.split('\n') ?? [];
          const mark = parseMark(found[at] ?? '');
          return by === job && mark?.fingerprint !== IN_DOUBT;
        }),
      );
    },
    async hasDoubts() {
      return (await ask(client.hlen(keys.doubts(tag)))) > 0;
    },
    position: async () => positionOf(await known()),
    async writtenSince(position, wanted) {
      const since = serialSince(position, positionOf(await known()));
      if (since === undefined) return new Set(wanted);
      const found = new Set<string>();
      for (let from = 0; from < wanted.length; from += CHUNK) {
        const chunk = wanted.slice(from, from + CHUNK);
        const places = await ask(
          client.eval(WRITTEN_SCRIPT, 3, marks, keys.doubts(tag), keys.deletes(tag), since, ...chunk),
        );
        for (const place of z.array(z.int()).parse(places)) found.add(chunk[place] ?? '');
      }
      return found;
    },
    async confirm(confirmed) {
      for (let from = 0; from < confirmed.length; from += CHUNK) {
        const chunk = confirmed.slice(from, from + CHUNK);
        await ask(client.eval(CONFIRM_SCRIPT, 2, marks, keys.serial(tag), ...chunk));
      }
    },
    async lostSince({ sequence }) {
      const doubtedAt = await ask(client.hget(keys.serial(tag), 'doubtedAt'));
      if (doubtedAt !== null && Number(doubtedAt) >= sequence) return true;
      // The state is read after its witnesses, so other processes can only have moved it ahead.
      const witnesses = await witness?.all();
      return witnesses !== undefined && lossOf(witnesses, await known()) !== null;
    },
    async reconcile(mode): Promise<StateLoss | null> {
      if (witness === undefined) return null;
      const witnesses = await witness.all();
      if (mode === 'witnessed-only' && witnesses.length === 0) return null;
      const own = await known();
      const kind = lossOf(witnesses, own);
      if (kind === null) return null;
      await noteSenders(witnesses);
      const lowest = Math.max(own?.value ?? 0, ...witnesses.map((one) => one.serial.value)) + 1;
      const lost = await doubtAll(lowest);
      const doubtedAt = (await ask(client.get(keys.runSequence()))) ?? '0';
      const given = [randomUUID(), lowest, doubtedAt];
      const [lineage, value] = z
        .tuple([z.string(), z.coerce.number()])
        .parse(await ask(client.eval(RAISE_SERIAL_SCRIPT, 1, keys.serial(tag), ...given)));
      const serial: Serial = { lineage, value };
      await witness.replaceOthers(serial, witnesses);
      return { kind, keys: lost };
    },
  };
}

/** Whether this job, alone or among others, sent the key in doubt. */
function isDoubtOf(job: string, row: string): boolean {
  return row.endsWith(`\n${job}`) || row.endsWith('\n*');
}

/** The row of a sender that may have sent any key. */
function senderOfAnyKey(heartbeatMs: number, requestsEndWithinMs: number): string {
  return `${heartbeatMs} ${requestsEndWithinMs} *`;
}
