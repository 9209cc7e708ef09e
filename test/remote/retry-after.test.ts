import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_RETRY_AFTER_MS, retryAfterMs } from '../../src/remote/remote-client.ts';

const NOW = Date.UTC(1994, 10, 6, 8, 49, 0);

describe('Retry-After', () => {
  it.each([
    ['seconds', '7', 7_000],
    ['no wait', '0', 0],
    ['seconds with space around', ' 30 ', 30_000],
    ['a date', 'Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
    ['a date as of old', 'Sunday, 06-Nov-94 08:49:37 GMT', 37_000],
    ['a date gone by', 'Sun, 06 Nov 1994 08:00:00 GMT', 0],
    ['a year', String(365 * 86_400), MAX_RETRY_AFTER_MS],
    ['a date in a year', 'Mon, 06 Nov 1995 08:49:37 GMT', MAX_RETRY_AFTER_MS],
    ['more seconds than there are', '9'.repeat(400), MAX_RETRY_AFTER_MS],
  ])('reads %s', (_, header, ms) => {
    expect(retryAfterMs(header, NOW)).toBe(ms);
  });

  it.each([
    ['', undefined],
    ['soon', undefined],
    ['-3', undefined],
    ['7.5', undefined],
    ['1e3', undefined],
    ['2024-01-01', undefined],
    ['Sun, 99 Nov 1994 08:49:37 GMT', undefined],
  ])('takes %j for no header', (header, nothing) => {
    expect(retryAfterMs(header, NOW)).toBe(nothing);
    expect(retryAfterMs(undefined, NOW)).toBe(nothing);
  });

  it('is bounded whatever the store sends', () => {
    fc.assert(
      fc.property(fc.string(), fc.date({ noInvalidDate: true }), (text, date) => {
        for (const header of [text, date.toUTCString()]) {
          const ms = retryAfterMs(header, NOW);
          if (ms !== undefined) expect(ms).toBeGreaterThanOrEqual(0);
          if (ms !== undefined) expect(ms).toBeLessThanOrEqual(MAX_RETRY_AFTER_MS);
        }
      }),
    );
  });
});
