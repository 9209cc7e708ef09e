import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { atMost, none } from '../support/measure.ts';
import { seedOf } from '../support/seed.ts';
import { resetAfter } from '../support/store/faults.ts';
import { seededRandom } from '../support/store/random.ts';
import { type Audit, audit, makeBooks, nextBooks, refusal } from './books.ts';
import { resentSince } from './re-sent.ts';
import { patienceFor, SCALE } from './scale.ts';
import { kill, openScene, type Scene } from './scene.ts';

const PRODUCTS = 300;
const CONCURRENCY = 16;
/** Generous: what a run of this size takes on a busy machine. */
const RUN_MS = 6_000;

describe('a process that is killed at random moments', () => {
  it.concurrent('and continued each time loses no row, doubles none and re-sends little', {
    timeout: patienceFor(SCALE.kills * RUN_MS),
  }, async (context) => {
    const seed = seedOf(context);
    const random = seededRandom(seed);
    let books = makeBooks(PRODUCTS, random);
    await using scene = await openScene({
      seed,
      catalog: books.csv,
      job: { mode: 'mirror', safety: '{ maxDeletes: off, maxRejects: off }' },
      store: { latencyMs: { min: 1, max: 8 } },
    });
    const { store, workspace } = scene;
    store.misbehave(refusal(store.apiKey));
    store.misbehave({ does: resetAfter, probability: 0.02 });

    const audits: Audit[] = [];
    let kills = 0;
    let mostResent = 0;
    let lastsMs = await durationOf(async () => {
      audits.push(await audit(books, store, workspace, await endOf(scene)));
    });
    while (kills < SCALE.kills) {
      books = nextBooks(books, random);
      await workspace.write('catalog.csv', books.csv);
      const night = store.requests.length;
      for (;;) {
        const before = store.requests.length;
        const running = scene.start('run', 'nightly', '--json');
        if (kills < SCALE.kills) {
          await Promise.race([sleep(random() * lastsMs * 1.1), running.ended]);
          if (running.process.exitCode === null && (await kill(running))) {
            kills++;
            scene.count(
              store.requests.length === before ? 'SIGKILL before sending' : 'SIGKILL while sending',
            );
          }
        }
        const { code, json } = await running.ended;
        mostResent = Math.max(mostResent, resentSince(store.requests, night, before));
        if (code === null) continue;
        audits.push(await audit(books, store, workspace, json()));
        break;
      }
      lastsMs = Math.max(500, lastsMs);
    }

    const fired = scene.fired();
    const worst = (part: keyof Audit) => Math.max(...audits.map((found) => found[part]));
    figure(context, {
      invariant: 1,
      seed,
      fired,
      measured: [
        none('rows missing', worst('missing')),
        none('records unaccounted for', worst('unaccounted')),
        none('left in the store though deleted', worst('left')),
      ],
    });
    const { duplicates, maxOverlap } = store.figures();
    figure(context, { invariant: 2, seed, fired, measured: [none('duplicates', duplicates)] });
    figure(context, { invariant: 3, seed, fired, measured: [atMost(1, 'overlap', maxOverlap)] });
    figure(context, {
      invariant: 5,
      seed,
      fired,
      measured: [atMost(CONCURRENCY, 're-sent by one continued process', mostResent)],
    });
    figure(context, {
      invariant: 6,
      seed,
      fired,
      measured: [none('rejections lost', worst('rejectionsLost'))],
    });
    figure(context, { invariant: 24, seed, fired, measured: [none('leaks', (await scene.leaks()).length)] });
  });
});

async function durationOf(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function endOf(scene: Scene): Promise<Record<string, unknown>> {
  return (await scene.start('run', 'nightly', '--json').ended).json();
}
