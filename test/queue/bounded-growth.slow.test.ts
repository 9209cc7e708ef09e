import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapStatistics, queryObjects, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Redis } from 'ioredis';
import pino from 'pino';
import { expect, it } from 'vitest';
import { workerFiles } from '../../src/cli/commands/worker-command.ts';
import { openContext } from '../../src/cli/open-context.ts';
import { enqueueRun, openQueues } from '../../src/queue/queues.ts';
import { startWorker } from '../../src/queue/start-worker.ts';
import { patience } from '../support/pace.ts';
import { describeWithRedis } from '../support/redis.ts';
import { openShop } from './workers-setup.ts';

const WARM_UP = 40;
const RUNS = 160;
const HISTORIES = '*:run:*:versions';
const KEPT_JOBS = 20;

setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

/** Objects that only a cycle of two generations keeps are gone after the second collection. */
async function collectGarbage(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    if (typeof collect === 'function') collect();
    await sleep(10);
  }
}

describeWithRedis('a worker that has run hundreds of jobs', () => {
  it('holds no more memory, signals, listeners and keys in Redis than after the first', {
    timeout: patience(300_000),
  }, async () => {
    await using shop = await openShop({ products: 3, redis: { aof: false } });
    const { redis, store, workspace } = shop;
    await workspace.write(
      'jobs/lists.yaml',
      'export: subscriber-lists\nstore: main\ndestination: { path: lists.csv, mode: replace }\n',
    );
    await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\nREDIS_URL=${redis.url}\n`);
    const stop = new AbortController();
    const log = pino({ level: 'silent' });
    await using ending = new AsyncDisposableStack();
    const { context, storeStats } = ending.use(await openContext(workspace.dir, () => {}, stop.signal));
    const files = workerFiles(workspace.dir, () => {});
    const started = await startWorker({ redisUrl: redis.url, context, files, storeStats, log }, ending);
    const queues = ending.use(
      await openQueues({ redisUrl: redis.url, patient: false, onError: () => {}, mostKept: KEPT_JOBS }),
    );
    const client = new Redis(redis.url);
    ending.defer(() => client.disconnect());

    let number = 0;
    const runJob = async (job: string): Promise<void> => {
      number += 1;
      const resend = job === 'nightly';
      const { queued: id } = await enqueueRun(
        queues,
        { does: 'run', job, resend },
        `growth${number}`,
        context.state.runs,
      );
      for (;;) {
        const queued = await queues.runs.getJob(id);
        if (queued?.finishedOn === undefined) {
          await sleep(5);
          continue;
        }
        expect(queued.returnvalue).toMatchObject({ run: expect.any(String), error: null });
        return;
      }
    };
    const runMany = async (count: number): Promise<void> => {
      for (let done = 0; done < count; done += 2) await Promise.all([runJob('nightly'), runJob('lists')]);
    };
    const measure = async () => {
      await collectGarbage();
      return {
        heapMib: getHeapStatistics().used_heap_size / 2 ** 20,
        signals: queryObjects(AbortSignal, { format: 'count' }),
        listeners: getEventListeners(stop.signal, 'abort').length,
        // The history keeps one list for each run that sent something, for 400 days.
        keys: (await client.dbsize()) - (await client.keys(HISTORIES)).length,
        histories: (await client.keys(HISTORIES)).length,
        shardJobs: (await client.keys('*:shards-main:*-*-*')).length,
      };
    };

    await runMany(WARM_UP);
    const before = await measure();
    await runMany(RUNS);
    const after = await measure();
    process.stdout.write(`${JSON.stringify({ runs: RUNS, before, after })}\n`);
    expect(started.gaveUp.aborted).toBe(false);
    expect(after.signals - before.signals).toBeLessThanOrEqual(20);
    expect(after.listeners - before.listeners).toBeLessThanOrEqual(2);
    expect(after.keys - before.keys).toBeLessThanOrEqual(10);
    expect(after.histories - before.histories).toBeLessThanOrEqual(RUNS / 2);
    expect(after.shardJobs).toBeLessThanOrEqual(2);
    expect(after.heapMib - before.heapMib).toBeLessThanOrEqual(6);
  });
});
