import { PassThrough } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Run, RunProgress, RunStatus } from '../model/run.ts';
import { ProgressMeter, type ProgressWords, progressWords, shareOf } from '../report/status-words.ts';
import { withLiveStatus } from '../run/report/read-stored-report.ts';
import type { RunContext } from '../run/run-context.ts';
import type { Session } from './access/sessions.ts';
import { notFoundError, PageError } from './guard/page-error.ts';
import type { RouteParts } from './route-parts.ts';

/** The progress of a run, as `live.js` shows it. */
export interface LiveProgress extends Omit<RunProgress, 'at'> {
  readonly status: RunStatus;
  /** Between 0 and 1; null if the total is unknown. */
  readonly share: number | null;
  readonly words: ProgressWords;
}

/** Called once per second with the progress of a run, and once at its end. */
type RunListener = (event: 'progress' | 'ended', progress: LiveProgress) => void;

const POLL_MS = 1_000;
/** Whether the process has died is checked less often. */
const LIVE_STATUS_EVERY = 5;

/** For tests: the interval of polls, and a clock in milliseconds that never goes back. */
interface RunFeedOptions {
  readonly pollMs?: number;
  readonly clock?: () => number;
}

interface Watched {
  readonly listeners: Set<RunListener>;
  readonly timer: NodeJS.Timeout;
}

/**
 * Reads the state, because any process may execute a run; one read serves all watchers of a run. A failed read is
 * repeated at the next interval.
 */
export function runFeed(
  { state }: Pick<RunContext, 'state'>,
  { pollMs = POLL_MS, clock = () => performance.now() }: RunFeedOptions = {},
) {
  const watched = new Map<string, Watched>();
  const end = (id: string) => {
    clearInterval(watched.get(id)?.timer);
    watched.delete(id);
  };

  const begin = (id: string): Watched => {
    const meter = new ProgressMeter();
    const listeners = new Set<RunListener>();
    let polls = 0;
    let waitsUntil: number | null = null;
    let isPolling = false;
    const poll = async () => {
      const found = await state.runs.get(id);
      const run =
        found && (polls++ % LIVE_STATUS_EVERY === 0 ? await withLiveStatus({ state }, found) : found);
      if (watched.get(id)?.listeners !== listeners) return;
      const waiting = run?.waiting;
      if (waiting != null && waiting.until !== waitsUntil) {
        waitsUntil = waiting.until;
        meter.pauseUntil(clock() + waitsUntil - Date.now());
      }
      const progress = liveProgress(run, meter, clock());
      const over = progress.status !== 'running';
      if (over) end(id);
      for (const listener of listeners) listener(over ? 'ended' : 'progress', progress);
    };
    const pollUnlessPolling = () => {
      if (isPolling) return;
      isPolling = true;
      poll()
        .catch(() => {})
        .finally(() => {
          isPolling = false;
        });
    };
    const timer = setInterval(pollUnlessPolling, pollMs);
    setImmediate(pollUnlessPolling);
    return { listeners, timer };
  };

  return {
    /** Begins to watch a run; returns the function that stops it. */
    watch(id: string, listener: RunListener): () => void {
      const known = watched.get(id) ?? begin(id);
      watched.set(id, known);
      known.listeners.add(listener);
      return () => {
        known.listeners.delete(listener);
        if (known.listeners.size === 0 && watched.get(id) === known) end(id);
      };
    },
    [Symbol.dispose]() {
      for (const id of [...watched.keys()]) end(id);
    },
  };
}

/** If a run no longer exists, an earlier run is continued in its place: it is over. */
function liveProgress(run: Run | undefined, meter: ProgressMeter, atMs: number): LiveProgress {
  const { step = 'finish', status = 'superseded', progress } = run ?? {};
  const known = progress?.step === step ? progress : null;
  const { done, total, unit, applied, rejected } = known ?? NOTHING_YET;
  // The rate ignores work before the first poll: a step that another process continues begins with it.
  const speed =
    known === null ? { ratePerSecond: null, etaMs: null } : meter.measure({ step, done, total }, atMs);
  const words = progressWords({ step, done, total, unit, ...speed });
  return { step, status, done, total, unit, applied, rejected, share: shareOf({ done, total }), words };
}

const NOTHING_YET = { done: 0, total: null, unit: 'rows', applied: 0, rejected: 0 } as const;

/** Limits open streams of a person or token, and of a session, so that nobody takes those of others. */
const MAX_STREAMS_PER_VIEWER = 50;
const MAX_STREAMS_PER_SESSION = 20;
/** Proxies close connections that are silent for a minute. */
const HEARTBEAT_MS = 15_000;
/** How soon a browser reconnects. */
const RECONNECT_DELAY_MS = 2_000;

interface OpenStream {
  readonly session: Session;
  readonly stream: PassThrough;
}

/** The address at which pages watch a run. */
export function eventRoutes(app: FastifyInstance, parts: RouteParts): void {
  const { runs } = parts.dashboard.context.state;
  const stream = runEvents(app, parts);
  // The stream of an answer to HEAD would never end.
  app.get('/runs/:run/events', { exposeHeadRoute: false }, async (request, reply) => {
    const run = await runs.get(request.subject);
    if (run === undefined) throw notFoundError();
    return stream(request, reply, run);
  });
}

/** Sends the progress of a run as server-sent events (`progress`, then `ended`), until the run or the session ends. */
export function runEvents(app: FastifyInstance, { dashboard: { context }, sessions }: RouteParts) {
  const feed = runFeed(context);
  const open = new Set<OpenStream>();
  sessions.onEnd((session) => {
    for (const entry of open) if (entry.session.id === session.id) entry.stream.end();
  });
  app.addHook('preClose', async () => {
    feed[Symbol.dispose]();
    for (const { stream } of open) stream.end();
  });

  return ({ session }: FastifyRequest, reply: FastifyReply, { id }: Pick<Run, 'id'>): FastifyReply => {
    if (session === null) throw notFoundError();
    const alike = [...open].filter((other) => other.session.who === session.who);
    const own = alike.filter((other) => other.session.id === session.id);
    if (alike.length >= MAX_STREAMS_PER_VIEWER || own.length >= MAX_STREAMS_PER_SESSION)
      throw new PageError(
        503,
        'Too many open pages',
        'Close other pages of the dashboard that show a running run.',
      );
    const stream = new PassThrough();
    const entry = { session, stream };
    const send = (event: string, progress: LiveProgress) => {
      if (stream.writableEnded) return;
      // A slow reader misses outdated progress, but never the end.
      if (event === 'ended' || !stream.writableNeedDrain)
        stream.write(`event: ${event}\ndata: ${JSON.stringify(progress)}\n\n`);
      if (event === 'ended') stream.end();
    };
    const unwatch = feed.watch(id, send);
    const heartbeat = setInterval(() => {
      // Looking for a session that is too old ends it, and its streams.
      const isOver = session.isOver?.() ?? sessions.find(session.id, false) === undefined;
      if (isOver || stream.writableEnded) stream.end();
      else if (!stream.writableNeedDrain) stream.write(':\n\n');
    }, HEARTBEAT_MS);
    open.add(entry);
    stream.once('close', () => {
      clearInterval(heartbeat);
      unwatch();
      open.delete(entry);
    });
    stream.write(`retry: ${RECONNECT_DELAY_MS}\n\n`);
    return reply.header('x-accel-buffering', 'no').type('text/event-stream').send(stream);
  };
}
