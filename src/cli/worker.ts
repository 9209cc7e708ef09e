import pino from 'pino';
import { UsageError } from '../model/errors.ts';
import type { Run } from '../model/run.ts';
import { startWorker } from '../queue/start-worker.ts';
import { requireRedis } from './enqueue.ts';
import { interruptSignal } from './interrupt.ts';
import { importRequest, openContext } from './open-context.ts';
import type { Invocation } from './program.ts';

/** Takes runs and shards until it is told to stop; then hands back what is under way and ends with 0. */
export async function worker({ terminal, directory }: Invocation): Promise<number> {
  const stop = interruptSignal((name) => log.info({ signal: name }, 'stopping'));
  const log = pino(
    { level: 'info', redact: ['apiKey', '*.apiKey'] },
    { write: (line: string) => terminal.err(line) },
  );
  await using open = await openContext(
    directory,
    (event) => {
      if (event.type === 'begun') {
        log.info({ run: event.run.id, job: event.run.job, continued: event.continued }, 'run begun');
      } else if (event.type === 'waiting') log.info({ heldBy: event.heldBy }, 'waiting for a store');
    },
    stop,
  );
  const { workspace, context } = open;
  log.level = workspace.settings().logLevel;
  const redisUrl = requireRedis(open.redisUrl);
  const stores = workspace.storeNames();
  const running = await startWorker({
    redisUrl,
    context,
    stores,
    requestFor: ({ job, resend }) => importRequest(workspace, job, resend),
    configurationOf: async (run: Run) => {
      const job = workspace.job(run.job);
      if (job.kind !== 'import') throw new UsageError(`The job ${run.job} is no import.`);
      return { job, store: workspace.store(run.store) };
    },
    onError: (error) => log.error({ err: error }, 'trouble'),
  });
  log.info({ stores }, 'ready');
  if (!stop.aborted) {
    await new Promise<void>((resolve) => stop.addEventListener('abort', () => resolve(), { once: true }));
  }
  await running.close();
  log.info('stopped');
  return 0;
}
