import { PassThrough } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { Session, Sessions } from '../access/sessions.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { notFound, PageError } from '../guard/page-error.ts';
import { type LiveProgress, runFeed } from './run-feed.ts';

/** Counted by token, so that the read-only one leaves streams for those with full access. */
const MOST_OF_A_TOKEN = 50;
const MOST_OF_A_SESSION = 20;
/** Proxies close what is silent for longer than a minute. */
const HEARTBEAT_MS = 15_000;
/** How soon a browser comes back after the connection broke. */
const COME_BACK_MS = 2_000;

interface OpenStream {
  readonly session: Session;
  readonly stream: PassThrough;
}

/** Sends how a run goes as server-sent events (`progress`, then `ended`), until it is over or the viewer is. */
export function eventRoutes(
  app: FastifyInstance,
  { context }: Pick<DashboardContext, 'context'>,
  sessions: Sessions,
): void {
  const feed = runFeed(context);
  const open = new Set<OpenStream>();
  app.addHook('preClose', async () => {
    feed[Symbol.dispose]();
    for (const { stream } of open) stream.end();
  });

  // An answer to HEAD would have no content that could end: the stream would stay.
  const getOnly = { exposeHeadRoute: false };
  app.get<{ Params: { run: string } }>('/runs/:run/events', getOnly, async (request, reply) => {
    const { run: id } = request.params;
    const { session } = request;
    if (session === null || (await context.state.runs.get(id)) === undefined) throw notFound();
    const alike = [...open].filter((other) => other.session.canAct === session.canAct);
    const own = alike.filter((other) => other.session === session);
    if (alike.length >= MOST_OF_A_TOKEN || own.length >= MOST_OF_A_SESSION) {
      throw new PageError(
        503,
        'Too many open pages',
        'Close other pages of the dashboard that show a run under way.',
      );
    }
    const stream = new PassThrough();
    const entry = { session, stream };
    const send = (event: string, progress: LiveProgress) => {
      if (sessions.find(session.id, false) === undefined) stream.end();
      // A slow reader misses progress that is out of date by then, never the end.
      else if (event === 'ended' || !stream.writableNeedDrain) stream.write(eventText(event, progress));
      if (event === 'ended') stream.end();
    };
    const unwatch = feed.watch(id, send);
    const heartbeat = setInterval(() => stream.write(':\n\n'), HEARTBEAT_MS);
    open.add(entry);
    stream.once('close', () => {
      clearInterval(heartbeat);
      unwatch();
      open.delete(entry);
    });
    stream.write(`retry: ${COME_BACK_MS}\n\n`);
    return reply.header('x-accel-buffering', 'no').type('text/event-stream').send(stream);
  });
}

function eventText(event: string, progress: LiveProgress): string {
  return `event: ${event}\ndata: ${JSON.stringify(progress)}\n\n`;
}
