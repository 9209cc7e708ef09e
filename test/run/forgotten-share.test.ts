import { describe, expect, it } from 'vitest';
import { forgottenShare } from '../../src/run/verify/verify-run.ts';

/** Pascal's triangle, in whole numbers: nothing in common with the logarithms under test. */
function choose(all: number, chosen: number): bigint {
  let result = 1n;
  for (let index = 0; index < chosen; index++) {
    result = (result * BigInt(all - index)) / BigInt(index + 1);
  }
  return chosen < 0 || chosen > all ? 0n : result;
}

/** How likely a sample has exactly `found` of the `forgotten` ones. */
function probability(population: number, forgotten: number, sampled: number, found: number): number {
  const ways = choose(forgotten, found) * choose(population - forgotten, sampled - found);
  return Number((ways * 10n ** 15n) / choose(population, sampled)) / 1e15;
}

describe('the share that the store has forgotten', () => {
  it('is bounded as known tables have it', () => {
    // The rule of three: about 3 in 50.
    expect(forgottenShare({ population: 12_000, sampled: 50, found: 0 }).high).toBeCloseTo(0.058, 3);
    // Clopper and Pearson for 7 of 50: 5.82 % to 26.74 %; a finite population is a little narrower.
    const some = forgottenShare({ population: 1_000_000, sampled: 50, found: 7 });
    expect(some.estimate).toBe(0.14);
    expect(some.low).toBeCloseTo(0.0582, 3);
    expect(some.high).toBeCloseTo(0.2674, 3);
  });

  it('is exact when everything was sampled, and unknown when nothing was', () => {
    expect(forgottenShare({ population: 200, sampled: 200, found: 29 })).toEqual({
      ...{ estimate: 0.145, low: 0.145, high: 0.145 },
    });
    expect(forgottenShare({ population: 200, sampled: 0, found: 0 })).toEqual({
      estimate: null,
      low: 0,
      high: 1,
    });
  });

  it.each([
    [40, 12],
    [60, 30],
    [25, 24],
  ])('is missed by neither bound more often than promised: %i records, %i sampled', (population, sampled) => {
    const worst = { low: 0, high: 0 };
    for (let forgotten = 0; forgotten <= population; forgotten++) {
      const missed = { low: 0, high: 0 };
      for (let found = 0; found <= Math.min(sampled, forgotten); found++) {
        const chance = probability(population, forgotten, sampled, found);
        if (chance === 0) continue;
        const { low, high } = forgottenShare({ population, sampled, found });
        if (forgotten / population < low) missed.low += chance;
        if (forgotten / population > high) missed.high += chance;
      }
      worst.low = Math.max(worst.low, missed.low);
      worst.high = Math.max(worst.high, missed.high);
    }
    expect(worst.low).toBeLessThanOrEqual(0.05);
    expect(worst.high).toBeLessThanOrEqual(0.05);
    expect(worst.low + worst.high).toBeGreaterThan(0.01);
  });

  it('stays narrow and finite for a million of five million', () => {
    const share = forgottenShare({ population: 5_000_000, sampled: 1_000_000, found: 500_000 });
    expect(share.low).toBeGreaterThan(0.499);
    expect(share.high).toBeLessThan(0.501);
  });
});
