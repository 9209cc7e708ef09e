import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arrayItemTexts, isDeeperThan, readPage } from '../../src/storefront/read-page.ts';

describe('the texts of the items of a list', () => {
  it('are what the store wrote, digits and order of members included', () => {
    const json =
      '{"limit":2,"items":[{"id":12345678901234567890,"a":1.50}, {"b":"x],}","id":2}],"totalCount":2}';
    expect(arrayItemTexts(json)).toEqual(['{"id":12345678901234567890,"a":1.50}', '{"b":"x],}","id":2}']);
  });

  it('stand on one line each, however the answer is laid out', () => {
    const json = JSON.stringify([{ id: 1, note: 'a\nb' }, { id: 2 }], null, 2);
    const texts = arrayItemTexts(json);
    expect(texts).toHaveLength(2);
    expect(texts.join('')).not.toMatch(/[\r\n]/);
    expect(texts.map((text) => JSON.parse(text))).toEqual([{ id: 1, note: 'a\nb' }, { id: 2 }]);
  });

  it('are none where there is no list', () => {
    expect(['{}', '[]', '[ ]', '{"items":[]}', '{"lists":[1]}', 'null'].map(arrayItemTexts)).toEqual(
      Array.from({ length: 6 }, () => []),
    );
  });

  it('fit what JSON.parse reads, bare and in an envelope', () => {
    const items = fc.array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), { maxLength: 5 });
    const space = fc.constantFrom(0, 1, '\t', 2);
    fc.assert(
      fc.property(items, fc.dictionary(fc.string(), fc.jsonValue()), space, (list, more, indent) => {
        const { items: _other, ...rest } = more;
        for (const value of [list, { ...rest, items: list }, { items: list, ...rest }]) {
          const texts = arrayItemTexts(JSON.stringify(value, null, indent));
          expect(texts.map((text) => JSON.parse(text))).toEqual(JSON.parse(JSON.stringify(list)));
        }
      }),
      { numRuns: 500 },
    );
  });
});

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
