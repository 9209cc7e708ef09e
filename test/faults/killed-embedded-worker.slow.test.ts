import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { atMost, none } from '../support/measure.ts';
import { seedOf } from '../support/seed.ts';
import type { LoggedRequest } from '../support/store/request-log.ts';
import type { RunningCommand } from '../support/workspace.ts';
import { ReSent, resentSince } from './re-sent.ts';
import { patienceFor } from './scale.ts';
import { kill, openScene, type Scene } from './scene.ts';

/** Of each of two workers, which are killed side by side: most of a life is waiting for a tick. */
const KILLS = 10;
const PRODUCTS = 60;
const CONCURRENCY = 16;
/** A life of a worker, with two ticks. */
const LIFE_MS = 4_000;
/** So many kills strike runs of one version of the source. */
const KILLS_A_VERSION = 4;
const SAFETY = '{ maxDeletes: off, maxRejects: off, maxPriceMoves: off }';

/** A line of the log of a worker. */
interface Line {
  readonly msg: string;
  readonly job?: string;
  readonly run?: string;
  readonly queued?: string;
}

function linesOf(running: RunningCommand): Line[] {
  // The last line of a process that was killed may be cut.
  return running
    .stderr()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line): Line => JSON.parse(line));
}

/** All products at the price of a version: each body is sent for one version only. */
function catalogOf(version: number, from: number): string {
  const products = manyProducts(PRODUCTS / 2, from);
  return shopifyCatalog(products.map((product) => ({ ...product, price: `${100 + version}.00` })));
}

/** How many runs of this worker began while another one of their job had not ended. */
function overlapsIn(lines: readonly Line[]): number {
  const open = new Map<string, string>();
  let overlaps = 0;
  for (const { msg, job = '', run = '' } of lines) {
    if (msg === 'run begun') {
      if (open.has(job) && open.get(job) !== run) overlaps += 1;
      open.set(job, run);
    } else if (msg === 'run ended' || msg === 'run returned to the queue') {
      open.delete(job);
    }
  }
  return overlaps;
}

/** Requests that came while one of the other job was open: the jobs write to one store, and have products of their own. */
function mixedWrites(requests: readonly LoggedRequest[]): number {
  const isOther = ({ key }: LoggedRequest) => Number(key?.replace('product-', '')) > PRODUCTS / 2;
  return requests.filter((request, index) =>
    requests.some(
      (earlier, at) =>
        at < index &&
        isOther(earlier) !== isOther(request) &&
        request.startedAt < (earlier.endedAt ?? Number.POSITIVE_INFINITY),
    ),
  ).length;
}

/** The ticks that this worker has queued. */
function ticksIn(lines: readonly Line[]): string[] {
  return lines.flatMap(({ msg, queued }) =>
    queued !== undefined && (msg === 'tick: run queued' || msg === 'missed tick: run queued once')
      ? [queued]
      : [],
  );
}

describe('an embedded worker', () => {
  it.concurrent.for([1, 2])(
    'that is killed at ten moments loses no tick, never overlaps, and sends nothing twice (%i)',
    {
      timeout: patienceFor(KILLS * 2 * LIFE_MS),
    },
    async (worker, context) => {
      const seed = seedOf(context);
      await using scene = await openScene({
        seed: seed + worker,
        catalog: catalogOf(0, 1),
        job: { safety: SAFETY, schedule: '{ cron: "*/2 * * * * *" }' },
        store: { latencyMs: { min: 5, max: 40 } },
      });
      const { store, workspace } = scene;
      await workspace.write(
        'jobs/other.yaml',
        `import: products\nstore: main\nsource: { path: other.csv }\nmapping: shopify-products\nsafety: ${SAFETY}\nschedule: { cron: "1-59/2 * * * * *" }\n`,
      );

      const resent = new ReSent();
      const ticks: string[] = [];
      let overlaps = 0;
      let version = 0;
      let setup = 0;
      const note = (running: RunningCommand, before: number, died: boolean): void => {
        const lines = linesOf(running);
        ticks.push(...ticksIn(lines));
        overlaps += overlapsIn(lines);
        resent.process(resentSince(store.requests, setup, before), died);
      };
      for (let kills = 0; kills < KILLS; kills++) {
        if (kills % KILLS_A_VERSION === 0) {
          version += 1;
          await workspace.write('catalog.csv', catalogOf(version, 1));
          await workspace.write('other.csv', catalogOf(version, 1 + PRODUCTS / 2));
          setup = store.requests.length;
        }
        const before = store.requests.length;
        const running = scene.start('worker');
        await momentIn(scene, running, kills);
        expect(await kill(running)).toBe(true);
        scene.count(store.requests.length === before ? 'SIGKILL before sending' : 'SIGKILL while sending');
        note(running, before, true);
      }

      const before = store.requests.length;
      const last = scene.start('worker');
      await last.printed('"run ended"');
      const missing = (): number => {
        const wanted = `${100 + version}`;
        const bodies = manyProducts(PRODUCTS).map(({ handle }) => store.lastBody(handle) ?? '');
        return bodies.filter((body) => !new RegExp(`"price":${wanted}\\b`).test(body)).length;
      };
      // On a slow machine the runs that kills interrupt take nearly all ticks; this worker lives until it has some of its own.
      const isThrough = () => missing() === 0 && ticksIn(linesOf(last)).length > 2;
      while (!isThrough() && last.process.exitCode === null) await sleep(100);
      last.process.kill('SIGTERM');
      expect((await last.ended).code).toBe(0);
      note(last, before, false);

      await using state = await openSqliteState(join(workspace.dir, '.storeferry'));
      const entries = await Promise.all(ticks.map((id) => state.queue?.entry(id)));
      const open = new Set((await state.queue?.openEntries())?.map(({ id }) => id));
      const fired = scene.fired();
      figure(context, {
        invariant: 1,
        seed,
        fired,
        measured: [
          none('records missing', missing()),
          // What the last worker has handed back waits for the next one.
          none('ticks lost', entries.filter((entry) => !(entry?.ended || open.has(entry?.id ?? ''))).length),
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
        invariant: 28,
        seed,
        fired,
        measured: [
          none('runs of a job that overlap', overlaps),
          none('requests of two jobs at once', mixedWrites(store.requests)),
        ],
      });
      console.log(
        `${KILLS} kills, ${ticks.length} ticks, ${new Set(ticks).size} of them different, ${store.requests.length} requests for ${PRODUCTS} products in ${version} versions, re-sent ${resent.worst} for each death at worst`,
      );
      expect(new Set(ticks).size).toBe(ticks.length);
      // A run that is continued after kills takes the ticks of its job meanwhile.
      expect(ticks.length).toBeGreaterThan(2);
    },
  );
});

/** Waits for the moment of a kill: some while the worker starts, some anywhere in its life, most while it sends. */
async function momentIn({ store, random }: Scene, running: RunningCommand, kills: number): Promise<void> {
  if (kills % 5 === 4) return await sleep(random() * 1_000);
  await running.printed('"ready"');
  if (kills % 5 === 3) return await sleep(random() * LIFE_MS);
  const before = store.requests.length;
  const waitUntil = performance.now() + LIFE_MS;
  while (store.requests.length === before && performance.now() < waitUntil) await sleep(5);
  const further = random() * (PRODUCTS / 2);
  while (store.requests.length < before + further && performance.now() < waitUntil) await sleep(2);
}
