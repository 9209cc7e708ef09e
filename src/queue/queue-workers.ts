import { setTimeout as sleep } from 'node:timers/promises';
import { type Processor, type Queue, Worker, type WorkerOptions } from 'bullmq';
import { InterruptedError, StateError, StoreferryError } from '../model/storeferry-error.ts';
import { abortingWith } from '../run/run-context.ts';
import { type QueueConnection, type Queues, TICK_SETTINGS } from './queues.ts';
import type { WorkerLog } from './worker-settings.ts';

/**
 * Jobs of a killed worker are taken over as often as needed: with the default of 1 a second kill would fail the job.
 */
const MAX_STALLED_COUNT = 1_000;
/** How often, per duration of a lock, jobs of silent workers are searched. */
const CHECKS_PER_LOCK = 3;

/** The dependencies of the workers of a process. */
interface QueueWorkersOptions extends Pick<QueueConnection, 'connection' | 'prefix'> {
  /** How long an entry of a queue (BullMQ's job) stays with a silent worker. */
  readonly lockDurationMs: number;
  readonly log: WorkerLog;
  readonly onError: (error: Error) => void;
}

/** The BullMQ workers of this process, without any queue yet. */
export function queueWorkers({ connection, prefix, lockDurationMs, log, onError }: QueueWorkersOptions) {
  const all: WatchedWorker[] = [];
  const options: WorkerOptions = {
    connection,
    prefix,
    lockDuration: lockDurationMs,
    stalledInterval: Math.ceil(lockDurationMs / CHECKS_PER_LOCK),
    maxStalledCount: MAX_STALLED_COUNT,
    settings: TICK_SETTINGS,
  };
  return {
    /** One for each queue. */
    all,
    /** Begins to take jobs from a queue, at most `concurrency` at once. */
    take<Data, Result>(
      queue: Queue<Data, Result>,
      concurrency: number,
      processor: Processor<Data, Result>,
    ): void {
      const work = { running: 0, takenAt: Number.NEGATIVE_INFINITY };
      const counted: typeof processor = async (queued, token, cancelled) => {
        work.running++;
        work.takenAt = performance.now();
        try {
          return await processor(queued, token, cancelled);
        } finally {
          work.running--;
        }
      };
      const worker = new Worker(queue.name, counted, { ...options, concurrency });
      worker.on('error', onError);
      worker.on('stalled', (id) =>
        log.warn({ queue: queue.name, queued: id }, 'job of a stalled worker taken over'),
      );
      worker.on('failed', (queued, error) => {
        const bug = !(error instanceof StoreferryError);
        const retries = queued !== undefined && queued.finishedOn === undefined;
        log.error(
          { queued: queued?.id, reason: error.message },
          bug ? 'unexpected error' : retries ? 'job failed; retrying' : 'job failed',
        );
      });
      worker.on('lockRenewalFailed', (ids) => {
        for (const id of ids) worker.cancelJob(id, 'its lock could not be renewed');
      });
      all.push({ worker, queue, concurrency, work });
    },
    async ready(): Promise<void> {
      await Promise.all(all.map(({ worker }) => worker.waitUntilReady()));
    },
    /** Takes no new jobs, cancels current ones, and waits for them. */
    async close(): Promise<void> {
      for (const { worker } of all) worker.cancelAllJobs('the worker is stopping');
      await Promise.all(all.map(({ worker }) => worker.close()));
    },
  };
}

/**
 * Aborts when the worker must stop, and when BullMQ takes the job away from it; always with an InterruptedError,
 * because BullMQ's own reasons are texts.
 */
export function jobSignal(worker: AbortSignal, cancelled: AbortSignal | undefined): AbortSignal {
  if (cancelled === undefined) return worker;
  const taken = () => new InterruptedError('The queue has taken the job away from this worker.');
  return AbortSignal.any([worker, abortingWith(cancelled, taken)]);
}

const ANSWER_WITHIN_MS = 2_000;

/** Why a worker is not healthy: Redis is unreachable, or a queue is no longer served. Null if it is healthy. */
export function workerHealth(
  { runs }: Queues,
  watched: readonly WatchedWorker[],
  watch: ProgressWatch,
): () => Promise<string | null> {
  const redisAnswers = async () => {
    const client = await runs.getBackend().client;
    await client.info();
    return true;
  };
  return async () => {
    const waited = new AbortController();
    const late = sleep(ANSWER_WITHIN_MS, false, { ref: false, signal: waited.signal }).catch(() => false);
    const answers = await Promise.race([redisAnswers().catch(() => false), late]);
    waited.abort();
    if (!answers) return 'Redis cannot be reached';
    const stopped = watched.filter(({ worker }) => !worker.isRunning()).map(({ queue }) => queue.name);
    if (stopped.length > 0) return `no longer takes jobs from: ${stopped.join(', ')}`;
    const silent = watch.silent();
    return silent.length === 0 ? null : `jobs wait and do not arrive from: ${silent.join(', ')}`;
  };
}

const POLL_EVERY_MS = 5_000;
/** After a failover a connection may seem open and deliver nothing: longer than any healthy pause. */
const SILENT_AFTER_MS = 60_000;

/** A worker of one queue, and how busy it is. */
interface WatchedWorker {
  readonly worker: Worker;
  readonly queue: Queue;
  readonly concurrency: number;
  /** How many jobs it is processing, and when it last took one. */
  readonly work: { running: number; takenAt: number };
}

/** Detects a worker that takes no job although jobs wait and it has capacity. */
type ProgressWatch = ReturnType<typeof watchProgress>;

/**
 * Checks the queues every few seconds; while Redis does not answer no queue counts as silent. `monotonic` is the
 * clock of `work.takenAt`, in milliseconds.
 */
export function watchProgress(
  watched: readonly WatchedWorker[],
  silentAfterMs: number = SILENT_AFTER_MS,
  monotonic: () => number = () => performance.now(),
) {
  const giveUp = new AbortController();
  const waitingSince = new Map<string, number>();
  const polling = new Set<string>();
  const poll = async ({ queue, concurrency, work }: WatchedWorker) => {
    const waiting = await queue.getWaitingCount();
    const now = monotonic();
    const since = waitingSince.get(queue.name);
    if (waiting === 0 || work.running >= concurrency || (since !== undefined && work.takenAt > since)) {
      waitingSince.delete(queue.name);
    } else if (since === undefined) {
      waitingSince.set(queue.name, now);
    } else if (now - since >= silentAfterMs) {
      giveUp.abort(new StateError('Jobs are waiting, and this worker receives none of them.'));
    }
  };
  const timer = setInterval(
    () => {
      for (const worker of watched) {
        const { name } = worker.queue;
        if (polling.has(name)) continue;
        polling.add(name);
        poll(worker)
          .catch(() => waitingSince.delete(name))
          .finally(() => polling.delete(name));
      }
    },
    Math.min(POLL_EVERY_MS, silentAfterMs / 3),
  );
  return {
    /** The queues from which no job arrives. */
    silent: (): readonly string[] =>
      [...waitingSince].flatMap(([queue, since]) => (monotonic() - since > silentAfterMs / 2 ? [queue] : [])),
    /** Aborts when one has been silent for a minute. */
    gaveUp: giveUp.signal,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
