import { copyFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { describeWithRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { wrongIn } from './books.ts';
import { SCALE } from './scale.ts';
import { openScene, type Scene } from './scene.ts';
import { killWithProductsOnTheWay, ON_REDIS, runWith, versionOf } from './versions.ts';

const PRODUCTS = 300;
const OLD = versionOf(PRODUCTS, 0);
const NEW = versionOf(PRODUCTS, 1);
/** Long enough for a copy to be made in the middle of a run, and for groups to be begun after it. */
const SLOW = { latencyMs: 150 };

const damages = (files: (name: string) => boolean) => async (scene: Scene) => {
  const folder = join(scene.workspace.dir, '.storeferry');
  for (const name of (await readdir(folder)).filter(files)) await rm(join(folder, name), { recursive: true });
};

/** The source goes back to what it was before; the state must not take what it says of then for what the store holds. */
async function sourceGoesBack(scene: Scene): Promise<{ readonly unsaid: number; readonly wrong: number }> {
  const { stdout, stderr, json, code } = await runWith(scene, OLD);
  expect(code, stderr).toBe(0);
  expect(json()).toMatchObject({ records: PRODUCTS });
  const unsaid = /The state is|The artifacts that record/.test(stdout + stderr) ? 0 : 1;
  const wrong = wrongIn(scene.store, OLD);
  const again = (await runWith(scene, OLD)).json();
  expect(again).toMatchObject({ unchanged: PRODUCTS, applied: 0 });
  return { unsaid, wrong: wrong + wrongIn(scene.store, OLD) };
}

describe('a state on SQLite that is older than what was sent', () => {
  const scenes = {
    'an older copy is put back': {
      async strike(scene: Scene) {
        const state = join(scene.workspace.dir, '.storeferry/state.db');
        await copyFile(state, `${state}.copy`);
        expect((await runWith(scene, NEW)).code).toBe(0);
        await damages((name) => /^state\.db(-wal|-shm)?$/.test(name))(scene);
        await copyFile(`${state}.copy`, state);
      },
    },
    'its write-ahead log is lost after a kill': {
      async strike(scene: Scene) {
        await killWithProductsOnTheWay(scene, NEW);
        await damages((name) => /^state\.db-(wal|shm)$/.test(name))(scene);
      },
    },
    'the artifacts are deleted after a kill': {
      async strike(scene: Scene) {
        await killWithProductsOnTheWay(scene, NEW);
        await damages((name) => name === 'artifacts')(scene);
      },
    },
  };
  it.concurrent.for(Object.entries(scenes))(
    'is said and sent again where %s',
    {
      timeout: SCALE.patienceMs,
    },
    async ([name, { strike }], context) => {
      await using scene = await openScene({ seed: 1, catalog: '', job: { mode: 'mirror' } });
      expect((await runWith(scene, OLD)).json()).toMatchObject({ applied: PRODUCTS });
      await strike(scene);
      scene.count(name);
      const { unsaid, wrong } = await sourceGoesBack(scene);
      const measured = [none('false beliefs', wrong), none('losses not said', unsaid)];
      figure(context, { invariant: 29, seed: null, fired: scene.fired(), measured });
    },
  );
});

describeWithRedis('a state on Redis that is older than what was sent', () => {
  const scenes = {
    'an older copy is put back': async (scene: Scene) => {
      const putBack = await scene.redis.keepCopy();
      expect((await runWith(scene, NEW)).code).toBe(0);
      await putBack();
    },
    'its last moments are lost after a run': async (scene: Scene) => {
      const running = runWith(scene, NEW);
      await until(() => wrongIn(scene.store, NEW) < PRODUCTS - 50);
      const putBack = await scene.redis.keepCopy();
      await running;
      await putBack();
    },
    'its last moments are lost in the middle of a run, which goes on': async (scene: Scene) => {
      const running = runWith(scene, NEW);
      await until(() => wrongIn(scene.store, NEW) < PRODUCTS - 30);
      const putBack = await scene.redis.keepCopy();
      await until(() => wrongIn(scene.store, NEW) < PRODUCTS - 120);
      await putBack();
      await running;
    },
    'the artifacts are deleted after a kill': async (scene: Scene) => {
      await killWithProductsOnTheWay(scene, NEW);
      await damages((name) => name === 'artifacts')(scene);
    },
  };
  it.concurrent.for(Object.entries(scenes))(
    'is said and sent again where %s',
    {
      timeout: SCALE.patienceMs,
    },
    async ([name, strike], context) => {
      await using scene = await openScene({
        seed: 1,
        catalog: '',
        ...ON_REDIS,
        job: { mode: 'mirror' },
        store: SLOW,
      });
      expect((await runWith(scene, OLD)).json()).toMatchObject({ applied: PRODUCTS });
      await strike(scene);
      scene.count(name);
      const { unsaid, wrong } = await sourceGoesBack(scene);
      const measured = [none('false beliefs', wrong), none('losses not said', unsaid)];
      figure(context, { invariant: 29, seed: null, fired: scene.fired(), measured });
    },
  );
});
