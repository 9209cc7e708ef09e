import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { RunFacts } from '../../src/report/run-facts.ts';
import { askToInterrupt } from '../../src/run/report/read-stored-report.ts';
import { openState } from '../../src/state/open-state.ts';
import { describeWithRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { coordinator, openShop, resent, type Shop } from './workers-setup.ts';

const PRODUCTS = 3_000;
const QUICK_MS = 20;
/** Of the answers once there are enough of them: the run does not end before it is asked to, however slow this machine is. */
const SLOW_MS = 300;

/** A store that answers quickly until `misbehave` is called. */
function pacedStore() {
  let answerMs = QUICK_MS;
  return { options: { latencyMs: () => answerMs }, pace: (ms: number) => (answerMs = ms) };
}

/** The state as a dashboard opens it, and the run that is under way. */
async function watchedFromOutside({ redis, workspace }: Shop) {
  const state = await openState({ redisUrl: redis.url, dir: workspace.dir });
  const [run] = await state.runs.list({ limit: 1 });
  if (run === undefined) throw new Error('no run has begun');
  return {
    context: { state, clock: Date.now },
    run,
    [Symbol.asyncDispose]: () => state[Symbol.asyncDispose](),
  };
}

describeWithRedis('a run that another process asks to end', () => {
  it.concurrent('ends on all workers, stays ended, and is continued when it is enqueued again', async () => {
    const { options, pace } = pacedStore();
    await using shop = await openShop({ products: PRODUCTS, store: options });
    const { store, workspace } = shop;
    await Promise.all([shop.worker(), shop.worker()]);
    const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
    await until(() => store.requests.length > 200);
    pace(SLOW_MS);
    await using outside = await watchedFromOutside(shop);
    const { context, run } = outside;
    const progress = await until(async () => {
      const seen = (await context.state.runs.get(run.id))?.progress;
      return seen?.step === 'apply' ? seen : null;
    });
    expect(progress).toMatchObject({ unit: 'requests', total: PRODUCTS });

    await askToInterrupt(context, run.id);
    const ended = await following.ended;
    expect(ended.json()).toMatchObject({
      run: run.id,
      status: 'interrupted',
      error: 'Interrupted on request.',
    });
    expect(ended.code).toBe(130);
    const sent = store.requests.length;
    expect(sent).toBeLessThan(PRODUCTS);
    expect(ended.json()).toMatchObject({ applied: sent, unsent: PRODUCTS - sent });
    await sleep(1_500);
    expect(store.requests.length).toBe(sent);

    pace(QUICK_MS);
    const again = await workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
    expect(again.json()).toMatchObject({ run: run.id, status: 'done', applied: PRODUCTS });
    expect(resent(store)).toBe(0);

    const folder = join(workspace.dir, '.storeferry', 'artifacts', run.id);
    expect(await readFile(join(folder, 'report.html'), 'utf8')).toContain('<!doctype html>');
    const { traffic }: RunFacts = JSON.parse(await readFile(join(folder, 'report.json'), 'utf8'));
    const noted = traffic?.samples.reduce((sum, { requests }) => sum + requests, 0);
    expect(noted).toBe(store.requests.length);
  });

  it.concurrent('stays ended when the worker that had it died before it could say so', async () => {
    const { options, pace } = pacedStore();
    await using shop = await openShop({ products: PRODUCTS, store: options, shortLeases: true });
    const { store, workspace } = shop;
    const workers = await Promise.all([shop.worker(), shop.worker()]);
    const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
    const killed = await coordinator(workers);
    await until(() => store.requests.length > 100);
    pace(SLOW_MS);
    await using outside = await watchedFromOutside(shop);
    const { context, run } = outside;
    killed.process.kill('SIGSTOP');
    await askToInterrupt(context, run.id);
    killed.process.kill('SIGKILL');

    expect((await following.ended).json()).toMatchObject({ run: run.id, status: 'interrupted' });
    const sent = store.requests.length;
    expect(sent).toBeLessThan(PRODUCTS);
    await sleep(1_500);
    expect(store.requests.length).toBe(sent);
  });
});
