import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextTick } from '../../src/config/job/job.ts';
import type { JobSchedules } from '../../src/config/workspace.ts';
import { type KeptSchedule, planScheduleChanges } from '../../src/queue/keep-schedules.ts';

const NOW = 1_000_000;
const NONE: JobSchedules = { scheduled: [], unscheduled: [], broken: [] };
const nightly = { job: 'nightly', cron: '15 2 * * *', timezone: 'UTC' };
const kept: KeptSchedule = { ...nightly, next: NOW + 5, stalled: false };

describe('the changes of schedules', () => {
  it('leave alone what is the same, overdue or not', () => {
    const files = { ...NONE, scheduled: [nightly] };
    expect(planScheduleChanges(files, [kept], NOW)).toEqual([]);
    expect(planScheduleChanges(files, [{ ...kept, next: NOW - 5 }], NOW)).toEqual([]);
  });

  it('set what is new or changed, and say whether a due tick is lost by it', () => {
    const files = { ...NONE, scheduled: [nightly] };
    expect(planScheduleChanges(files, [], NOW)).toEqual([{ kind: 'set', schedule: nightly, overdue: false }]);
    for (const [change, overdue] of [
      [{ cron: '0 3 * * *' }, false],
      [{ timezone: 'Asia/Tokyo' }, false],
      [{ cron: '0 3 * * *', next: NOW - 1 }, true],
      [{ stalled: true, next: NOW - 60_000 }, true],
    ] as const) {
      const changes = planScheduleChanges(files, [{ ...kept, ...change }], NOW);
      expect(changes).toEqual([{ kind: 'set', schedule: nightly, overdue }]);
    }
  });

  it('set again what a clock that was ahead has put off beyond the tick that is due', () => {
    const files = { ...NONE, scheduled: [nightly] };
    const [due, dayMs] = [nextTick(nightly, NOW), 86_400_000];
    const changes = (next: number, now = NOW) => planScheduleChanges(files, [{ ...kept, next }], now);
    expect(changes(due)).toEqual([]);
    const set = { kind: 'set', schedule: nightly, overdue: false };
    expect(changes(due + dayMs)).toEqual([{ ...set, postponedTo: due + dayMs }]);
    expect(changes(due + 40 * dayMs)).toEqual([{ ...set, postponedTo: due + 40 * dayMs }]);
    // Another worker, whose clock is a little ahead, has seen the tick come.
    expect(changes(due + dayMs, due - 60_000)).toEqual([]);
    expect(changes(due + 2 * dayMs, due - 60_000)).toHaveLength(1);
  });

  it('remove what its file no longer schedules, but nothing that is broken', () => {
    expect(planScheduleChanges({ ...NONE, unscheduled: ['nightly'] }, [kept], NOW)).toEqual([
      { kind: 'remove', job: 'nightly', because: 'unscheduled' },
    ]);
    expect(planScheduleChanges(NONE, [kept], NOW)).toEqual([
      { kind: 'remove', job: 'nightly', because: 'gone' },
    ]);
    expect(planScheduleChanges({ ...NONE, broken: [{ job: 'nightly', problem: '' }] }, [kept], NOW)).toEqual(
      [],
    );
  });

  it('need nothing more once they are made', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd');
    const schedule = fc.record({
      job: name,
      cron: fc.constantFrom('1 1 * * *', '2 2 * * *'),
      timezone: fc.constant('UTC'),
    });
    const set = <T extends { job: string }>(entry: fc.Arbitrary<T>) =>
      fc.uniqueArray(entry, { selector: ({ job }) => job });
    fc.assert(
      fc.property(set(schedule), set(schedule), (wanted, before) => {
        const files = { ...NONE, scheduled: wanted };
        const queue = new Map<string, KeptSchedule>(
          before.map((entry) => [entry.job, { ...entry, next: NOW + 1, stalled: false }]),
        );
        for (const change of planScheduleChanges(files, [...queue.values()], NOW)) {
          if (change.kind === 'remove') queue.delete(change.job);
          else queue.set(change.schedule.job, { ...change.schedule, next: NOW + 1, stalled: false });
        }
        expect(planScheduleChanges(files, [...queue.values()], NOW)).toEqual([]);
        expect([...queue.keys()].sort()).toEqual(wanted.map(({ job }) => job).sort());
      }),
    );
  });
});
