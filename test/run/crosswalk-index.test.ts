import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StateError } from '../../src/model/storeferry-error.ts';
import { crosswalkIndex } from '../../src/run/inputs/read-crosswalk.ts';

const texts = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.emailAddress());

describe('the index of a crosswalk', () => {
  it('finds what a Map would find', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(texts, fc.integer({ min: 0, max: 1e15 })), { maxLength: 200 }),
        fc.array(texts, { maxLength: 50 }),
        (entries, others) => {
          using index = crosswalkIndex();
          const known = new Map<string, number>();
          for (const [text, number] of entries) {
            expect(index.add(text, number)).toBe(known.get(text));
            if (!known.has(text)) known.set(text, number);
          }
          for (const text of [...known.keys(), ...others]) expect(index.get(text)).toBe(known.get(text));
        },
      ),
    );
  });

  it('takes many texts, and long ones', () => {
    using index = crosswalkIndex();
    const long = 'ä'.repeat(700_000);
    const name = (number: number) => `${'contact-'.repeat(12)}${number}@mail.example`;
    for (let number = 0; number < 30_000; number += 1) {
      index.add(name(number), number);
      if (number === 15_000) index.add(long, -1);
    }
    const wrong = Array.from({ length: 30_000 }, (_, number) => number).filter(
      (number) => index.get(name(number)) !== number,
    );
    expect(wrong).toEqual([]);
    expect(index.get(long)).toBe(-1);
    expect(index.get(`${long}a`)).toBeUndefined();
  });

  it('does not take half a surrogate pair for its replacement character', () => {
    using index = crosswalkIndex();
    index.add('\ufffd@mail.example', 1);
    expect(index.get('\ud83d@mail.example')).toBeUndefined();
    expect(index.get('\ufffd@mail.example')).toBe(1);
  });

  it('says what to do about a full disk', () => {
    expect(() => {
      using index = crosswalkIndex('/dev/full');
      for (let number = 0; number < 100_000; number += 1) index.add(`contact-${number}`, number);
    }).toThrow(
      expect.toSatisfy(
        (error: unknown) => error instanceof StateError && error.hint?.includes('SQLITE_TMPDIR') === true,
      ),
    );
  });
});
