import fc from 'fast-check';
import { parseHTML } from 'linkedom';
import { describe, expect, it } from 'vitest';
import { widths } from '../../../src/report/html/share-bar.ts';
import { historyPlot, type Night } from '../../../src/report/plots/history-plot.ts';
import { labelled, oddValues, plotHeight } from '../../../src/report/plots/odd-values.ts';
import { spreadLabels } from '../../../src/report/plots/spread-labels.ts';
import { steps } from '../../../src/report/plots/steps.ts';
import { trendPlot } from '../../../src/report/plots/trend-plot.ts';
import { someTraffic } from '../html/report-samples.ts';

const DAY = 86_400_000;
const night = (index: number, changes: Partial<Night> = {}): Night => ({
  at: Date.UTC(2030, 0, 1 + index, 2),
  status: 'done',
  durationMs: 60_000 + (index % 4) * 1_000,
  applied: 20 + (index % 3),
  rejected: 0,
  unchanged: 500,
  unsent: 0,
  ...changes,
});
const elementsOf = (markup: unknown) => parseHTML(`<!doctype html><body>${String(markup)}</body>`).document;

describe('the history of a job', () => {
  const nights = Array.from({ length: 14 }, (_, index) => night(index));
  const odd = nights
    .with(5, night(5, { durationMs: 900_000 }))
    .with(9, night(9, { status: 'failed', unsent: 7 }));

  it('has a bar for each night, with its figures for who points at it', async () => {
    const document = elementsOf(await historyPlot(nights));
    const titles = [...document.querySelectorAll('rect title')].map(({ textContent }) => textContent);
    expect(titles).toHaveLength(28);
    expect(titles[0]).toBe('Tue 1 Jan 2030, 02:00 UTC: done, 60 s, 20 applied, 500 unchanged');
    expect(document.querySelectorAll('[style], style, [id]')).toHaveLength(0);
  });

  it('tells an odd night by its figure and a bad end by a sign, to those who cannot see it too', async () => {
    const document = elementsOf(await historyPlot(odd));
    const words = [...document.querySelectorAll('text')].map(({ textContent }) => textContent.trim());
    expect(words).toContain('15 min');
    expect(words).toContain('✕');
    const label = document.querySelector('svg[role="img"]')?.getAttribute('aria-label');
    expect(label).toContain('Unusual: 15 min on Sun 6 Jan 2030, 02:00 UTC');
    expect(label).toContain('Not ended well: Thu 10 Jan 2030, 02:00 UTC, failed');
    const usual = elementsOf(await historyPlot(nights));
    expect(usual.querySelector('svg[role="img"]')?.getAttribute('aria-label')).not.toMatch(
      /Unusual|Not ended/,
    );
  });

  it('is nothing without nights, and leaves out records where none were sent', async () => {
    expect(String(await historyPlot([]))).toBe('');
    const exports = nights.map((one) => ({ ...one, applied: 0 }));
    expect(elementsOf(await historyPlot(exports)).querySelectorAll('figure')).toHaveLength(1);
  });
});

describe('trends', () => {
  const points = (values: readonly number[]) => values.map((value, index) => ({ at: index * DAY, value }));

  it('name lines at their ends where there are several, and tell all in words', async () => {
    const one = elementsOf(await trendPlot([{ name: 'subscribers', points: points([4, 8]) }]));
    expect(one.querySelector('svg')?.getAttribute('aria-label')).toBe('Over time: subscribers from 4 to 8.');
    expect([...one.querySelectorAll('text')].map(({ textContent }) => textContent)).not.toContain(
      'subscribers',
    );
    const two = elementsOf(
      await trendPlot([
        { name: 'opens', points: points([30, 31]) },
        { name: 'clicks', points: points([3, 4]) },
      ]),
    );
    const words = [...two.querySelectorAll('text')].map(({ textContent }) => textContent);
    expect(words).toEqual(expect.arrayContaining(['opens', 'clicks']));
  });

  it('can be drawn of a single reading, of one that never moves, and of none', async () => {
    expect(String(await trendPlot([{ name: 'a', points: points([3]) }]))).toContain('<circle');
    expect(String(await trendPlot([{ name: 'a', points: points([0, 0, 0]) }]))).not.toContain('NaN');
    expect(String(await trendPlot([{ name: 'a', points: [] }]))).toBe('');
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
    expect(oddValues([10, 11, 10, 12, 11, 90])).toEqual([false, false, false, false, false, true]);
    expect(oddValues([10, 90])).toEqual([false, false]);
    expect(oddValues([0, 0, 0, 0, 0])).toEqual([false, false, false, false, false]);
    expect(plotHeight([10, 11, 10, 12, 900])).toBe(55);
    expect(plotHeight([0, 0, 7])).toBe(7);
  });

  it('keeps names of lines apart, whatever their places', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -200, max: 200 }), { minLength: 1, maxLength: 8 }), (places) => {
        const moved = spreadLabels(places, 14);
        const shown = places.map((place, index) => place + (moved[index] ?? 0)).sort((a, b) => a - b);
        for (const [index, place] of shown.entries()) {
          expect(place - (shown[index - 1] ?? Number.NEGATIVE_INFINITY)).toBeGreaterThan(13.999);
        }
      }),
    );
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
