import { describe, expect, it } from 'vitest';
import { hurriedClock } from '../support/hurried-clock.ts';
import { appliedButError, errorAnswer, resetAfter, unauthorized } from '../support/store/faults.ts';
import { products, setup } from './setup.ts';

describe('applying operations, before a store that misbehaves', () => {
  it('applies all others, doubles none, and rejects what was refused', async () => {
    const { store, apply, kinds } = await setup({
      store: {
        faults: [
          { does: errorAnswer(422, 'Too dear'), keys: ['mug-3', 'mug-70'] },
          { does: resetAfter, probability: 0.1 },
          { does: errorAnswer(503), probability: 0.1 },
        ],
      },
    });
    const tally = await apply(products(200));
    console.log(`seed ${store.seed}, faults fired: ${JSON.stringify(store.fired())}`);
    expect(tally).toMatchObject({ applied: 198, rejected: 2, rejectedRows: 4, unsent: 0 });
    expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
    expect(tally.requests).toBe(store.figures().requests);
    expect(kinds().rejected?.map(({ outcome }) => outcome)).toContainEqual({
      kind: 'rejected',
      reason: { code: 'store-422', message: 'Too dear' },
    });
  });

  it('is not blocked by one record that always fails, even with one slot', async () => {
    const { store, apply, results, kinds } = await setup({
      store: { faults: [{ does: errorAnswer(429), keys: ['mug-2'] }] },
      concurrency: 1,
    });
    const tally = await apply(products(60));
    expect(tally).toMatchObject({ applied: 59, unsent: 1, unsentRows: 2 });
    expect(store.requestsOf('mug-2')).toBe(9);
    const order = results.map(({ operation }) => operation.key);
    expect(order.indexOf('mug-3')).toBeLessThan(order.indexOf('mug-2'));
    expect(kinds().unsent?.[0]?.outcome).toMatchObject({ reason: { code: 'store-429' } });
  });

  it.each([
    ['the connection is reset', resetAfter],
    ['something before the store answers 503', appliedButError(503)],
  ])('keeps the slot of a record that may have arrived: %s', async (_, does) => {
    const { store, apply, results } = await setup({
      store: { faults: [{ does, keys: ['mug-2'], times: 2 }] },
      concurrency: 1,
    });
    await apply(products(5));
    expect(store.requests.map(({ key }) => key)).toEqual([
      'mug-0',
      'mug-1',
      'mug-2',
      'mug-2',
      'mug-2',
      'mug-3',
      'mug-4',
    ]);
    expect(results).toHaveLength(5);
  });

  it('ends at once when the key is revoked, with nothing rejected', async () => {
    const { store, apply, results, requests } = await setup({
      store: { latencyMs: 3, faults: [{ does: unauthorized, from: 40 }] },
    });
    await expect(apply(products(300))).rejects.toMatchObject({ code: 'unauthorized' });
    const late = store.requests.filter(({ status }) => status === 401);
    expect(late.length).toBeLessThanOrEqual(8);
    expect(results.every(({ outcome }) => outcome.kind === 'applied')).toBe(true);
    expect(results).toHaveLength(store.requests.filter(({ applied }) => applied).length);
    expect(requests()).toBe(store.figures().requests);
  });

  it('ends when the store has been away for fifteen minutes, with nothing rejected', async () => {
    const { apply, results } = await setup({
      store: { faults: [{ does: errorAnswer(503), from: 20 }] },
      storefront: { clock: hurriedClock(5_000) },
    });
    await expect(apply(products(200))).rejects.toMatchObject({ code: 'store-unavailable' });
    expect(results.every(({ outcome }) => outcome.kind === 'applied')).toBe(true);
  });
});
