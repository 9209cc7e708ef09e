import { describe, expect, it } from 'vitest';
import type { Operation } from '../../src/model/operation.ts';
import { beginGroups } from '../../src/run/send-operations.ts';
import type { Begun, Sending } from '../../src/state/state.ts';
import { deletion, range, upsert } from '../state/samples.ts';
import { fakeClock } from '../support/fake-clock.ts';

interface Setup {
  readonly operations: readonly Operation[];
  readonly concurrency?: number;
  readonly answer?: (operation: Operation) => { readonly waitMs?: number; readonly overtaken?: boolean };
  /** Fails at this group, counted from 0. */
  readonly failAt?: number;
}

/** Groups begun in a state that answers as given, on a clock that stands still. */
function setup({ operations, concurrency = 4, answer = () => ({}), failAt }: Setup) {
  const clock = fakeClock();
  const begun: string[][] = [];
  const withdrawn: string[] = [];
  const left: string[] = [];
  const waits: [number, number][] = [];
  const controller = new AbortController();
  const sending: Pick<Sending, 'begin' | 'withdraw'> = {
    async begin(group): Promise<Begun> {
      if (begun.length === failAt) throw new Error('the disk is full');
      begun.push(group.map(({ key }) => key));
      const answers = group.map(answer);
      return {
        waitMs: answers.map(({ waitMs = 0 }) => waitMs),
        overtaken: answers.map(({ overtaken = false }) => overtaken),
      };
    },
    async withdraw(group) {
      withdrawn.push(...group.map(({ key }) => key));
    },
  };
  const groups = beginGroups({
    operations: (async function* () {
      yield operations;
    })(),
    sending,
    concurrency,
    leave: async (group) => void left.push(...group.map(({ key }) => key)),
    onWait: (count, ms) => waits.push([count, ms]),
    clock,
    signal: controller.signal,
  });
  return { clock, groups, begun, withdrawn, left, waits, controller };
}

const upserts = (count: number) => range(count).map((index) => upsert(index, `key-${index}`));

async function keysOf(groups: AsyncIterable<Operation>): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of groups) keys.push(key);
  return keys;
}

describe('groups of operations', () => {
  it('are handed on in order, each once, after they were begun', async () => {
    const { groups, begun, withdrawn } = setup({ operations: upserts(100) });
    const handed: string[] = [];
    for await (const { key } of groups) {
      expect(begun.flat()).toContain(key);
      handed.push(key);
    }
    expect(handed).toEqual(upserts(100).map(({ key }) => key));
    expect(begun.flat()).toEqual(handed);
    expect(withdrawn).toEqual([]);
  });

  it('begin as small as the concurrency and double while they are sent quickly, up to a shard', async () => {
    const { groups, begun } = setup({ operations: upserts(3_000) });
    await keysOf(groups);
    const sizes = begun.map(({ length }) => length);
    expect(sizes.slice(0, 4)).toEqual([4, 4, 8, 16]);
    expect(Math.max(...sizes)).toBe(500);
  });

  it('shrink while they are sent slowly, but never below the concurrency', async () => {
    const { clock, groups, begun } = setup({ operations: upserts(400) });
    let handed = 0;
    for await (const _ of groups) if (++handed > 60) await clock.advance(100);
    const sizes = begun.map(({ length }) => length).filter((size) => size > 0);
    expect(Math.max(...sizes)).toBeGreaterThan(16);
    expect(sizes.slice(-3, -1)).toEqual([4, 4]);
  });

  it('leave no more than the group under way and the next one in doubt when the consumer stops', async () => {
    const { groups, begun, withdrawn } = setup({ operations: upserts(1_000), concurrency: 16 });
    const handed: string[] = [];
    for await (const { key } of groups) {
      handed.push(key);
      if (handed.length === 20) break;
    }
    expect(withdrawn.toSorted()).toEqual(
      begun
        .flat()
        .filter((key) => !handed.includes(key))
        .toSorted(),
    );
    expect(begun.length).toBeLessThanOrEqual(3);
  });

  it('put off what may still be at work until all else is sent, and say for how long they wait', async () => {
    const waiting: Readonly<Record<string, number>> = { 'key-1': 5_000, 'key-3': 2_000 };
    const { clock, groups, waits } = setup({
      operations: upserts(10),
      answer: ({ key }) => ({ waitMs: waiting[key] ?? 0 }),
    });
    const handed: { key: string; at: number }[] = [];
    const all = (async () => {
      for await (const { key } of groups) handed.push({ key, at: clock.monotonic() });
    })();
    await clock.runUntil(all);
    expect(waits).toEqual([[2, 5_000]]);
    expect(handed.map(({ key }) => key)).toEqual([
      ...[0, 2, 4, 5, 6, 7, 8, 9].map((number) => `key-${number}`),
      'key-3',
      'key-1',
    ]);
    expect(handed.slice(-2).map(({ at }) => at)).toEqual([2_000, 5_000]);
  });

  it('wait before all else is sent when very many have to', async () => {
    const { clock, groups, waits } = setup({
      operations: upserts(2_500),
      concurrency: 500,
      answer: ({ key }) => ({ waitMs: key < 'key-3' ? 1_000 : 0 }),
    });
    const all = keysOf(groups);
    expect(await clock.runUntil(all)).toHaveLength(2_500);
    expect(waits).toHaveLength(1);
    expect(waits[0]?.[1]).toBe(1_000);
  });

  it('withdraw what they put off when the run is interrupted', async () => {
    const { clock, groups, withdrawn, controller } = setup({
      operations: upserts(3),
      answer: () => ({ waitMs: 40_000 }),
    });
    const all = keysOf(groups);
    const failed = expect(all).rejects.toThrow('interrupted');
    await clock.advance(1_000);
    controller.abort(new Error('interrupted'));
    await failed;
    expect(withdrawn).toEqual(['key-0', 'key-1', 'key-2']);
    expect(clock.pending()).toBe(0);
  });

  it('leave overtaken deletes out, and do not withdraw them either', async () => {
    const operations = [deletion(0, 'ours', 1), deletion(1, 'theirs', 2), deletion(2, 'last', 3)];
    const { groups, left, withdrawn } = setup({
      operations,
      answer: ({ key }) => ({ overtaken: key === 'theirs', waitMs: key === 'theirs' ? 9_000 : 0 }),
    });
    for await (const { key } of groups) {
      expect(key).toBe('ours');
      break;
    }
    expect(left).toEqual(['theirs']);
    expect(withdrawn).toEqual(['last']);
  });

  it('end with the failure of the state; what was begun before and not handed on is withdrawn', async () => {
    const { groups, withdrawn, begun } = setup({ operations: upserts(20), failAt: 2 });
    const handed: string[] = [];
    const all = (async () => {
      for await (const { key } of groups) handed.push(key);
    })();
    await expect(all).rejects.toThrow('the disk is full');
    expect(handed).toEqual(begun.flat());
    // Of the group that failed nobody knows whether it is in doubt.
    expect(withdrawn.every((key) => !handed.includes(key))).toBe(true);
  });
});
