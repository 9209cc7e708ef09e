import { countUnder } from '../../model/json-object.ts';
import type { Outcome } from '../../model/operation.ts';
import type { Run } from '../../model/run.ts';
import { StateError } from '../../model/storeferry-error.ts';
import { FORGOTTEN_MESSAGE, type Runs, targetTag } from '../state.ts';
import {
  storedChangedId,
  storedReason,
  storedRefusal,
  storedRun,
  UnreadableRecord,
} from '../stored-record.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RedisKeys } from './redis-keys.ts';
import { OUTCOME_KINDS, redisRecord } from './redis-record.ts';

const PAGE_SIZE = 500;
/** Limits the memory: other processes remove runs without notifying this one. */
const MAX_TAGS = 1_000;
const UPDATE_SCRIPT = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV))
return 1`;

/**
 * Runs in Redis. A removed run has no outcomes. Others may write to the same Redis, so each record is checked when it
 * is read. Lists leave out a record that cannot be read, and call `onUnreadable` with the problem.
 */
export function redisRuns(
  connection: RedisConnection,
  keys: RedisKeys,
  onUnreadable: (problem: StateError) => void,
): Runs {
  const { client, ask } = connection;
  const tags = new Map<string, string>();

  const get = async (id: string) => parseRun(id, await ask(client.hgetall(keys.run(id))));
  const leaveOut = (error: unknown): [] => {
    if (!(error instanceof StateError)) throw error;
    onUnreadable(error);
    return [];
  };
  const readable = <Value>(read: () => Value): Value[] => {
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
  /** Where the outcomes of the run are stored; it never changes. */
  const tagOf = async (id: string) => {
    const known = tags.get(id);
    if (known !== undefined) return known;
    const run = await get(id);
    if (run === undefined) return undefined;
    const tag = targetTag(run);
    if (tags.size >= MAX_TAGS) tags.clear();
    tags.set(id, tag);
    return tag;
  };

  return {
    async create(run) {
      const sequence = await ask(client.incr(keys.runSequence()));
      await ask(client.hset(keys.run(run.id), fieldsOf({ ...run, sequence })));
      await ask(client.zadd(keys.runs(), sequence, run.id));
      await ask(client.zadd(keys.runs(run.job), sequence, run.id));
    },
    async update(id, changes) {
      // Read before the end is written: a run with a later sequence begins after everything that this one has sent.
      const ends =
        changes.finishedAt == null ? {} : { endSequence: Number(await ask(client.get(keys.runSequence()))) };
      const fields = Object.entries(fieldsOf({ ...changes, ...ends })).flat();
      const known =
        fields.length === 0 || (await ask(client.eval(UPDATE_SCRIPT, 1, keys.run(id), ...fields))) === 1;
      const run = known ? await get(id) : undefined;
      if (run === undefined) {
        throw new StateError(`There is no run ${id}.`, { hint: '`storeferry runs` lists them.' });
      }
      return run;
    },
    get,
    async list({ job, kinds, statuses, limit = Number.POSITIVE_INFINITY }) {
      const found: Run[] = [];
      const ids = limit > 0 ? await ask(client.zrange(keys.runs(job), 0, '-1', 'REV')) : [];
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
      const tag = targetTag(run);
      await ask(
        client.unlink(
          keys.outcomes(tag, id),
          keys.tally(tag, id),
          keys.refusals(tag, id),
          keys.unsent(tag, id),
          keys.changedIds(tag, id),
        ),
      );
      await ask(client.zrem(keys.runs(), id));
      await ask(client.zrem(keys.runs(run.job), id));
      await ask(client.unlink(keys.run(id)));
      tags.delete(id);
    },

    record: redisRecord(connection, keys),
    async outcomes(id, shard) {
      const tag = await tagOf(id);
      if (tag === undefined) return new Map();
      const codes = await ask(client.hget(keys.outcomes(tag, id), String(shard)));
      return parseOutcomes(codes ?? '');
    },
    async tally(id) {
      const tag = await tagOf(id);
      const sums = tag === undefined ? {} : await ask(client.hgetall(keys.tally(tag, id)));
      const sum = (field: string) => {
        const found = Number(sums[field] ?? 0);
        return Number.isSafeInteger(found) ? found : 0;
      };
      return {
        applied: sum('applied'),
        appliedRows: sum('appliedRows'),
        rejected: sum('rejected'),
        rejectedRows: sum('rejectedRows'),
        deleted: sum('deleted'),
        left: sum('left'),
        requests: sum('requests'),
      };
    },
    async forgetRefusals({ id }, key) {
      const tag = await tagOf(id);
      if (tag === undefined) return;
      const refusals = keys.refusals(tag, id);
      const found = await ask(client.zrangebyscore(refusals, '-inf', '+inf', 'WITHSCORES'));
      for (const [at, text] of found.entries()) {
        const score = found[at + 1];
        if (at % 2 === 1 || score === undefined) continue;
        const refusal = storedRefusal.parse(text, `of run ${id}`);
        if (refusal.key !== key || refusal.reason.message === FORGOTTEN_MESSAGE) continue;
        const forgotten = { ...refusal, reason: { ...refusal.reason, message: FORGOTTEN_MESSAGE } };
        await ask(client.zadd(refusals, score, JSON.stringify(forgotten)));
        await ask(client.zrem(refusals, text));
      }
    },
    async *refusals(id) {
      const tag = await tagOf(id);
      if (tag === undefined) return;
      for (let from = '-inf'; ; ) {
        const page = await ask(
          client.zrangebyscore(keys.refusals(tag, id), from, '+inf', 'WITHSCORES', 'LIMIT', 0, PAGE_SIZE),
        );
        const score = page.at(-1);
        if (score === undefined) return;
        const texts = page.filter((_, position) => position % 2 === 0);
        yield texts.flatMap((text) => readable(() => storedRefusal.parse(text, `of run ${id}`)));
        from = `(${score}`;
      }
    },
    async unsentReasons(id) {
      const tag = await tagOf(id);
      const texts = tag === undefined ? [] : await ask(client.hvals(keys.unsent(tag, id)));
      const counts = new Map<string, number>();
      for (const text of texts) countUnder(counts, text);
      const parsed = [...counts].flatMap(([text, count]) =>
        readable(() => ({ reason: storedReason.parse(text, `of run ${id}`), count, text })),
      );
      return parsed
        .sort((one, other) => other.count - one.count || (one.text < other.text ? -1 : 1))
        .map(({ reason, count }) => ({ reason, count }));
    },
    async changedIds(id, limit) {
      const tag = await tagOf(id);
      if (tag === undefined || limit <= 0) return [];
      const texts = await ask(client.zrange(keys.changedIds(tag, id), 0, String(limit - 1)));
      return texts.flatMap((text) => readable(() => storedChangedId.parse(text, `of run ${id}`)));
    },
    async changedIdCount(id) {
      const tag = await tagOf(id);
      return tag === undefined ? 0 : await ask(client.zcard(keys.changedIds(tag, id)));
    },
  };
}

/** Field by field, so that Redis merges changes; each as JSON, so that null and numbers can be read back. */
function fieldsOf(run: Partial<Run>): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [field, value] of Object.entries(run)) {
    if (value !== undefined) fields[field] = JSON.stringify(value);
  }
  return fields;
}

/** Undefined if there is none. StateError if it cannot be read, or has the id of another run. */
function parseRun(id: string, fields: Readonly<Record<string, string>>): Run | undefined {
  if (fields['id'] === undefined) return undefined;
  const entries = Object.entries(fields).map(([field, json]) => `${JSON.stringify(field)}:${json}`);
  const run = storedRun.parse(`{${entries.join(',')}}`, id);
  if (run.id === id) return run;
  throw new UnreadableRecord('run', id, 'it says that it is another one');
}

function parseOutcomes(codes: string): Map<number, Outcome['kind']> {
  const kinds: Readonly<Record<string, Outcome['kind']>> = OUTCOME_KINDS;
  const outcomes = new Map<number, Outcome['kind']>();
  for (const [operation, code] of [...codes].entries()) {
    const kind = kinds[code];
    if (kind !== undefined) outcomes.set(operation, kind);
  }
  return outcomes;
}
