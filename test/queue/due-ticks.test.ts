import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type JobSchedule, nextTick } from '../../src/config/job/job.ts';
import { logTick, planScheduleChanges } from '../../src/queue/keep-schedules.ts';
import { embeddedScheduleStore, enqueueDueTicks, findDueTicks } from '../../src/queue/start-worker.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import type { State, StateQueue } from '../../src/state/state.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LOG = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let folder = '';
let state: State | undefined;
// Of each test: a worker looks at the schedules of all jobs.
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'storeferry-ticks-'));
  state = await openSqliteState(join(folder, '.storeferry'));
});
afterEach(async () => {
  await state?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** A worker with a clock of its own, on the real state; what it queues is run at once. */
class TickingWorker {
  /** The clock at each run. */
  readonly runs: number[] = [];
  readonly #queue: StateQueue;
  readonly #schedule: JobSchedule;
  #id = 0;
  now: number;

  constructor(queue: StateQueue, schedule: JobSchedule, now: number) {
    this.#queue = queue;
    this.#schedule = schedule;
    this.now = now;
  }

  /** What a worker does when it starts, and every 30 seconds. */
  async compare(): Promise<void> {
    const kept = embeddedScheduleStore(
      this.#queue,
      () => this.now,
      () => this.#newId(),
    );
    const files = { scheduled: [this.#schedule], unscheduled: [], broken: [] };
    const listed = (await kept.list(this.now)).filter(({ job }) => job === this.#schedule.job);
    for (const change of planScheduleChanges(files, listed, this.now)) {
      if (change.kind === 'set') await kept.set(change.schedule, change.overdue);
    }
    await this.#runAll();
  }

  /** One look of the worker; gives how many runs it began. */
  async look(): Promise<number> {
    const before = this.runs.length;
    await enqueueDueTicks({
      queue: this.#queue,
      isScheduled: (job) => job === this.#schedule.job,
      newRunId: () => this.#newId(),
      clock: () => this.now,
      onTick: (tick) => logTick(LOG, tick),
    });
    await this.#runAll();
    return this.runs.length - before;
  }

  async next(): Promise<number> {
    const found = (await this.#queue.schedules()).find(({ job }) => job === this.#schedule.job);
    return found?.next ?? Number.NaN;
  }

  async #runAll(): Promise<void> {
    for (const { id, action } of await this.#queue.openEntries()) {
      if (action.job !== this.#schedule.job) continue;
      this.runs.push(this.now);
      await this.#queue.endEntry(id, { run: id, error: null });
    }
  }

  #newId(): string {
    return `${this.#schedule.job}-${++this.#id}`;
  }
}

const CRONS = [
  '15 2 * * *',
  '30 1 * * *',
  '0 * * * *',
  '*/7 * * * *',
  '*/20 * * * * *',
  '0 3 * * 1',
  '0 0 1 * *',
];
const ZONES = ['UTC', 'Europe/London', 'America/New_York', 'Asia/Kolkata'];
/** An hour before the clocks of London and New York change, in spring and in autumn, and a day without a change. */
const BEGINNINGS = [
  '2026-03-29T00:00Z',
  '2026-10-25T00:00Z',
  '2026-03-08T06:00Z',
  '2026-11-01T05:00Z',
  '2026-06-15T12:00Z',
];

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('pass'), ms: fc.integer({ min: 0, max: 2 * HOUR }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('pass'), ms: fc.integer({ min: 0, max: 40 * DAY }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('back'), ms: fc.integer({ min: 0, max: 10 * MINUTE }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('restart'), ms: fc.constant(0) }) },
);

let jobs = 0;
async function worker(cron: string, timezone: string, now: number): Promise<[TickingWorker, JobSchedule]> {
  const schedule = { job: `job-${++jobs}`, cron, timezone };
  if (state?.queue === undefined) throw new Error('no state');
  const ticking = new TickingWorker(state.queue, schedule, now);
  await ticking.compare();
  return [ticking, schedule];
}

describe('the ticks of an embedded worker', () => {
  it('run once each, and all that were missed once together, whatever the clock and restarts do', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...CRONS),
        fc.constantFrom(...ZONES),
        fc.constantFrom(...BEGINNINGS),
        fc.array(step, { maxLength: 15 }),
        async (cron, timezone, beginning, steps) => {
          const [ticking, schedule] = await worker(cron, timezone, Date.parse(beginning));
          expect(ticking.runs).toEqual([]);
          expect(await ticking.next()).toBe(nextTick(schedule, ticking.now));
          let latest = ticking.now;
          for (const { kind, ms } of steps) {
            // The clock is never set back by more than clocks may differ.
            ticking.now = Math.max(ticking.now + (kind === 'back' ? -ms : ms), latest - 10 * MINUTE);
            const due = await ticking.next();
            if (kind === 'restart') await ticking.compare();
            expect(await ticking.next()).toBe(due);
            expect(await ticking.look()).toBe(due <= ticking.now ? 1 : 0);
            expect(await ticking.look()).toBe(0);
            if (due > ticking.now) continue;
            // All that was missed is done with, and nothing of it comes again.
            expect(due).toBeGreaterThan(latest);
            expect(await ticking.next()).toBe(nextTick(schedule, ticking.now));
            expect(await ticking.next()).toBeGreaterThan(ticking.now);
            latest = ticking.now;
          }
          await state?.queue?.removeSchedule(schedule.job);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('happen once a day where the clocks change: a time that is left out an hour later, one that repeats once', async () => {
    const runsOn = async (cron: string, timezone: string, from: string) => {
      const [ticking] = await worker(cron, timezone, Date.parse(from));
      for (let minutes = 0; minutes < 24 * 60; minutes += 5) {
        ticking.now += 5 * MINUTE;
        await ticking.compare();
        await ticking.look();
      }
      return ticking.runs.map((at) => new Date(at).toISOString().slice(0, 16));
    };
    expect(await runsOn('30 1 * * *', 'Europe/London', '2026-03-28T12:00Z')).toEqual(['2026-03-29T01:30']);
    expect(await runsOn('30 1 * * *', 'Europe/London', '2026-10-24T12:00Z')).toEqual(['2026-10-25T00:30']);
    expect(await runsOn('30 2 * * *', 'America/New_York', '2026-03-07T12:00Z')).toEqual(['2026-03-08T07:30']);
    expect(await runsOn('45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T12:00Z')).toEqual([
      '2026-04-04T14:45',
    ]);
  });

  it('of a time that repeats do not come again where they were missed, and run once in its second hour', async () => {
    const [ticking, schedule] = await worker('30 1 * * *', 'Europe/London', Date.parse('2026-10-24T12:00Z'));
    ticking.now = Date.parse('2026-10-25T01:10Z');
    await ticking.compare();
    expect([await ticking.look(), await ticking.next()]).toEqual([1, Date.parse('2026-10-26T01:30Z')]);
    for (const after of ['01:00', '01:29', '01:31', '02:05'])
      expect(nextTick(schedule, Date.parse(`2026-10-25T${after}Z`))).toBe(Date.parse('2026-10-26T01:30Z'));
  });

  it('happen in both of the hours that occur twice where the schedule has every hour', async () => {
    const runsFrom = async (timezone: string, from: string) => {
      const [ticking] = await worker('*/30 * * * *', timezone, Date.parse(from));
      for (let minutes = 0; minutes < 12 * 60; minutes += 15) {
        ticking.now += 15 * MINUTE;
        await ticking.look();
      }
      return ticking.runs.map((at, index) => at - (ticking.runs[index - 1] ?? Date.parse(from)));
    };
    const everyHalfHour = new Array(24).fill(30 * MINUTE);
    for (const day of ['2026-03-29', '2026-10-25'])
      expect(await runsFrom('Europe/London', `${day}T00:00Z`)).toEqual(everyHalfHour);
    for (const day of ['2026-03-08', '2026-11-01'])
      expect(await runsFrom('America/New_York', `${day}T00:00Z`)).toEqual(everyHalfHour);
  });

  it.each([5 * HOUR, 20 * HOUR, 40 * DAY])(
    'do not wait for a clock that was ahead by %i ms',
    async (ahead) => {
      for (const [cron, next] of [
        ['15 2 * * *', '2026-06-16T02:15:00.000Z'],
        ['*/30 * * * *', '2026-06-15T12:30:00.000Z'],
      ] as const) {
        const [ticking] = await worker(cron, 'UTC', Date.parse('2026-06-15T12:00Z'));
        ticking.now += ahead;
        await ticking.look();
        ticking.now -= ahead;
        await ticking.compare();
        expect(new Date(await ticking.next()).toISOString()).toBe(next);
        ticking.now = Date.parse(next);
        expect(await ticking.look()).toBe(1);
      }
    },
  );

  it('run once for a missed one when the schedule was edited meanwhile', async () => {
    const [ticking, { job }] = await worker('15 2 * * *', 'UTC', Date.parse('2026-06-15T12:00Z'));
    if (state?.queue === undefined) throw new Error('no state');
    const edited = new TickingWorker(
      state.queue,
      { job, cron: '0 5 * * *', timezone: 'UTC' },
      ticking.now + 3 * DAY,
    );
    await edited.compare();
    expect(edited.runs).toHaveLength(1);
    expect(await edited.look()).toBe(0);
  });

  it('are found where clocks go back by half an hour', () => {
    const schedule = { job: 'a', cron: '15 2 * * *', timezone: 'Australia/Lord_Howe' };
    const next = (after: string) =>
      new Date(nextTick(schedule, Date.parse(after))).toISOString().slice(0, 16);
    expect(next('2026-04-03T17:10Z')).toBe('2026-04-04T15:45');
    expect(next('2026-04-04T15:30Z')).toBe('2026-04-04T15:45');
    expect(next('2026-04-04T15:45Z')).toBe('2026-04-05T15:45');
  });

  it('are due from their moment on', () => {
    const schedule = { job: 'a', cron: '0 * * * *', timezone: 'UTC', next: HOUR };
    expect(findDueTicks([schedule], HOUR - 1)).toEqual([]);
    expect(findDueTicks([schedule], HOUR)).toEqual([{ schedule, next: 2 * HOUR, lateMs: 0 }]);
    expect(findDueTicks([schedule], 5 * HOUR + 1)).toEqual([
      { schedule, next: 6 * HOUR, lateMs: 4 * HOUR + 1 },
    ]);
  });
});
