import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { setupNightly } from '../../support/nightly.ts';
import { delay } from '../../support/store/faults.ts';
import { until } from '../../support/until.ts';
import { endOf } from './end-of.ts';
import type { HttpClient } from './http-client.ts';
import { serveDashboard } from './running-dashboard.ts';

interface Stream {
  /** What has come so far. */
  text(): string;
  readonly status: Promise<number>;
  readonly ended: Promise<void>;
  close(): void;
}

/** Listens to the events of a run, as a browser would. */
function listen({ origin, cookie = '' }: HttpClient, run: string): Stream {
  let text = '';
  const status = Promise.withResolvers<number>();
  const ended = Promise.withResolvers<void>();
  const outgoing = request(`${origin}/runs/${run}/events`, {
    agent: false,
    headers: { accept: 'text/event-stream', cookie },
  });
  outgoing.once('response', (incoming) => {
    status.resolve(incoming.statusCode ?? 0);
    incoming.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    incoming.once('close', () => ended.resolve());
  });
  outgoing.once('error', () => ended.resolve());
  outgoing.end();
  return { text: () => text, status: status.promise, ended: ended.promise, close: () => outgoing.destroy() };
}

function eventsOf(text: string): { event: string; data: Record<string, unknown> }[] {
  return [...text.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(([, event = '', data = '{}']) => ({
    event,
    data: JSON.parse(data),
  }));
}

async function beginRun(client: HttpClient): Promise<string> {
  const { words } = await client.submit(await client.get('/jobs/nightly/run'), '/jobs/nightly/run');
  return /(?<=Run )\w+/.exec(words)?.[0] ?? '';
}

describe('a run under way', () => {
  it('has a bounded number of streams, which end with their session', async () => {
    await using nightly = await setupNightly(300);
    nightly.store.misbehave({ does: delay(1_000) });
    const dashboard = await serveDashboard(nightly.workspace);
    const full = await dashboard.signedIn('full');
    const run = await beginRun(full);
    /** Opens streams and gives their statuses. */
    const open = async (client: HttpClient, count: number) => {
      const streams = Array.from({ length: count }, () => listen(client, run));
      return { streams, statuses: await Promise.all(streams.map(({ status }) => status)) };
    };
    const looking = await dashboard.signedIn('readOnly');
    const first = await open(looking, 21);
    expect(first.statuses.toSorted()).toEqual([...Array(20).fill(200), 503]);
    const own = listen(full, run);
    let isOpen = true;
    void own.ended.then(() => {
      isOpen = false;
    });
    await looking.submit(await looking.get('/'), '/sign-out');
    await Promise.all(first.streams.map(({ ended }) => ended));
    expect([isOpen, await listen(looking, run).status]).toEqual([true, 401]);
    const others = await Promise.all(Array.from({ length: 3 }, () => dashboard.signedIn('readOnly')));
    const all = await Promise.all(others.map((other) => open(other, 20)));
    const statuses = all.flatMap((each) => each.statuses);
    expect(statuses.filter((status) => status === 200)).toHaveLength(50);
    expect(await listen(full, run).status).toBe(200);
  });

  it('is streamed to all who watch, to its end', async () => {
    await using nightly = await setupNightly(300);
    const { store } = nightly;
    // So slow that the run does not end before all watch it.
    store.misbehave({ does: delay(1_000) });
    const dashboard = await serveDashboard(nightly.workspace);
    const client = await dashboard.signedIn('full');
    const looking = await dashboard.signedIn('readOnly');
    const run = await beginRun(client);
    const streams = [listen(client, run), listen(looking, run)];
    const gone = listen(client, run);
    expect(await gone.status).toBe(200);
    gone.close();
    const isApplying = ({ data }: { readonly data: Record<string, unknown> }) =>
      data['step'] === 'apply' && Number(data['done']) > 0;
    await until(() => streams.every((stream) => eventsOf(stream.text()).some(isApplying)));
    store.behave();
    await Promise.all(streams.map(({ ended }) => ended));
    for (const stream of streams) {
      const events = eventsOf(stream.text());
      const last = events.pop();
      expect(last?.event).toBe('ended');
      expect(last?.data).toMatchObject({ status: 'done' });
      expect(events.length).toBeGreaterThan(0);
      expect(events.every(({ event }) => event === 'progress')).toBe(true);
      const applying = events.filter(({ data }) => data['step'] === 'apply').at(-1)?.data;
      expect(applying).toMatchObject({ status: 'running', unit: 'requests', total: 300, rejected: 0 });
      expect(Number(applying?.['done'])).toBeGreaterThan(0);
    }
    expect(await endOf(client, `/runs/${run}`)).toContain('300');
  });

  it('is no longer streamed after the sign-out, nor when the dashboard ends', async () => {
    await using nightly = await setupNightly(2_000, {}, { latencyMs: 100 });
    const dashboard = await serveDashboard(nightly.workspace);
    const client = await dashboard.signedIn('full');
    const other = await dashboard.signedIn('readOnly');
    const run = await beginRun(client);
    const stream = listen(other, run);
    const kept = listen(client, run);
    await until(() => eventsOf(stream.text()).length >= 2);
    await other.submit(await other.get('/'), '/sign-out');
    await stream.ended;
    expect(stream.text()).not.toContain('ended');
    const before = eventsOf(kept.text()).length;
    await until(() => eventsOf(kept.text()).length > before);

    dashboard.command.process.kill('SIGINT');
    await kept.ended;
    expect((await dashboard.command.ended).code).toBe(0);
  });

  it('is streamed to twenty pages of a session, and no more', async () => {
    await using nightly = await setupNightly(2_000, {}, { latencyMs: 100 });
    const dashboard = await serveDashboard(nightly.workspace);
    const client = await dashboard.signedIn('full');
    const run = await beginRun(client);
    const streams = Array.from({ length: 20 }, () => listen(client, run));
    for (const { status } of streams) expect(await status).toBe(200);
    const further = await client.get(`/runs/${run}/events`);
    expect(further.status).toBe(503);
    streams[0]?.close();
    await expect.poll(() => listen(client, run).status).toBe(200);
    expect((await client.get('/runs/nosuchrun/events')).status).toBe(404);
  });

  it('is streamed to full sessions, however many pages the read-only token has open', async () => {
    await using nightly = await setupNightly(2_000, {}, { latencyMs: 100 });
    const dashboard = await serveDashboard(nightly.workspace);
    const full = await dashboard.signedIn('full');
    const run = await beginRun(full);
    const statuses: number[] = [];
    for (let session = 0; session < 5; session += 1) {
      const looking = await dashboard.signedIn('readOnly');
      const streams = Array.from({ length: 20 }, () => listen(looking, run).status);
      statuses.push(...(await Promise.all(streams)));
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(50);
    expect(statuses.filter((status) => status === 503)).toHaveLength(50);
    expect(await listen(full, run).status).toBe(200);
  });

  it('says of an address that leads nowhere where to go, and of queues what they need', async () => {
    await using nightly = await setupNightly(1);
    const dashboard = await serveDashboard(nightly.workspace);
    const client = await dashboard.signedIn('full');
    for (const [path, words] of [
      ['/nowhere', 'There is no page at this address.'],
      ['/queues', 'set REDIS_URL'],
    ] as const) {
      const answer = await client.get(path);
      expect(answer.status).toBe(404);
      expect(answer.words).toContain(words);
    }
  });
});

it('shows at once that a run has ended', async () => {
  await using nightly = await setupNightly(3);
  const { stdout } = await nightly.workspace.storeferry('run', 'nightly', '--json');
  const { run } = JSON.parse(stdout);
  const dashboard = await serveDashboard(nightly.workspace);
  const stream = listen(await dashboard.signedIn('readOnly'), run);
  await stream.ended;
  expect(eventsOf(stream.text())).toMatchObject([{ event: 'ended', data: { status: 'done' } }]);
});
