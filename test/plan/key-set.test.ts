import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashKey } from '../../src/model/block-index.ts';
import { KeySet } from '../../src/plan/key-set.ts';

describe('KeySet', () => {
  it('knows what a plain Map knows, whatever is added in whatever order', () => {
    const key = fc.oneof(fc.constantFrom('', 'a', 'b', '__proto__', 'é'), fc.string());
    fc.assert(
      fc.property(fc.array(fc.tuple(key, fc.boolean())), (additions) => {
        const set = new KeySet();
        const model = new Map<string, boolean>();
        for (const [added, claim] of additions) {
          const before = model.get(added);
          expect(set.add(added, claim)).toBe(before === undefined ? 'absent' : before ? 'claimed' : 'noted');
          model.set(added, claim || before === true);
        }
        expect(set.size).toBe(model.size);
        for (const added of model.keys()) expect(set.has(added)).toBe(true);
        expect(set.has('never added to any')).toBe(model.has('never added to any'));
      }),
    );
  });

  it('distinguishes 400 000 keys that differ in a digit, and keeps them when it grows', () => {
    const set = new KeySet();
    for (let number = 0; number < 400_000; number++) {
      if (set.add(`product-${number}`, number % 2 === 0) !== 'absent')
        throw new Error(`met ${number} before`);
    }
    expect(set.size).toBe(400_000);
    expect(set.add('product-399998', false)).toBe('claimed');
    expect(set.add('product-399999', false)).toBe('noted');
    expect(set.has('product-400000')).toBe(false);
  });

  it('holds a key whose hash is zero', () => {
    const set = new KeySet((_key, into) => {
      into.high = 0;
      into.low = 0;
    });
    expect(set.has('zero')).toBe(false);
    expect(set.add('zero', false)).toBe('absent');
    expect(set.add('zero', true)).toBe('noted');
    expect(set.add('zero', false)).toBe('claimed');
  });

  it('spreads each half of the hash, so that neither decides alone', () => {
    const highs = new Set<number>();
    const lows = new Set<number>();
    const hash = { high: 0, low: 0 };
    for (let number = 0; number < 20_000; number++) {
      hashKey(`k${number}`, hash);
      highs.add(hash.high);
      lows.add(hash.low);
    }
    expect(highs.size).toBeGreaterThan(19_900);
    expect(lows.size).toBeGreaterThan(19_900);
  });
});
