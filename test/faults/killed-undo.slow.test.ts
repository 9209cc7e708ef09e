import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, type TestContext } from 'vitest';
import { z } from 'zod';
import { catalogOf, lampsOf, nextLamps, openShop, type Redis } from '../run/undo-shop.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { seedOf } from '../support/seed.ts';
import { seededRandom } from '../support/store/random.ts';

/** Of each history; after each kill a run waits for the deadline of the requests. */
const ROUNDS = 3;
/** Side by side, because they mostly wait. */
const HISTORIES = [1, 2];

/** Products that the store holds otherwise than it should. */
function differences(held: ReadonlyMap<string, unknown>, wanted: ReadonlyMap<string, unknown>): number {
  const keys = new Set([...held.keys(), ...wanted.keys()]);
  return [...keys].filter((key) => JSON.stringify(held.get(key)) !== JSON.stringify(wanted.get(key))).length;
}

/** Random runs, each killed and continued, are undone in reverse order, each undo killed and planned again. */
async function undoesDespiteKills(context: TestContext, redis: Redis | undefined, history: number) {
  const seed = seedOf(context);
  const random = seededRandom(seed + history);
  await using shop = await openShop(redis, 40);
  const fired = { 'killed run': 0, 'killed undo': 0 };
  /** Gives the run that ended before it could be killed. */
  const killed = async (what: keyof typeof fired, ...args: readonly string[]): Promise<string | null> => {
    const wanted = shop.store.figures().requests + 1 + Math.floor(random() * 6);
    const started = shop.workspace.start(...args, '--json');
    const ended = started.ended.then(() => true);
    while (shop.store.figures().requests < wanted) {
      if (await Promise.race([ended, sleep(5, false)])) return String((await started.ended).json()['run']);
    }
    started.process.kill('SIGKILL');
    await started.ended;
    fired[what]++;
    return null;
  };
  let lamps = lampsOf(8);
  await shop.sends(lamps);
  const states = [shop.held()];
  const runs: string[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    lamps = nextLamps(lamps, round, random);
    await shop.workspace.write('catalog.csv', catalogOf(lamps));
    const ended = await killed('killed run', 'run', 'catalog');
    const continued = await shop.sends(lamps);
    runs.push(ended ?? continued);
    states.push(shop.held());
  }
  states.pop();
  let wrong = 0;
  for (const run of runs.toReversed()) {
    const { run: plan, operations } = await shop.run('undo', run);
    if (operations !== 0) await killed('killed undo', 'approve', String(plan));
    expect(await shop.undoes(run)).toMatchObject({ rejected: 0, unsent: 0 });
    wrong += differences(shop.held(), states.pop() ?? new Map());
  }
  // A killed run need not be continued first.
  await shop.sends(lampsOf(8));
  const start = shop.held();
  const dearer = [...lampsOf(8)].map(([url, lamp]) => [url, { ...lamp, price: 90 }] as const);
  await shop.workspace.write('catalog.csv', catalogOf(new Map(dearer)));
  const ended = await killed('killed run', 'run', 'catalog');
  const listed = z.object({ runs: z.array(z.object({ run: z.string() })) });
  const newest = listed.parse((await shop.workspace.storeferry('runs', '--json')).json()).runs[0]?.run;
  expect(await shop.undoes(ended ?? String(newest))).toMatchObject({ rejected: 0, unsent: 0 });
  wrong += differences(shop.held(), start);
  expect(shop.store.violations).toEqual([]);
  figure(context, {
    invariant: 32,
    seed,
    fired,
    measured: [none('records that an undo left otherwise', wrong)],
  });
}

describe('runs and undos that are killed', () => {
  it.concurrent.for(HISTORIES)('leave the store as it was before each run (%i)', async (history, context) => {
    await undoesDespiteKills(context, undefined, history);
  });
});

describeWithRedis('runs and undos that are killed, with Redis,', () => {
  it.concurrent.for(HISTORIES)('leave the store as it was before each run (%i)', async (history, context) => {
    await using redis = await startRedis();
    await undoesDespiteKills(context, redis, history);
  });
});
