import { setTimeout as sleep } from 'node:timers/promises';
import {
  errorAnswer,
  halfAnswer,
  html,
  resetAfter,
  resetBefore,
  retryLater,
} from '../support/store/faults.ts';
import type { RunningCommand } from '../support/workspace.ts';
import { refusal } from './books.ts';
import { kill, LEASE_MS, type Scene } from './scene.ts';

const WORKERS = 2;
/** Between two faults. */
const REST_MS = 900;
/** How long a store or line stays bad. */
const BAD_MS = 700;

/** Faults of all kinds, one after the other, until they are stopped. */
export interface Mischief {
  readonly isOver: boolean;
  /** Ends it, and leaves store, line, Redis and two workers well. */
  stop(): Promise<void>;
}

/** Starts two workers, and strikes them and what they depend on at random. */
export async function startMischief(scene: Scene): Promise<Mischief> {
  const { store, line, random } = scene;
  const workers: RunningCommand[] = await Promise.all(Array.from({ length: WORKERS }, () => scene.worker()));
  let over = false;

  const anyWorker = (): number => Math.floor(random() * WORKERS);
  const replace = async (index: number): Promise<void> => {
    workers[index] = await scene.worker();
  };
  const badStore = async (): Promise<void> => {
    const doings = { resetAfter, resetBefore, halfAnswer, html, 503: errorAnswer(503), 429: retryLater('1') };
    for (const [name, does] of Object.entries(doings)) store.misbehave({ name, does, probability: 0.04 });
    await sleep(BAD_MS);
    store.behave();
    store.misbehave(refusal(store.apiKey));
  };
  const badLine = async (): Promise<void> => {
    line.become({ delayMs: 60, resetBefore: 0.03, resetDuring: 0.03, resetAfter: 0.03, cut: 0.03 });
    await sleep(BAD_MS);
    line.become({});
  };

  const faults: Readonly<Record<string, () => Promise<void>>> = {
    'SIGKILL to a worker': async () => {
      const index = anyWorker();
      const worker = workers[index];
      if (worker !== undefined) await kill(worker);
      await replace(index);
    },
    'SIGSTOP longer than the lease': async () => {
      const worker = workers[anyWorker()];
      worker?.process.kill('SIGSTOP');
      await sleep(LEASE_MS * (1.2 + random()));
      worker?.process.kill('SIGCONT');
    },
    'SIGSTOP shorter than the lease': async () => {
      const worker = workers[anyWorker()];
      worker?.process.kill('SIGSTOP');
      await sleep(LEASE_MS * 0.3);
      worker?.process.kill('SIGCONT');
    },
    'SIGTERM to a worker': async () => {
      const index = anyWorker();
      workers[index]?.process.kill('SIGTERM');
      await workers[index]?.ended;
      await replace(index);
    },
    'Redis killed and started again': async () => {
      await scene.redis.kill();
      await sleep(random() * 2 * LEASE_MS);
      await scene.redis.restart();
    },
    'Redis stopped for a while': async () => {
      scene.redis.pause();
      await sleep(LEASE_MS * (0.3 + random() * 1.5));
      scene.redis.resume();
    },
    'store misbehaves': badStore,
    'line misbehaves': badLine,
    'all lines cut': async () => line.cutAll(),
  };
  const names = Object.keys(faults);

  /** As whoever supervises workers does: one that has given up is started again. */
  const supervise = async (): Promise<void> => {
    for (const [index, { process }] of workers.entries()) {
      if (process.exitCode === null) continue;
      scene.count('worker gave up and was started again');
      await replace(index);
    }
  };

  const strike = async (): Promise<void> => {
    while (!over) {
      await sleep(random() * REST_MS);
      await supervise();
      const name = names[Math.floor(random() * names.length)] ?? '';
      if (name !== 'all lines cut') scene.count(name);
      await faults[name]?.();
    }
  };
  const striking = strike();
  return {
    get isOver() {
      return over;
    },
    async stop() {
      over = true;
      await striking;
      await supervise();
    },
  };
}
