import { expect, it, vi } from 'vitest';
import { bullScheduleStore, keepSchedules } from '../../src/queue/keep-schedules.ts';
import { openQueues } from '../../src/queue/queues.ts';
import { openRedisState } from '../../src/state/redis/open-redis-state.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';

const DAY_MS = 86_400_000;
const NIGHTLY = { job: 'nightly', cron: '15 2 * * *', timezone: 'UTC' };
const LOG = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

describeWithRedis('a schedule in Redis', () => {
  it('that was set while the clock was ahead is due on the next day all the same once the clock is right', async () => {
    await using redis = await startRedis({ aof: false });
    await using queues = await openQueues({ redisUrl: redis.url, patient: false, onError: () => {} });
    await using state = await openRedisState({ url: redis.url, prefix: 'test' });
    let version = 0;
    const keep = async () => {
      const keeper = await keepSchedules({
        schedules: bullScheduleStore(queues, { newRunId: () => 'id', state }),
        ...{ locks: state.locks, clock: Date.now, log: LOG, onRead: () => {}, newRunId: () => 'id' },
        readSchedules: () => ({ scheduled: [NIGHTLY], unscheduled: [], broken: [] }),
        version: async () => String(++version),
      });
      await keeper.close();
      return (await queues.ticks().getJobSchedulers())[0]?.next ?? 0;
    };
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 40 * DAY_MS });
    const ahead = await keep().finally(() => vi.useRealTimers());
    expect(ahead).toBeGreaterThan(Date.now() + 39 * DAY_MS);
    const right = await keep();
    expect(right).toBeGreaterThan(Date.now());
    expect(right).toBeLessThanOrEqual(Date.now() + DAY_MS);
    expect(await queues.runs.count()).toBe(0);
  });

  it('has a tick also on the day whose midnight the clocks leave out', async () => {
    await using redis = await startRedis({ aof: false });
    await using queues = await openQueues({ redisUrl: redis.url, patient: false, onError: () => {} });
    await using state = await openRedisState({ url: redis.url, prefix: 'test' });
    const schedules = bullScheduleStore(queues, { newRunId: () => 'id', state });
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2027-04-29T12:00:00Z') });
    try {
      await schedules.set({ job: 'nightly', cron: '0 0 * * *', timezone: 'Africa/Cairo' }, false);
    } finally {
      vi.useRealTimers();
    }
    const [kept] = await queues.ticks().getJobSchedulers();
    expect(new Date(kept?.next ?? 0).toISOString()).toBe('2027-04-29T22:00:00.000Z');
  });
});
