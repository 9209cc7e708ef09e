import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { groupCommit } from '../../src/apply/slots.ts';
import type { Clock } from '../../src/model/clock.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

function setup(write: (group: readonly number[]) => Promise<void>, clock?: Pick<Clock, 'after'>) {
  const groups: (readonly number[])[] = [];
  const written: number[] = [];
  const failures: unknown[] = [];
  const commit = groupCommit<number>({
    enough: 8,
    ...(clock === undefined ? {} : { clock }),
    write: async (group) => {
      groups.push(group);
      await write(group);
    },
    onWritten: (group) => written.push(...group),
    onFailed: (error) => failures.push(error),
  });
  return { commit, groups, written, failures };
}

describe('a group commit', () => {
  it('writes together what arrives together, and then what came meanwhile', async () => {
    const { commit, groups, written } = setup(() => sleep(20));
    for (const entry of [1, 2, 3]) commit.add(entry);
    await sleep(5);
    for (const entry of [4, 5]) commit.add(entry);
    await commit.settled();
    expect(groups).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
    expect(written).toEqual([1, 2, 3, 4, 5]);
  });

  it('writes one group at a time', async () => {
    let open = 0;
    let most = 0;
    const { commit, written } = setup(async () => {
      most = Math.max(most, ++open);
      await sleep(1);
      open--;
    });
    for (let entry = 0; entry < 50; entry++) {
      commit.add(entry);
      if (entry % 7 === 0) await sleep(1);
    }
    await commit.settled();
    expect(most).toBe(1);
    expect(written).toHaveLength(50);
  });

  it('waits a moment for more after a group of many, but not when it has enough', async () => {
    let end = () => {};
    const after = (_: number, callback: () => void) => {
      end = callback;
      return () => {};
    };
    const { commit, groups } = setup(async () => {}, { after });
    const many = [1, 2, 3, 4];
    for (const entry of many) commit.add(entry);
    await commit.settled();
    for (const entry of [5, 6, 7, 8]) {
      commit.add(entry);
      for (let turns = 0; turns < 3; turns++) await turn();
    }
    expect(groups).toEqual([many]);
    end();
    await commit.settled();
    expect(groups).toEqual([many, [5, 6, 7, 8]]);
    for (let entry = 11; entry <= 18; entry++) {
      commit.add(entry);
      await turn();
    }
    await commit.settled();
    commit.add(21);
    for (let turns = 0; turns < 3; turns++) await turn();
    end();
    await commit.settled();
    commit.add(31);
    await commit.settled();
    expect(groups.slice(2)).toEqual([[11, 12, 13, 14, 15, 16, 17, 18], [21], [31]]);
  });

  it('writes nothing after a failure, and reports it once', async () => {
    const { commit, groups, written, failures } = setup(async () => {
      throw new Error('disk full');
    });
    commit.add(1);
    await commit.settled();
    commit.add(2);
    await commit.settled();
    expect({ groups, written, failures }).toEqual({
      groups: [[1]],
      written: [],
      failures: [new Error('disk full')],
    });
  });

  it('is settled when it has nothing to do', async () => {
    const { commit, groups } = setup(async () => {});
    await commit.settled();
    expect(groups).toEqual([]);
  });
});
