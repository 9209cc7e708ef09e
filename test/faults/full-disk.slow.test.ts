import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { figure, skipFault } from '../support/figure.ts';
import { atMost, none } from '../support/measure.ts';
import { seedOf } from '../support/seed.ts';
import { mountSmallDisk, NO_SMALL_DISK } from '../support/small-disk.ts';
import { delay } from '../support/store/faults.ts';
import { seededRandom } from '../support/store/random.ts';
import { until } from '../support/until.ts';
import { audit, makeBooks, refusal } from './books.ts';
import { ReSent, resentSince } from './re-sent.ts';
import { SCALE } from './scale.ts';
import { openScene } from './scene.ts';

const CONCURRENCY = 16;

describe('a disk that is full in the middle of a run', () => {
  it.concurrent('loses no rejection, and the run goes on once there is room', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    const seed = seedOf(context);
    const random = seededRandom(seed);
    const disk = await mountSmallDisk(16);
    if (disk === undefined) {
      skipFault(context, { invariant: 6, reason: NO_SMALL_DISK });
      return;
    }
    await using _mounted = disk;
    const books = makeBooks(800, random);
    await using scene = await openScene({
      seed,
      catalog: books.csv,
      job: { mode: 'mirror', safety: '{ maxRejects: off }' },
      store: { latencyMs: { min: 10, max: 20 } },
    });
    const { store, workspace } = scene;
    store.misbehave(refusal(store.apiKey));
    // Everything that a run keeps is on the small disk.
    await symlink(disk.dir, join(workspace.dir, '.storeferry'));

    await disk.fill();
    const unplanned = await scene.storeferry('run', 'nightly', '--json');
    expect(unplanned.code, unplanned.stderr).toBe(1);
    expect(unplanned.stderr).toContain('Free disk space');
    expect(store.requests).toEqual([]);
    scene.count('ENOSPC before planning');
    await disk.free();

    const resent = new ReSent();
    for (const after of [20, 60]) {
      const before = store.requests.length;
      const running = scene.start('run', 'nightly', '--json');
      await until(() => store.requests.length > before + after);
      // So slow that the run is not over before the disk is full.
      store.misbehave({ does: delay(500) });
      await disk.fill();
      store.behave();
      store.misbehave(refusal(store.apiKey));
      scene.count('ENOSPC while sending');
      const { code, stderr } = await running.ended;
      resent.process(resentSince(store.requests, 0, before), true);
      expect(code, stderr).toBe(1);
      expect(stderr).toContain('Free disk space');
      await disk.free();
    }
    const before = store.requests.length;
    const { json } = await scene.storeferry('run', 'nightly', '--json');
    resent.process(resentSince(store.requests, 0, before), false);
    const found = await audit(books, store, workspace, json());
    const fired = scene.fired();
    figure(context, { invariant: 6, seed, fired, measured: [none('rejections lost', found.rejectionsLost)] });
    figure(context, {
      invariant: 1,
      seed,
      fired,
      measured: [none('rows missing', found.missing), none('records unaccounted for', found.unaccounted)],
    });
    figure(context, {
      invariant: 5,
      seed,
      fired,
      measured: [atMost(CONCURRENCY, 're-sent for each process that ended so', resent.worst)],
    });
    figure(context, {
      invariant: 24,
      seed,
      fired,
      measured: [none('leaks', (await scene.leaks([disk.dir])).length)],
    });
  });
});
