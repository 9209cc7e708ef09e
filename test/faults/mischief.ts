import { setTimeout as sleep } from 'node:timers/promises';
import {
  errorAnswer,
  halfAnswer,
  html,
  lie,
  type Misbehaviour,
  resetAfter,
  resetBefore,
  retryLater,
} from '../support/store/faults.ts';
import type { WallClock } from '../support/wall-clock.ts';
import type { RunningCommand } from '../support/workspace.ts';
import { refusal, STRANGER } from './books.ts';
import { kill, LEASE_MS, type Scene } from './scene.ts';

/** How long a store or line stays bad. */
const BAD_MS = 700;

/** A fault by its name; false where there was nothing to strike. */
export type Faults = Readonly<Record<string, () => Promise<boolean>>>;

/** Faults of all kinds, one after the other, until they are stopped. */
export interface Mischief {
  readonly isOver: boolean;
  /** How often the state was made to forget what it had acknowledged. */
  readonly forgotten: number;
  /** Ends it, and leaves everything well. */
  stop(): Promise<void>;
}

/** What does the work, and is struck. */
export interface Victims {
  readonly faults: Faults;
  /** Those among them after which a mirror no longer knows all that it has sent. */
  readonly forgetting: readonly string[];
  /** The most that passes between two faults: long enough for some runs to get to their end. */
  readonly restMs: number;
  /** Before each fault, and at the end: restarts what has given up. */
  supervise(): Promise<void>;
}

/** Strikes the victims, the store and the line at random. */
export function startMischief(scene: Scene, { faults, forgetting, restMs, supervise }: Victims): Mischief {
  const { random } = scene;
  const all: Faults = { ...faults, ...storeFaults(scene) };
  const names = Object.keys(all);
  let over = false;
  let forgotten = 0;

  const strike = async (): Promise<void> => {
    while (!over) {
      await sleep(random() * restMs);
      await supervise();
      const name = names[Math.floor(random() * names.length)] ?? '';
      // Before it strikes: a run that ends meanwhile may have met it.
      if (forgetting.includes(name)) forgotten++;
      if (await all[name]?.()) scene.count(name);
    }
  };
  const striking = strike();
  return {
    get isOver() {
      return over;
    },
    get forgotten() {
      return forgotten;
    },
    async stop() {
      over = true;
      await striking;
      await supervise();
    },
  };
}

/** Store and line misbehave for a while. */
function storeFaults({ store, line, random }: Scene): Faults {
  const badStore = async (
    doings: Readonly<Record<string, Misbehaviour>>,
    method?: 'POST',
  ): Promise<boolean> => {
    for (const [name, does] of Object.entries(doings)) {
      store.misbehave({ name, does, probability: 0.04, ...(method === undefined ? {} : { method }) });
    }
    await sleep(BAD_MS);
    store.behave();
    store.misbehave(refusal(store.apiKey));
    return true;
  };
  const stranger = (): Misbehaviour => {
    const products = [...store.shop.products.values()].filter(({ url = '' }) => url.startsWith(STRANGER));
    return lie(JSON.stringify(products[Math.floor(random() * products.length)] ?? {}));
  };
  return {
    'store misbehaves': () =>
      badStore({ resetAfter, resetBefore, halfAnswer, html, 503: errorAnswer(503), 429: retryLater('1') }),
    // Of a delete any 2xx is success that does not say otherwise.
    'store lies': () =>
      badStore(
        {
          'page of a proxy': html,
          'success as text': lie('{"success":"false"}'),
          'a list': lie('[]'),
          null: lie('null'),
          'answer of another product': stranger(),
        },
        'POST',
      ),
    'line misbehaves': async () => {
      line.become({ delayMs: 60, resetBefore: 0.03, resetDuring: 0.03, resetAfter: 0.03, cut: 0.03 });
      await sleep(BAD_MS);
      line.become({});
      return true;
    },
    'all lines cut': async () => {
      line.cutAll();
      return false; // The line counts it itself.
    },
  };
}

/** Strikes one process of those at work; `choose` gives none where none is. */
export function processFaults(scene: Scene, choose: () => RunningCommand | undefined): Faults {
  const signalled = (signal: 'SIGTERM' | 'SIGHUP') => async () => {
    const victim = choose();
    victim?.process.kill(signal);
    await victim?.ended;
    return victim !== undefined;
  };
  const stopped = (leases: () => number) => async () => {
    const victim = choose();
    victim?.process.kill('SIGSTOP');
    await sleep(LEASE_MS * leases());
    victim?.process.kill('SIGCONT');
    return victim !== undefined;
  };
  return {
    'SIGKILL to a process': async () => {
      const victim = choose();
      return victim !== undefined && (await kill(victim));
    },
    'SIGTERM to a process': signalled('SIGTERM'),
    'SIGHUP to a process': signalled('SIGHUP'),
    'SIGSTOP longer than the lease': stopped(() => 1.2 + scene.random()),
    'SIGSTOP shorter than the lease': stopped(() => 0.3),
  };
}

/** Puts the clock of processes that start from now on forward or back, or right. */
export function clockFaults({ random }: Scene, clock: WallClock, mostMs: number): Faults {
  return {
    'clock put forward or back': async () => {
      clock.ahead(random() < 0.3 ? 0 : Math.round((random() - 0.5) * 2 * mostMs));
      return true;
    },
  };
}

/** Whether the process has neither ended nor been killed. */
export function isAlive({ process }: RunningCommand): boolean {
  return process.exitCode === null && process.signalCode === null;
}
