import { afterAll, describe, expect, it, type TestContext } from 'vitest';
import { expectRefusal } from './expect-refusal.ts';
import { page } from './shapes.ts';
import { openTarget } from './target.ts';

const target = await openTarget();
afterAll(() => target[Symbol.asyncDispose]());

/** Orders appear only in an example (4.5): a store that has no such address is not held to the example. */
async function orders(query: string, { skip }: TestContext) {
  const answer = await target.send('GET', `/api/site/orders${query}`);
  if (target.live && (answer.status === 404 || Array.isArray(answer.json)))
    skip('this store does not page orders');
  return answer;
}

describe('8 Pagination', () => {
  it('8.1, 4.5 answers the envelope of section 2, with 30 items from the start by default', async (context) => {
    const answer = await orders('', context);
    expect(answer.status).toBe(200);
    const { items, totalCount, limit, skip } = page.parse(answer.json);
    expect([limit, skip]).toEqual([30, 0]);
    expect(items).toHaveLength(Math.min(30, totalCount));
  });

  it.for([1, 7, 50])('8 gives %i items when asked for them', async (wanted, context) => {
    const { items, totalCount, limit } = page.parse((await orders(`?limit=${wanted}`, context)).json);
    expect(limit).toBe(wanted);
    expect(items).toHaveLength(Math.min(wanted, totalCount));
  });

  it('8.2 goes on where the page before ended when skip grows by limit', async (context) => {
    const both = page.parse((await orders('?limit=10', context)).json);
    const first = page.parse((await orders('?limit=5&skip=0', context)).json);
    const second = page.parse((await orders('?limit=5&skip=5', context)).json);
    expect(second.skip).toBe(5);
    expect([...first.items, ...second.items]).toEqual(both.items);
  });

  it('8 gives no items past the end', async (context) => {
    const { totalCount } = page.parse((await orders('?limit=1', context)).json);
    const { items } = page.parse((await orders(`?skip=${totalCount + 50}`, context)).json);
    expect(items).toEqual([]);
  });

  it.for(['limit=0', 'limit=51', 'limit=-1', 'skip=-1', 'limit=many'])(
    '8 stays within the ranges of the parameters: %s',
    async (query, context) => {
      const answer = await orders(`?${query}`, context);
      if (answer.status >= 400) return void expectRefusal(answer);
      const { limit, skip } = page.parse(answer.json);
      expect(limit).toBeGreaterThanOrEqual(1);
      expect(limit).toBeLessThanOrEqual(50);
      expect(skip).toBeGreaterThanOrEqual(0);
    },
  );
});
