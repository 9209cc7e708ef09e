import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, it, type TestContext } from 'vitest';
import { shopifyCatalog } from '../support/catalog.ts';
import { figure, skipFault } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { describeWithRedis } from '../support/redis.ts';
import { mountSmallDisk, NO_SMALL_DISK } from '../support/small-disk.ts';
import { until } from '../support/until.ts';
import { wrongIn } from './books.ts';
import { SCALE } from './scale.ts';
import { openScene, type Scene } from './scene.ts';
import { ON_REDIS, runWith, versionOf } from './versions.ts';

const PRODUCTS = 40;
const OLD = versionOf(PRODUCTS, 0);
const NEW = versionOf(PRODUCTS, 1);
const STORE = { latencyMs: 200 };

interface Room {
  /** Leaves so many bytes. */
  take(bytes: number): Promise<void>;
  give(): Promise<void>;
}

/** No answer can be written down from the first on; then there is room again, and the source has gone back. */
async function withoutRoom(context: TestContext, scene: Scene, room: Room, left: readonly number[]) {
  const { store, workspace } = scene;
  expect((await runWith(scene, OLD)).code).toBe(0);
  let wrong = 0;
  let changed = 0;
  for (const bytes of left) {
    await workspace.write('catalog.csv', shopifyCatalog(NEW));
    const before = store.requests.length;
    const running = scene.start('run', 'nightly', '--json');
    await until(() => store.requests.length > before);
    await room.take(bytes);
    scene.count('no room from the first answer on');
    await running.ended;
    await room.give();
    changed += wrongIn(store, OLD);
    const { code, stderr } = await runWith(scene, OLD);
    expect(code, stderr).toBe(0);
    wrong += wrongIn(store, OLD);
  }
  expect(changed).toBeGreaterThan(0);
  figure(context, {
    invariant: 29,
    seed: null,
    fired: scene.fired(),
    measured: [none('false beliefs', wrong)],
  });
}

describe('a state on SQLite without room', () => {
  it.concurrent('keeps the doubt about what it could not write down', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    const disk = await mountSmallDisk(8);
    if (disk === undefined) {
      skipFault(context, { invariant: 29, reason: NO_SMALL_DISK });
      return;
    }
    await using _mounted = disk;
    await using scene = await openScene({ seed: 1, catalog: '', store: STORE });
    await symlink(disk.dir, join(scene.workspace.dir, '.storeferry'));
    const room = { take: disk.fill, give: disk.free };
    await withoutRoom(context, scene, room, [0, 16_384]);
  });
});

describeWithRedis('a state on Redis without room', () => {
  it.concurrent('keeps the doubt about what it could not write down', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    await using scene = await openScene({ seed: 1, catalog: '', store: STORE, ...ON_REDIS });
    const client = new Redis(scene.redis.url);
    const room: Room = {
      async take(bytes) {
        const used = /used_memory:(\d+)/.exec(await client.info('memory'))?.[1];
        await client.config('SET', 'maxmemory', String(Number(used) + bytes));
      },
      async give() {
        await client.config('SET', 'maxmemory', '0');
      },
    };
    await withoutRoom(context, scene, room, [0, 8_192]);
    client.disconnect();
  });
});
