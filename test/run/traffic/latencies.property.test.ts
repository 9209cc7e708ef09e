import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addLatency,
  joinLatencies,
  type Latencies,
  percentile,
} from '../../../src/run/traffic/run-traffic.ts';

const times = fc.array(fc.double({ min: 0.1, max: 120_000, noNaN: true }), { minLength: 1, maxLength: 200 });
const share = fc.constantFrom(0.01, 0.5, 0.95, 1);

function noted(all: readonly number[]): Latencies {
  const latencies: Latencies = new Map();
  for (const ms of all) addLatency(latencies, ms);
  return latencies;
}

/** The smallest of them that so many are no larger than. */
function exactly(all: readonly number[], wanted: number): number {
  const sorted = all.toSorted((one, other) => one - other);
  return sorted[Math.max(1, Math.ceil(wanted * sorted.length)) - 1] ?? Number.NaN;
}

describe('percentiles of latencies', () => {
  it('are at most 5 % away from the exact ones', () => {
    fc.assert(
      fc.property(times, share, (all, wanted) => {
        const exact = exactly(all, wanted);
        const read = percentile(noted(all), wanted) ?? Number.NaN;
        expect(Math.abs(read - exact) / exact).toBeLessThanOrEqual(0.05);
      }),
    );
  });

  it('are the same whether counted together or apart, and written down in between', () => {
    fc.assert(
      fc.property(times, times, (some, others) => {
        const written = (all: readonly number[]): Latencies => new Map([...noted(all)]);
        expect(joinLatencies(written(some), written(others))).toEqual(noted([...some, ...others]));
      }),
    );
  });

  it('are none of nothing, and stay within bounds for what is beyond them', () => {
    expect(percentile(new Map(), 0.5)).toBeNull();
    expect(percentile(noted([0]), 0.5)).toBe(0.1);
    expect(percentile(noted([10 ** 9]), 0.5)).toBeGreaterThan(120_000);
    expect(percentile(noted([10 ** 9]), 0.5)).toBeLessThan(200_000);
  });
});
