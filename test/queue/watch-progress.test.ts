import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'bullmq';
import { expect, it } from 'vitest';
import { watchProgress } from '../../src/queue/health/watch-progress.ts';
import { openQueues, QUEUE_PREFIX, RUN_QUEUE } from '../../src/queue/open-queues.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';

const SILENT_AFTER_MS = 300;

/** A worker that takes nothing, and a run that waits for it. */
async function setup() {
  const redis = await startRedis();
  const queues = await openQueues({ redisUrl: redis.url, patient: true, onError: () => {} });
  const connection = { url: redis.url, maxRetriesPerRequest: null };
  const worker = new Worker(RUN_QUEUE, null, { connection, prefix: QUEUE_PREFIX, autorun: false });
  const work = { running: 0, takenAt: Number.NEGATIVE_INFINITY };
  const watch = watchProgress([{ worker, queue: queues.runs, concurrency: 2, work }], SILENT_AFTER_MS);
  await queues.runs.add('nightly', { job: 'nightly', resend: false });
  return {
    work,
    watch,
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
    const { watch } = shop;
    expect(watch.silent()).toEqual([]);
    await sleep(3 * SILENT_AFTER_MS);
    expect(watch.silent()).toEqual([RUN_QUEUE]);
    expect(watch.gaveUp.aborted).toBe(true);
  });

  it.concurrent('is patient with one that has its hands full, or takes other work meanwhile', async () => {
    await using shop = await setup();
    const { watch, work } = shop;
    work.running = 2;
    await sleep(3 * SILENT_AFTER_MS);
    work.running = 1;
    const until = performance.now() + 3 * SILENT_AFTER_MS;
    while (performance.now() < until) {
      work.takenAt = performance.now();
      await sleep(SILENT_AFTER_MS / 6);
    }
    expect(watch.silent()).toEqual([]);
    expect(watch.gaveUp.aborted).toBe(false);
  });
});
