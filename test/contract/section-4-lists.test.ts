import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { subscriberList } from './shapes.ts';
import { openTarget } from './target.ts';

const target = await openTarget();
afterAll(() => target[Symbol.asyncDispose]());

describe('4.3 List all subscriber lists', () => {
  it('4.3 answers 200, application/json and a plain array of subscriber lists as in section 2', async () => {
    const { status, contentType, json } = await target.send('GET', '/api/site/subscriber-lists');
    expect(status).toBe(200);
    expect(contentType).toMatch(/^application\/json\b/);
    const lists = z.array(subscriberList).parse(json);
    expect(new Set(lists.map(({ id }) => id)).size).toBe(lists.length);
    if (!target.live) expect(lists.length).toBeGreaterThan(1);
  });

  it('4.3, 2 dates them in seconds, in the past', async () => {
    const { json } = await target.send('GET', '/api/site/subscriber-lists');
    const nowSeconds = Date.now() / 1000;
    const dates = z
      .array(subscriberList)
      .parse(json)
      .map(({ created }) => created);
    expect(dates.filter((seconds) => seconds <= 0 || seconds > nowSeconds + 86_400)).toEqual([]);
  });
});
