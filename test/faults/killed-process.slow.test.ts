import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { atLeast, atMost, none } from '../support/measure.ts';
import { seedOf } from '../support/seed.ts';
import { resetAfter } from '../support/store/faults.ts';
import { seededRandom } from '../support/store/random.ts';
import type { RunningCommand } from '../support/workspace.ts';
import { type Audit, audit, makeBooks, nextBooks, refusal } from './books.ts';
import { ReSent, resentSince } from './re-sent.ts';
import { patienceFor, SCALE } from './scale.ts';
import { kill, openScene, type Scene } from './scene.ts';

const PRODUCTS = 300;
const CONCURRENCY = 16;
/** Generous: what a run of this size takes on a busy machine. */
const RUN_MS = 12_000;
const KILLS_AT_ANSWERS = 4;
/** A run changes about a hundred products. */
const SENT_BEFORE_A_KILL = 80;

describe('a process that is killed', () => {
  it.concurrent('at random moments and continued each time loses no row, doubles none and re-sends little', {
    timeout: patienceFor(SCALE.kills * RUN_MS),
  }, async (context) => {
    const seed = seedOf(context);
    const random = seededRandom(seed);
    let books = makeBooks(PRODUCTS, random);
    await using scene = await openScene({
      seed,
      catalog: books.csv,
      job: { mode: 'mirror', safety: '{ maxDeletes: off, maxRejects: off, maxPriceMoves: off }' },
      store: { latencyMs: { min: 1, max: 8 } },
    });
    const { store, workspace } = scene;
    store.misbehave(refusal(store.apiKey));
    store.misbehave({ does: resetAfter, probability: 0.02 });

    const audits: Audit[] = [];
    let kills = 0;
    const resent = new ReSent();
    const begun = performance.now();
    audits.push(await audit(books, store, workspace, await endOf(scene)));
    let lastsMs = performance.now() - begun;
    while (kills < SCALE.kills) {
      books = nextBooks(books, random);
      await workspace.write('catalog.csv', books.csv);
      const setup = store.requests.length;
      for (;;) {
        const before = store.requests.length;
        const startedAt = performance.now();
        const running = scene.start('run', 'nightly', '--json');
        if (kills < SCALE.kills) {
          await Promise.race([momentIn(scene, random, lastsMs), running.ended]);
          if (running.process.exitCode === null && (await kill(running))) {
            kills++;
            scene.count(
              store.requests.length === before ? 'SIGKILL before sending' : 'SIGKILL while sending',
            );
          }
        }
        const { code, json } = await running.ended;
        resent.process(resentSince(store.requests, setup, before), code === null);
        if (code === null) continue;
        resent.settled();
        audits.push(await audit(books, store, workspace, json()));
        // A machine that has become faster would let every run end before its moment comes.
        lastsMs = Math.min(lastsMs, performance.now() - startedAt);
        break;
      }
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
      measured: [atMost(CONCURRENCY, 're-sent for each process that died', resent.worst)],
    });
    figure(context, {
      invariant: 6,
      seed,
      fired,
      measured: [none('rejections lost', worst('rejectionsLost'))],
    });
    figure(context, { invariant: 24, seed, fired, measured: [none('leaks', (await scene.leaks()).length)] });
  });

  it.concurrent('between an answer and its acknowledgement re-sends what was in flight and no more', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    const seed = seedOf(context);
    const random = seededRandom(seed);
    const killer = killAtAnswer();
    await using scene = await openScene({
      seed,
      catalog: shopifyCatalog(manyProducts(PRODUCTS)),
      store: { latencyMs: { min: 10, max: 20 }, onAnswer: killer.onAnswer },
    });
    const { store } = scene;
    const resent = new ReSent();
    for (let kills = 0; kills < KILLS_AT_ANSWERS; kills++) {
      const before = store.requests.length;
      const running = scene.start('run', 'nightly', '--json');
      killer.arm(running, 10 + Math.floor(random() * 30));
      await running.ended;
      resent.process(resentSince(store.requests, 0, before), true);
      scene.count('SIGKILL as an answer left');
    }
    const before = store.requests.length;
    expect(await endOf(scene)).toMatchObject({ status: 'done', applied: PRODUCTS });
    resent.process(resentSince(store.requests, 0, before), false);
    figure(context, {
      invariant: 5,
      seed,
      fired: scene.fired(),
      measured: [
        atMost(CONCURRENCY, 're-sent for each process that died', resent.worst),
        atLeast(0.1, 're-sent at all: answers were lost', resent.worst),
        none('duplicates', store.figures().duplicates),
      ],
    });
  });
});

/** Waits for a moment of a run that has just been started: half of them anywhere in it, half while it sends. */
async function momentIn({ store }: Scene, random: () => number, lastsMs: number): Promise<void> {
  if (random() < 0.5) return await sleep(random() * lastsMs);
  const before = store.requests.length;
  const waitUntil = performance.now() + lastsMs * 2;
  while (store.requests.length === before && performance.now() < waitUntil) await sleep(5);
  const further = random() * SENT_BEFORE_A_KILL;
  while (store.requests.length < before + further && performance.now() < waitUntil) await sleep(2);
}

/** Kills a process when so many answers have left the store, and before it can have written down the last of them. */
function killAtAnswer(): { arm: (running: RunningCommand, answers: number) => void; onAnswer: () => void } {
  let armed: { readonly running: RunningCommand; left: number } | null = null;
  return {
    arm(running, left) {
      armed = { running, left };
    },
    onAnswer() {
      if (armed === null || --armed.left > 0) return;
      armed.running.process.kill('SIGKILL');
      armed = null;
    },
  };
}

async function endOf(scene: Scene): Promise<Record<string, unknown>> {
  return (await scene.start('run', 'nightly', '--json').ended).json();
}
