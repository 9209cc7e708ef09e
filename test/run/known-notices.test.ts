import { expect, it } from 'vitest';
import { openContext } from '../../src/cli/open-context.ts';
import { sendNotices } from '../../src/run/notify/send-notices.ts';
import { aRun, facts } from '../report/run-facts.ts';
import { setupNightly } from '../support/nightly.ts';
import { startWebhook } from '../support/webhook.ts';

const HOUR = 3_600_000;
const MONDAY = Date.UTC(2026, 10, 23);
/** More than the newest events that are kept. */
const MANY = 52;

it('a week is summed up once, and an end is notified once, whatever else a job has notified since', async () => {
  await using setup = await setupNightly(1);
  await setup.workspace.write('.env', 'STORE_API_KEY=k\n');
  await using hook = await startWebhook();
  await using open = await openContext(setup.workspace.dir, () => {}, new AbortController().signal);
  let now = MONDAY;
  const context = { ...open.context, clock: () => now };
  const notify = { kind: 'url', address: hook.url, on: ['weekly', 'done'], when: 'always' } as const;
  const send = (news: Parameters<typeof sendNotices>[3]) => sendNotices(context, 'lists', [notify], news);
  const point = (readAt: number) => ({
    id: '1',
    name: 'News',
    subscribers: 100,
    opens: 0.4,
    clicks: 0.1,
    readAt,
  });
  const history = { points: [point(MONDAY - 7 * 24 * HOUR), point(MONDAY)], unreadable: 0 };
  const end = (id: string) => {
    const run = aRun({
      id,
      job: 'lists',
      kind: 'export',
      resource: 'subscriber-lists',
      startedAt: now,
      finishedAt: now,
    });
    return { run, news: { kind: 'ended', report: { ...facts(run), history } } as const };
  };
  const sent = () => hook.calls.map(({ body }) => body['end']);

  for (let hour = 0; hour < MANY; hour++) {
    now = MONDAY + hour * HOUR;
    await send(end(`run-${hour}`).news);
  }
  expect(sent().filter((one) => one === 'weekly')).toHaveLength(1);
  expect(sent().filter((one) => one === 'done')).toHaveLength(MANY);

  const { run, news } = end('last');
  await context.state.runs.create(run);
  await send(news);
  for (let tick = 0; tick < MANY; tick++) await send({ kind: 'tick', id: `tick-${tick}`, problem: null });
  expect(sent().filter((one) => one === 'done')).toHaveLength(MANY + 1);
  now += 7 * 24 * HOUR;
  await send(end('later').news);
  expect(sent().filter((one) => one === 'weekly')).toHaveLength(2);
});

it('tells a recipient of the end only of what a message has told it, and tells again what no message could', async () => {
  await using setup = await setupNightly(1);
  await setup.workspace.write('.env', 'STORE_API_KEY=k\n');
  const refused = { status: 404 } as const;
  const taken = { status: 200 } as const;
  await using hook = await startWebhook(
    ...[refused, refused, taken, taken],
    ...[refused, refused, refused, taken, taken],
    ...[taken, refused, refused],
  );
  await using open = await openContext(setup.workspace.dir, () => {}, new AbortController().signal);
  let now = MONDAY;
  const context = { ...open.context, clock: () => now };
  const notify = { kind: 'url', address: hook.url, on: ['failed', 'missed'], when: 'change' } as const;
  const send = async (after: number, news: NonNullable<Parameters<typeof sendNotices>[3]>) => {
    now += after;
    const before = hook.calls.length;
    await sendNotices(context, 'lists', [notify], news);
    return hook.calls.slice(before).map(({ body }) => body['end']);
  };
  const fails = { kind: 'not-recorded', run: null, problem: 'broken' } as const;
  const works = () =>
    ({ kind: 'ended', report: facts(aRun({ id: `run-${now}`, finishedAt: now })) }) as const;

  expect(await send(0, fails)).toEqual(['failed']);
  // Tried once more, then dropped: the next run that fails is news.
  expect(await send(7 * 24 * HOUR, fails)).toEqual(['failed']);
  expect(await send(7 * 24 * HOUR, fails)).toEqual(['failed']);
  expect(await send(HOUR, works())).toEqual(['recovered']);

  expect(await send(HOUR, fails)).toEqual(['failed']);
  expect(await send(HOUR, works())).toEqual(['failed']);
  // The recovery that waits for it is dropped with it.
  expect(await send(7 * 24 * HOUR, works())).toEqual(['failed']);
  expect(await send(HOUR, works())).toEqual([]);
  expect(await send(HOUR, fails)).toEqual(['failed']);
  expect(await send(HOUR, works())).toEqual(['recovered']);

  // Of two conditions, the recipient knows the one.
  expect(await send(HOUR, { kind: 'tick', id: 'late', problem: 'late' })).toEqual(['missed']);
  expect(await send(HOUR, fails)).toEqual(['failed']);
  expect(await send(7 * 24 * HOUR, works())).toEqual(['failed']);
  expect(await send(HOUR, { kind: 'tick', id: 'in-time', problem: null })).toEqual(['recovered']);
});
