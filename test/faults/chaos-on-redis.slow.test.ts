import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { patience } from '../support/pace.ts';
import { describeWithRedis } from '../support/redis.ts';
import { seedOf } from '../support/seed.ts';
import { seededRandom } from '../support/store/random.ts';
import { wallClock } from '../support/wall-clock.ts';
import type { RunningCommand } from '../support/workspace.ts';
import { makeBooks } from './books.ts';
import { CHAOS_JOB, furnish, measureChaos } from './chaos.ts';
import {
  clockFaults,
  type Faults,
  isAlive,
  type Mischief,
  processFaults,
  startMischief,
} from './mischief.ts';
import { patienceFor, SCALE } from './scale.ts';
import { LEASE_MS, openScene, type Scene } from './scene.ts';

const PRODUCTS = 600;
const WORKERS = 2;
/** Queues order by the clocks of their machines, which NTP keeps together so far. */
const MOST_AHEAD_MS = 2_000;
/** A run that no fault strikes any more must end within this, however much it was struck before. */
const CALM_MS = patience(120_000);

describeWithRedis('two workers, while everything around them fails', () => {
  it.concurrent('lose no row, double none and believe nothing false', {
    timeout: patienceFor(SCALE.chaosMs) + CALM_MS,
  }, async (context) => {
    const seed = seedOf(context);
    const books = makeBooks(PRODUCTS, seededRandom(seed));
    using clock = wallClock();
    await using scene = await openScene({
      seed,
      catalog: books.csv,
      redis: 'short-leases',
      job: CHAOS_JOB,
      store: { latencyMs: { min: 2, max: 20 } },
      env: clock.env,
    });
    furnish(scene);
    const workers: RunningCommand[] = await Promise.all(
      Array.from({ length: WORKERS }, () => scene.worker()),
    );
    const mischief = startMischief(scene, {
      faults: {
        ...processFaults(scene, () => workers.filter(isAlive)[Math.floor(scene.random() * WORKERS)]),
        ...clockFaults(scene, clock, MOST_AHEAD_MS),
        ...redisFaults(scene),
      },
      forgetting: ['FLUSHALL', 'older copy of Redis put back'],
      restMs: 2_500,
      async supervise() {
        for (const [index, worker] of workers.entries()) {
          if (isAlive(worker)) continue;
          scene.count('worker was started again');
          workers[index] = await scene.worker();
        }
      },
    });
    await measureChaos(context, scene, { books, mischief, runThrough: () => runThrough(scene, mischief) });
  });
});

/** Has the workers run the job, again where it failed, until it is through; gives its summary. */
async function runThrough(scene: Scene, mischief: Mischief): Promise<Record<string, unknown>> {
  for (let tries = 1; ; tries++) {
    const { code, stderr, json } = await scene.storeferry('enqueue', 'nightly', '--follow', '--json');
    if (code === 0 || code === 3) return json();
    expect(code, stderr).toBe(1);
    expect(tries, `calm and yet: ${stderr}`).toBeLessThan(mischief.isOver ? 5 : 500);
    await sleep(200);
  }
}

function redisFaults({ redis, random }: Scene): Faults {
  let putBack: (() => Promise<void>) | undefined;
  return {
    'Redis killed and started again': async () => {
      await redis.kill();
      await sleep(random() * 2 * LEASE_MS);
      await redis.restart();
      return true;
    },
    'Redis stopped for a while': async () => {
      redis.pause();
      await sleep(LEASE_MS * (0.3 + random() * 1.5));
      redis.resume();
      return true;
    },
    'older copy of Redis put back': async () => {
      const found = putBack;
      putBack = found === undefined ? await redis.keepCopy() : undefined;
      await found?.();
      return found !== undefined;
    },
    FLUSHALL: async () => {
      const client = new Redis(redis.url);
      await client.flushall();
      client.disconnect();
      return true;
    },
  };
}
