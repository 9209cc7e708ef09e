import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import {
  isScheduled,
  readSchedules,
  readWorkspace,
  schedulesVersion,
  type Workspace,
  watchedJobs,
} from '../../config/workspace.ts';
import {
  cannotListen,
  isLocal,
  type Listen,
  ownAddresses,
  parseListen,
  sameText,
  urlHost,
} from '../../dashboard/dashboard-context.ts';
import { rejectOnAbort } from '../../model/clock.ts';
import { explainError, StateError, UsageError } from '../../model/storeferry-error.ts';
import { type RunningWorker, startWorker, type WorkerFiles } from '../../queue/start-worker.ts';
import { type SecretRedactor, secretRedactor } from '../../text/mask-personal-data.ts';
import { defineCommand, text } from '../define-command.ts';
import { untilAborted } from '../interrupt-signal.ts';
import { type OpenContext, openContext } from '../open-context.ts';
import { readTask } from '../read-request.ts';
import { logStoreTraffic, logWarningsOfLibraries, workerLogger } from '../worker/worker-logger.ts';

const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Without Redis some figures would not be available until it is back. */
const METRICS_TIMEOUT_MS = 4_000;

/** How containers and machines of a network address one another, with or without a port. */
const NETWORK_NAME = /^[a-z0-9_-]+(?:\.(?:[a-z0-9_-]+\.)*(?:local|internal|lan|svc|home\.arpa))?(?::\d+)?$/i;

/** The HTTP server of a worker. */
interface WorkerServer extends AsyncDisposable {
  readonly url: string;
}

/** What a worker takes from webhooks of stores. */
interface ReceivedEvents {
  readonly secret: string;
  /** Runs the job soon; false where it is no export. */
  accept(job: string): boolean;
}

/** `POST /events/JOB`, with the secret as a bearer token or as `?secret=`. */
const EVENTS_PATH = /^\/events\/([^/]+)$/;
const MAX_EVENT_BYTES = 1024 * 1024;

/**
 * Serves `/metrics` for Prometheus and `/healthz` (200, or 503 with the reason) until it is disposed of, and takes events where it may.
 * UsageError if it cannot listen there.
 */
export async function serveWorker(
  worker: Pick<RunningWorker, 'health' | 'metrics'>,
  listen: Listen,
  events?: ReceivedEvents,
): Promise<WorkerServer> {
  const { host, port } = listen;
  const addresses = ownAddresses(listen, undefined);
  // A foreign page can point its own host name to this address (DNS rebinding), but not a name that is reserved for
  // local networks.
  const isServed = (name: string | undefined) =>
    addresses.knows(name) || (!isLocal(listen) && name !== undefined && NETWORK_NAME.test(name));
  const answer = async (path: string, response: ServerResponse) => {
    if (path === '/healthz') {
      const problem = await worker.health();
      send(response, problem === null ? 200 : 503, `${problem ?? 'ok'}\n`);
    } else if (path === '/metrics')
      send(
        response,
        200,
        await rejectOnAbort(worker.metrics(), AbortSignal.timeout(METRICS_TIMEOUT_MS)),
        PROMETHEUS_TYPE,
      );
    else send(response, 404, 'Not found. Known paths: /metrics and /healthz.\n');
  };
  // The content of an event is ignored: the run reads the store.
  const receive = async (
    { secret, accept }: ReceivedEvents,
    request: IncomingMessage,
    job: string,
    query = '',
  ): Promise<[number, string]> => {
    const [, bearer] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
    const given = bearer ?? new URLSearchParams(query).get('secret') ?? '';
    if (!sameText(given, secret)) return [401, 'Wrong secret.\n'];
    let bytes = 0;
    for await (const chunk of request) {
      bytes += chunk.length;
      if (bytes > MAX_EVENT_BYTES) return [413, 'Too large.\n'];
    }
    return accept(job) ? [202, 'The export will run.\n'] : [404, 'No export has this name.\n'];
  };
  const server = createServer((request, response) => {
    const [path = '', query] = (request.url ?? '').split('?');
    const [, job] = EVENTS_PATH.exec(path) ?? [];
    // Events come through a proxy, which may pass its own name on; their secret is proof enough.
    if (events !== undefined && job !== undefined && request.method === 'POST') {
      receive(events, request, job, query).then(
        ([status, words]) => {
          if (!request.complete) response.setHeader('connection', 'close');
          send(response, status, words);
        },
        () => response.destroy(),
      );
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      send(response, 405, 'Only GET.\n');
      return;
    }
    if (!isServed(request.headers.host)) {
      send(
        response,
        403,
        `Reach it by its IP address, by a name without dots, or by the name given to --listen.\n`,
      );
      return;
    }
    answer(path, response).catch(() => send(response, 503, 'The figures cannot be read.\n'));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(cannotListen(error, 'The worker', listen)));
    server.listen(port, host, resolve);
  });
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://${urlHost(host)}:${bound}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function send(response: ServerResponse, status: number, body: string, type = 'text/plain; charset=utf-8') {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
}

/** Of Redis. Far longer than a command waits: after this time the leases of all runs have expired. */
const COMMAND_TIMEOUT_MS = 10 * 60_000;
/** Long enough for a restart of Redis. */
const START_TIMEOUT_MS = 60_000;
/** Longer than requests in flight may take; without Redis no work can be returned. */
const CLOSE_TIMEOUT_MS = 7_000;

/**
 * `storeferry worker`: executes runs and shards until it is stopped. Then it returns unfinished work to the queue and
 * exits with 0.
 */
export const workerCommand = defineCommand({
  arguments: {},
  options: {
    listen: text(
      'address',
      '[HOST:]PORT for /metrics, /healthz and webhooks of stores (/events/JOB); default HOST: this machine',
    ),
  },
  examples: ['worker', '-C /srv/shop worker', 'worker --listen 9464', 'worker --listen 0.0.0.0:9464'],
  async run({ terminal, directory, program, interruptSignal }, _, { listen }) {
    const secrets = secretRedactor();
    const log = workerLogger(terminal, secrets);
    logWarningsOfLibraries(log);
    const address = listen === undefined ? undefined : parseListen(listen);
    const stop = interruptSignal((signal) => log.info({ signal }, 'stopping'), {
      graceMs: CLOSE_TIMEOUT_MS,
      onOverdue() {
        log.warn({}, 'stopped without returning its work to the queue; other workers will take it over');
        return 0;
      },
    });

    const ending = new AsyncDisposableStack();
    const start = async () => {
      const open = ending.use(await openForWorker(directory, { secrets, log, stop, program }));
      const { workspace } = open;
      log.level = workspace.settings().logLevel;
      for (const secret of workspace.secrets()) secrets.add(secret);
      const running = await startWorkerIn(directory, { open, secrets, log, listen: address }, ending);
      log.info({ stores: workspace.storeNames(), workspace: workspace.dir }, 'ready');
      return running;
    };

    try {
      const { gaveUp } = await startWithin(START_TIMEOUT_MS, stop, start());
      await untilAborted(AbortSignal.any([stop, gaveUp]));
      if (!stop.aborted) log.error({ reason: explainError(gaveUp.reason) }, 'exiting to be restarted');
      return stop.aborted ? 0 : 1;
    } catch (error) {
      if (stop.aborted) return 0;
      throw error;
    } finally {
      // Whatever still hangs ends with the process.
      const closed = ending.disposeAsync().then(() => true);
      const inTime = await Promise.race([closed, sleep(CLOSE_TIMEOUT_MS, false, { ref: false })]);
      if (inTime) log.info('stopped');
    }
  },
});

/** What a worker logs to, and what ends it. */
export interface WorkerContextOptions {
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

/** A worker's workspace, and where its figures are. */
export interface OpenWorker extends Pick<WorkerContextOptions, 'secrets' | 'log'> {
  readonly open: OpenContext;
  /** Where it serves its figures; undefined: nowhere. */
  readonly listen: Listen | undefined;
}

/** Starts the worker of an open workspace, with Redis or without. */
export async function startWorkerIn(
  directory: string,
  { open, secrets, log, listen }: OpenWorker,
  ending: AsyncDisposableStack,
): Promise<RunningWorker> {
  const { context, storeStats, redisUrl, leaseMs } = open;
  const files = workerFiles(directory, secrets.add);
  const worker = await startWorker(
    { redisUrl, context, files, storeStats, log, lockDurationMs: leaseMs },
    ending,
  );
  if (listen === undefined) return worker;
  const { eventsSecret } = open.workspace.settings();
  const events = eventsSecret === undefined ? undefined : { secret: eventsSecret, accept };
  const server = ending.use(await serveWorker(worker, listen, events));
  log.info({ url: server.url }, 'listening');
  if (!isLocal(listen)) log.warn({}, 'metrics and health are readable for everyone who reaches this address');
  return worker;

  function accept(job: string) {
    const isExport = files.isExport(job);
    if (isExport) worker.runForEvent(job);
    return isExport;
  }
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
  const over = AbortSignal.timeout(ms);
  try {
    return await rejectOnAbort(starting, AbortSignal.any([signal, over]));
  } catch (error) {
    if (signal.aborted || !over.aborted) throw error;
    throw new StateError(`The worker did not start within ${ms / 1_000} s: Redis does not answer.`, {
      hint: 'Check REDIS_URL and the log of Redis, then start the worker again.',
    });
  }
}

/**
 * The current files of the workspace, so that an edited job needs no restart of the workers. `onSecret` is called
 * with every secret that is read.
 */
export function workerFiles(directory: string, onSecret: (secret: string) => void): WorkerFiles {
  const remember = (workspace: Workspace) => {
    for (const secret of workspace.secrets()) onSecret(secret);
  };
  const reading = <T>(read: (workspace: Workspace) => T) => {
    const workspace = readWorkspace(directory, process.env);
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
    watched: () => reading(watchedJobs),
    isExport: (job) => reading(({ inspection }) => inspection.job(job)?.value?.kind === 'export'),
    schedulesVersion: () => schedulesVersion(directory),
    taskFor: (context, action) =>
      reading((workspace) => readTask({ workspace, context }, action).finally(() => remember(workspace))),
    readRecipients: (job) => reading(({ inspection }) => inspection.job(job)?.value?.notify),
    readConfiguration: (run) =>
      reading((workspace) => {
        const job = workspace.job(run.job);
        if (job.kind !== 'import') throw new UsageError(`The job ${run.job} is not an import.`);
        return { job, store: workspace.store(run.store) };
      }),
  };
}
