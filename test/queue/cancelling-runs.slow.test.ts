import { expect, it } from 'vitest';
import { describeWithRedis } from '../support/redis.ts';
import { delay } from '../support/store/faults.ts';
import { until } from '../support/until.ts';
import { openShop } from './workers-setup.ts';

const PRODUCTS = 3_000;
const ENQUEUED = /Enqueued nightly as run (\w+)\./;

describeWithRedis('a run that was enqueued', () => {
  it.concurrent('leaves the queue when it is cancelled before a worker takes it', async () => {
    await using shop = await openShop({ products: 3 });
    const { workspace, store } = shop;
    const id = ENQUEUED.exec((await workspace.storeferry('enqueue', 'nightly')).stderr)?.[1] ?? '';
    expect((await workspace.storeferry('runs', id)).stdout).toContain(
      `Run ${id} of nightly waits for a worker.`,
    );
    expect((await workspace.storeferry('runs', id, '--json')).json()).toMatchObject({
      ...{ run: id, job: 'nightly', status: 'queued' },
    });
    const start = id.slice(0, 4);
    expect((await workspace.storeferry('runs', start)).stdout).toContain(`Run ${id} of nightly waits`);
    const cancelled = await workspace.storeferry('cancel', start);
    expect(cancelled.stdout).toBe(`Removed run ${id} from the queue; it had not begun.\n`);
    expect(cancelled.code).toBe(0);
    expect((await workspace.storeferry('cancel', id)).stderr).toContain(`There is no run ${id}.`);
    expect((await workspace.storeferry('runs', '--audit', '--json')).json()['audit']).toMatchObject([
      { action: 'cancel', job: 'nightly', run: id, outcome: 'done' },
      { action: 'enqueue', job: 'nightly', run: id },
    ]);

    await shop.worker();
    const next = await workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
    expect(next.json()).toMatchObject({ status: 'done', applied: 3 });
    expect(next.json()['run']).not.toBe(id);
    expect(store.figures().requests).toBe(3);
  });

  it.concurrent('has the id that enqueue printed, and ends when that is cancelled', async () => {
    await using shop = await openShop({ products: PRODUCTS });
    const { workspace, store } = shop;
    await shop.worker();
    const id = ENQUEUED.exec((await workspace.storeferry('enqueue', 'nightly')).stderr)?.[1] ?? '';
    await until(() => store.requests.length > 200);
    // So slow that the run does not end before it is cancelled, however long the commands take to start.
    store.misbehave({ does: delay(1_000) });
    expect((await workspace.storeferry('runs', id, '--json')).json()).toMatchObject({
      run: id,
      status: 'running',
    });
    const cancelled = await workspace.storeferry('cancel', id.slice(0, 6));
    expect(cancelled.code).toBe(0);
    expect(cancelled.stdout).toMatch(new RegExp(`^Run ${id} of nightly is interrupted: \\d`));
    expect(store.requests.length).toBeLessThan(PRODUCTS);
    store.behave();

    const again = await workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
    expect(again.json()).toMatchObject({ run: id, status: 'done', applied: PRODUCTS });
  });
});
