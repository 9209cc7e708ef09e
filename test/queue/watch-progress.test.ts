import { Worker } from 'bullmq';
import { expect, it, vi } from 'vitest';
import { watchProgress } from '../../src/queue/queue-workers.ts';
import { openQueues, queuePrefix, RUN_QUEUE } from '../../src/queue/queues.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

const SILENT_AFTER_MS = 300;

/** A worker that takes nothing, and a run that waits for it. */
async function setup() {
  const redis = await startRedis();
  const queues = await openQueues({ redisUrl: redis.url, patient: true, onError: () => {} });
  const connection = { url: redis.url, maxRetriesPerRequest: null };
  const worker = new Worker(RUN_QUEUE, null, { connection, prefix: queuePrefix(redis.url), autorun: false });
  const work = { running: 0, takenAt: Number.NEGATIVE_INFINITY };
  const time = { now: 0 };
  const watched = [{ worker, queue: queues.runs, concurrency: 2, work }];
  const looks = vi.spyOn(queues.runs, 'getWaitingCount');
  const watch = watchProgress(watched, SILENT_AFTER_MS, () => time.now);
  await queues.runs.add('nightly', { action: { does: 'run', job: 'nightly' } });
  return {
    ...{ work, watch, time },
    /** Waits until the watch has looked once more, from beginning to end. */
    async look() {
      const before = looks.mock.calls.length;
      await until(() => looks.mock.calls.length > before + 1);
    },
    async [Symbol.asyncDispose]() {
      watch[Symbol.dispose]();
      await worker.close();
      await queues[Symbol.asyncDispose]();
      await redis.stop();
    },
  };
}

describeWithRedis('the watch over a worker', () => {
  it.concurrent('gives up when work waits and none of it comes', async () => {
    await using shop = await setup();
    const { watch, time, look } = shop;
    expect(watch.silent()).toEqual([]);
    await look();
    expect(watch.gaveUp.aborted).toBe(false);
    time.now += SILENT_AFTER_MS;
    await look();
    expect(watch.silent()).toEqual([RUN_QUEUE]);
    expect(watch.gaveUp.aborted).toBe(true);
  });

  it.concurrent('is patient with one that has its hands full, or takes other work meanwhile', async () => {
    await using shop = await setup();
    const { watch, work, time, look } = shop;
    work.running = 2;
    for (let passed = 0; passed < 3; passed++) {
      await look();
      time.now += SILENT_AFTER_MS;
    }
    await look();
    work.running = 1;
    for (let passed = 0; passed < 18; passed++) {
      await look();
      time.now += SILENT_AFTER_MS / 6;
      work.takenAt = time.now;
    }
    await look();
    expect(watch.silent()).toEqual([]);
    expect(watch.gaveUp.aborted).toBe(false);
  });
});
