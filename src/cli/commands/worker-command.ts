import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isScheduled, readSchedules, schedulesVersion } from '../../config/job/read-schedules.ts';
import { openWorkspace, type Workspace } from '../../config/workspace.ts';
import { type SecretRedactor, secretRedactor } from '../../model/secret-redactor.ts';
import { explainError, StateError, UsageError } from '../../model/storeferry-error.ts';
import { startWorker } from '../../queue/start-worker.ts';
import type { WorkerLog } from '../../queue/worker-log.ts';
import type { RunningWorker, WorkerFiles } from '../../queue/worker-settings.ts';
import { defineCommand, text } from '../define-command.ts';
import { aborted, interruptSignal } from '../interrupt-signal.ts';
import { type OpenContext, openContext } from '../open-context.ts';
import { readRequest } from '../read-request.ts';
import { isLoopback, parseListenAddress } from '../worker/listen-address.ts';
import { serveWorker } from '../worker/serve-worker.ts';
import { logStoreTraffic, logWarningsOfLibraries, workerLogger } from '../worker/worker-logger.ts';

/** Of Redis. Far longer than a command waits: after this time the leases of all runs have expired. */
const COMMAND_TIMEOUT_MS = 10 * 60_000;
/** Long enough for a restart of Redis. */
const START_WITHIN_MS = 60_000;
/** Longer than requests in flight may take; without Redis no work can be returned. */
const CLOSE_WITHIN_MS = 7_000;

/**
 * `storeferry worker`: executes runs and shards until it is stopped. Then it returns unfinished work to the queue and
 * exits with 0.
 */
export const workerCommand = defineCommand({
  arguments: {},
  options: {
    listen: text('address', '[HOST:]PORT for /metrics and /healthz; this machine only without a host'),
  },
  examples: ['worker', '-C /srv/shop worker', 'worker --listen 9464', 'worker --listen 0.0.0.0:9464'],
  async run({ terminal, directory, program }, _, { listen }) {
    const secrets = secretRedactor();
    const log = workerLogger(terminal, secrets);
    logWarningsOfLibraries(log);
    const address = listen === undefined ? null : parseListenAddress(listen);
    const stop = interruptSignal((signal) => log.info({ signal }, 'stopping'), {
      graceMs: CLOSE_WITHIN_MS,
      onOverdue() {
        log.warn({}, 'stopped without returning its work to the queue; other workers will take it over');
        return 0;
      },
    });

    const ending = new AsyncDisposableStack();
    const start = async (): Promise<RunningWorker> => {
      const open = ending.use(await openForWorker(directory, { secrets, log, stop, program }));
      const { workspace } = open;
      log.level = workspace.settings().logLevel;
      for (const secret of workspace.secrets()) secrets.add(secret);
      const running = await startWorkerIn(directory, { open, secrets, log }, ending);
      if (address !== null) {
        const server = ending.use(await serveWorker(running, address));
        log.info({ url: server.url }, 'listening');
        if (!isLoopback(address))
          log.warn({}, 'metrics and health are readable for everyone who reaches this address');
      }
      log.info({ stores: workspace.storeNames(), workspace: workspace.dir }, 'ready');
      return running;
    };

    try {
      const { gaveUp } = await startWithin(START_WITHIN_MS, stop, start());
      await aborted(AbortSignal.any([stop, gaveUp]));
      if (!stop.aborted) log.error({ reason: explainError(gaveUp.reason) }, 'exiting to be restarted');
      return stop.aborted ? 0 : 1;
    } catch (error) {
      if (stop.aborted) return 0;
      throw error;
    } finally {
      // Whatever still hangs ends with the process.
      const closed = ending.disposeAsync().then(() => true);
      const inTime = await Promise.race([closed, sleep(CLOSE_WITHIN_MS, false, { ref: false })]);
      if (inTime) log.info('stopped');
    }
  },
});

interface WorkerContextOptions {
  readonly secrets: SecretRedactor;
  readonly log: Logger;
  readonly stop: AbortSignal;
  readonly program: string;
}

/** Opens the workspace for a worker, which waits for Redis longer than commands do. */
export function openForWorker(
  directory: string,
  { secrets, log, stop, program }: WorkerContextOptions,
): Promise<OpenContext> {
  return openContext(directory, () => {}, stop, {
    commandTimeoutMs: COMMAND_TIMEOUT_MS,
    listener: logStoreTraffic(log),
    onUnreadable: (problem) => log.warn({}, problem),
    secrets,
    program,
  });
}

/** Starts the worker of an open workspace, with Redis or without. */
export async function startWorkerIn(
  directory: string,
  { open, secrets, log }: { open: OpenContext; secrets: SecretRedactor; log: WorkerLog },
  ending: AsyncDisposableStack,
): Promise<RunningWorker> {
  const { context, storeStats, redisUrl, leaseMs } = open;
  const files = workerFiles(directory, secrets.add);
  return await startWorker({ redisUrl, context, files, storeStats, log, lockDurationMs: leaseMs }, ending);
}

/**
 * Waits at most `ms` milliseconds for a worker to start, and not after the signal aborts. Rejects with the signal's
 * reason, or with a StateError when the time is over. The caller closes what was opened.
 */
export async function startWithin<Started>(
  ms: number,
  signal: AbortSignal,
  starting: Promise<Started>,
): Promise<Started> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  const timer = setTimeout(() => {
    reject(
      new StateError(`The worker did not start within ${ms / 1_000} s: Redis does not answer.`, {
        hint: 'Check REDIS_URL and the log of Redis, then start the worker again.',
      }),
    );
  }, ms);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([starting, ended]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * The current files of the workspace, so that an edited job needs no restart of the workers. `onSecret` is called
 * with every secret that is read.
 */
export function workerFiles(directory: string, onSecret: (secret: string) => void): WorkerFiles {
  const remember = (workspace: Workspace): void => {
    for (const secret of workspace.secrets()) onSecret(secret);
  };
  const reading = <T>(read: (workspace: Workspace) => T): T => {
    const workspace = openWorkspace(directory, process.env);
    try {
      return read(workspace);
    } finally {
      remember(workspace);
    }
  };
  return {
    storeNames: () => reading((workspace) => workspace.storeNames()),
    jobNames: () => reading((workspace) => workspace.jobNames()),
    schedules: () => reading(readSchedules),
    isScheduled: (job) => reading((workspace) => isScheduled(workspace, job)),
    schedulesVersion: () => schedulesVersion(directory),
    requestFor: ({ job, resend }) =>
      reading((workspace) => readRequest(workspace, job, resend).finally(() => remember(workspace))),
    notifyOf: (job) => reading(({ inspection }) => inspection.job(job)?.value?.notify),
    configurationOf: (run) =>
      reading((workspace) => {
        const job = workspace.job(run.job);
        if (job.kind !== 'import') throw new UsageError(`The job ${run.job} is not an import.`);
        return { job, store: workspace.store(run.store) };
      }),
  };
}
