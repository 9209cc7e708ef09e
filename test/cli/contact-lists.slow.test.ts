import { describe, expect, it } from 'vitest';
import { type Crm, setupCrm } from '../support/contacts.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { unauthorized } from '../support/store/faults.ts';

const ROWS = [{ number: 1 }, { number: 2 }, { number: 3, optedOut: 'true' }];
const LISTS = { params: '{ lists: newsletter; Wholesale }', safety: '{ maxRejects: off }' };

function addList({ store }: Crm, id: number, name: string): void {
  store.shop.lists.push({ id, name, created: 1_700_000_000, subscribers: 0, opens: 0, clicks: 0 });
}

/** The requests by method and address. */
function sent({ store }: Crm): string[] {
  return store.requests.map(({ method, target }) => `${method} ${target}`);
}

async function setupLists(options: Partial<Parameters<typeof setupCrm>[0]> = {}): Promise<Crm> {
  const crm = await setupCrm({ rows: ROWS, job: LISTS, ...options });
  addList(crm, 0, 'Newsletter');
  addList(crm, 4, 'Wholesale');
  return crm;
}

describe('contacts for lists that the job names', () => {
  it('have the store asked for its lists once, and are put into them by id', async () => {
    await using crm = await setupLists();
    const plan = await crm.workspace.storeferry('plan', 'crm', '--json');
    expect(plan.json()).toMatchObject({ status: 'planned', operations: 3, requests: 0 });
    expect(sent(crm)).toEqual(['GET /api/site/subscriber-lists']);

    crm.store.forget();
    await crm.workspace.storeferry('run', 'crm');
    expect(sent(crm).sort()).toEqual([
      'GET /api/site/subscriber-lists',
      'PUT /api/site/contacts/1001',
      'PUT /api/site/contacts/1002',
      'PUT /api/site/contacts/1003',
    ]);
    expect(crm.store.shop.contacts.get(1001)).toMatchObject({ subscriberLists: [0, 4] });
    expect(crm.store.shop.contacts.get(1003)).not.toHaveProperty('subscriberLists');

    // Its figures may change: the lists are the same.
    crm.store.shop.lists[0] = { id: 0, name: 'Newsletter', created: 1, subscribers: 9, opens: 1, clicks: 1 };
    const again = await crm.workspace.storeferry('run', 'crm', '--json');
    expect(again.json()).toMatchObject({ status: 'done', requests: 0, unchanged: 3 });
    expect(crm.store.violations).toEqual([]);
  });

  it('are rejected when there is no such list, and can be retried when there is', async () => {
    await using crm = await setupLists({ job: { ...LISTS, params: '{ lists: Newsletter; Press }' } });
    const run = await crm.workspace.storeferry('run', 'crm');
    expect(run.code).toBe(3);
    expect(run.stdout.replaceAll(/\s+/g, ' ')).toContain(
      '2 rows: the store has no subscriber list of this name; its lists are Newsletter; Wholesale',
    );
    expect(crm.store.shop.contacts.get(1001)).not.toHaveProperty('email');

    addList(crm, 7, 'Press');
    const id = /\(run (\w+)\)/.exec(run.stdout)?.[1] ?? '';
    const retried = await crm.workspace.storeferry('retry', id, '--json');
    expect(retried.json()).toMatchObject({ status: 'done', applied: 2 });
    expect(crm.store.shop.contacts.get(1001)).toMatchObject({ subscriberLists: [0, 7] });
  });

  it('are found behind the first page of a store that cuts its lists, and missed with a word where it gives no more', async () => {
    await using crm = await setupLists();
    for (let id = 10; id < 40; id++) addList(crm, id, `List ${id}`);
    crm.store.shop.lists.reverse();
    crm.store.shop.listPage = 30;
    const run = await crm.workspace.storeferry('run', 'crm', '--json');
    expect(run.json()).toMatchObject({ status: 'done', applied: 3 });

    crm.store.shop.listPage = null;
    crm.store.shop.lists.splice(30);
    const missed = await crm.workspace.storeferry('run', 'crm', '--resend');
    expect(missed.stdout.replaceAll(/\s+/g, ' ')).toMatch(
      /no subscriber list of this name.*exactly 30 subscriber lists/,
    );
  });

  it('are continued with the same lists, and planned again with others', async () => {
    await using crm = await setupLists({ rows: [1, 2, 3, 4, 5, 6].map((number) => ({ number })) });
    const failing = async (from: number) => {
      crm.store.forget();
      crm.store.misbehave({ does: unauthorized, from });
      const { code, json } = await crm.workspace.storeferry('run', 'crm', '--json');
      expect(code).toBe(1);
      crm.store.behave();
      return json()['run'];
    };
    const first = await failing(2);
    expect(await failing(2)).toBe(first);

    addList(crm, 9, 'newsletter');
    const other = (await crm.workspace.storeferry('run', 'crm', '--json')).json();
    expect(other['run']).not.toBe(first);
    expect(other).toMatchObject({ status: 'done-with-rejects', rejected: 6, applied: 0 });
  });

  it('fail as a whole, and reject no contact, when the store refuses the question', async () => {
    await using crm = await setupLists();
    crm.store.misbehave({ does: unauthorized });
    const run = await crm.workspace.storeferry('run', 'crm', '--json');
    expect(run.code).toBe(1);
    expect(run.json()).toMatchObject({ status: 'failed', rejected: 0, requests: 0 });
    // The refusal is confirmed once.
    expect(crm.store.requests).toHaveLength(2);
  });
});

describeWithRedis('contacts for lists, by workers', () => {
  it('are put into the lists that the run has read', async () => {
    const redis = await startRedis({});
    try {
      await using crm = await setupLists({ env: { REDIS_URL: redis.url } });
      const worker = crm.workspace.start('worker');
      await worker.printed('"ready"');
      const run = await crm.workspace.storeferry('enqueue', 'crm', '--follow', '--json');
      expect(run.json()).toMatchObject({ status: 'done', applied: 3 });
      expect(sent(crm).filter((request) => request.startsWith('GET'))).toHaveLength(1);
      expect(crm.store.shop.contacts.get(1002)).toMatchObject({ subscriberLists: [0, 4] });
      worker.process.kill('SIGTERM');
      expect((await worker.ended).code).toBe(0);
    } finally {
      await redis.stop();
    }
  });
});
