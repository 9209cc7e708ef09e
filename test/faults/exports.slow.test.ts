import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { figure, skipFault } from '../support/figure.ts';
import { atLeast, none } from '../support/measure.ts';
import { seedOf } from '../support/seed.ts';
import { mountSmallDisk, NO_SMALL_DISK } from '../support/small-disk.ts';
import { errorAnswer, halfAnswer, resetBefore } from '../support/store/faults.ts';
import { seededRandom } from '../support/store/random.ts';
import type { Store } from '../support/store.ts';
import { SCALE } from './scale.ts';
import { kill, openScene } from './scene.ts';

const ORDERS = 500;
const LISTS = 40;
const order = z.looseObject({ id: z.int(), round: z.int() });

function job(what: string, destination: string): string {
  return `export: ${what}\nstore: main\ndestination: ${destination}\n`;
}

function fillOrders(store: Store, round: number): void {
  store.shop.orders.splice(0);
  for (let id = 1; id <= ORDERS; id++)
    store.shop.orders.push({ id, round, total: id / 4, note: 'thank you, "all"' });
}

function ordersIn(text: string): z.infer<typeof order>[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => order.parse(JSON.parse(line)));
}

describe('an export of orders', () => {
  it.concurrent('misses and repeats nothing stable while orders come and go, and the store fails', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    const seed = seedOf(context);
    const random = seededRandom(seed);
    let lastId = ORDERS;
    let changes = 0;
    let target: Store | null = null;
    const change = (): void => {
      if (target === null) return;
      const { orders } = target.shop;
      for (let count = Math.floor(random() * 4); count > 0; count--) {
        changes++;
        const chance = random();
        if (chance < 0.3) orders.push({ id: ++lastId, round: 1 });
        else if (chance < 0.6) orders.unshift({ id: ++lastId, round: 1 });
        else orders.splice(Math.floor(random() * orders.length), 1);
      }
    };
    await using scene = await openScene({
      seed,
      catalog: '',
      store: { latencyMs: { min: 1, max: 10 }, onAnswer: change },
    });
    const { store, workspace } = scene;
    target = store;
    await workspace.write(
      'jobs/orders.yaml',
      job('orders', '{ path: orders.jsonl, mode: replace, format: jsonl }'),
    );
    for (const [index, does] of [errorAnswer(503), resetBefore, halfAnswer].entries()) {
      // There are few pages: one of each for sure, at a page of chance.
      const page = 2 + 3 * index + Math.floor(random() * 3);
      store.misbehave({ does, from: page, until: page });
      store.misbehave({ does, probability: 0.03 });
    }
    fillOrders(store, 0);
    const { code, stderr } = await scene.storeferry('run', 'orders', '--json');
    expect(code, stderr).toBe(0);
    const ids = ordersIn(await readFile(join(workspace.dir, 'orders.jsonl'), 'utf8')).map(({ id }) => id);
    const known = new Set(ids);
    const stable = store.shop.orders.flatMap(({ id, round }) =>
      round === 0 && typeof id === 'number' ? [id] : [],
    );
    figure(context, {
      invariant: 18,
      seed,
      fired: { ...scene.fired(), 'orders added or removed between pages': changes },
      measured: [
        none('stable ids missed', stable.filter((id) => !known.has(id)).length),
        none('ids repeated', ids.length - known.size),
        atLeast(100, 'stable ids', stable.length),
      ],
    });
    figure(context, {
      invariant: 24,
      seed,
      fired: scene.fired(),
      measured: [none('leaks', (await scene.leaks()).length)],
    });
  });
});

describe('the file of an export', () => {
  it.concurrent('is whole or as it was, however often its writer is killed', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    const seed = seedOf(context);
    const random = seededRandom(seed);
    await using scene = await openScene({ seed, catalog: '' });
    const { store, workspace } = scene;
    await workspace.write(
      'jobs/orders.yaml',
      job('orders', '{ path: out/orders.jsonl, mode: replace, format: jsonl }'),
    );
    await workspace.write(
      'jobs/lists.yaml',
      job('subscriber-lists', '{ path: out/lists.csv, mode: append, format: csv }'),
    );
    for (let id = 1; id <= LISTS; id++) {
      store.shop.lists.push({
        id,
        name: `List ${id}`,
        created: 1_700_000_000,
        subscribers: id,
        opens: 0,
        clicks: 0,
      });
    }
    fillOrders(store, 0);
    for (const name of ['orders', 'lists']) {
      const { code, stderr } = await scene.storeferry('run', name);
      expect(code, stderr).toBe(0);
    }
    let partial = 0;
    for (let round = 1; round <= Math.ceil(SCALE.kills / 2); round++) {
      fillOrders(store, round);
      for (const name of ['orders', 'lists']) {
        const before = store.requests.length;
        const running = scene.start('run', name);
        while (store.requests.length === before && running.process.exitCode === null) await sleep(2);
        // The first is killed while it waits for its answer: a fast machine may be done with all before their moment comes.
        if (Object.keys(scene.fired()).length > 0) await sleep(random() * 150);
        if (running.process.exitCode === null && (await kill(running)))
          scene.count('SIGKILL while reading or writing');
        await running.ended;
      }
      const text = await readFile(join(workspace.dir, 'out/orders.jsonl'), 'utf8');
      const rounds = new Set(ordersIn(text).map((found) => found.round));
      if (rounds.size !== 1 || ordersIn(text).length !== ORDERS || !text.endsWith('\n')) partial++;
      const lines = (await readFile(join(workspace.dir, 'out/lists.csv'), 'utf8')).trimEnd().split('\n');
      if ((lines.length - 1) % LISTS !== 0 || new Set(lines).size !== lines.length) partial++;
    }
    for (const name of ['orders', 'lists']) expect((await scene.storeferry('run', name)).code).toBe(0);
    const left = (await readdir(join(workspace.dir, 'out'))).filter((name) => name.endsWith('.tmp'));
    figure(context, {
      invariant: 19,
      seed,
      fired: scene.fired(),
      measured: [none('partial files', partial), none('leftovers once a later run has ended', left.length)],
    });
  });

  it.concurrent('stays as it was on a full disk', { timeout: SCALE.patienceMs }, async (context) => {
    const disk = await mountSmallDisk(1);
    if (disk === undefined) {
      skipFault(context, { invariant: 19, reason: NO_SMALL_DISK });
      return;
    }
    await using _mounted = disk;
    await using scene = await openScene({ seed: 1, catalog: '' });
    const { store, workspace } = scene;
    const file = join(disk.dir, 'out', 'orders.jsonl');
    await mkdir(join(disk.dir, 'out'));
    await workspace.write(
      'jobs/orders.yaml',
      job('orders', `{ path: ${file}, mode: replace, format: jsonl }`),
    );
    fillOrders(store, 0);
    expect((await scene.storeferry('run', 'orders')).code).toBe(0);
    await disk.fill();
    fillOrders(store, 1);
    const failed = await scene.storeferry('run', 'orders');
    const rounds = new Set(ordersIn(await readFile(file, 'utf8')).map(({ round }) => round));
    await disk.free();
    const again = await scene.storeferry('run', 'orders');
    const after = new Set(ordersIn(await readFile(file, 'utf8')).map(({ round }) => round));
    figure(context, {
      invariant: 19,
      seed: null,
      fired: { ENOSPC: failed.code === 1 ? 1 : 0 },
      measured: [
        none('partial files', rounds.size === 1 && rounds.has(0) ? 0 : 1),
        none('leftovers of failed writes', (await readdir(join(disk.dir, 'out'))).length - 1),
        none('not written once there is room', again.code === 0 && after.has(1) ? 0 : 1),
      ],
    });
  });
});
