import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatProgress, type Progress, ProgressMeter, progressLine } from '../../src/report/status-words.ts';
import { formatDuration } from '../../src/text/printable.ts';

const HALF: Progress = {
  step: 'apply',
  done: 5400,
  total: 12_000,
  unit: 'requests',
  ratePerSecond: 430,
  etaMs: 15_200,
};

describe('the progress line', () => {
  it('shows step, bar, percentage, figures, rate and time left', () => {
    expect(formatProgress(HALF, 120)).toMatch(
      /^apply {3}█+░+ {2}45% {2}5,400 of 12,000 requests {2}430\/s {2}16 s left$/,
    );
    expect(progressLine(HALF)).toBe('apply: 5,400 of 12,000 requests (45%), 430/s, 16 s left');
  });

  it('shows neither bar nor percentage while the total is unknown, or turns out to be wrong', () => {
    for (const total of [null, 100, 0]) {
      const line = formatProgress({ ...HALF, total, etaMs: null, unit: 'rows' }, 120);
      expect(line).toBe('apply   5,400 rows  430/s');
    }
  });

  it('is full, and 100%, only when all is done', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 40 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (total, share) => {
          const done = Math.min(total, Math.floor(total * share));
          const line = formatProgress({ ...HALF, done, total }, 200);
          expect(line.includes('100%')).toBe(done === total);
          expect(line.includes('░')).toBe(done < total);
        },
      ),
    );
  });

  it('never exceeds the width, and leaves out the least important first', () => {
    for (let width = 0; width <= 120; width++)
      expect(formatProgress(HALF, width).length).toBeLessThanOrEqual(width);
    expect(formatProgress(HALF, 75)).not.toContain('430/s');
    expect(formatProgress(HALF, 75)).toContain('16 s left');
    expect(formatProgress(HALF, 40)).toBe('apply   5,400 of 12,000 requests');
  });

  it('counts bytes in megabytes', () => {
    const bytes = {
      ...HALF,
      step: 'stage',
      unit: 'bytes',
      done: 1_500_000,
      total: 30_000_000,
      ratePerSecond: 2e6,
    } as const;
    expect(progressLine(bytes)).toBe('stage: 1.5 of 30.0 MB (5%), 2.0 MB/s, 16 s left');
  });
});

describe('the rate', () => {
  it('is that of the last ten seconds, and unknown in the first', () => {
    const meter = new ProgressMeter();
    meter.add(0, 0);
    meter.add(900, 90);
    expect(meter.ratePerSecond).toBeNull();
    expect(meter.etaMs(1000)).toBeNull();
    for (let second = 1; second <= 30; second++) meter.add(second * 1000, second * 100);
    expect(meter.ratePerSecond).toBeCloseTo(100);
    for (let second = 31; second <= 60; second++) meter.add(second * 1000, 3000 + (second - 30) * 10);
    expect(meter.ratePerSecond).toBeCloseTo(10);
    expect(meter.etaMs(3400)).toBeCloseTo(10_000);
  });

  it('falls to nothing, and says no time left, when nothing moves', () => {
    const meter = new ProgressMeter();
    for (let second = 0; second <= 40; second++) meter.add(second * 1000, 50);
    expect(meter.ratePerSecond).toBe(0);
    expect(meter.etaMs(100)).toBeNull();
  });

  it('begins again when counting begins again', () => {
    const meter = new ProgressMeter();
    for (let second = 0; second <= 5; second++) meter.add(second * 1000, second * 1000);
    meter.add(6000, 0);
    expect(meter.ratePerSecond).toBeNull();
    expect(meter.etaMs(10)).toBeNull();
  });

  it('gives no time left beyond the total', () => {
    const meter = new ProgressMeter();
    for (let second = 0; second <= 5; second++) meter.add(second * 1000, second * 1000);
    expect(meter.etaMs(4000)).toBeNull();
    expect(meter.etaMs(null)).toBeNull();
    expect(meter.etaMs(6000)).toBe(1000);
  });
});

describe('durations', () => {
  it.each([
    [-5, '0 ms'],
    [350, '350 ms'],
    [999.6, '1 s'],
    [1000, '1 s'],
    [12_345, '12.3 s'],
    [99_960, '1 min 40 s'],
    [119_600, '2 min'],
    [3_599_600, '1 h'],
    [3_600_000, '1 h'],
    [7_800_000, '2 h 10 min'],
    [86_399_999, '1 d'],
    [100 * 3_600_000, '4 d 4 h'],
  ])('of %d ms read %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });
});
