import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Move } from '../../src/model/safety-limits.ts';
import { byLargestMove, TopList } from '../../src/plan/plan-tally.ts';

const value = fc.oneof(fc.constantFrom(0, 1, 10, 1_000), fc.integer({ min: -50, max: 5_000 }));
const move: fc.Arbitrary<Move> = fc
  .record({
    key: fc.constantFrom('lamp', 'chair', 'desk'),
    what: fc.constantFrom(null, 'Red', 'Blue / L'),
    field: fc.constantFrom('variants.price', 'variants.salePrice'),
    old: value,
    new: value,
  })
  .filter(({ old, new: now }) => old !== now);

describe('the largest of many moves', () => {
  it('are those that sorting all of them puts first, whatever order they come in', () => {
    fc.assert(
      fc.property(
        fc.array(move, { maxLength: 60 }),
        fc.integer({ min: 1, max: 20 }),
        fc.func(fc.nat()),
        (moves, most, shuffle) => {
          const top = new TopList(most, byLargestMove);
          for (const one of moves) top.add(one);
          const sorted = moves.toSorted(byLargestMove).slice(0, most);
          expect(top.items()).toEqual(sorted);

          const again = new TopList(most, byLargestMove);
          for (const one of moves.toSorted((a, b) => shuffle(a) - shuffle(b))) again.add(one);
          expect(again.items()).toEqual(sorted);
        },
      ),
    );
  });

  it('are ordered the same however two of them are asked about', () => {
    fc.assert(
      fc.property(move, move, (one, other) => {
        expect(Math.sign(byLargestMove(one, other)) + Math.sign(byLargestMove(other, one))).toBe(0);
      }),
    );
  });
});
