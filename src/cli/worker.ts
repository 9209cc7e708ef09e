import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { openWorkspace, type Workspace } from '../config/workspace.ts';
import { UsageError } from '../model/errors.ts';
import type { Run } from '../model/run.ts';
import { startWorker } from '../queue/start-worker.ts';
import type { WorkerLog } from '../queue/worker-log.ts';
import { requireRedis } from './enqueue.ts';
import { interruptSignal } from './interrupt.ts';
import type { Invocation } from './invocation.ts';
import { importRequest, openContext } from './open-context.ts';
import type { Terminal } from './terminal.ts';

/** A worker waits for Redis as long as a run's leases are of no use any more anyway. */
const PATIENCE_MS = 10 * 60_000;
/** Longer than requests under way are let end; without Redis nothing can be handed back. */
const CLOSE_WITHIN_MS = 7_000;

/** Takes runs and shards until it is told to stop; then hands back what is under way and ends with 0. */
export async function worker({ terminal, directory }: Invocation): Promise<number> {
  const secrets = new Set<string>();
  const log = logger(terminal, secrets);
  logWarningsOfLibraries(log);
  const stop = interruptSignal((signal) => log.info({ signal }, 'stopping'));
  requireRedis(openWorkspace(directory, process.env).settings().redisUrl);
  const open = await openContext(directory, () => {}, stop, { patienceMs: PATIENCE_MS });
  const end = async (): Promise<void> => {
    await open[Symbol.asyncDispose]();
  };
  const { workspace, context } = open;
  log.level = workspace.settings().logLevel;

  /** The files as they are now: who edits a job need not restart the workers. */
  const workspaceNow = (): Workspace => openWorkspace(directory, process.env);
  const remember = (read: Workspace): void => {
    for (const secret of read.secrets()) secrets.add(secret);
  };
  const stores = workspace.storeNames();
  remember(workspace);
  const running = await startWorker({
    redisUrl: requireRedis(open.redisUrl),
    context,
    stores,
    requestFor: async ({ job, resend }) => {
      const now = workspaceNow();
      return await importRequest(now, job, resend).finally(() => remember(now));
    },
    configurationOf: (run: Run) => {
      const now = workspaceNow();
      const job = now.job(run.job);
      if (job.kind !== 'import') throw new UsageError(`The job ${run.job} is no import.`);
      const store = now.store(run.store);
      remember(now);
      return { job, store };
    },
    log,
    lockDurationMs: open.leaseMs,
  }).catch(async (error: unknown) => {
    await end();
    throw error;
  });
  log.info({ stores, workspace: workspace.dir }, 'ready');
  if (!stop.aborted) {
    await new Promise<void>((resolve) => stop.addEventListener('abort', () => resolve(), { once: true }));
  }
  const closed = running.close().then(end);
  const inTime = await Promise.race([closed.then(() => true), sleep(CLOSE_WITHIN_MS, false, { ref: false })]);
  if (!inTime) {
    log.warn({}, 'stopped without handing back what was under way; other workers will take it over');
    process.exit(0);
  }
  log.info('stopped');
  return 0;
}

/** What libraries print themselves would be no JSON; each thing is said once. */
function logWarningsOfLibraries(log: WorkerLog): void {
  const said = new Set<unknown>();
  console.warn = (message: unknown) => {
    if (said.has(message)) return;
    said.add(message);
    log.warn({}, String(message));
  };
}

/** JSON lines on standard error; secrets are taken out wherever they turn up. */
function logger(terminal: Terminal, secrets: ReadonlySet<string>) {
  return pino(
    { level: 'info', base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime },
    {
      write(line: string) {
        let clean = line;
        for (const secret of secrets)
          clean = clean.replaceAll(JSON.stringify(secret).slice(1, -1), '[redacted]');
        terminal.err(clean);
      },
    },
  );
}
