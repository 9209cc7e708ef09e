import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { StateLoss } from '../../model/run.ts';
import { lockLostError, StateError } from '../../model/storeferry-error.ts';
import {
  type FactsByKey,
  type KeyWrites,
  ledgerRules,
  type RunningRequests,
  UNKNOWN,
} from '../ledger-rules.ts';
import type { SendingStore } from '../open-sending.ts';
import {
  detectLoss,
  formatPosition,
  HEARTBEAT_VALID_MS,
  type Serial,
  serialSince,
  type Witness,
} from '../serial.ts';
import { chunksOf, type Fence, type LedgerTarget, targetTag } from '../state.ts';
import { presentStoredMoment, remainingMs } from '../stored-moment.ts';
import type { WitnessFile } from '../witness-files.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';
import { CHUNK, hashPages, type LedgerDoubts } from './redis-ledger.ts';
import { parseDoubt, parseMark, type ReadRows, redisRows, rowChanges, senderChange } from './redis-rows.ts';

/*
 * The row of a sender, separated by blanks: the time of its last heartbeat by the clock of Redis; how long after that its last
 * request may run; and the serial of its last group, or `*` if it may have sent any key.
 */

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
  const rows = redisRows(connection, keys, target);
  const updateAll = async (rule: (facts: FactsByKey) => KeyWrites): Promise<number> => {
    const seen = new Set<string>();
    for await (const page of hashPages(connection, marks)) {
      const fresh = page.map(([key]) => key).filter((key) => !seen.has(key));
      for (const key of fresh) seen.add(key);
      for (const chunk of chunksOf(fresh, CHUNK)) await rows.update(chunk, rule);
    }
    return seen.size;
  };
  const readFacts = async (wanted: readonly string[]): Promise<FactsByKey> => {
    const read = await Promise.all(chunksOf(wanted, CHUNK).map((chunk) => rows.read(chunk, true)));
    return new Map(read.flatMap(({ facts }) => [...facts]));
  };
  const readSerial = async (): Promise<Serial | null> => {
    const [lineage, value] = await ask(client.hmget(keys.serial(tag), 'lineage', 'value'));
    return typeof lineage === 'string' ? { lineage, value: Number(value ?? 0) } : null;
  };
  /** Records how long requests of senders that the state has lost may run, according to the witnesses. */
  const storeLostSenders = async (witnesses: readonly Witness[]): Promise<void> => {
    const [seconds] = await ask(client.time());
    const redisMs = Number(seconds) * 1_000;
    for (const [place, { requestsEndWithinMs, ...from }] of witnesses.entries()) {
      const agoMs = requestsEndWithinMs - remainingMs(from, requestsEndWithinMs, presentStoredMoment());
      const row = anyKeySenderRow(redisMs - agoMs, requestsEndWithinMs);
      await ask(client.hset(keys.senders(tag), `witness ${place}`, row));
    }
  };
  return {
    async *unconfirmed(job) {
      for await (const page of hashPages(connection, keys.doubts(tag))) {
        const facts = await readFacts(page.map(([key]) => key));
        yield [...facts].flatMap(([key, fact]) => (ledgerRules.isUnconfirmed(job, fact) ? [key] : []));
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
      await updateAll(ledgerRules.proveIdsAgain);
    },
    async doubtedOnlyBy(job, wanted) {
      const facts = await readFacts(wanted);
      return new Set(wanted.filter((key) => ledgerRules.isDoubtedOnlyBy(job, facts.get(key) ?? UNKNOWN)));
    },
    async doubtedFields(wanted) {
      const facts = await readFacts(wanted);
      return wanted.map((key) => ledgerRules.doubtedFields(facts.get(key) ?? UNKNOWN));
    },
    async hasDoubts() {
      return (await ask(client.hlen(keys.doubts(tag)))) > 0;
    },
    position: async () => formatPosition(await readSerial()),
    async writtenSince(position, wanted) {
      const since = serialSince(position, formatPosition(await readSerial()));
      if (since === undefined) return new Set(wanted);
      const written = await Promise.all(
        chunksOf(wanted, CHUNK).map(async (chunk) => {
          // Marks before deletes: a key that is deleted in between is found in one of them.
          const facts = await readFacts(chunk);
          const deletes = await ask(client.zmscore(keys.deletes(tag), ...chunk));
          return chunk.filter((key, position) =>
            ledgerRules.wasWrittenSince(since, facts.get(key) ?? UNKNOWN, Number(deletes[position] ?? 0)),
          );
        }),
      );
      return new Set(written.flat());
    },
    async confirm(confirmed) {
      for (const chunk of chunksOf(confirmed, CHUNK)) await rows.update(chunk, ledgerRules.confirmKeys, true);
    },
    async lostSince({ sequence }) {
      const doubtedAt = await ask(client.hget(keys.serial(tag), 'doubtedAt'));
      if (doubtedAt !== null && Number(doubtedAt) >= sequence) return true;
      // The state is read after its witnesses, so other processes can only have moved it ahead.
      const witnesses = await witness?.all();
      return witnesses !== undefined && detectLoss(witnesses, await readSerial()) !== null;
    },
    async reconcile(mode): Promise<StateLoss | null> {
      if (witness === undefined) return null;
      const witnesses = await witness.all();
      if (mode === 'witnessed-only' && witnesses.length === 0) return null;
      const own = await readSerial();
      const kind = detectLoss(witnesses, own);
      if (kind === null) return null;
      await storeLostSenders(witnesses);
      const lowest = Math.max(own?.value ?? 0, ...witnesses.map((one) => one.serial.value)) + 1;
      const lost = await updateAll((facts) => ledgerRules.loseMarks(facts, lowest));
      const doubtedAt = (await ask(client.get(keys.runSequence()))) ?? '0';
      const args = [randomUUID(), lowest, doubtedAt];
      const [lineage, value] = z
        .tuple([z.string(), z.coerce.number()])
        .parse(await ask(client.eval(RAISE_SERIAL_SCRIPT, 1, keys.serial(tag), ...args)));
      const serial: Serial = { lineage, value };
      await witness.replaceOthers(serial, witnesses);
      return { kind, keys: lost };
    },
  };
}

/** The row of a sender that may have sent any key. */
function anyKeySenderRow(heartbeatMs: number, requestsEndWithinMs: number): string {
  return `${heartbeatMs} ${requestsEndWithinMs} *`;
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
  connection: RedisConnection,
  keys: RedisKeys,
  target: LedgerTarget,
  fence: Fence | undefined,
  onBehind: (last: Serial) => Promise<void>,
): SendingStore {
  const rows = redisRows(connection, keys, target, fence);
  const { client, ask, connections } = connection;
  const doubts = keys.doubts(targetTag(target));
  const senders = keys.senders(targetTag(target));
  let last = 0;
  let lineage = '';
  let requestsEndWithinMs = 0;
  let heartbeatAt = Number.NEGATIVE_INFINITY;
  const lock = fence === undefined ? [] : [keys.lock(fence.name)];
  const refuseBehind = async (): Promise<never> => {
    await onBehind({ lineage, value: last });
    throw new StateError('Redis has lost its last writes: nothing more is sent.', {
      hint: 'It was restarted without its last writes, or an older copy was restored. Run the job again: it sends all records that may be affected.',
    });
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
      const { sender } = group;
      const begun = await rows.repeat(async () => {
        const known = lastKnown();
        const { facts, now, senders } = await rows.read(group.keys, group.deletes.length > 0);
        const own = senders.get(sender) ?? '';
        if (Number(/ (\d+)$/.exec(own)?.[1] ?? 0) < known) {
          // Rejects first if the lock is lost too.
          await rows.write({ changes: [] });
          await refuseBehind();
        }
        const { running, ended } = runningRequests(senders, now);
        const { writes, ...begun } = ledgerRules.beginKeys(group, facts, running);
        const heartbeat = /^\d+ \d+/.exec(own)?.[0] ?? `${now} 0`;
        const changes = [
          ...ended
            .filter((other) => other !== sender)
            .map((other) => senderChange(other, senders.get(other) ?? '')),
          senderChange(sender, own, heartbeat),
          ...rowChanges(writes, facts),
        ];
        const serial = await rows.write({ changes, raises: true });
        return serial === undefined ? undefined : { ...begun, serial: parseSerial(serial) };
      });
      last = begun.serial.value;
      lineage = begun.serial.lineage;
      return begun;
    },
    async heartbeat(sender, attemptMs) {
      const asked = performance.now();
      const known = lastKnown();
      requestsEndWithinMs = HEARTBEAT_VALID_MS + attemptMs;
      const args = [fence?.token ?? '', sender, known, requestsEndWithinMs];
      const answer = await ask(client.eval(HEARTBEAT_SCRIPT, 1 + lock.length, senders, ...lock, ...args));
      if (answer === 'lost') throw lockLostError(fence?.name ?? '');
      if (answer === 'behind') await refuseBehind();
      heartbeatAt = asked;
    },
    async withdraw(sender, withdrawn) {
      await rows.update(withdrawn, (facts) => ledgerRules.withdrawKeys(sender, facts));
    },
    async end(sender) {
      const rows = await ask(client.hvals(doubts));
      if (!rows.some((row) => ledgerRules.mayRun(sender, parseDoubt(row))))
        await ask(client.hdel(senders, sender));
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
