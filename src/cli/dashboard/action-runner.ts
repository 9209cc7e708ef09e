import { setTimeout as sleep } from 'node:timers/promises';
import type { Action, ActionResult, DashboardActions } from '../../dashboard/dashboard-actions.ts';
import type { DashboardLog } from '../../dashboard/dashboard-log.ts';
import type { ChildCommand } from './child-command.ts';

/** Whoever has clicked waits so long for a run to show; after that they are told that it is starting. */
const WAIT_MS = 2_500;
/** Confirmations are remembered, so that the same one again does nothing; the oldest make room. */
const MOST_REMEMBERED = 1_000;

export interface ActionRunnerOptions {
  /** Starts the command of an action in a process of its own; `onRun` is told its run. */
  readonly start: (action: Action, onRun: (run: string) => void) => ChildCommand;
  readonly hasWorkers: () => Promise<boolean>;
  /** Hands a run over to the workers, and gives how to look after it; null when there are none. */
  readonly enqueue: (job: string) => Promise<EnqueuedRun | null>;
  readonly log: DashboardLog;
}

/** A run that workers have, or will take. */
export interface EnqueuedRun {
  look(): Promise<ActionResult>;
}

/** An action and how far it is. */
interface Errand {
  readonly action: Action;
  run: string | null;
  refused: string | null;
  enqueued: EnqueuedRun | null;
  child: ChildCommand | null;
  /** Resolves when there is something to show; never rejects. */
  settled: Promise<void>;
}

/** Carries actions out one at a time a job, each in a process of its own or by workers. Its end interrupts them. */
export function actionRunner({
  start,
  enqueue,
  hasWorkers,
  log,
}: ActionRunnerOptions): DashboardActions & AsyncDisposable {
  const remembered = new Map<string, Errand>();
  const atWork = new Map<string, Errand>();
  const stop = new AbortController();

  /** Waits for something, but not for long, and not at all once the dashboard ends. */
  const moment = async (awaited: Promise<unknown> = Promise.resolve()): Promise<void> => {
    await Promise.race([awaited, sleep(WAIT_MS, undefined, { signal: stop.signal }).catch(() => {})]);
  };

  const startChild = (errand: Errand): Promise<void> => {
    const { action } = errand;
    const { promise, resolve } = Promise.withResolvers<void>();
    const child = start(action, (run) => {
      errand.run = run;
      resolve();
    });
    errand.child = child;
    void child.ended.then(({ code, words }) => {
      log.info({ ...action, begun: errand.run, code }, 'action ended');
      if (errand.run === null)
        errand.refused = words.trim() || `It ended with the exit code ${code}, and said nothing.`;
      atWork.delete(action.job);
      resolve();
    });
    return promise;
  };

  const carryOut = async (errand: Errand, before: () => Promise<void>): Promise<void> => {
    const { action } = errand;
    try {
      await before();
      errand.enqueued = action.command === 'run' ? await enqueue(action.job) : null;
      if (errand.enqueued !== null) atWork.delete(action.job);
      else if (stop.signal.aborted) throw new Error('The dashboard is stopping.');
      else await startChild(errand);
    } catch (error) {
      atWork.delete(action.job);
      errand.refused = error instanceof Error ? error.message : String(error);
    }
  };

  const look = async (errand: Errand): Promise<ActionResult> => {
    if (errand.enqueued !== null) return await errand.enqueued.look();
    if (errand.refused !== null) return { kind: 'refused', message: errand.refused };
    return errand.run === null ? { kind: 'starting' } : { kind: 'begun', run: errand.run };
  };

  return {
    hasWorkers,
    async begin(action, once, before = async () => {}) {
      // A run is over before its command is, which has yet to tell of it and to leave.
      if (!remembered.has(once)) await moment(atWork.get(action.job)?.child?.ended);
      const known = remembered.get(once);
      const other = atWork.get(action.job);
      if (known === undefined && other !== undefined) return { kind: 'busy', run: other.run };
      const errand = known ?? {
        action,
        ...{ run: null, refused: null, enqueued: null, child: null },
        settled: Promise.resolve(),
      };
      if (known === undefined) {
        log.info(action, 'action begun');
        remembered.set(once, errand);
        const [oldest] = remembered.keys();
        if (remembered.size > MOST_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
        atWork.set(action.job, errand);
        errand.settled = carryOut(errand, before);
      }
      await moment(errand.settled);
      return await look(errand);
    },
    async look(once) {
      const errand = remembered.get(once);
      return errand === undefined ? undefined : { action: errand.action, result: await look(errand) };
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      const children = [...atWork.values()].flatMap(({ child }) => (child === null ? [] : [child]));
      for (const child of children) child.interrupt();
      await Promise.all(children.map(({ ended }) => ended));
    },
  };
}
