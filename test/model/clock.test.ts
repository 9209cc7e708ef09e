import { describe, expect, it } from 'vitest';
import { isTimezone } from '../../src/model/clock.ts';

describe('a time zone', () => {
  it.each(['UTC', 'Europe/London', 'America/Argentina/Ushuaia', 'Etc/GMT-2'])('is named: %s', (name) => {
    expect(isTimezone(name)).toBe(true);
  });

  it.each(['', 'Europe/Lodnon', '+02:00', '-0300', 'local'])('is not %j', (name) => {
    expect(isTimezone(name)).toBe(false);
  });
});
