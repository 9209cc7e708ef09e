import { expect, it } from 'vitest';
import { openQueues } from '../../src/queue/queues.ts';
import { openShop } from '../queue/workers-setup.ts';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { describeWithRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { SCALE } from './scale.ts';

const PRODUCTS = 50;

describeWithRedis('a queued run that a worker takes again after its end', () => {
  it.concurrent('gives how the run ended and sends nothing', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    await using shop = await openShop({ products: PRODUCTS });
    const { redis, store, workspace } = shop;
    await shop.worker();
    const first = (await workspace.storeferry('enqueue', 'nightly', '--follow', '--json')).json();
    expect(first).toMatchObject({ status: 'done', applied: PRODUCTS });

    await using queues = await openQueues({ redisUrl: redis.url, patient: false, onError: () => {} });
    const [queued] = await queues.runs.getCompleted();
    if (queued === undefined) throw new Error('The queue does not know the run');
    // As a worker leaves it that dies between the end of the run and saying so.
    const again = await queues.runs.add(
      'nightly',
      { ...queued.data, action: { does: 'run', job: 'nightly', resend: true } },
      { jobId: 'taken-again' },
    );
    await until(async () => ['completed', 'failed'].includes(await queues.runs.getJobState('taken-again')));
    const result = (await queues.runs.getJob(again.id ?? ''))?.returnvalue;
    figure(context, {
      invariant: 8,
      seed: null,
      fired: { 'job taken again after its run had ended': 1 },
      measured: [
        none('requests of a run that had ended', store.figures().requests - PRODUCTS),
        none('other runs begun', result?.run === first['run'] ? 0 : 1),
      ],
    });
  });

  it.concurrent('is run again where an older copy of Redis brought it back', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    await using shop = await openShop({ products: PRODUCTS });
    const { redis, store, workspace } = shop;
    await shop.worker();
    const follow = async () =>
      (await workspace.storeferry('enqueue', 'nightly', '--follow', '--json')).json();
    const first = await follow();
    const putBack = await redis.keepCopy();
    await workspace.write('catalog.csv', shopifyCatalog(manyProducts(PRODUCTS + 1)));
    expect(await follow()).toMatchObject({ status: 'done', applied: 1 });
    await putBack();

    await using queues = await openQueues({ redisUrl: redis.url, patient: false, onError: () => {} });
    const [queued] = await queues.runs.getCompleted();
    if (queued === undefined) throw new Error('The queue does not know the run');
    // As the copy holds it when it was made between the end of the run and its worker saying so.
    const again = await queues.runs.add('nightly', queued.data, { jobId: 'brought-back' });
    await until(async () => ['completed', 'failed'].includes(await queues.runs.getJobState('brought-back')));
    const result = (await queues.runs.getJob(again.id ?? ''))?.returnvalue;
    figure(context, {
      invariant: 29,
      seed: null,
      fired: { 'older copy of Redis put back': 1 },
      measured: [
        none(
          'runs of long ago given as the end',
          result?.run === first['run'] || result?.run == null ? 1 : 0,
        ),
        none('products missing', PRODUCTS + 1 - store.shop.products.size),
      ],
    });
    expect((await workspace.storeferry('runs', String(result?.run), '--json')).json()).toMatchObject({
      records: PRODUCTS + 1,
      unchanged: 0,
    });
  });
});
