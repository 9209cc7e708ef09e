import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AllRead, readAllItems } from '../../src/export/reading/read-all-items.ts';
import { measureProperty } from '../support/measure-property.ts';
import { type Change, ChangingStore } from './changing-store.ts';

/** Changes in quick succession, at the ends more often than elsewhere. */
const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('insert', 'insert', 'delete'),
  at: fc.oneof(fc.constant(0), fc.constant(0.9999), fc.double({ min: 0, max: 0.9999, noNaN: true })),
});

async function readAll(store: ChangingStore, limit: number, concurrency: number) {
  const ids: number[] = [];
  const reading = readAllItems({
    fetch: (skip) => store.fetch(skip, limit),
    limit,
    concurrency,
    what: 'orders',
  });
  for (;;) {
    const { done, value } = await reading.next();
    if (done === true) return { ids, all: value satisfies AllRead };
    for (const { key } of value) ids.push(Number(key));
  }
}

describe('reading a list that changes between pages', () => {
  it('gives every stable item exactly once', async (context) => {
    await measureProperty(
      context,
      { invariant: 18, tried: 'lists that change between pages', wrong: 'stable ids missed or repeated' },
      fc.asyncProperty(
        fc.record({
          count: fc.integer({ min: 0, max: 200 }),
          descending: fc.boolean(),
          limit: fc.integer({ min: 3, max: 50 }),
          cap: fc.option(fc.integer({ min: 3, max: 20 }), { nil: undefined }),
          counts: fc.boolean(),
          concurrency: fc.integer({ min: 1, max: 8 }),
          changes: fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 30 }),
          turns: fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 20 }),
        }),
        async ({ count, descending, limit, cap, counts, concurrency, changes, turns }) => {
          const ids = Array.from({ length: count }, (_, index) => (descending ? count - index : index + 1));
          const store = new ChangingStore({
            ids,
            changes,
            counts,
            ...(cap === undefined ? {} : { cap }),
            turns: (request) => turns[request % turns.length] ?? 0,
          });
          const { ids: given } = await readAll(store, limit, concurrency);
          expect(new Set(given).size).toBe(given.length);
          const known = new Set(given);
          expect(store.stable().filter((id) => !known.has(id))).toEqual([]);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
