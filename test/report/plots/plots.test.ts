import fc from 'fast-check';
import { parseHTML } from 'linkedom';
import { describe, expect, it } from 'vitest';
import type { Run, RunTotals } from '../../../src/model/run.ts';
import { widths } from '../../../src/report/html/document-sections.ts';
import {
  countTicks,
  durationTicks,
  endTicks,
  findOutliers,
  historyPlot,
  labelled,
  plotHeight,
} from '../../../src/report/plots/history-plot.ts';
import {
  linePlots,
  momentTicks,
  numberTicks,
  steps,
  type Tick,
} from '../../../src/report/plots/line-plots.ts';
import { NO_TOTALS } from '../../../src/report/run-facts.ts';
import type { TrendSeries } from '../../../src/report/section.ts';
import { someTraffic } from '../html/report-samples.ts';
import { aRun } from '../run-facts.ts';

const DAY = 86_400_000;
interface Changes extends Partial<RunTotals> {
  readonly status?: Run['status'];
  readonly durationMs?: number;
}
const pastRun = (index: number, { status, durationMs, ...totals }: Changes = {}): Run => {
  const startedAt = Date.UTC(2030, 0, 1 + index, 2);
  return aRun({
    ...{ status: status ?? 'done', startedAt },
    finishedAt: startedAt + (durationMs ?? 60_000 + (index % 4) * 1_000),
    totals: { ...NO_TOTALS, applied: 20 + (index % 3), unchanged: 500, ...totals },
  });
};
/** As the state lists them: newest first. */
const plotOf = (runs: readonly Run[], timezone: string) =>
  historyPlot(runs.toReversed(), { timezone, now: Date.UTC(2031, 0, 1) });
const elementsOf = (markup: unknown) => parseHTML(`<!doctype html><body>${String(markup)}</body>`).document;
const drawn = (runs: readonly Run[], timezone = 'UTC') => elementsOf(plotOf(runs, timezone));
const textsOf = (element: { querySelectorAll(selector: string): Iterable<{ textContent: string | null }> }) =>
  [...element.querySelectorAll('text')]
    .map(({ textContent }) => (textContent ?? '').trim())
    .filter((text) => text !== '');

describe('the history of a job', () => {
  const runs = Array.from({ length: 14 }, (_, index) => pastRun(index));
  const odd = runs
    .with(5, pastRun(5, { durationMs: 900_000 }))
    .with(9, pastRun(9, { status: 'failed', unsent: 7 }));

  it('has a bar for each run, with its figures as the title', () => {
    const document = drawn(runs);
    const titles = [...document.querySelectorAll('rect title')].map(({ textContent }) => textContent);
    expect(titles).toHaveLength(28);
    expect(titles[0]).toBe('Tue 1 Jan 2030, 02:00 UTC: done, 60 s, 20 applied, 500 unchanged');
    expect(document.querySelectorAll('[style], style, [id]')).toHaveLength(0);
  });

  it('shows an odd run by its value and a bad end by a sign, in words too', () => {
    const document = drawn(odd);
    const words = textsOf(document);
    expect(words).toContain('15 min ↑');
    expect(words).toContain('✕');
    expect(document.querySelector('.plot-legend')?.textContent).toContain('✕ failed');
    expect(document.querySelector('.plot-legend')?.textContent).toContain('↑ higher than drawn');
    const label = document.querySelector('svg[role="img"]')?.getAttribute('aria-label');
    expect(label).toContain('Unusual: 15 min on Sun 6 Jan 2030, 02:00 UTC');
    expect(label).toContain('Not finished: Thu 10 Jan 2030, 02:00 UTC, failed');
    const usual = drawn(runs).querySelector('svg[role="img"]')?.getAttribute('aria-label');
    expect(usual).not.toMatch(/Unusual|Not finished/);
  });

  it('has an axis of round values, and the value of the last bar above it', () => {
    const [durations, records] = drawn(runs).querySelectorAll('svg');
    if (durations === undefined || records === undefined) throw new Error('There are two plots.');
    expect(textsOf(durations)).toEqual(expect.arrayContaining(['0', '30 s', '60 s', '61 s', '14 Jan']));
    expect(textsOf(records)).toEqual(expect.arrayContaining(['0', '10', '20', '21', '1 Jan', '14 Jan']));
  });

  it('counts what a mirror deleted', () => {
    const document = drawn(runs.with(13, pastRun(13, { applied: 0, deleted: 204 })));
    expect(textsOf(document)).toContain('204 ↑');
    expect([...document.querySelectorAll('.plot-legend')].at(-1)?.textContent).toContain('deleted');
  });

  it('has no amber: what runs of the past did needs no action', () => {
    const statuses = ['stopped', 'interrupted', 'done-with-rejects', 'superseded', 'done'] as const;
    const markup = String(
      plotOf(
        statuses.map((status, index) => pastRun(index, { status, rejected: 3, unsent: 4 })),
        'UTC',
      ),
    );
    expect(markup).not.toMatch(/--warning|plot-held/);
  });

  it('is nothing without runs, and leaves out records where none were sent', () => {
    expect(plotOf([], 'UTC')).toBeNull();
    const exports = runs.map((_, index) => pastRun(index, { applied: 0 }));
    expect(drawn(exports).querySelectorAll('figure')).toHaveLength(1);
  });
});

describe('the ticks of an axis', () => {
  const labels = (ticks: readonly Tick[]) => ticks.map(({ label }) => label);

  it('are round durations in one unit', () => {
    expect(labels(durationTicks(61_000))).toEqual(['0', '30 s', '60 s']);
    expect(labels(durationTicks(7 * 60_000))).toEqual(['0', '2 min', '4 min', '6 min']);
    expect(labels(durationTicks(12_345_678))).toEqual(['0', '1 h', '2 h', '3 h']);
    expect(labels(durationTicks(40))).toEqual(['0', '10 ms', '20 ms', '30 ms', '40 ms']);
    expect(labels(countTicks(21))).toEqual(['0', '10', '20']);
    expect(labels(countTicks(1))).toEqual(['0', '1']);
    expect(labels(countTicks(54_000))).toEqual(['0', '20K', '40K']);
  });

  it('differ, and are no more than five, whatever the values', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 * 86_400_000 }), (most) => {
        for (const ticks of [durationTicks(most), countTicks(most)]) {
          expect(new Set(labels(ticks)).size).toBe(ticks.length);
          expect(ticks.length).toBeGreaterThan(1);
          expect(ticks.length).toBeLessThanOrEqual(5);
          for (const { value } of ticks) expect(value).toBeLessThanOrEqual(most);
        }
      }),
    );
  });

  it('lie within the range of a line, round and all different', () => {
    expect(labels(numberTicks([0.3, 2.2], String))).toEqual(['0.5', '1', '1.5', '2']);
    expect(labels(numberTicks([1_190, 1_310], String))).toEqual(['1200', '1250', '1300']);
    expect(labels(momentTicks([0, 9 * DAY], 'UTC'))).toEqual(['1 Jan', '8 Jan']);
    expect(labels(momentTicks([0, DAY], 'UTC'))).toEqual(['00:00', '06:00', '12:00', '18:00', '00:00']);
    expect(labels(momentTicks([0, 700 * DAY], 'UTC'))).toEqual([
      '1 Jan 1970',
      '30 Jun 1970',
      '27 Dec 1970',
      '25 Jun 1971',
    ]);
    fc.assert(
      fc.property(
        fc.double({ min: -1e9, max: 1e9, noNaN: true }),
        fc.double({ min: 1e-3, max: 1e9 }),
        (low, range) => {
          const ticks = numberTicks([low, low + range], String);
          expect(ticks.length).toBeLessThanOrEqual(5);
          for (const { value } of ticks) {
            expect(value).toBeGreaterThanOrEqual(low - range / 1e6);
            expect(value).toBeLessThanOrEqual(low + range * (1 + 1e-6));
          }
        },
      ),
    );
  });

  it('name the days of both ends by the clock of the job, and the times of one day', () => {
    const at = (...times: readonly string[]) => times.map((time) => Date.parse(`2030-07-01T${time}Z`));
    const late = [...at('22:30:00', '22:40:00', '22:50:00'), Date.parse('2030-07-02T22:30:00Z')];
    expect(labels(endTicks(late, 'UTC'))).toEqual(['1 Jul', '2 Jul']);
    expect(labels(endTicks(late, 'Europe/London'))).toEqual(['1 Jul', '2 Jul']);
    expect(labels(endTicks(late, 'Europe/Berlin'))).toEqual(['2 Jul', '3 Jul']);
    const sameDay = at('09:00:00', '09:30:00', '10:00:00', '10:30:00');
    expect(labels(endTicks(sameDay, 'UTC'))).toEqual(['1 Jul, 09:00', '10:30']);
    const sameMinute = at('09:00:05', '09:00:10', '09:00:20', '09:00:40');
    expect(labels(endTicks(sameMinute, 'UTC'))).toEqual(['1 Jul, 09:00:05', '09:00:40']);
    expect(labels(endTicks(sameDay.slice(0, 2), 'UTC'))).toEqual(['1 Jul']);
    expect(endTicks([], 'UTC')).toEqual([]);
  });
});

describe('trends', () => {
  const trendPlot = (title: string, series: readonly TrendSeries[]) =>
    linePlots({ figure: 'trends', trends: [{ title, series }] });
  const points = (values: readonly number[]) => values.map((value, index) => ({ at: index * DAY, value }));

  it('name lines below where there are several, and say everything in words', () => {
    const one = elementsOf(trendPlot('Subscribers', [{ name: 'subscribers', points: points([4, 8]) }]));
    expect(one.querySelector('svg')?.getAttribute('aria-label')).toBe(
      'Subscribers. Over time: subscribers from 4 to 8.',
    );
    expect(one.querySelector('.plot-legend')).toBeNull();
    const two = elementsOf(
      trendPlot('Rates', [
        { name: 'opens', points: points([30, 31]) },
        { name: 'clicks', points: points([3, 4]) },
      ]),
    );
    const names = [...two.querySelectorAll('.plot-legend li')].map(({ textContent }) => textContent);
    expect(names).toEqual(['opens', 'clicks']);
  });

  it('can be drawn of a single reading, of one that never moves, and of none', () => {
    const single = elementsOf(trendPlot('A', [{ name: 'a', points: points([3]) }]));
    expect(single.querySelector('path[stroke="var(--share)"]')?.getAttribute('d')).toMatch(
      /^M[\d.]+ [\d.]+h0$/,
    );
    expect(String(trendPlot('A', [{ name: 'a', points: points([0, 0, 0]) }]))).not.toMatch(/NaN|Infinity/);
    expect(String(trendPlot('A', [{ name: 'a', points: [] }]))).not.toContain('<svg');
  });
});

describe('what plots are made of', () => {
  it('writes no figure over another: the largest of neighbours has it', () => {
    const values = [5, 90, 95, 5, 5, 5, 80];
    const odd = values.map((value) => value > 5);
    expect(labelled(values, odd, 4)).toEqual([false, false, true, false, false, false, true]);
    expect(labelled(values, odd, 5)).toEqual([false, false, true, false, false, false, false]);
  });

  it('finds odd values among many like ones, and none among few', () => {
    expect(findOutliers([10, 11, 10, 12, 11, 90])).toEqual([false, false, false, false, false, true]);
    expect(findOutliers([10, 90])).toEqual([false, false]);
    expect(findOutliers([0, 0, 0, 0, 0])).toEqual([false, false, false, false, false]);
    expect(plotHeight([10, 11, 10, 12, 900])).toBe(55);
    expect(plotHeight([0, 0, 7])).toBe(7);
  });

  it('fills the bar of shares, and lets the smallest be seen', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 10_000_000 }), { minLength: 1, maxLength: 6 }),
        (figures) => {
          const drawn = widths(figures);
          expect(drawn.reduce((sum, width) => sum + width, 0)).toBeCloseTo(100);
          for (const width of drawn) expect(width).toBeGreaterThan(1.7);
        },
      ),
    );
  });

  it('drops a line where nothing was sampled', () => {
    const samples = someTraffic(10).filter((_, index) => index !== 4);
    const corners = steps(
      samples,
      (at) => at,
      ({ requests }) => requests,
      0,
    );
    expect(corners).toHaveLength(9 * 2 + 2);
    expect(corners.filter(({ y }) => y === 0)).toHaveLength(2);
    for (const [index, { x }] of corners.entries())
      expect(x).toBeGreaterThanOrEqual(corners[index - 1]?.x ?? x);
  });
});
