import { describe, expect, it } from 'vitest';
import { presentStoredMoment, remainingMs } from '../../src/state/stored-moment.ts';

const MOMENT = { wallMs: 1_000_000, bootMs: 50_000 };
const DURATION_MS = 42_000;
const later = (wallMs: number, bootMs: number) => ({
  wallMs: MOMENT.wallMs + wallMs,
  bootMs: MOMENT.bootMs + bootMs,
});

describe('what is left of a time since a stored moment', () => {
  it.each([
    ['nothing has passed', later(0, 0), 42_000],
    ['a part has passed', later(30_000, 30_000), 12_000],
    ['all has passed', later(42_000, 42_000), 0],
    ['much more has passed', later(9e9, 9e9), 0],
    ['the wall clock was put ahead', later(3_600_000, 1_000), 41_000],
    ['the wall clock was put back: never more than the whole', later(-3_600_000, 1_000), 42_000],
    ['the wall clock was put back after all has passed', later(-3_600_000, 100_000), 42_000],
    ['the machine was restarted', { ...later(10_000, 0), bootMs: 3 }, 32_000],
    ['the machine was restarted, long ago', { ...later(90_000, 0), bootMs: 3 }, 0],
    ['the machine was restarted, with its clock put back', { ...later(-9e9, 0), bootMs: 3 }, 42_000],
  ])('%s', (_, now, expected) => {
    expect(remainingMs(MOMENT, DURATION_MS, now)).toBe(expected);
  });

  it('is measured on clocks that go on', () => {
    const first = presentStoredMoment();
    const second = presentStoredMoment();
    expect(Number.isSafeInteger(first.bootMs)).toBe(true);
    expect(second.bootMs).toBeGreaterThanOrEqual(first.bootMs);
    expect(remainingMs(first, DURATION_MS, first)).toBe(DURATION_MS);
  });
});
