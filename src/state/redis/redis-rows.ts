import { randomUUID } from 'node:crypto';
import { lockLostError, StateError } from '../../model/storeferry-error.ts';
import {
  type Doubt,
  type FactsByKey,
  type KeyFacts,
  type KeyWrites,
  ledgerRules,
  PRESENT_SERIAL,
  type RunningRequests,
  type StoredMark,
} from '../ledger-rules.ts';
import type { SendingStore } from '../open-sending.ts';
import { HEARTBEAT_VALID_MS, type Serial } from '../serial.ts';
import { chunksOf, type Fence, IN_DOUBT, type LedgerTarget } from '../state.ts';
import type { RedisClient, RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';

/*
 * The rows of a target: marks, doubts and senders, each a text in a hash. Rules read them as facts (READ_SCRIPT); their writes
 * are applied by one script, and only while the fence is held and each row is still the one that was read.
 */

/** A safe integer, or nothing, the sign after it, and the serial. */
const ID = /^(\d{0,15})([~!]?)(?: (\d+))?$/;
/** The sign after an id that is not proven. */
const PROOF_SIGNS = { once: '~', changed: '!' } as const;
/** Stands for the present serial in a row; no row has it otherwise. */
const PRESENT = '\0';

function formatSerial(serial: number) {
  return serial === PRESENT_SERIAL ? PRESENT : String(serial);
}

/**
 * A mark as Redis stores it, in three lines: id (with a sign if it is not proven) and serial, fingerprint (with a blank and the memo, if
 * there is one) and job. COMPARE_SCRIPT finds memo and job together at the end.
 */
export function formatMark({ id, idProof, fingerprint, job, memo, serial }: StoredMark): string {
  const sign = idProof === undefined ? '' : PROOF_SIGNS[idProof];
  const print = memo === undefined || fingerprint === IN_DOUBT ? fingerprint : `${fingerprint} ${memo}`;
  return `${id ?? ''}${sign} ${formatSerial(serial)}\n${print}\n${job}`;
}

/** The mark in a text of `formatMark`; undefined, as for an unknown key, for any other text. */
export function parseMark(text: string): StoredMark | undefined {
  const first = text.indexOf('\n');
  const second = text.indexOf('\n', first + 1);
  const [whole, id = '', sign = '', serial = '0'] = ID.exec(text.slice(0, Math.max(0, first))) ?? [];
  if (first < 0 || second < 0 || whole === undefined) return undefined;
  const line = text.slice(first + 1, second);
  const blank = line.indexOf(' ');
  return {
    fingerprint: blank < 0 ? line : line.slice(0, blank),
    ...(blank < 0 ? {} : { memo: line.slice(blank + 1) }),
    id: id === '' ? null : Number(id),
    ...(sign === PROOF_SIGNS.once && { idProof: 'once' }),
    ...(sign === PROOF_SIGNS.changed && { idProof: 'changed' }),
    job: text.slice(second + 1),
    serial: Number(serial),
  };
}

/** Replaces the job in the row of a doubt if several jobs have sent the key. */
const SEVERAL_JOBS = '*';
const DOUBT = /^(\d)(\d) ?(\d*)(?: ([^\n]*))?\n([^\n]*)\n(.*)$/s;
/** A row that cannot be read shows only that something was sent. */
const UNREADABLE: Doubt = { isPrior: true, isAtWork: false, senders: [], job: null, serial: 0, fields: null };

/**
 * A doubt in three lines: `isPrior` and `isAtWork`, one digit each, the serial, and the fields if they are known, separated by commas; the
 * senders, separated by blanks; the job.
 */
function formatDoubt({ isPrior, isAtWork, senders, job, serial, fields }: Doubt) {
  const digits = `${Number(isPrior)}${Number(isAtWork)}`;
  const part = fields === null ? '' : ` ${fields.join()}`;
  return `${digits} ${formatSerial(serial)}${part}\n${senders.join(' ')}\n${job ?? SEVERAL_JOBS}`;
}

/** The doubt in a row. */
function parseDoubt(row: string) {
  const [whole, prior, atWork, serial, fields, senders = '', job = ''] = DOUBT.exec(row) ?? [];
  if (whole === undefined) return UNREADABLE;
  return {
    isPrior: prior === '1',
    isAtWork: atWork === '1',
    senders: senders.split(' '),
    job: job === SEVERAL_JOBS ? null : job,
    serial: Number(serial),
    fields: fields === undefined ? null : fields.split(',').filter((field) => field !== ''),
  };
}

/**
 * KEYS: marks, doubts, senders. ARGV: `1` for the marks of all keys, else only of those in doubt; keys of the ledger. Milliseconds by the
 * clock of Redis; the senders with their rows; position, doubt and mark of each key that has one of them.
 */
const READ_SCRIPT = `
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local found = {}
for first = 2, #ARGV, 1000 do
  local last = math.min(#ARGV, first + 999)
  local marks = ARGV[1] == '1' and redis.call('HMGET', KEYS[1], unpack(ARGV, first, last)) or {}
  for at, doubt in ipairs(redis.call('HMGET', KEYS[2], unpack(ARGV, first, last))) do
    local mark = marks[at]
    if doubt and ARGV[1] ~= '1' then mark = redis.call('HGET', KEYS[1], ARGV[first + at - 1]) end
    if doubt or mark then
      local next = #found
      found[next + 1], found[next + 2], found[next + 3] = first + at - 3, doubt or '', mark or ''
    end
  end
end
return { now, redis.call('HGETALL', KEYS[3]), found }`;

/**
 * Lua that applies the writes of a rule; `serial` is the present one then, and `nextArg` the first further argument. Returns 'lost' without
 * the fence, and 'changed' if a row is not the one that was read. KEYS: marks, doubts, senders, serial, lock. ARGV: token (empty without a fence),
 * a lineage for a target without one (empty if the serial stays), the number of groups of rows, then for each group its hash, the row as it
 * was read (\`*\`: any), the new row, the number of fields, and the fields. An empty row is none.
 */
export const APPLY_ROWS = `
if ARGV[1] ~= '' and redis.call('HGET', KEYS[5], 'token') ~= ARGV[1] then return 'lost' end
local serial, nextArg
for pass = 1, 2 do
  if pass == 2 then
    -- The first write is one that a full Redis refuses: after another one it would accept all.
    if ARGV[2] ~= '' then redis.call('HSETNX', KEYS[4], 'lineage', ARGV[2]) end
    serial = string.format('%.0f', redis.call('HINCRBY', KEYS[4], 'value', ARGV[2] ~= '' and 1 or 0))
  end
  nextArg = 4
  for _ = 1, tonumber(ARGV[3]) do
    local hash, before, first = KEYS[tonumber(ARGV[nextArg])], ARGV[nextArg + 1], nextArg + 4
    local after = ARGV[nextArg + 2]
    nextArg = first + tonumber(ARGV[nextArg + 3])
    if pass == 1 and before ~= '*' then
      for _, row in ipairs(redis.call('HMGET', hash, unpack(ARGV, first, nextArg - 1))) do
        if (row or '') ~= before then return 'changed' end
      end
    elseif pass == 2 and after == '' then
      redis.call('HDEL', hash, unpack(ARGV, first, nextArg - 1))
    elseif pass == 2 then
      local row, rows = string.gsub(after, '%z', serial, 1), {}
      for at = first, nextArg - 1 do
        rows[#rows + 1] = ARGV[at]
        rows[#rows + 1] = row
      end
      redis.call('HSET', hash, unpack(rows))
    end
  end
end`;

const WRITE_SCRIPT = `${APPLY_ROWS}
return { redis.call('HGET', KEYS[4], 'lineage') or '', serial }`;

/** The hashes of rows by their positions in KEYS. */
const MARKS = 1;
const DOUBTS = 2;
const SENDERS = 3;
const ANY_ROW = '*';
/** Each repetition means that another process has written; more mean that a row cannot be read as it is stored. */
const MAX_ATTEMPTS = 100;

/** The facts about a key, with the rows that they were read from; an empty row is none. */
interface RowFacts extends KeyFacts {
  readonly markRow: string;
  readonly doubtRow: string;
}

/** The rows that a rule has read. */
export interface ReadRows {
  readonly facts: ReadonlyMap<string, RowFacts>;
  /** Milliseconds by the clock of Redis. */
  readonly now: number;
  /** The rows of all senders. */
  readonly senders: ReadonlyMap<string, string>;
}

/** Fields of a hash that all have one row, and get another one. An empty row is none; ANY_ROW before it accepts each. */
type RowChange = ReturnType<typeof senderChange>;

/** The rows to change for the writes of a rule. A key without facts has no doubt, or ends one that it did not read. */
export function rowChanges({ doubts, marks }: KeyWrites, facts: ReadRows['facts']): RowChange[] {
  const changes: RowChange[] = [];
  for (const [doubt, keys] of doubts) {
    const after = doubt === null ? '' : formatDoubt(doubt);
    const unread = doubt === null ? ANY_ROW : '';
    for (const [before, fields] of Map.groupBy(keys, (key) => facts.get(key)?.doubtRow ?? unread)) {
      changes.push({ hash: DOUBTS, before, after, fields });
    }
  }
  for (const [key, change] of marks) {
    const { mark, markRow = '' } = facts.get(key) ?? {};
    const after = mark ? formatMark({ ...mark, ...change }) : markRow;
    changes.push({ hash: MARKS, before: markRow, after, fields: [key] });
  }
  return changes;
}

/** The pairs of a list of which two items belong together. */
export function pairsIn<Item>(list: readonly Item[]): (readonly [Item, Item])[] {
  return [...chunksOf(list, 2)].flatMap(([one, other]) =>
    one === undefined || other === undefined ? [] : [[one, other] as const],
  );
}

/** The rows of a target, written under the fence, if there is one. */
export function redisRows(client: RedisClient, keys: RedisKeys, target: LedgerTarget, fence?: Fence) {
  const { marks, doubts, senders, serial } = keys.target(target);
  const hashes = [marks, doubts, senders];
  const written = [...hashes, serial, fence === undefined ? serial : keys.lock(fence.name)];

  const read = async (wanted: readonly string[], needsMarks: boolean): Promise<ReadRows> => {
    const answer = await client.eval(READ_SCRIPT, 3, ...hashes, Number(needsMarks), ...wanted);
    const [now, senders, found]: unknown[] = Array.isArray(answer) ? answer : [];
    if (!Array.isArray(senders) || !Array.isArray(found)) {
      throw new StateError('Redis gave an unexpected answer to a request for the ledger.');
    }
    const facts = new Map<string, RowFacts>();
    for (let at = 0; at < found.length; at += 3) {
      const [doubtRow, markRow] = [String(found[at + 1]), String(found[at + 2])];
      const doubt = doubtRow === '' ? null : parseDoubt(doubtRow);
      facts.set(wanted[Number(found[at])] ?? '', {
        mark: parseMark(markRow) ?? null,
        doubt,
        markRow,
        doubtRow,
      });
    }
    return { facts, now: Number(now), senders: new Map(pairsIn(senders.map(String))) };
  };
  const repeat = async <Result>(attempt: () => Promise<Result | undefined>): Promise<Result> => {
    for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
      const result = await attempt();
      if (result !== undefined) return result;
    }
    throw new StateError('Redis holds a row of the ledger that cannot be read as it is stored.', {
      hint: 'It is damaged, or another program wrote it.',
    });
  };
  const write = async ({
    changes,
    raises = false,
    script = WRITE_SCRIPT,
    others = [],
    args = [],
  }: RowWrite) => {
    const groups = changes.filter(({ fields }) => fields.length > 0);
    const given: (string | number | Buffer)[] = [
      fence?.token ?? '',
      raises ? randomUUID() : '',
      groups.length,
    ];
    for (const { hash, before, after, fields } of groups)
      given.push(hash, before, after, fields.length, ...fields);
    const names = [...written, ...others];
    const answer = await client.eval(script, names.length, ...names, ...given, ...args);
    if (answer === 'lost') throw lockLostError(fence?.name ?? '');
    return answer === 'changed' ? undefined : answer;
  };
  return {
    /** The facts about keys of which there are any; without `needsMarks` marks only of keys in doubt. */
    read,
    /** Calls it until it gives a result: undefined says that a row had changed since it was read. */
    repeat,
    /** Writes rows that were read, with what the script does besides; undefined if one has changed. */
    write,
    /** Reads keys and writes what a rule makes of them. */
    update: (
      wanted: readonly string[],
      rule: (facts: FactsByKey) => KeyWrites,
      raises = false,
    ): Promise<unknown> =>
      repeat(async () => {
        const { facts } = await read(wanted, true);
        return await write({ changes: rowChanges(rule(facts), facts), raises });
      }),
  };
}

/** What `write` writes in one step. */
interface RowWrite {
  readonly changes: readonly RowChange[];
  /** Raises the serial of the target. */
  readonly raises?: boolean;
  /** Begins with APPLY_ROWS. Its answer is neither 'lost' nor 'changed'. */
  readonly script?: string;
  /** Further KEYS and ARGV of the script. */
  readonly others?: readonly string[];
  readonly args?: readonly (string | number | Buffer)[];
}

/*
 * The row of a sender, separated by blanks: the time of its last heartbeat by the clock of Redis; how long after that its last
 * request may run; and the serial of its last group, or `*` if it may have sent any key.
 */

/** The row of a sender that may have sent any key. */
export function anyKeySenderRow(heartbeatMs: number, requestsEndWithinMs: number): string {
  return `${heartbeatMs} ${requestsEndWithinMs} *`;
}

/** An empty row is none. */
function senderChange(sender: string, before: string, after: string) {
  return { hash: SENDERS, before, after, fields: [sender] };
}

/**
 * Returns 'lost' if another run has the lock of the fence, and 'behind' if Redis no longer has the last serial of this sender: it lost
 * recent writes or was restored. KEYS: senders, and the lock if there is a fence. ARGV: token, sender, its last serial, how
 * long after this heartbeat its last request may run.
 */
const HEARTBEAT_SCRIPT = `
if KEYS[2] and redis.call('HGET', KEYS[2], 'token') ~= ARGV[1] then return 'lost' end
local value = string.match(redis.call('HGET', KEYS[1], ARGV[2]) or '', ' (%d+)$') or '0'
if tonumber(value) < tonumber(ARGV[3]) then return 'behind' end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('HSET', KEYS[1], ARGV[2], now .. ' ' .. ARGV[4] .. ' ' .. value)
return 'written'`;

/** The sending store of a target in Redis; `onBehind` is awaited if Redis has lost what this sender wrote. */
export function redisSendingStore(
  { client, connections }: RedisConnection,
  keys: RedisKeys,
  target: LedgerTarget,
  fence: Fence | undefined,
  onBehind: (last: Serial) => Promise<void>,
): SendingStore {
  const rows = redisRows(client, keys, target, fence);
  const { doubts, senders } = keys.target(target);
  let last: Serial = { lineage: '', value: 0 };
  let requestsEndWithinMs = 0;
  let heartbeatAt = Number.NEGATIVE_INFINITY;
  const lock = fence === undefined ? [] : [keys.lock(fence.name)];
  const refuseBehind = async () => {
    await onBehind(last);
    throw new StateError('Redis has lost its last writes: nothing more is sent.', {
      hint: 'It was restarted without its last writes, or an older copy was restored. Run the job again: it sends all records that may be affected.',
    });
  };
  /**
   * After `requestsEndWithinMs` without a heartbeat others may delete the row; then its absence does not prove a
   * loss.
   */
  const lastKnown = () => {
    if (performance.now() - heartbeatAt >= requestsEndWithinMs) last = { ...last, value: 0 };
    return last.value;
  };
  return {
    connections,
    async begin(group) {
      const { sender } = group;
      const begun = await rows.repeat(async () => {
        const known = lastKnown();
        const { facts, now, senders } = await rows.read(
          group.keys,
          ledgerRules.keysWithMarks(group).size > 0,
        );
        const own = senders.get(sender) ?? '';
        if (Number(/ (\d+)$/.exec(own)?.[1] ?? 0) < known) {
          // Rejects first if the lock is lost too.
          await rows.write({ changes: [] });
          await refuseBehind();
        }
        const { running, ended } = runningRequests(senders, now);
        const { writes, ...begun } = ledgerRules.beginKeys(group, facts, running);
        const heartbeat = /^\d+ \d+/.exec(own)?.[0] ?? `${now} 0`;
        const written = await rows.write({
          changes: [
            ...ended
              .filter((other) => other !== sender)
              .map((other) => senderChange(other, senders.get(other) ?? '', '')),
            senderChange(sender, own, `${heartbeat} ${PRESENT}`),
            ...rowChanges(writes, facts),
          ],
          raises: true,
        });
        return written === undefined ? undefined : { ...begun, serial: parseSerial(written) };
      });
      last = begun.serial;
      return begun;
    },
    async heartbeat(sender, attemptMs) {
      const asked = performance.now();
      const known = lastKnown();
      requestsEndWithinMs = HEARTBEAT_VALID_MS + attemptMs;
      const args = [fence?.token ?? '', sender, known, requestsEndWithinMs];
      const answer = await client.eval(HEARTBEAT_SCRIPT, 1 + lock.length, senders, ...lock, ...args);
      if (answer === 'lost') throw lockLostError(fence?.name ?? '');
      if (answer === 'behind') await refuseBehind();
      heartbeatAt = asked;
    },
    async withdraw(sender, withdrawn) {
      await rows.update(withdrawn, (facts) => ledgerRules.withdrawKeys(sender, facts));
    },
    async end(sender) {
      const rows = await client.hvals(doubts);
      if (!rows.some((row) => ledgerRules.mayRun(sender, parseDoubt(row))))
        await client.hdel(senders, sender);
    },
  };
}

/** `ended`: senders whose requests have ended. */
function runningRequests(
  senders: ReadRows['senders'],
  now: number,
): { readonly running: RunningRequests; readonly ended: readonly string[] } {
  const bySender = new Map<string, number>();
  const ended: string[] = [];
  let ofAnyKey = 0;
  for (const [sender, row] of senders) {
    const [, heartbeat, within, isOfAnyKey] = /^(\d+) (\d+)( \*)?/.exec(row) ?? [];
    const ms = Math.min(Number(within), Math.max(0, Number(heartbeat) + Number(within) - now));
    if (!(ms > 0)) ended.push(sender);
    else if (isOfAnyKey === undefined) bySender.set(sender, ms);
    else ofAnyKey = Math.max(ofAnyKey, ms);
  }
  return { running: { bySender, ofAnyKey }, ended };
}

/** The answer of WRITE_SCRIPT. */
function parseSerial(answer: unknown): Serial {
  const [lineage, value]: unknown[] = Array.isArray(answer) ? answer : [];
  return { lineage: String(lineage), value: Number(value) };
}
