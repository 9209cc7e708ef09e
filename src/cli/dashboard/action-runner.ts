import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  ActionResult,
  AtWork,
  DashboardActions,
  DashboardLog,
} from '../../dashboard/dashboard-context.ts';
import { type Action, commandFor, type JobAction } from '../../model/action.ts';
import { MAIN } from '../package-version.ts';
import { CHILD_VARIABLE, type ChildMessage } from '../parent-process.ts';

/** Of the messages of a command only the end is kept, which contains the reason of a failure. */
const MAX_MESSAGE_CHARS = 16_384;

/** How a command ended. */
interface ChildEnd {
  /** Null if a signal ended it. */
  readonly code: number | null;
  /** Its messages on standard error. */
  readonly messages: string;
}

/** A command of Storeferry in its own process. */
type ChildCommand = ReturnType<typeof startChildCommand>;

/**
 * Starts `storeferry ARGUMENTS` for a person with these names; `onRun` is called with the id of its run. The command ends
 * when this process does.
 */
export function startChildCommand(
  args: readonly string[],
  onRun: (run: string) => void,
  actors: readonly string[] = [],
) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { ...process.env, [CHILD_VARIABLE]: actors.join('\n'), NO_COLOR: '1' },
  });
  let messages = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    messages = (messages + text).slice(-MAX_MESSAGE_CHARS);
  });
  child.on('message', (message) => {
    if (isChildMessage(message)) onRun(message.run);
  });
  const ended = waitForEnd(child).then(
    (code): ChildEnd => ({ code, messages }),
    (error: Error): ChildEnd => ({ code: null, messages: `It could not be started: ${error.message}` }),
  );
  return {
    ended,
    /** Requests its end, like Ctrl-C: requests in flight are finished, and the next run of the job continues. */
    interrupt: () => {
      if (child.connected) child.disconnect();
    },
  };
}

/**
 * Its exit code, after all its output and messages. The event `close` would have it too, but never comes if this side
 * closed the channel.
 */
async function waitForEnd(child: ChildProcess) {
  const silent = child.stderr === null ? [] : [once(child.stderr, 'close')];
  const [[code]] = await Promise.all([once(child, 'exit'), once(child, 'disconnect'), ...silent]);
  return typeof code === 'number' ? code : null;
}

function isChildMessage(message: unknown): message is ChildMessage {
  return (
    typeof message === 'object' && message !== null && 'run' in message && typeof message.run === 'string'
  );
}

/** The arguments of the command that does an action in the workspace of a folder. */
export function argumentsOf(action: Action, directory: string): string[] {
  const workspace = directory === '.' ? [] : ['-C', directory];
  const { name, words, options } = commandFor(action);
  // The words come last, even if one looks like an option.
  return [...workspace, name, '--json', ...options, '--', ...words];
}

/** How long a click waits for its run to begin. After that the page shows that the run is starting. */
const WAIT_MS = 2_500;
/** How many confirmed forms are remembered by their ids: sending one again has no effect. The oldest are forgotten. */
const MAX_REMEMBERED = 1_000;

interface ActionRunnerOptions {
  /** Starts the command of an action in its own process; `onRun` is called with its run. */
  readonly start: (action: JobAction, onRun: (run: string) => void) => ChildCommand;
  readonly hasWorkers: () => Promise<boolean>;
  /** Queues a run for the workers and returns a way to watch it; null if there are no workers. */
  readonly enqueue: (action: JobAction) => Promise<EnqueuedRun | null>;
  /** The queued and running work of the workers, by job. */
  readonly queued: () => Promise<ReadonlyMap<string, AtWork>>;
  readonly log: DashboardLog;
}

/** A run that is queued for the workers, or that they execute. */
export interface EnqueuedRun {
  result(): Promise<ActionResult>;
}

/** An action and its state. */
interface StartedAction {
  readonly action: JobAction;
  run: string | null;
  refused: string | null;
  enqueued: EnqueuedRun | null;
  child: ChildCommand | null;
  /** Resolves when there is something to show; never rejects. */
  settled: Promise<void>;
}

/**
 * Executes actions in processes of their own, at most one per job at a time; what begins an ordinary run is queued instead where there
 * are workers, which have their own order. Disposing of it interrupts the processes; workers go on.
 */
export function actionRunner({
  start,
  enqueue,
  hasWorkers,
  queued,
  log,
}: ActionRunnerOptions): DashboardActions & AsyncDisposable {
  /** By confirmation. */
  const remembered = new Map<string, StartedAction>();
  /** By job. */
  const atWork = new Map<string, StartedAction>();
  const stop = new AbortController();

  /** Waits for a short time, and not at all after the dashboard begins to stop. */
  const waitBriefly = async (awaited: Promise<unknown> = Promise.resolve()) => {
    await Promise.race([awaited, sleep(WAIT_MS, undefined, { signal: stop.signal }).catch(() => {})]);
  };

  const startChild = (started: StartedAction): Promise<void> => {
    const { action } = started;
    const { promise, resolve } = Promise.withResolvers<void>();
    const child = start(action, (run) => {
      started.run = run;
      resolve();
    });
    started.child = child;
    void child.ended.then(({ code, messages }) => {
      log[code === 1 ? 'error' : 'info']({ ...action, begun: started.run, code }, 'action ended');
      if (started.run === null)
        started.refused = messages.trim() || `It ended with the exit code ${code} and no message.`;
      atWork.delete(action.job);
      resolve();
    });
    return promise;
  };

  const carryOut = async (started: StartedAction, before: () => Promise<void>) => {
    const { action } = started;
    try {
      await before();
      started.enqueued = action.does === 'run' ? await enqueue(action) : null;
      if (started.enqueued !== null) atWork.delete(action.job);
      else if (stop.signal.aborted) throw new Error('The dashboard is stopping.');
      else await startChild(started);
    } catch (error) {
      atWork.delete(action.job);
      started.refused = error instanceof Error ? error.message : String(error);
    }
  };

  const resultOf = async (started: StartedAction): Promise<ActionResult> => {
    if (started.enqueued !== null) return await started.enqueued.result();
    if (started.refused !== null) return { kind: 'refused', message: started.refused };
    return started.run === null ? { kind: 'starting' } : { kind: 'begun', run: started.run };
  };

  return {
    hasWorkers,
    async begin(action, confirmation, { before = async () => {}, onSettled = async () => {} } = {}) {
      // A run ends before its command, which still sends notifications.
      if (!remembered.has(confirmation)) await waitBriefly(atWork.get(action.job)?.child?.ended);
      const known = remembered.get(confirmation);
      const other = atWork.get(action.job);
      if (known === undefined && other !== undefined) {
        const busy = { kind: 'busy', run: other.run } as const;
        await onSettled(busy);
        return busy;
      }
      const started = known ?? {
        action,
        run: null,
        refused: null,
        enqueued: null,
        child: null,
        settled: Promise.resolve(),
      };
      if (known === undefined) {
        log.info(action, 'action begun');
        remembered.set(confirmation, started);
        const [oldest] = remembered.keys();
        if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
        atWork.set(action.job, started);
        started.settled = carryOut(started, before);
        void started.settled
          .then(async () => onSettled(await resultOf(started)))
          .catch((err: unknown) => log.error({ ...action, err }, 'cannot write the audit log'));
      }
      await waitBriefly(started.settled);
      return await resultOf(started);
    },
    async atWork() {
      const own = [...atWork].map(([job, { run }]) => [job, { by: 'dashboard', run }] as const);
      return new Map<string, AtWork>([...(await queued()), ...own]);
    },
    async find(confirmation) {
      const started = remembered.get(confirmation);
      return started === undefined ? undefined : { action: started.action, result: await resultOf(started) };
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      const children = [...atWork.values()].flatMap(({ child }) => (child === null ? [] : [child]));
      for (const child of children) child.interrupt();
      await Promise.all(children.map(({ ended }) => ended));
    },
  };
}
