import { setTimeout as sleep } from 'node:timers/promises';
import { openWorkspace } from '../config/workspace.ts';
import { secretRedactor } from '../model/secret-redactor.ts';
import { type RunningWorker, startWorker } from '../queue/start-worker.ts';
import { requireRedis } from './enqueue.ts';
import { aborted, interruptSignal } from './interrupt-signal.ts';
import type { Invocation } from './invocation.ts';
import { openContext } from './open-context.ts';
import { isLoopback, parseListenAddress } from './worker/listen-address.ts';
import { serveWorker } from './worker/serve-worker.ts';
import { startWithin } from './worker/start-within.ts';
import { workerFiles } from './worker/worker-files.ts';
import { logStoreTraffic, logWarningsOfLibraries, workerLogger } from './worker/worker-logger.ts';

/** Far longer than a command line waits: after it the leases of every run have long expired. */
const COMMAND_TIMEOUT_MS = 10 * 60_000;
/** Long enough for a Redis that restarts; one that loads for longer is waited for by whatever starts the worker again. */
const START_WITHIN_MS = 60_000;
/** Longer than requests under way are let end; without Redis nothing can be handed back. */
const CLOSE_WITHIN_MS = 7_000;

export interface WorkerOptions {
  /** `[HOST:]PORT`; nothing listens without it. */
  readonly listen?: string;
}

/** Takes runs and shards until it is told to stop; then hands back what is under way and ends with 0. */
export async function worker(
  { terminal, directory, program }: Invocation,
  { listen }: WorkerOptions,
): Promise<number> {
  const secrets = secretRedactor();
  const log = workerLogger(terminal, secrets);
  logWarningsOfLibraries(log);
  const address = listen === undefined ? null : parseListenAddress(listen);
  const stop = interruptSignal((signal) => log.info({ signal }, 'stopping'), {
    graceMs: CLOSE_WITHIN_MS,
    onOverdue() {
      log.warn({}, 'stopped without handing back what was under way; other workers will take it over');
      return 0;
    },
  });
  requireRedis(openWorkspace(directory, process.env).settings().redisUrl);

  const ending = new AsyncDisposableStack();
  const start = async (): Promise<RunningWorker> => {
    const open = await openContext(directory, () => {}, stop, {
      commandTimeoutMs: COMMAND_TIMEOUT_MS,
      listener: logStoreTraffic(log),
      onUnreadable: (problem) => log.warn({}, problem),
      secrets,
      program,
    });
    ending.use(open);
    const { workspace } = open;
    log.level = workspace.settings().logLevel;
    for (const secret of workspace.secrets()) secrets.add(secret);
    const running = await startWorker(
      {
        redisUrl: requireRedis(open.redisUrl),
        context: open.context,
        files: workerFiles(directory, secrets.add),
        storeStats: open.storeStats,
        log,
        lockDurationMs: open.leaseMs,
      },
      ending,
    );
    if (address !== null) {
      const server = ending.use(await serveWorker(running, address));
      log.info({ url: server.url }, 'listening');
      if (!isLoopback(address)) log.warn({}, 'whoever reaches this address may read metrics and health');
    }
    log.info({ stores: workspace.storeNames(), workspace: workspace.dir }, 'ready');
    return running;
  };

  try {
    const { gaveUp } = await startWithin(START_WITHIN_MS, stop, start());
    await aborted(AbortSignal.any([stop, gaveUp]));
    if (!stop.aborted) log.error({}, 'work waits and none of it comes: ending, to be started anew');
    return stop.aborted ? 0 : 1;
  } catch (error) {
    if (stop.aborted) return 0;
    throw error;
  } finally {
    // What hangs beyond that ends with the process.
    const closed = ending.disposeAsync().then(() => true);
    const inTime = await Promise.race([closed, sleep(CLOSE_WITHIN_MS, false, { ref: false })]);
    if (inTime) log.info('stopped');
  }
}
