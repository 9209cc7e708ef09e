import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanMessage } from '../../src/storefront/read-answer.ts';

const KEY = 'k3y-of-the-store';

describe('a message of a store', () => {
  it('is passed on as it is', () => {
    expect(cleanMessage('Preis muss größer als 0 sein — 日本語 👩‍🚀'.normalize(), KEY)).toContain(
      'Preis muss größer als 0 sein — 日本語',
    );
  });

  it.each([
    ['line breaks', 'one\r\ntwo\tthree', 'one two three'],
    ['terminal escapes', 'a\u001b[31mred\u0007', 'a [31mred'],
    ['marks that turn text around', 'abc\u202edcba\u2066', 'abcdcba'],
    ['our key', `key ${KEY} is bad, Bearer ${KEY}`, 'key [API key] is bad, Bearer [API key]'],
    ['our key with marks inside', `k3y\u200b-of-the\u200d-store`, '[API key]'],
  ])('loses %s', (_, text, clean) => {
    expect(cleanMessage(text, KEY)).toBe(clean);
  });

  it('is one line of bounded length without the key, whatever the store sends', () => {
    const text = fc
      .array(fc.oneof(fc.string({ unit: 'binary' }), fc.constant(KEY)))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (message) => {
        const clean = cleanMessage(message, KEY);
        expect(clean.length).toBeLessThanOrEqual(300);
        expect(clean).not.toContain(KEY);
        expect(clean).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
    );
    expect(cleanMessage('x'.repeat(1_000), KEY)).toHaveLength(300);
  });
});
