import { createHmac } from 'node:crypto';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { beginNotification, conditionsOf, endNotification } from '../../src/report/run-document.ts';
import { deliverNotification } from '../../src/run/notify/deliver-notification.ts';
import { decide } from '../../src/run/notify/send-notices.ts';
import { endWithTest } from '../support/processes.ts';
import { until } from '../support/until.ts';
import { startWebhook, WEBHOOK_SECRETS, type WebhookAnswer } from '../support/webhook.ts';
import { aPlan, facts, NOW } from './run-facts.ts';

const hurried = { retries: 3, firstDelayMs: 5, attemptMs: 1_500, allAttemptsMs: 15_000 };
const { signal } = new AbortController();
const { totals } = facts({});
const { rejections } = aPlan();
const ended = facts({ status: 'done-with-rejects', totals }, { rejectsFile: 'a/rejects.csv' });
const moment = { now: NOW, version: '1.2.3' };
const notification = endNotification('rejects', ended, moment);
const message = { notification, report: null };
const hook = (address: string) => ({ kind: 'url', address, on: [], when: 'always' }) as const;

describe('a notification', () => {
  it('says in a few lines what became of the run and what to type, and carries all figures', () => {
    expect(notification.text.split('\n')).toEqual([
      expect.stringMatching(
        /^nightly-catalog: done, with rejects, after 12\.3 s\. .* \(store main, run k3f9\)$/,
      ),
      '1 record (2 rows): the price is not a number',
      'Rejects file: a/rejects.csv',
      'Correct the rows in the rejects file, then: storeferry retry k3f9',
    ]);
    expect(notification.content).toBe(notification.text);
    expect(notification.summary).toMatchObject({
      run: 'k3f9',
      rejectsFile: 'a/rejects.csv',
      durationMs: 12_345,
    });
  });

  it('names the reason of most rejections', () => {
    const [group] = rejections;
    if (group === undefined) throw new Error('no rejections');
    const refused = { ...group, message: 'SKU is taken', records: 90, rows: 90 };
    const { text } = endNotification('rejects', { ...ended, refusals: [refused] }, moment);
    expect(text).toContain('\nMostly: 90 rows: SKU is taken\nRejects file: a/rejects.csv\n');
  });

  it('says why a run failed, and why a job could not begin', () => {
    const run = { status: 'failed', error: 'The store does not accept the API key (401).' } as const;
    const { text } = endNotification('failed', facts(run, { plan: null }), moment);
    expect(text).toContain('The store does not accept the API key (401).');
    expect(text).toContain('storeferry run nightly-catalog');
    const begun = beginNotification('nightly', 'jobs/nightly.yaml:3:1: expected a mapping', 'x1', null);
    expect(begun).toMatchObject({ end: 'failed', summary: null, id: 'x1' });
    expect(begun.text).toContain('jobs/nightly.yaml:3:1');
  });

  it('mentions no person and hides no link, whatever a store says, and stays short', () => {
    const error = `<!channel> @here @everyone <https://evil.example|click> \u001b[31m ${'x'.repeat(5_000)}`;
    const { text, allowed_mentions } = endNotification(
      'failed',
      facts({ status: 'failed', error }, { plan: null }),
      moment,
    );
    expect(text.replaceAll('\n', '')).not.toMatch(/[<>\p{Cc}]|@here|@everyone/u);
    expect(text.length).toBeLessThan(2_000);
    expect(allowed_mentions).toEqual({ parse: [] });
  });

  it('has an id that repeats with the same end only', () => {
    expect(endNotification('rejects', ended, { ...moment, now: NOW + 5 }).id).toBe(notification.id);
    const later = { ...ended, run: { ...ended.run, finishedAt: NOW } };
    expect(endNotification('rejects', later, moment).id).not.toBe(notification.id);
  });

  it.each([
    ['failed', ['failed']],
    ['stopped', ['stopped']],
    ['done-with-rejects', ['rejects', 'held']],
    ['done', ['done']],
    ['interrupted', undefined],
    ['superseded', undefined],
    ['planned', undefined],
    ['running', undefined],
  ] as const)('of a run that is %s is about %j', (status, holding) => {
    const counted = { ...totals, rejected: 0, held: 0 };
    const some = status === 'done-with-rejects' ? { ...counted, rejected: 1, held: 2 } : counted;
    const found = conditionsOf({ ...facts({ status }), totals: some });
    expect(
      found &&
        Object.keys(found).filter((name) => Object.entries(found).some(([key, is]) => key === name && is)),
    ).toEqual(holding);
    expect(conditionsOf(facts({ kind: 'plan', status }))).toBeUndefined();
  });
});

describe('what a recipient is sent', () => {
  const on = ['failed', 'rejects', 'done'] as const;
  it('is each condition that it asked for, or only what changes', () => {
    const failed = { failed: true, rejects: false, done: false };
    const fine = { failed: false, rejects: false, done: true };
    const always = { on: [...on], when: 'always' } as const;
    expect(decide(always, [], failed)).toEqual({ kind: 'failed', alarms: [] });
    expect(decide(always, [], fine)).toEqual({ kind: 'done', alarms: [] });
    expect(decide(always, [], { held: true })).toEqual({ kind: null, alarms: [] });
    const change = { on: [...on], when: 'change' } as const;
    expect(decide(change, [], fine)).toEqual({ kind: null, alarms: [] });
    expect(decide(change, [], failed)).toEqual({ kind: 'failed', alarms: ['failed'] });
    expect(decide(change, ['failed'], failed)).toEqual({ kind: null, alarms: ['failed'] });
    expect(decide(change, ['failed'], { ...failed, rejects: true })).toMatchObject({ kind: 'rejects' });
    expect(decide(change, ['failed'], fine)).toEqual({ kind: 'recovered', alarms: [] });
    const weekly = { on: ['weekly'], when: 'change' } as const;
    expect(decide(weekly, ['failed'], { weekly: true })).toEqual({ kind: 'weekly', alarms: ['failed'] });
    // Something else goes on: it is not over.
    expect(decide(change, ['failed', 'missed'], fine)).toEqual({ kind: null, alarms: ['missed'] });
  });
});

describe('its delivery', () => {
  const deliver = async (...answers: readonly WebhookAnswer[]) => {
    await using webhook = await startWebhook(...answers);
    const problem = await deliverNotification(hook(webhook.url), message, signal, hurried);
    return { problem, calls: webhook.calls };
  };

  it('posts JSON once, with its id', async () => {
    const { problem, calls } = await deliver();
    expect(problem).toBeNull();
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({
      headers: { 'content-type': 'application/json', 'idempotency-key': notification.id },
      body: { text: notification.text, end: 'rejects', summary: { status: 'done-with-rejects' } },
    });
  });

  it('is signed where there is a secret, and is what Slack and Teams show', async () => {
    await using webhook = await startWebhook();
    const address = webhook.url;
    const shared = { address, on: [], when: 'always' } as const;
    for (const recipient of [
      { ...shared, kind: 'url', secret: 'key' },
      { ...shared, kind: 'slack' },
      { ...shared, kind: 'teams' },
    ] as const)
      expect(await deliverNotification(recipient, message, signal, hurried)).toBeNull();
    const [signed, slack, teams] = webhook.calls;
    const time = String(signed?.headers['storeferry-timestamp']);
    expect(Math.abs(Number(time) - Date.now() / 1_000)).toBeLessThan(600);
    const mac = createHmac('sha256', 'key')
      .update(`${time}.${JSON.stringify(signed?.body)}`)
      .digest('hex');
    expect(signed?.headers['storeferry-signature']).toBe(`v1=${mac}`);
    expect(slack?.body).toEqual({ text: notification.text });
    expect(JSON.stringify(teams?.body)).toContain('nightly-catalog: done, with rejects');
  });

  it('tries again after lost connections, 5xx, 429 and silence', async () => {
    const { problem, calls } = await deliver('reset', { status: 503 }, 'hang');
    expect(problem).toBeNull();
    expect(calls).toHaveLength(4);
    const limited = await deliver({ status: 429, headers: { 'retry-after': '0.2' } });
    expect(limited).toMatchObject({ problem: null, calls: { length: 2 } });
  });

  it('gives up after a few attempts, and says why without the secret address', async () => {
    const answers = Array.from({ length: 9 }, () => ({ status: 500 }));
    const { problem, calls } = await deliver(...answers);
    expect(problem).toBe('it answered 500');
    expect(calls).toHaveLength(4);
    const nobody = await deliverNotification(
      hook(`http://127.0.0.1:1/${WEBHOOK_SECRETS[0]}`),
      message,
      signal,
      hurried,
    );
    expect(nobody).toBe('no connection (ECONNREFUSED)');
  });

  it('ends in bounded time, whatever the receiver asks for', async () => {
    const patience = { ...hurried, allAttemptsMs: 1_500 };
    // At once where the receiver asks for more time than there is.
    for (const [seconds, calls] of [
      ['3600', 1],
      ['1', 2],
    ] as const) {
      const answer = { status: 503, headers: { 'retry-after': seconds } };
      await using webhook = await startWebhook(answer, answer, answer);
      const problem = await deliverNotification(hook(webhook.url), message, signal, patience);
      expect([problem, webhook.calls.length]).toEqual(['it answered 503', calls]);
    }
  });

  it('ends in bounded time with its connections, also where a mail server answers for ever', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.write('220 ready\r\n');
      const answering = setInterval(() => socket.write('250-wait\r\n'), 50);
      socket.on('close', () => clearInterval(answering));
    });
    endWithTest(() => server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const recipient = {
      kind: 'email',
      server: `smtp://127.0.0.1:${port}`,
      from: 'sf@shop.example',
      address: ['ops@shop.example'],
      on: [],
      when: 'always',
    } as const;
    const patience = { ...hurried, allAttemptsMs: 500 };
    expect(await deliverNotification(recipient, message, signal, patience)).toBe('no answer within 0.5 s');
    const open = () =>
      new Promise<number>((resolve, reject) =>
        server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
      );
    await until(async () => (await open()) === 0);
  });

  it('ends at once when the process is asked to stop', async () => {
    await using webhook = await startWebhook({ status: 429, headers: { 'retry-after': '10' } });
    const stop = AbortSignal.timeout(50);
    expect(await deliverNotification(hook(webhook.url), message, stop)).toBe('the process was stopped');
  });

  it('is not tried again where it is refused, and follows no redirect', async () => {
    expect(await deliver({ status: 404 })).toMatchObject({
      problem: 'it answered 404',
      calls: { length: 1 },
    });
    await using elsewhere = await startWebhook();
    const moved = await deliver({ status: 307, headers: { location: elsewhere.url } });
    expect(moved).toMatchObject({ problem: 'it answered 307', calls: { length: 1 } });
    expect(elsewhere.calls).toHaveLength(0);
  });

  it('sends the text alone to a tool that takes nothing else', async () => {
    const { problem, calls } = await deliver({ status: 400 });
    expect(problem).toBeNull();
    expect(calls[1]?.body).toEqual({ text: notification.text });
  });
});
