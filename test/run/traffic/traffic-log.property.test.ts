import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addLatency,
  joinLatencies,
  joinLogs,
  type Latencies,
  type TrafficLog,
  trafficLog,
  trafficOf,
} from '../../../src/run/traffic/run-traffic.ts';

interface Attempt {
  readonly afterMs: number;
  readonly ms: number;
  readonly failed: boolean;
}

const attempts = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.nat(300), fc.nat(5_000), fc.constant(3_600_000)),
    ms: fc.integer({ min: 1, max: 5_000 }),
    failed: fc.boolean(),
  }),
  { maxLength: 900 },
);
const START = Date.UTC(2030, 0, 1);

/** A log of attempts that ended one after the other. */
function logOf(all: readonly Attempt[], start = START): TrafficLog {
  const log = trafficLog();
  let now = start;
  for (const { afterMs, ms, failed } of all) {
    const since = now;
    now += afterMs;
    const stretch = log.at(now, afterMs > 1_000 ? now : since);
    stretch.to = now;
    stretch.requests++;
    stretch.failed += failed ? 1 : 0;
    stretch.concurrency = Math.max(stretch.concurrency, 3);
    addLatency(stretch.latencies, ms);
  }
  return log;
}

function totals(log: TrafficLog) {
  const { samples } = trafficOf(log);
  const latencies = log
    .stretches()
    .reduce((sum: Latencies, stretch) => joinLatencies(sum, stretch.latencies), new Map());
  return {
    requests: samples.reduce((sum, { requests }) => sum + requests, 0),
    failed: samples.reduce((sum, { failed }) => sum + failed, 0),
    latencies,
  };
}

function totalsOf(...lists: readonly (readonly Attempt[])[]) {
  const all = lists.flat();
  const latencies: Latencies = new Map();
  for (const { ms } of all) addLatency(latencies, ms);
  return {
    requests: all.length,
    failed: all.filter(({ failed }) => failed).length,
    latencies,
  };
}

describe('a log of traffic', () => {
  it('stays small and loses nothing, however long a run lasts', () => {
    fc.assert(
      fc.property(attempts, (all) => {
        const log = logOf(all);
        expect(log.stretches().length).toBeLessThanOrEqual(300);
        expect(totals(log)).toEqual(totalsOf(all));
        const read = trafficLog(log.lengthMs(), log.stretches());
        expect(totals(read)).toEqual(totalsOf(all));
      }),
      { numRuns: 60 },
    );
  });

  it('joins with those of other processes and mornings, in either order, and counts nothing twice', () => {
    fc.assert(
      fc.property(attempts, attempts, fc.nat(10_000_000), (some, others, later) => {
        const [one, other] = [logOf(some), logOf(others, START + later)];
        const joined = joinLogs(one, other);
        expect(joined.stretches().length).toBeLessThanOrEqual(300);
        expect(totals(joined)).toEqual(totalsOf(some, others));
        expect(trafficOf(joinLogs(other, one))).toEqual(trafficOf(joined));
        expect(totals(one)).toEqual(totalsOf(some));
      }),
      { numRuns: 40 },
    );
  });

  it('gives samples in order, without overlap, each of some length', () => {
    fc.assert(
      fc.property(attempts, (all) => {
        const { samples } = trafficOf(logOf(all));
        for (const [index, { at, ms, pausedMs, p50, p95 }] of samples.entries()) {
          expect(ms).toBeGreaterThan(0);
          expect(pausedMs).toBeLessThanOrEqual(ms);
          expect(p50 ?? 0).toBeLessThanOrEqual(p95 ?? 0);
          expect(at).toBeGreaterThanOrEqual(
            (samples[index - 1]?.at ?? 0) + (samples[index - 1]?.ms ?? 0) - 1,
          );
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('two processes that send at the same time', () => {
  it('have their limits added up, and a pause that both keep counted once', () => {
    const sending = () => {
      const log = logOf(Array.from({ length: 10 }, () => ({ afterMs: 100, ms: 20, failed: false })));
      for (const stretch of log.stretches()) stretch.pausedMs = 50;
      return log;
    };
    const { samples } = trafficOf(joinLogs(sending(), sending()));
    expect(samples).toHaveLength(1);
    expect(samples[0]).toMatchObject({ requests: 20, concurrency: 6 });
    expect(samples[0]?.pausedMs).toBeLessThanOrEqual(100);
  });
});
