import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isDeeperThan, readPage } from '../../src/storefront/page.ts';

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe('the depth of JSON', () => {
  it('is that of its objects and arrays, whatever stands in its texts', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), fc.nat(9), (value, most) => {
        expect(isDeeperThan(JSON.stringify(value), most)).toBe(depthOf(value) > most);
      }),
    );
    expect(isDeeperThan(JSON.stringify(['[[[["\\[{']), 1)).toBe(false);
  });

  it('of an answer is bounded: one without end is refused, and is no bug', () => {
    const deep = (levels: number) => `[{"a":${'['.repeat(levels)}${']'.repeat(levels)}}]`;
    expect(() => readPage(JSON.parse(deep(100_000)), deep(100_000), '/api/site/orders')).toThrow(
      /more than 100 levels/,
    );
    expect(readPage(JSON.parse(deep(20)), deep(20), '/api/site/orders').items).toHaveLength(1);
  });
});
