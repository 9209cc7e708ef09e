import { type Processor, type Queue, Worker, type WorkerOptions } from 'bullmq';
import { InterruptedError, StoreferryError } from '../model/storeferry-error.ts';
import { abortingWith } from '../run/run-context.ts';
import { QUEUE_PREFIX, type QueueConnection } from './queues.ts';
import type { WatchedWorker } from './worker-health.ts';
import type { WorkerLog } from './worker-settings.ts';

/**
 * Jobs of a killed worker are taken over as often as needed: with the default of 1 a second kill would fail the job.
 */
const MAX_STALLED_COUNT = 1_000;
/** How often, per duration of a lock, jobs of silent workers are searched. */
const CHECKS_PER_LOCK = 3;

/** The dependencies of the workers of a process. */
export interface QueueWorkersOptions {
  readonly connection: QueueConnection['connection'];
  /** How long a job stays with a silent worker. */
  readonly lockDurationMs: number;
  readonly log: WorkerLog;
  readonly onError: (error: Error) => void;
}

/** The BullMQ workers of this process. */
export interface QueueWorkers {
  /** One for each queue. */
  readonly all: readonly WatchedWorker[];
  /** Begins to take jobs from a queue, at most `concurrency` at once. */
  take<Data, Result>(
    queue: Queue<Data, Result>,
    concurrency: number,
    processor: Processor<Data, Result>,
  ): void;
  ready(): Promise<void>;
  /** Takes no new jobs, cancels current ones, and waits for them. */
  close(): Promise<void>;
}

/** The workers of this process, without any queue yet. */
export function queueWorkers({
  connection,
  lockDurationMs,
  log,
  onError,
}: QueueWorkersOptions): QueueWorkers {
  const all: WatchedWorker[] = [];
  const options: WorkerOptions = {
    connection,
    prefix: QUEUE_PREFIX,
    lockDuration: lockDurationMs,
    stalledInterval: Math.ceil(lockDurationMs / CHECKS_PER_LOCK),
    maxStalledCount: MAX_STALLED_COUNT,
  };
  return {
    all,
    take(queue, concurrency, processor) {
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
      worker.on('stalled', (id) => log.warn({ queue: queue.name, queued: id }, 'taken from a silent worker'));
      worker.on('failed', (queued, error) => {
        const bug = !(error instanceof StoreferryError);
        log.error({ queued: queued?.id, reason: error.message }, bug ? 'bug' : 'failed, and tried again');
      });
      worker.on('lockRenewalFailed', (ids) => {
        for (const id of ids) worker.cancelJob(id, 'its lock could not be renewed');
      });
      all.push({ worker, queue, concurrency, work });
    },
    async ready() {
      await Promise.all(all.map(({ worker }) => worker.waitUntilReady()));
    },
    async close() {
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
