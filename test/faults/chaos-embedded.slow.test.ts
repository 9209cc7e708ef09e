import { copyFile, readdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { skipFault } from '../support/figure.ts';
import { patience } from '../support/pace.ts';
import { seedOf } from '../support/seed.ts';
import { mountSmallDisk, NO_SMALL_DISK, type SmallDisk } from '../support/small-disk.ts';
import { seededRandom } from '../support/store/random.ts';
import { wallClock } from '../support/wall-clock.ts';
import type { RunningCommand } from '../support/workspace.ts';
import { makeBooks } from './books.ts';
import { CHAOS_JOB, furnish, measureChaos, WITNESSES_LOST } from './chaos.ts';
import { clockFaults, type Faults, isAlive, processFaults, startMischief } from './mischief.ts';
import { patienceFor, SCALE } from './scale.ts';
import { kill, openScene, type Scene } from './scene.ts';

const PRODUCTS = 300;
const DISK_MIB = 48;
const FULL_MS = 700;
const MOST_AHEAD_MS = 40 * 86_400_000;
/** A run that no fault strikes any more must end within this. */
const CALM_MS = patience(120_000);

describe('one process after the other, with state on SQLite, while everything around them fails', () => {
  it.concurrent('lose no row, double none and believe nothing false', {
    timeout: patienceFor(SCALE.chaosMs) + CALM_MS,
  }, async (context) => {
    const seed = seedOf(context);
    const books = makeBooks(PRODUCTS, seededRandom(seed));
    using clock = wallClock();
    await using disk = await mountSmallDisk(DISK_MIB);
    if (disk === undefined) skipFault(context, { invariant: 29, reason: NO_SMALL_DISK });
    await using scene = await openScene({
      seed,
      catalog: books.csv,
      job: CHAOS_JOB,
      store: { latencyMs: { min: 2, max: 20 } },
      env: clock.env,
    });
    furnish(scene);
    if (disk !== undefined) await symlink(disk.dir, join(scene.workspace.dir, '.storeferry'));
    const processes = oneAfterTheOther(scene);
    const mischief = startMischief(scene, {
      faults: {
        ...processFaults(scene, processes.current),
        ...clockFaults(scene, clock, MOST_AHEAD_MS),
        ...damages(scene, processes),
        ...(disk === undefined ? {} : fullDisk(scene, disk)),
      },
      forgetting: ['write-ahead log lost', 'older state put back', 'state deleted'],
      restMs: 4_000,
      supervise: async () => {},
    });
    const runThrough = async () => {
      for (let tries = 1; ; tries++) {
        const { code, stderr, json } = await processes.run();
        if (code === 0 || code === 3) return json();
        expect(tries, `calm and yet: ${stderr}`).toBeLessThan(mischief.isOver ? 5 : 500);
        await sleep(100);
      }
    };
    await measureChaos(context, scene, { books, runThrough, mischief });
  });
});

interface Processes {
  /** The process at work; undefined where none is. */
  readonly current: () => RunningCommand | undefined;
  run(): RunningCommand['ended'];
  /** Kills the process at work, and holds the next one back until the work is done. False where there was none. */
  whileDead(work: () => Promise<unknown>): Promise<boolean>;
}

/** Runs of the job, one at a time. */
function oneAfterTheOther(scene: Scene): Processes {
  let running: RunningCommand | undefined;
  let gate = Promise.resolve();
  const current = () => (running !== undefined && isAlive(running) ? running : undefined);
  return {
    current,
    async run() {
      await gate;
      running = scene.start('run', 'nightly', '--json');
      return await running.ended;
    },
    async whileDead(work) {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      try {
        const victim = current();
        if (victim === undefined || !(await kill(victim))) return false;
        await work();
        return true;
      } finally {
        resolve();
      }
    },
  };
}

/** What may happen to the files of the state while no process is at work. */
function damages({ workspace }: Scene, { whileDead }: Processes): Faults {
  const folder = join(workspace.dir, '.storeferry');
  const copies = join(workspace.dir, 'catalog-copy-');
  let hasCopy = false;
  const isState = (name: string) => /^state\.db(-wal|-shm)?$/.test(name);
  const remove = async (isMeant: (name: string) => boolean) => {
    const names = await readdir(folder).catch((): string[] => []);
    for (const name of names.filter(isMeant)) await rm(join(folder, name), { recursive: true });
  };
  const putBack = async () => {
    const files = (await readdir(workspace.dir)).filter((name) => name.startsWith('catalog-copy-'));
    await remove(isState);
    for (const name of files) {
      await copyFile(join(workspace.dir, name), join(folder, name.slice('catalog-copy-'.length)));
      await rm(join(workspace.dir, name));
    }
  };
  const keepCopy = async () => {
    for (const name of (await readdir(folder)).filter(isState)) {
      await copyFile(join(folder, name), copies + name);
    }
  };
  return {
    'write-ahead log lost': () => whileDead(() => remove((name) => /^state\.db-(wal|shm)$/.test(name))),
    'state deleted': () => whileDead(() => remove(isState)),
    [WITNESSES_LOST]: () => whileDead(() => remove((name) => name === 'artifacts')),
    'older state put back': async () => {
      const struck = await whileDead(hasCopy ? putBack : keepCopy);
      if (!struck) return false;
      hasCopy = !hasCopy;
      return !hasCopy;
    },
  };
}

function fullDisk({ random }: Scene, disk: SmallDisk): Faults {
  return {
    'disk full': async () => {
      await disk.fill(Math.floor(random() * 65_536));
      await sleep(FULL_MS);
      await disk.free();
      return true;
    },
  };
}
