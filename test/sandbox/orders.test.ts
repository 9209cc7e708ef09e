import { describe, expect, it } from 'vitest';
import { setup } from './setup.ts';

describe('orders', () => {
  it('pages through all orders, each once, newest first', async () => {
    await using store = await setup({ seedSize: { orders: 123 } });
    const ids: number[] = [];
    for (let skip = 0; ; skip += 50) {
      const { body } = await store.send('GET', `/api/site/orders?limit=50&skip=${skip}`);
      expect(body).toMatchObject({ totalCount: 123, limit: 50, skip });
      const page = body.items?.map(({ id }) => Number(id)) ?? [];
      if (page.length === 0) break;
      ids.push(...page);
    }
    expect(ids).toHaveLength(123);
    expect(ids).toEqual([...new Set(ids)].sort((left, right) => right - left));
  });

  it('gives thirty from the start by default', async () => {
    await using store = await setup();
    const { body } = await store.send('GET', '/api/site/orders');
    expect(body).toMatchObject({ limit: 30, skip: 0, totalCount: 240 });
    expect(body.items).toHaveLength(30);
  });

  it.each(['limit=0', 'limit=51', 'limit=x', 'limit=', 'limit=1.5', 'skip=-1', 'skip=x', 'limit=1&limit=2'])(
    'refuses %s',
    async (query) => {
      await using store = await setup();
      const { status, body } = await store.send('GET', `/api/site/orders?${query}`);
      expect([status, body.success]).toEqual([422, false]);
      expect(body.message).toMatch(query.startsWith('skip') ? /^skip: / : /^limit: /);
    },
  );
});

describe('the seeds', () => {
  it('are the same in every new store', async () => {
    await using one = await setup();
    await using other = await setup({ seed: 99, failRate: 0 });
    for (const path of ['/_sandbox/contacts', '/api/site/subscriber-lists']) {
      expect(await one.list(path)).toEqual(await other.list(path));
    }
    const page = '/api/site/orders?limit=50';
    expect((await one.send('GET', page)).body).toEqual((await other.send('GET', page)).body);
  });

  it('give every contact an e-mail of its own at a reserved name', async () => {
    await using store = await setup({ seedSize: { contacts: 3000 } });
    const emails = (await store.list('/_sandbox/contacts')).map(({ email }) => String(email));
    expect(new Set(emails).size).toBe(3000);
    expect(emails.filter((email) => !/^[a-z]+\.[a-z]+\d*@[a-z]+\.example$/.test(email))).toEqual([]);
  });
});
