import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { atLeast, atMost, type Measure, none } from '../support/measure.ts';
import { describeWithRedis } from '../support/redis.ts';
import { seedOf } from '../support/seed.ts';
import { seededRandom } from '../support/store/random.ts';
import { type Audit, audit, makeBooks, nextBooks, refusal } from './books.ts';
import { type Mischief, startMischief } from './mischief.ts';
import { patienceFor, SCALE } from './scale.ts';
import { openScene, type Scene } from './scene.ts';

const PRODUCTS = 600;
/** A run that no fault strikes any more must end within this, however much it was struck before. */
const CALM_MS = 60_000;

describeWithRedis('two workers, while everything around them fails', () => {
  it.concurrent('lose no row and double none: kills, stops, Redis restarts, store faults, a bad line', {
    timeout: patienceFor(SCALE.chaosMs) + CALM_MS,
  }, async (context) => {
    const seed = seedOf(context);
    const random = seededRandom(seed);
    let books = makeBooks(PRODUCTS, random);
    await using scene = await openScene({
      seed,
      catalog: books.csv,
      redis: 'short-leases',
      job: { mode: 'mirror', safety: '{ maxDeletes: off, maxRejects: off }' },
      store: { latencyMs: { min: 2, max: 20 } },
    });
    const { store, workspace } = scene;
    store.misbehave(refusal(store.apiKey));
    const mischief = await startMischief(scene);
    const audits: Audit[] = [];
    const until = performance.now() + SCALE.chaosMs;
    for (;;) {
      const isLast = performance.now() > until;
      if (isLast) await mischief.stop();
      const summary = await night(scene, mischief);
      audits.push(await audit(books, store, workspace, summary));
      if (isLast) break;
      books = nextBooks(books, random);
      await workspace.write('catalog.csv', books.csv);
    }

    const fired = scene.fired();
    const worst = (part: keyof Audit) => Math.max(...audits.map((found) => found[part]));
    const { duplicates, maxOverlap } = store.figures();
    const of = (invariant: number, ...measured: readonly Measure[]) =>
      figure(context, { invariant, seed, fired, measured });
    of(
      1,
      atLeast(1, 'nights finished', audits.length),
      none('rows missing', worst('missing')),
      none('records unaccounted for', worst('unaccounted')),
      none('left in the store though deleted', worst('left')),
    );
    of(2, none('duplicates', duplicates));
    of(3, atMost(1, 'overlap', maxOverlap));
    of(6, none('rejections lost', worst('rejectionsLost')));
    of(9, none('rows missing', worst('missing')), none('duplicates', duplicates));
    of(24, none('leaks', (await scene.leaks()).length));
  });
});

/** Has the workers run the job, again where it failed, until it is through; gives its summary. */
async function night(scene: Scene, mischief: Mischief): Promise<Record<string, unknown>> {
  for (let tries = 1; ; tries++) {
    const { code, stdout, stderr, json } = await scene.start('enqueue', 'nightly', '--follow', '--json')
      .ended;
    const status = stdout === '' ? null : json()['status'];
    if (status === 'done' || status === 'done-with-rejects') return json();
    expect(code, stderr).toBe(1);
    expect(tries, `calm and yet: ${stderr}`).toBeLessThan(mischief.isOver ? 5 : 100);
    await sleep(200);
  }
}
