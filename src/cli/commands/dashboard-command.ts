import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { removeTemporaryFiles } from '../../config/edit-file.ts';
import { isWorkspace, readWorkspace, type Workspace } from '../../config/workspace.ts';
import {
  type ActionResult,
  isLocal,
  parseListen,
  parseProxies,
  QUEUES_PATH,
} from '../../dashboard/dashboard-context.ts';
import { type RunningDashboard, startDashboard } from '../../dashboard/start-dashboard.ts';
import type { JobAction } from '../../model/action.ts';
import { explainError, UsageError } from '../../model/storeferry-error.ts';
import { knownStore } from '../../onboarding/new-workspace.ts';
import { openRunQueue, type RunQueue } from '../../queue/run-queue.ts';
import { settleRenames } from '../../run/execute-run.ts';
import { openProcessFolder } from '../../state/file-access.ts';
import { secretRedactor } from '../../text/mask-personal-data.ts';
import {
  actionRunner,
  argumentsOf,
  type EnqueuedRun,
  startChildCommand,
} from '../dashboard/action-runner.ts';
import { defineCommand, flag, parsedOption, text } from '../define-command.ts';
import { untilAborted } from '../interrupt-signal.ts';
import { listJobs } from '../list-jobs.ts';
import { openContext } from '../open-context.ts';
import { readRequest } from '../read-request.ts';
import { recordCommand } from '../record-command.ts';
import { withProgram } from '../typed-program.ts';
import { logStoreTraffic, workerLogger } from '../worker/worker-logger.ts';
import { SANDBOX } from './sandbox-command.ts';
import type { OpenWorker, WorkerContextOptions } from './worker-command.ts';

/** `storeferry dashboard`: serves until it is stopped. Then it interrupts the runs that it started. */
export const dashboardCommand = defineCommand({
  arguments: {},
  options: {
    listen: parsedOption(
      'address',
      '[HOST:]PORT; without HOST on this machine only',
      '127.0.0.1:8700',
      (address) => address,
    ),
    url: text('url', 'where browsers reach it through a proxy: https://...'),
    proxy: text(
      'addresses',
      'the proxy in front, such as 172.18.0.0/16: only its X-Forwarded-For is believed',
    ),
    signInHeader: text(
      'name',
      'with --proxy: the header in which it names who has signed in there, such as X-Forwarded-Email',
    ),
    worker: flag('also run scheduled and queued jobs in this process'),
    metrics: text('address', 'with --worker: [HOST:]PORT for its /metrics and /healthz'),
    newToken: flag('make and print new tokens, one with full access and one read-only'),
  },
  examples: [
    'dashboard',
    '-C /srv/shop dashboard --listen 8701',
    'dashboard --worker',
    'dashboard --worker --metrics 9464',
    'dashboard --new-token',
    'dashboard --url https://storeferry.example.com --proxy 127.0.0.1',
    'dashboard --url https://storeferry.example.com --proxy 127.0.0.1 --sign-in-header X-Forwarded-Email',
  ],
  async run({ terminal, directory, program, interruptSignal }, _, options) {
    if (options.signInHeader !== undefined && options.proxy === undefined)
      throw new UsageError(
        '--sign-in-header needs --proxy: the header of any other address is not believed.',
        {
          hint: `Type ${program} dashboard --proxy 127.0.0.1 --sign-in-header ${options.signInHeader}`,
        },
      );
    const listen = parseListen(options.listen);
    const publicUrl = options.url === undefined ? undefined : parsePublicUrl(options.url);
    const proxies = parseProxies(options.proxy);
    const metrics = options.metrics === undefined ? undefined : parseListen(options.metrics, '--metrics');
    if (metrics !== undefined && !options.worker)
      throw new UsageError('--metrics serves the figures of a worker, and none runs in this process.', {
        hint: `Type ${program} dashboard --worker --metrics ${options.metrics}`,
      });
    const secrets = secretRedactor();
    const log = workerLogger(terminal, secrets);
    const stop = interruptSignal((signal) => log.info({ signal }, 'stopping'));

    if (prepareEmptyFolder(directory))
      terminal.out(`New workspace in ${directory}: make its first job in the browser.\n`);
    await using open = await openContext(directory, () => {}, stop, {
      onUnreadable: (problem) => log.warn({}, problem),
      secrets,
      listener: logStoreTraffic(log),
      program,
    });
    const { context, redisUrl } = open;
    log.level = open.workspace.settings().logLevel;
    for (const secret of allSecrets(open.workspace)) secrets.add(secret);
    const reopen = () => readWorkspace(directory, process.env);
    const redact = (text: string) => {
      // The text may quote secrets of a workspace that has changed since; one that cannot be read adds none.
      const workspace = attempt(reopen);
      for (const secret of workspace === undefined ? [] : allSecrets(workspace)) secrets.add(secret);
      return withProgram(secrets.redact(text), program);
    };

    await using ending = new AsyncDisposableStack();
    const queue = ending.use(await openRunQueue(open));
    const worker = options.worker
      ? await startOwnWorker(directory, { open, secrets, log, stop, program, listen: metrics }, ending)
      : undefined;
    const actions = ending.use(
      actionRunner({
        start: (action, onRun) => startChildCommand(argumentsOf(action, directory), onRun, action.by),
        hasWorkers: () => hasWorkers(queue),
        enqueue: (action) => enqueueJob(queue, reopen, action),
        queued: async () => new Map((await queue.list()).map(({ job, run, by }) => [job, { run, by }])),
        log,
      }),
    );

    removeTemporaryFiles(open.workspace.dir, context.clock());
    await settleRenames(context).catch((err: unknown) =>
      log.error({ err }, 'the interrupted rename of a job cannot be completed'),
    );
    const queueBoard = await queue.board(QUEUES_PATH, (err) =>
      log.error({ err }, 'the queues cannot be shown'),
    );
    const uploads = ending.use(await openProcessFolder(open.workspace.path('.storeferry/uploads')));
    const running = await startDashboard({
      dashboard: {
        context,
        readWorkspace: reopen,
        workspaceName: basename(open.workspace.dir),
        newStore: { known: () => knownStore(directory, process.env), sandbox: SANDBOX },
        redisUrl,
        program,
        listJobs: (only) =>
          listJobs(
            { workspace: reopen(), context, redisUrl, queue },
            only === undefined ? undefined : [only],
          ),
        actions,
        log,
        queue,
        redact,
        workerHealth: worker?.health,
      },
      tokens: { file: open.workspace.path('.storeferry/dashboard.json'), renew: options.newToken },
      listen,
      publicUrl,
      proxies,
      signInHeader: options.signInHeader?.toLowerCase(),
      queueBoard,
      uploadsFolder: uploads.path,
    });
    const { tokens } = running;
    if (running.url === undefined) {
      await recordCommand(context, { action: 'new-tokens' });
      terminal.out(newTokensText(running.tokens, program));
      terminal.out(`${options.listen} is in use. The dashboard of this workspace takes these tokens now.\n`);
      return 0;
    }
    ending.defer(running.close);
    const action = tokens === null ? 'start-dashboard' : 'new-tokens';
    await recordCommand(context, { action });

    terminal.out(`The dashboard of ${open.workspace.dir} is at ${running.url}\n`);
    terminal.out(
      tokens === null
        ? `Sign in with a token printed at the first start. To make new tokens: ${program} dashboard --new-token\n`
        : newTokensText(tokens, program),
    );
    if (!isLocal(listen) && publicUrl?.protocol !== 'https:')
      terminal.err(exposureWarning(options.listen, program));
    if (publicUrl !== undefined && options.proxy === undefined) terminal.err(proxyNote(program));
    await untilAborted(worker === undefined ? stop : AbortSignal.any([stop, worker.gaveUp]));
    if (worker?.gaveUp.aborted === true)
      log.error({ reason: explainError(worker.gaveUp.reason) }, 'exiting to be restarted');
    await ending.disposeAsync();
    log.info('stopped');
    return stop.aborted ? 0 : 1;
  },
});

/** Makes a workspace of a folder that has nothing but hidden files, or is not there yet; any other folder stays as it is. */
function prepareEmptyFolder(directory: string) {
  if (isWorkspace(directory)) return false;
  const names = existsSync(directory) ? readdirSync(directory) : [];
  if (names.some((name) => !name.startsWith('.'))) return false;
  mkdirSync(join(directory, 'jobs'), { recursive: true });
  return true;
}

/** Starts a worker within the dashboard. The embedded state is shared with it; a worker on Redis has its own, patient connection. */
async function startOwnWorker(
  directory: string,
  { open, ...options }: WorkerContextOptions & OpenWorker,
  ending: AsyncDisposableStack,
) {
  const { openForWorker, startWorkerIn } = await import('./worker-command.ts');
  const own = open.redisUrl === undefined ? open : ending.use(await openForWorker(directory, options));
  return await startWorkerIn(directory, { ...options, open: own }, ending);
}

function attempt<T>(read: () => T) {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** All secrets of a workspace, as far as its files can be read: `secrets()` knows those of what was read. */
function allSecrets(workspace: Workspace): readonly string[] {
  const { inspection, jobNames } = workspace;
  for (const name of inspection.stores().names ?? []) inspection.store(name);
  for (const name of jobNames()) inspection.job(name);
  return workspace.secrets();
}

function parsePublicUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search === '')
    return url;
  throw new UsageError(
    `--url: expected the address at which browsers reach the dashboard, found '${text}'.`,
    {
      hint: 'For example https://storeferry.example.com: a host name without a path.',
    },
  );
}

function newTokensText({ full, readOnly }: NonNullable<RunningDashboard['tokens']>, program: string) {
  return `
Sign in with one of these tokens. They are printed only once; the dashboard keeps their hashes:

  ${full}   full access: run, approve, retry, interrupt
  ${readOnly}   read-only

To make new tokens: ${program} dashboard --new-token

`;
}

function exposureWarning(listen: string, program: string) {
  return `Warning: other machines can reach it without TLS: others on the network can read tokens and pages. Put a proxy with TLS in front, and give the address that browsers use: ${program} dashboard --listen ${listen} --url https://...\n`;
}

function proxyNote(program: string) {
  return `Note: behind the proxy all visitors have its address, in limits and in the audit. Name the proxy: ${program} dashboard --url https://... --proxy 127.0.0.1\n`;
}

/**
 * Queues a run of a job for the workers; null if none is running, or Redis does not answer. Rejects with the errors
 * in the files of the job.
 */
async function enqueueJob(
  queue: RunQueue,
  readWorkspace: () => Workspace,
  { job, by }: JobAction,
): Promise<EnqueuedRun | null> {
  if (!(await hasWorkers(queue))) return null;
  await readRequest(readWorkspace(), job, false);
  const { id } = await queue.enqueue({ does: 'run', job, by });
  return { result: () => queuedResult(queue, id) };
}

/** Whether a worker would execute a run; false if Redis does not answer. */
async function hasWorkers(queue: RunQueue) {
  return (await queue.workers().catch(() => 0)) > 0;
}

async function queuedResult(queue: RunQueue, id: string): Promise<ActionResult> {
  const queued = await queue.find(id);
  if (queued === undefined) return { kind: 'refused', message: 'The queue has lost the run.' };
  const { run, ended, error } = queued;
  if (run !== null) return { kind: 'begun', run };
  if (!ended) return { kind: 'enqueued', workers: await hasWorkers(queue), run: id };
  return { kind: 'refused', message: error ?? 'The run could not begin.' };
}
