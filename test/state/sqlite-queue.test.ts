import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { StateError, StateUnavailableError } from '../../src/model/storeferry-error.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import { sqliteError } from '../../src/state/sqlite/sqlite-error.ts';
import type { State, StateQueue } from '../../src/state/state.ts';

const NIGHTLY = { job: 'nightly', cron: '15 2 * * *', timezone: 'UTC', next: 100 };

const RUN = { does: 'run', job: 'nightly' } as const;

/** A state of its own; `again` opens it a second time, as another process does. */
async function openQueue() {
  const folder = await mkdtemp(join(tmpdir(), 'storeferry-queue-'));
  const states: State[] = [];
  const again = async (): Promise<StateQueue> => {
    const state = await openSqliteState(join(folder, '.storeferry'));
    states.push(state);
    if (state.queue === undefined) throw new Error('An embedded state has a queue');
    return state.queue;
  };
  return {
    queue: await again(),
    again,
    async [Symbol.asyncDispose]() {
      for (const state of states) await state[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

describe('the queue in the embedded state', () => {
  it('makes a tick and its entry in one step, once, with two workers', async () => {
    await using opened = await openQueue();
    const { queue } = opened;
    const other = await opened.again();
    await queue.setSchedule(NIGHTLY, null);
    const became = await Promise.all([queue.tick(NIGHTLY, 200, 'a'), other.tick(NIGHTLY, 200, 'b')]);
    expect(became.toSorted()).toEqual(['added', 'changed']);
    expect(await queue.schedules()).toEqual([{ ...NIGHTLY, next: 200 }]);
    expect(await other.openEntries()).toHaveLength(1);
  });

  it('drops a tick while an entry of its job has not ended, and does not tick for a schedule that was changed', async () => {
    await using opened = await openQueue();
    const { queue } = opened;
    await queue.setSchedule(NIGHTLY, null);
    expect(await queue.addEntry({ id: 'a', action: { ...RUN, resend: true } })).toBe('a');
    expect(await queue.takeEntry('a')).toBe(true);
    expect(await queue.tick(NIGHTLY, 200, 'b')).toBe('dropped');
    expect(await queue.tick(NIGHTLY, 300, 'c')).toBe('changed');
    await queue.endEntry('a', { run: 'a', error: null });
    const edited = { ...NIGHTLY, cron: '0 3 * * *', next: 200 };
    await queue.setSchedule(edited, null);
    expect(await queue.tick({ ...NIGHTLY, next: 200 }, 300, 'd')).toBe('changed');
    expect(await queue.tick(edited, 300, 'e')).toBe('added');
    expect((await queue.openEntries()).map(({ id }) => id)).toEqual(['e']);
  });

  it('has one entry of a job that has not ended, and returns its id for each further one', async () => {
    await using opened = await openQueue();
    const { queue } = opened;
    const add = (id: string, job = 'nightly') => queue.addEntry({ id, action: { does: 'run', job } });
    expect([await add('a'), await add('b'), await add('c', 'other')]).toEqual(['a', 'a', 'c']);
    expect((await queue.openEntries()).map(({ id }) => id)).toEqual(['a', 'c']);
    await queue.endEntry('a', { run: null, error: 'why' });
    expect(await queue.entry('a')).toMatchObject({ ended: true, run: null, error: 'why' });
    expect(await add('d')).toBe('d');
    await queue.setSchedule(NIGHTLY, 'e');
    expect((await queue.openEntries()).map(({ id }) => id)).toEqual(['c', 'd']);
  });

  it('gives an entry to one worker, and back to the next when that has died', async () => {
    await using opened = await openQueue();
    const { queue } = opened;
    const other = await opened.again();
    await queue.addEntry({ id: 'a', action: RUN });
    const taken = await Promise.all([queue.takeEntry('a'), other.takeEntry('a')]);
    expect(taken.toSorted()).toEqual([false, true]);
    await queue.beginEntry('a', 'run-1');
    expect(await other.removeEntry('a')).toBe(false);
    await other.releaseEntry();
    expect(await other.entry('a')).toMatchObject({ taken: false, run: 'run-1' });
    expect(await other.removeEntry('a')).toBe(true);
    expect(await queue.takeEntry('a')).toBe(false);
    expect(await queue.openEntries()).toEqual([]);
  });

  it('does not grow with the number of runs', async () => {
    await using opened = await openQueue();
    const { queue } = opened;
    for (let number = 0; number < 1_100; number++) {
      await queue.addEntry({ id: `run${number}`, action: RUN });
      await queue.endEntry(`run${number}`, { run: null, error: null });
    }
    const kept = await Promise.all([0, 50, 200, 1_099].map((number) => queue.entry(`run${number}`)));
    expect(kept.map((entry) => entry !== undefined)).toEqual([false, false, true, true]);
  });
});

it.each([
  [1, 'is damaged, or was changed', StateError],
  [3, 'cannot be written', StateError],
  [9, 'cannot be used', StateError],
  [15, 'stayed locked', StateUnavailableError],
  [18, 'cannot be used', StateError],
])('the error %i of SQLite says that the database %s', (errcode, words, kind) => {
  const told = sqliteError(Object.assign(new Error('why'), { errcode }), 'state.db');
  expect(told).toBeInstanceOf(kind);
  expect(String(told)).toContain(`state.db ${words}`);
});
