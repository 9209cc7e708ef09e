import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { FastifyAdapter } from '@bull-board/fastify';
import type { Queue } from 'bullmq';
import type { JobAction } from '../model/action.ts';
import type { RunContext } from '../run/run-context.ts';
import { type Locks, type Runs, type StateQueue, WORKER_LOCK } from '../state/state.ts';
import type { Enqueued, QueuedRun, Queues } from './queues.ts';

/** More runs than a workspace has jobs. */
const MAX_LISTED = 1_000;

/** A run that waits for a worker, or that a worker has. */
interface ListedRun {
  /** The id that `enqueue` gave; undefined if another version has queued it. */
  readonly id: string | undefined;
  readonly job: string;
  /** The run that it became; null until that has begun. */
  readonly run: string | null;
  readonly by: 'queue' | 'worker';
}

/** The queues in a browser: bull-board, read-only. The dashboard has its own pages for actions. */
export interface QueueBoard {
  /** For Fastify: the board under a path. */
  readonly plugin: ReturnType<FastifyAdapter['registerPlugin']>;
  /** Shows the queues of these stores in addition to those of runs and ticks. */
  show(stores: readonly string[]): void;
}

/**
 * The runs that wait for workers, and the schedules: in Redis, or in the embedded state. All methods reject with StateError
 * when Redis does not answer.
 */
export interface RunQueue extends AsyncDisposable {
  /**
   * Queues an action, under a new id of a run or this one. Nothing is added for an id that is known, nor for a run without a sample
   * of a job that has one which is not over.
   */
  enqueue(action: JobAction, id?: string): Promise<Enqueued>;
  /** What the queue knows of a run, by the id that `enqueue` gave; undefined where it knows nothing. */
  find(id: string): Promise<QueuedRun | undefined>;
  /** The runs that no worker has begun, oldest first. */
  waiting(): Promise<readonly { readonly run: string; readonly job: string }[]>;
  /** The runs that wait, and those that workers have. */
  list(): Promise<readonly ListedRun[]>;
  workers(): Promise<number>;
  /** When each job is due next, as far as a worker has read its schedule: milliseconds since the epoch. */
  nextTicks(): Promise<ReadonlyMap<string, number>>;
  /** The queues as pages, under this path; null where there is no Redis. */
  board(path: string, onBug: (error: Error) => void): Promise<QueueBoard | null>;
}

/** Opens the queue of a workspace. StateError when Redis does not answer. */
export async function openRunQueue({
  redisUrl,
  context: { state, newRunId },
}: {
  readonly redisUrl: string | undefined;
  readonly context: Pick<RunContext, 'state' | 'newRunId'>;
}): Promise<RunQueue> {
  const { queue } = state;
  if (redisUrl === undefined && queue !== undefined) {
    return embeddedRunQueue(queue, state.locks, newRunId);
  }
  const bull = await import('./queues.ts');
  const queues = await bull.openQueues({ redisUrl: redisUrl ?? '', patient: false, onError: () => {} });
  return redisRunQueue(queues, bull, state.runs, newRunId);
}

function listing(list: RunQueue['list']): Pick<RunQueue, 'waiting' | 'list'> {
  return {
    list,
    waiting: async () =>
      (await list()).flatMap(({ id, job, run, by }) =>
        id !== undefined && run === null && by === 'queue' ? [{ run: id, job }] : [],
      ),
  };
}

function redisRunQueue(
  queues: Queues,
  bull: typeof import('./queues.ts'),
  known: Runs,
  newRunId: () => string,
): RunQueue {
  const { runs, ask } = queues;
  const listed = async (by: ListedRun['by'], states: Parameters<typeof runs.getJobs>[0]) => {
    const jobs = await ask(runs.getJobs(states, 0, MAX_LISTED, true));
    return jobs.flatMap((queued): ListedRun[] =>
      bull.isRunJobData(queued?.data)
        ? [{ id: bull.runIdOf(queued.id), job: queued.data.action.job, by, run: queued.data.run ?? null }]
        : [],
    );
  };
  return {
    enqueue: (action, id = newRunId()) => bull.enqueueRun(queues, action, id, known),
    find: (id) => bull.findQueuedRun(queues, id),
    ...listing(async () => {
      const found = await Promise.all([
        listed('queue', ['waiting', 'delayed', 'prioritized']),
        listed('worker', 'active'),
      ]);
      return found.flat();
    }),
    workers: () => ask(runs.getWorkersCount()),
    nextTicks: () => ask(bull.readNextTicks(queues)),
    board: (path, onBug) => openBoard(queues, path, onBug),
    [Symbol.asyncDispose]: () => queues[Symbol.asyncDispose](),
  };
}

function embeddedRunQueue(queue: StateQueue, locks: Locks, newRunId: () => string): RunQueue {
  const workers = async () => ((await locks.holderOf(WORKER_LOCK)) === undefined ? 0 : 1);
  return {
    async enqueue(action, wanted = newRunId()) {
      const id = await queue.addEntry({ id: wanted, action });
      return { id, queued: id, added: id === wanted, workers: (await workers()) > 0 };
    },
    async find(id) {
      const entry = await queue.entry(id);
      if (entry === undefined) return undefined;
      const { action, run, ended, error } = entry;
      return {
        action,
        run,
        ended,
        error,
        async remove() {
          if (await queue.removeEntry(id)) return true;
          // The worker that had it may have died. None can take it while its lock is held here.
          const lock = await locks.tryAcquire(WORKER_LOCK, { job: WORKER_LOCK, run: newRunId() });
          if ('heldBy' in lock) return false;
          await using _held = lock;
          await queue.releaseEntry(id);
          return await queue.removeEntry(id);
        },
      };
    },
    ...listing(async () => {
      const [open, alive] = await Promise.all([queue.openEntries(), workers()]);
      return open.map(({ id, action: { job }, run, taken }) => ({
        id,
        job,
        run,
        by: taken && alive > 0 ? 'worker' : 'queue',
      }));
    }),
    workers,
    nextTicks: async () => new Map((await queue.schedules()).map(({ job, next }) => [job, next])),
    board: async () => null,
    async [Symbol.asyncDispose]() {},
  };
}

/** The pages of the board in `dist/`. In the sources the package finds them itself. */
const PAGES = fileURLToPath(new URL('bull-board', import.meta.url));

/** The board of these queues, to be registered under `path`. */
async function openBoard(queues: Queues, path: string, onBug: (error: Error) => void): Promise<QueueBoard> {
  const { createBullBoard } = await import('@bull-board/api');
  const { BullMQAdapter } = await import('@bull-board/api/bullMQAdapter');
  const { FastifyAdapter } = await import('@bull-board/fastify');
  const adapter = new FastifyAdapter();
  adapter.setBasePath(path);
  const board = createBullBoard({
    queues: [],
    serverAdapter: adapter,
    options: {
      ...(existsSync(PAGES) && { uiBasePath: PAGES }),
      uiConfig: {
        boardTitle: 'Storeferry queues',
        boardLogo: { path: '/assets/icon.svg' },
        favIcon: { default: '/assets/icon.svg', alternative: '/assets/icon.svg' },
        miscLinks: [{ text: 'Back to the dashboard', url: '/' }],
      },
    },
  });
  // The board's own handler would show the message of Redis, with the command and its data.
  adapter.setErrorHandler((error) => {
    onBug(error);
    const message = 'The log of the dashboard shows why.';
    return { status: 500, body: { error: 'ERRORS.INTERNAL_SERVER_ERROR', message } };
  });
  let shown = '';
  return {
    plugin: adapter.registerPlugin(),
    show(stores) {
      const names = stores.join();
      if (names === shown) return;
      shown = names;
      const all: Queue[] = [queues.runs, queues.ticks(), ...stores.map((store) => queues.shards(store))];
      board.replaceQueues(all.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })));
    },
  };
}
