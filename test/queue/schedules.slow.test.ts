import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { openQueues, type Queues, queuePrefix } from '../../src/queue/queues.ts';
import { shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { patience } from '../support/pace.ts';
import { describeWithRedis } from '../support/redis.ts';
import type { LoggedRequest } from '../support/store/request-log.ts';
import { until } from '../support/until.ts';
import { openShop, type Shop } from './workers-setup.ts';

/** The queues as the workers see them. */
function queuesOf({ redis }: Shop): Promise<Queues> {
  return openQueues({ redisUrl: redis.url, patient: false, onError: () => {} });
}

/** An import job of one product, by the schedule. */
function jobFile(cron: string | null, more = ''): string {
  const schedule = cron === null ? '' : `schedule: { cron: "${cron}" }\n`;
  return `import: products\nstore: main\nsource: { path: catalog.csv }\nmapping: shopify-products\n${schedule}${more}`;
}

/** Once a year, at that moment (UTC). */
function at(moment: number): string {
  const date = new Date(moment);
  return `${date.getUTCSeconds()} ${date.getUTCMinutes()} ${date.getUTCHours()} ${date.getUTCDate()} ${date.getUTCMonth() + 1} *`;
}

/** Puts a file in its place at once, as most editors do. */
async function replaceFile({ workspace }: Shop, name: string, content: string): Promise<void> {
  const path = join(workspace.dir, name);
  await writeFile(`${path}.new`, content);
  await rename(`${path}.new`, path);
}

/** Gives the product another price again and again, so that every run has something to send. */
function keepChanging(shop: Shop, name: string, handle: string): () => Promise<void> {
  let on = true;
  const changing = (async () => {
    for (let price = 1; on; price++) {
      const catalog = shopifyCatalog([{ handle, title: handle, price: `${price}.00` }]);
      await replaceFile(shop, name, catalog);
      await sleep(100);
    }
  })();
  return async () => {
    on = false;
    await changing;
  };
}

function overlaps(requests: readonly LoggedRequest[]): number {
  return requests.filter(({ startedAt }, index) =>
    requests.some((other, at) => at < index && startedAt < (other.endedAt ?? Number.POSITIVE_INFINITY)),
  ).length;
}

describeWithRedis('a job with a schedule', () => {
  it.concurrent('that ticks each second and runs for three never runs twice at once, nor piles up', async (context) => {
    await using shop = await openShop({
      products: 1,
      store: { latencyMs: 3_000 },
      job: { schedule: '{ cron: "* * * * * *" }' },
    });
    const { store } = shop;
    const stopChanging = keepChanging(shop, 'catalog.csv', 'mug');
    const workers = await Promise.all([shop.worker(), shop.worker()]);
    await using queues = await queuesOf(shop);
    const backlog: number[] = [];
    const startedAt = performance.now();
    const until = startedAt + 9_000;
    while (performance.now() < until || store.requests.length < 3) {
      const [queued, ticking] = await Promise.all([
        queues.runs.getJobCounts('waiting', 'active', 'delayed'),
        queues.ticks().getJobCounts('waiting', 'active', 'delayed', 'completed', 'failed'),
      ]);
      const sum = (counts: Record<string, number>) =>
        Object.values(counts).reduce((all, count) => all + count, 0);
      backlog.push(sum(queued));
      // One in the hands of each worker, and the next.
      expect(sum(ticking)).toBeLessThanOrEqual(workers.length + 1);
      await sleep(100);
    }
    await stopChanging();
    for (const worker of workers) worker.process.kill('SIGTERM');
    const ended = await Promise.all(workers.map((worker) => worker.ended));
    expect(ended.map(({ code }) => code)).toEqual([0, 0]);
    const dropped = ended.map(({ stderr }) => stderr.split('tick dropped').length - 1);
    console.log(
      `runs ${store.requests.length} in ${Math.round((performance.now() - startedAt) / 1_000)} s, overlaps ${overlaps(store.requests)}, most queued ${Math.max(...backlog)}, ticks dropped ${dropped.join(' + ')}`,
    );
    figure(context, {
      invariant: 28,
      seed: store.seed,
      fired: { 'ticks while a run was under way': dropped.reduce((sum, count) => sum + count, 0) },
      measured: [none('requests of scheduled runs that overlap', overlaps(store.requests))],
    });
    expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1, maxOpen: 1 });
    expect(Math.max(...backlog)).toBe(1);
  });

  it.concurrent('does not overlap another one on the same store', async (context) => {
    await using shop = await openShop({
      products: 1,
      store: { latencyMs: 700 },
      job: { schedule: '{ cron: "* * * * * *" }' },
    });
    const { store, workspace } = shop;
    await workspace.write('jobs/other.yaml', jobFile('* * * * * *').replace('catalog.csv', 'other.csv'));
    const stop = [keepChanging(shop, 'catalog.csv', 'mug'), keepChanging(shop, 'other.csv', 'vase')];
    await Promise.all([shop.worker(), shop.worker()]);
    await until(async () => store.requestsOf('mug') >= 3 && store.requestsOf('vase') >= 3);
    await Promise.all(stop.map((end) => end()));
    figure(context, {
      invariant: 28,
      seed: store.seed,
      fired: { 'schedules on one target': 2 },
      measured: [none('requests of scheduled runs that overlap', overlaps(store.requests))],
    });
    expect(store.figures().maxOpen).toBe(1);
  });

  it.concurrent('makes up for a tick that was missed while no worker ran, once, whichever worker starts', async () => {
    await using shop = await openShop({ products: 1 });
    const { store, workspace } = shop;
    const first = await shop.worker();
    const due = Math.ceil((Date.now() + patience(15_000)) / 1_000) * 1_000;
    await workspace.write('jobs/nightly.yaml', jobFile(at(due)));
    await workspace.write('jobs/changed.yaml', jobFile(at(due)));
    await workspace.write('jobs/removed.yaml', jobFile(at(due)));
    await workspace.write(
      'jobs/lists.yaml',
      `export: subscriber-lists\nstore: main\ndestination: { path: lists.csv }\nschedule: { cron: "${at(due)}" }\n`,
    );
    await using queues = await queuesOf(shop);
    await until(async () => (await queues.ticks().getJobSchedulersCount()) === 4);
    first.process.kill('SIGKILL');
    await first.ended;
    expect(Date.now()).toBeLessThan(due);

    await sleep(due + 1_500 - Date.now());
    expect(store.requests).toHaveLength(0);
    await workspace.write('jobs/changed.yaml', jobFile(at(due + 86_400_000)));
    await rm(join(workspace.dir, 'jobs/removed.yaml'));
    const workers = await Promise.all([shop.worker(), shop.worker(), shop.worker()]);
    await until(async () => (await queues.runs.getCompletedCount()) >= 3);
    await sleep(2_000);
    for (const worker of workers) worker.process.kill('SIGTERM');
    await Promise.all(workers.map(({ ended }) => ended));
    const { stdout } = await workspace.storeferry('runs');
    const times = (job: string) =>
      stdout.split('\n').filter((line) => line.includes(` ${job} `) && / done /.test(line)).length;
    expect({ nightly: times('nightly'), changed: times('changed'), removed: times('removed') }).toEqual({
      nightly: 1,
      changed: 1,
      removed: 0,
    });
    expect(times('lists (export)')).toBe(1);
  });

  it.concurrent('is kept in step with its file while workers run, and broken files lose nothing', async () => {
    await using shop = await openShop({ products: 1 });
    const { workspace } = shop;
    const names = ['kept', 'edited', 'broken', 'unscheduled', 'deleted'];
    for (const name of names) await workspace.write(`jobs/${name}.yaml`, jobFile('0 3 1 1 *'));
    await using queues = await queuesOf(shop);
    const ticks = queues.ticks();
    const foreign = new Queue('of-others', {
      connection: { url: shop.redis.url },
      prefix: queuePrefix(shop.redis.url),
    });
    await foreign.upsertJobScheduler('theirs', { pattern: '0 4 1 1 *' });
    const workers = await Promise.all([shop.worker(), shop.worker()]);
    const schedules = async () =>
      Object.fromEntries(
        (await ticks.getJobSchedulers()).map(({ key, pattern, tz }) => [key, `${pattern} ${tz}`]),
      );
    expect(await schedules()).toEqual(Object.fromEntries(names.map((name) => [name, '0 3 1 1 * UTC'])));
    const keptNext = (await ticks.getJobScheduler('kept'))?.next;

    await workspace.write(
      'jobs/edited.yaml',
      jobFile('0 5 1 1 *').replace('" }', '", timezone: Asia/Tokyo }'),
    );
    await workspace.write('jobs/broken.yaml', 'import: products\nstore: [main');
    await workspace.write('jobs/unscheduled.yaml', jobFile(null));
    await workspace.write('jobs/added.yaml', jobFile('0 6 1 1 *'));
    await rm(join(workspace.dir, 'jobs/deleted.yaml'));
    await until(async () => !('deleted' in (await schedules())));
    expect(await schedules()).toEqual({
      kept: '0 3 1 1 * UTC',
      edited: '0 5 1 1 * Asia/Tokyo',
      broken: '0 3 1 1 * UTC',
      added: '0 6 1 1 * UTC',
    });
    expect((await ticks.getJobScheduler('kept'))?.next).toBe(keptNext);
    expect(await foreign.getJobSchedulersCount()).toBe(1);
    await foreign.close();

    for (const worker of workers) worker.process.kill('SIGTERM');
    const logs = (await Promise.all(workers.map(({ ended }) => ended))).map(({ stderr }) => stderr).join('');
    expect(logs.split('"schedule set"')).toHaveLength(1 + 5 + 2);
    expect(logs).toContain('its schedule is unchanged');
    expect(await ticks.getJobSchedulersCount()).toBe(4);
  });

  it.concurrent('goes on when the queue has lost its tick', async () => {
    await using shop = await openShop({ products: 1 });
    const { workspace, store } = shop;
    await workspace.write('jobs/nightly.yaml', jobFile('0 3 1 1 *'));
    const first = await shop.worker();
    first.process.kill('SIGTERM');
    await first.ended;
    await using queues = await queuesOf(shop);
    const ticks = queues.ticks();
    const client = new Redis(shop.redis.url);
    const { next = 0 } = (await ticks.getJobScheduler('nightly')) ?? {};
    const overdue = Date.now() - 60_000;
    await client.zrem(ticks.toKey('delayed'), `repeat:nightly:${next}`);
    await client.del(ticks.toKey(`repeat:nightly:${next}`));
    await client.zadd(ticks.toKey('repeat'), overdue, 'nightly');
    client.disconnect();

    await shop.worker();
    await until(async () => store.requests.length === 1);
    await until(async () => (await ticks.getJobScheduler('nightly'))?.next === next);
  });
});
