import { html, type Markup } from '../html/markup.ts';
import { grouped, listed, printable, shortened } from '../printable.ts';
import type { TrendSeries } from '../section.ts';
import { type Drawing, drawPlot } from './draw-plot.ts';

/** The most lines that a reader can distinguish in one plot. */
const SERIES_SHOWN = 6;
const MAX_NAME_LENGTH = 18;
const SIZE = { width: 440, height: 150, marginLeft: 48, marginTop: 12, marginBottom: 24 };
const COLOURS = ['var(--plot-main)', 'var(--plot-second)', 'var(--share-applied)', 'var(--share-skipped)'];
const DASHES = ['none', '6 3', '2 3'];
/** Distance between the labels of two lines, in pixels. */
const LABEL_HEIGHT = 14;

/** Lines over time, scaled from the lowest to the highest value. With several lines, each has its name at its end. */
export async function trendPlot(series: readonly TrendSeries[]): Promise<Markup> {
  const drawn = series.filter(({ points }) => points.length > 0).slice(0, SERIES_SHOWN);
  if (drawn.length === 0) return html``;
  const lines = drawn.flatMap(({ points }, index) =>
    points.map(({ at, value }) => ({ at: new Date(at), value, index })),
  );
  const values = lines.map(({ value }) => value);
  const domain = roomy(Math.min(...values), Math.max(...values));
  const ends = drawn.map(({ name, points }, index) => {
    const last = points.at(-1);
    return {
      at: new Date(last?.at ?? 0),
      value: last?.value ?? 0,
      index,
      name: shortened(printable(name), MAX_NAME_LENGTH),
    };
  });
  const scale = (SIZE.height - SIZE.marginTop - SIZE.marginBottom) / (domain[1] - domain[0]);
  const moved = spreadLabels(
    ends.map(({ value }) => -value * scale),
    LABEL_HEIGHT,
  );
  const several = drawn.length > 1;
  const colour = (index: number) => COLOURS[index % COLOURS.length] ?? 'currentColor';
  const drawing: Drawing = (plot) => ({
    ...SIZE,
    marginRight: several ? 30 + Math.max(...ends.map(({ name }) => name.length)) * 6 : 14,
    x: { type: 'utc', label: null, ticks: 4, domain: widened(lines.map(({ at }) => at.getTime())) },
    y: { domain: [...domain], label: null, grid: true, ticks: 4 },
    marks: [
      ...drawn.map((_, index) =>
        plot.line(
          lines.filter((point) => point.index === index),
          {
            x: 'at',
            y: 'value',
            stroke: colour(index),
            strokeWidth: 1.75,
            strokeDasharray: DASHES[index % DASHES.length] ?? 'none',
          },
        ),
      ),
      ...ends.flatMap((end, index) => [
        plot.dot([end], { x: 'at', y: 'value', fill: colour(index), r: 3 }),
        ...(several
          ? [
              plot.text([end], {
                x: 'at',
                y: 'value',
                text: 'name',
                textAnchor: 'start',
                dx: 8,
                dy: moved[index] ?? 0,
                fill: 'var(--ink)',
              }),
            ]
          : []),
      ]),
    ],
  });
  return await drawPlot(drawing, described(drawn));
}

/** Adds space above and below; a constant line is in the middle. */
function roomy(lowest: number, highest: number): readonly [number, number] {
  const air = highest > lowest ? (highest - lowest) * 0.1 : Math.max(1, Math.abs(highest) * 0.1);
  return [lowest >= 0 ? Math.max(0, lowest - air) : lowest - air, highest + air];
}

/** A single moment has no width, so the axis shows a day around it. */
function widened(moments: readonly number[]): [Date, Date] {
  const [from, to] = [Math.min(...moments), Math.max(...moments)];
  return from < to
    ? [new Date(from), new Date(to)]
    : [new Date(from - 43_200_000), new Date(to + 43_200_000)];
}

function described(series: readonly TrendSeries[]): string {
  const texts = series.map(({ name, points }) => {
    const [first, last] = [points[0], points.at(-1)];
    return `${shortened(printable(name), 60)} from ${figure(first?.value ?? 0)} to ${figure(last?.value ?? 0)}`;
  });
  return `Over time: ${listed(texts)}.`;
}

function figure(value: number): string {
  return grouped(value, 1);
}

/** The shift of each label that prevents overlaps: positions rise, at least `height` apart. */
export function spreadLabels(places: readonly number[], height: number): number[] {
  const order = places.map((place, index) => ({ place, index })).sort((a, b) => a.place - b.place);
  const moved = places.map(() => 0);
  let free = Number.NEGATIVE_INFINITY;
  for (const { place, index } of order) {
    const at = Math.max(place, free);
    moved[index] = at - place;
    free = at + height;
  }
  // All labels share the shift, so that the group stays centred.
  const shift = moved.reduce((sum, move) => sum + move, 0) / Math.max(1, moved.length);
  return moved.map((move) => move - shift);
}
