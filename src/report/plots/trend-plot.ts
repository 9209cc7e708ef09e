import { truncate } from '../../model/truncate.ts';
import { DAY, grouped, listed, printable } from '../../text/printable.ts';
import { html, type Markup } from '../html/markup.ts';
import type { TrendSeries } from '../section.ts';
import { drawPlot, labelAt, line, momentTicks, numberTicks } from './draw-plot.ts';

/** The most lines that a reader can distinguish in one plot. */
const SERIES_SHOWN = 6;
const MAX_NAME_LENGTH = 18;
const SIZE = { width: 440, height: 150, left: 48, top: 12, bottom: 24 };
const COLOURS = ['var(--plot-main)', 'var(--plot-second)', 'var(--share-applied)', 'var(--share-skipped)'];
const DASHES = [undefined, '6 3', '2 3'];
/** Distance between the labels of two lines, in pixels. */
const LABEL_HEIGHT = 14;

/** Lines over time, scaled from the lowest to the highest value. With several lines, each has its name at its end. */
export function trendPlot(series: readonly TrendSeries[]): Markup {
  const drawn = series.filter(({ points }) => points.length > 0).slice(0, SERIES_SHOWN);
  if (drawn.length === 0) return html``;
  const all = drawn.flatMap(({ points }) => points);
  const domain = roomy(all.map(({ value }) => value));
  const days = widened(all.map(({ at }) => at));
  const several = drawn.length > 1;
  const names = drawn.map(({ name }) => truncate(printable(name), MAX_NAME_LENGTH));
  const right = several ? 30 + Math.max(...names.map((name) => name.length)) * 6 : 14;
  return drawPlot({
    size: { ...SIZE, right },
    x: { domain: days, ticks: momentTicks(days) },
    y: { domain, ticks: numberTicks(domain, grouped) },
    description: described(drawn),
    marks(scales) {
      const ends = drawn.map(({ points }) => ({
        x: scales.x(points.at(-1)?.at ?? 0),
        y: scales.y(points.at(-1)?.value ?? 0),
      }));
      const moved = spreadLabels(
        ends.map(({ y }) => y),
        LABEL_HEIGHT,
      );
      return drawn.map(({ points }, index) => {
        const stroke = COLOURS[index % COLOURS.length] ?? 'currentColor';
        const dashes = DASHES[index % DASHES.length];
        const { x, y } = ends[index] ?? { x: 0, y: 0 };
        const corners = points.map(({ at, value }) => ({ x: at, y: value }));
        return html`${line(scales, corners, { stroke, width: 1.75, ...(dashes !== undefined && { dashes }) })}<circle cx="${x}" cy="${y}" r="3" fill="${stroke}"/>${
          several &&
          labelAt({
            x: x + 8,
            y,
            label: names[index] ?? '',
            anchor: 'start',
            dy: (moved[index] ?? 0) + 4,
            tone: 'ink',
          })
        }`;
      });
    },
  });
}

/** Adds space above and below; a constant line is in the middle. */
function roomy(values: readonly number[]): readonly [number, number] {
  const [lowest, highest] = [Math.min(...values), Math.max(...values)];
  const air = highest > lowest ? (highest - lowest) * 0.1 : Math.max(1, Math.abs(highest) * 0.1);
  return [lowest >= 0 ? Math.max(0, lowest - air) : lowest - air, highest + air];
}

/** A single moment has no width, so the axis shows a day around it. */
function widened(moments: readonly number[]): readonly [number, number] {
  const [from, to] = [Math.min(...moments), Math.max(...moments)];
  return from < to ? [from, to] : [from - DAY / 2, to + DAY / 2];
}

function described(series: readonly TrendSeries[]): string {
  const texts = series.map(({ name, points }) => {
    const [first, last] = [points[0], points.at(-1)];
    return `${truncate(printable(name), 60)} from ${grouped(first?.value ?? 0, 1)} to ${grouped(last?.value ?? 0, 1)}`;
  });
  return `Over time: ${listed(texts)}.`;
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
