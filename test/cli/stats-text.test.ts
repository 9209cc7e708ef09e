import { describe, expect, it } from 'vitest';
import { sparkline, statsText } from '../../src/cli/commands/stats-command.ts';
import type { HistoryPoint } from '../../src/model/mapped-record.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;
const START = Date.UTC(2030, 0, 1, 6);

function reading(day: number, list: Partial<HistoryPoint> = {}): HistoryPoint {
  return {
    id: '1',
    name: 'News',
    readAt: START + day * DAY_MS,
    subscribers: 1_000 + 10 * day,
    opens: 0.4 + day / 1_000,
    clicks: 0.05,
    ...list,
  };
}

const textOf = (points: readonly HistoryPoint[], options: { width?: number; unreadable?: number } = {}) =>
  statsText(
    { job: 'stats', location: 'exports/lists.csv', history: { points, unreadable: options.unreadable ?? 0 } },
    { colors: false, width: options.width ?? 100, program: 'storeferry' },
  );

describe('the statistics of lists', () => {
  it('show each measure over time, now, since last time and since the first', () => {
    const text = textOf(Array.from({ length: 8 }, (_, day) => reading(day)));
    expect(text).toContain('stats: 1 list, 8 readings from 2030-01-01 to 2030-01-08 UTC\n');
    expect(text).toMatch(/over time\s+now\s+since 2030-01-07\s+since 2030-01-01\n/);
    expect(text).toMatch(/ {2}subscribers {2}▁▂▃▄▅▆▇█\s+1,070\s+\+10 \(\+0\.9%\)\s+\+70 \(\+7\.0%\)\n/);
    expect(text).toMatch(/ {2}open rate {4}▁▂▃▄▅▆▇█\s+40\.7%\s+\+0\.1 points\s+\+0\.7 points\n/);
    expect(text).toMatch(/ {2}click rate {3}▄▄▄▄▄▄▄▄\s+5\.0%\s+±0 points\s+±0 points\n/);
  });

  it('take their order from the moments, not from the lines', () => {
    expect(textOf([reading(2), reading(0), reading(1)])).toBe(textOf([reading(0), reading(1), reading(2)]));
  });

  it('follow a list that was renamed by its id, and say which is gone', () => {
    const text = textOf([reading(0, { name: 'Old' }), reading(0, { id: '2', name: 'Trade' }), reading(3)]);
    expect(text).toContain('News (id 1)\n  formerly Old\n');
    expect(text).toContain('Trade (id 2)\n  gone since 2030-01-04: the store no longer has this list\n');
  });

  it('give the time of day where the date says too little', () => {
    const text = textOf([reading(0), reading(0, { readAt: START + 60 * 60 * 1_000 })]);
    expect(text).toContain('from 2030-01-01 06:00 to 2030-01-01 07:00 UTC');
  });

  it('say what to type while there is nothing to compare', () => {
    expect(textOf([])).toContain('    storeferry run stats\n');
    expect(textOf([reading(0)])).toContain('One reading shows no change yet');
    expect(textOf([reading(0)])).not.toContain('over time');
  });

  it('count unreadable lines and draw the others', () => {
    const text = textOf([reading(0), reading(1, { opens: null, subscribers: null })], { unreadable: 1 });
    expect(text).toContain('1 line of the file is not a reading');
    expect(text).toMatch(/ {2}subscribers {2}▄\s+–\n/);
  });

  it('fit the terminal, however many readings there are', () => {
    const points = Array.from({ length: 400 }, (_, day) => reading(day));
    for (const width of [80, 100, 120]) {
      const longest = Math.max(
        ...textOf(points, { width })
          .split('\n')
          .map((line) => line.length),
      );
      expect(longest).toBeLessThanOrEqual(width);
    }
  });

  it('show names that would act on a terminal harmless', () => {
    expect(textOf([reading(0, { name: 'a\u001b[31mb' })])).not.toContain('\u001b');
  });
});

describe('a sparkline', () => {
  const samples = (...values: (number | null)[]) => values.map((value, at) => ({ at, value }));

  it('goes from the lowest to the highest value', () => {
    expect(sparkline(samples(5, 10, 7.5), 10)).toBe('▁█▅');
    expect(sparkline(samples(-1, null, 1), 10)).toBe('▁ █');
    expect(sparkline(samples(3, 3), 10)).toBe('▄▄');
    expect(sparkline([], 10)).toBe('');
  });

  it('keeps to its width, each bar standing for an equal stretch of time', () => {
    const dense = Array.from({ length: 90 }, (_, index) => ({ at: index, value: 1 }));
    expect(sparkline([...dense, { at: 179, value: 2 }], 4)).toBe('▁▁▁█');
  });
});
