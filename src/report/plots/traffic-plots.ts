import type { TrafficSample } from '../../model/run.ts';
import { formatDuration, grouped } from '../../text/printable.ts';
import { html, type Markup } from '../html/markup.ts';
import {
  area,
  type Corner,
  drawPlot,
  type LegendEntry,
  line,
  numberTicks,
  type PlotSpec,
  plotFigure,
} from './draw-plot.ts';

/** A plot of fewer samples, one a second, would show nothing. */
const MIN_SAMPLES = 5;
const SIZE = { width: 440, height: 200, left: 44, right: 12, top: 14, bottom: 36 };

/** The time axis that all plots of a run share. */
interface Course {
  readonly samples: readonly TrafficSample[];
  readonly x: (at: number) => number;
  readonly axis: PlotSpec['x'];
}

/** Request rate, latency and concurrency over the time of a run; null for a run that is too short. */
export function trafficPlots(samples: readonly TrafficSample[]): Markup | null {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || samples.length < MIN_SAMPLES) return null;
  const span = Math.max(1, last.at + last.ms - first.at);
  const unit = unitOf(span);
  const domain = [0, span / unit.ms] as const;
  const course: Course = {
    samples,
    x: (at) => (at - first.at) / unit.ms,
    axis: { domain, ticks: numberTicks(domain, grouped), label: `${unit.name} since the first request` },
  };
  return html`<div class="plots">
${ratePlot(course)}
${answerPlot(course)}
${concurrencyPlot(course)}
</div>
`;
}

function ratePlot({ samples, x, axis }: Course): Markup {
  const rate = (figure: number, ms: number) => (figure / Math.max(1, ms)) * 1000;
  const all = steps(samples, x, ({ requests, ms }) => rate(requests, ms), 0);
  const failed = steps(samples, x, (sample) => rate(sample.failed, sample.ms), 0);
  const retries = steps(samples, x, (sample) => rate(sample.retries, sample.ms), 0);
  const most = highest([...all, ...failed, ...retries]);
  const sum = (figure: 'failed' | 'retries') => samples.reduce((whole, sample) => whole + sample[figure], 0);
  const marks: PlotSpec['marks'] = (scales) => [
    area(scales, all, 'var(--plot-main)', 0.22),
    line(scales, all, { stroke: 'var(--plot-main)', width: 1.25 }),
    area(scales, failed, 'var(--plot-bad)', 0.8),
    ...(sum('retries') > 0 ? [line(scales, retries, { stroke: 'var(--plot-second)', dashes: '4 3' })] : []),
  ];
  const title = 'Requests per second';
  const text = `At most ${grouped(Math.round(highest(all)))} per second; ${grouped(sum('failed'))} failed, ${grouped(sum('retries'))} were retries.`;
  return courseFigure({ title, text, axis, marks, most }, [
    { kind: 'main', label: 'all' },
    ...(sum('failed') > 0 ? [{ kind: 'bad', label: 'failed' } as const] : []),
    ...(sum('retries') > 0 ? [{ kind: 'second', label: 'retries' } as const] : []),
  ]);
}

function answerPlot({ samples, x, axis }: Course): Markup {
  const slowest = Math.max(0, ...samples.map(({ p95 }) => p95 ?? 0));
  const inSeconds = slowest >= 2_000;
  const shown = (ms: number | null) => (ms === null ? null : inSeconds ? ms / 1000 : ms);
  const half = steps(samples, x, ({ p50 }) => shown(p50), null);
  const slow = steps(samples, x, ({ p95 }) => shown(p95), null);
  const marks: PlotSpec['marks'] = (scales) => [
    area(scales, slow, 'var(--plot-second)', 0.16),
    line(scales, slow, { stroke: 'var(--plot-second)', dashes: '4 3' }),
    line(scales, half, { stroke: 'var(--plot-main)' }),
  ];
  const title = `Latency, in ${inSeconds ? 'seconds' : 'milliseconds'}`;
  const text = `Median and p95; the highest p95 is ${formatDuration(slowest)}.`;
  return courseFigure({ title, text, axis, marks, most: highest([...half, ...slow]) }, [
    { kind: 'main', label: 'median' },
    { kind: 'second', label: 'p95' },
  ]);
}

function concurrencyPlot({ samples, x, axis }: Course): Markup {
  const allowed = steps(samples, x, ({ concurrency }) => concurrency, null);
  const most = Math.max(1, ...samples.map(({ concurrency }) => concurrency));
  const pauses = samples
    .filter(({ pausedMs }) => pausedMs > 0)
    .flatMap(({ at, ms, pausedMs }) => {
      const [from, to] = [x(at), x(at + Math.min(ms, pausedMs))];
      return [
        { x: from, y: most },
        { x: to, y: most },
        { x: to, y: null },
      ];
    });
  const marks: PlotSpec['marks'] = (scales) => [
    area(scales, pauses, 'var(--plot-pause)', 1),
    line(scales, allowed, { stroke: 'var(--plot-main)' }),
  ];
  const paused = samples.reduce((sum, { pausedMs }) => sum + pausedMs, 0);
  const title = 'Concurrent requests allowed by the limiter';
  const text = `At most ${grouped(most)}${paused > 0 ? `; sending paused for ${formatDuration(paused)}` : ''}.`;
  return courseFigure({ title, text, axis, marks, most, finest: 1 }, [
    { kind: 'main', label: 'allowed' },
    ...(paused > 0 ? [{ kind: 'pause', label: 'paused' } as const] : []),
  ]);
}

function highest(corners: readonly Corner[]): number {
  return Math.max(0, ...corners.map(({ y }) => y ?? 0));
}

interface CourseFigure extends Pick<Course, 'axis'>, Pick<PlotSpec, 'marks'> {
  readonly title: string;
  readonly text: string;
  /** The highest value. */
  readonly most: number;
  /** The smallest distance of ticks. */
  readonly finest?: number;
}

function courseFigure(
  { title, text, axis, marks, most, finest }: CourseFigure,
  legend: readonly LegendEntry[],
): Markup {
  // Nothing but zeros has an axis too.
  const domain = [0, most > 0 ? most : 1] as const;
  const y = { domain, ticks: numberTicks(domain, grouped, finest) };
  const plot = drawPlot({ size: SIZE, x: axis, y, marks, description: `${title}. ${text}` });
  return plotFigure(title, plot, legend);
}

/** The unit of a time axis. */
interface TimeUnit {
  readonly name: string;
  readonly ms: number;
}

/** Seconds, minutes or hours: the unit that gives the axis simple numbers. */
function unitOf(spanMs: number): TimeUnit {
  if (spanMs < 2 * 60_000) return { name: 'seconds', ms: 1_000 };
  if (spanMs < 3 * 3_600_000) return { name: 'minutes', ms: 60_000 };
  return { name: 'hours', ms: 3_600_000 };
}

/** The values of a series as the corners of a line. Times without a sample have the value `between`. */
export function steps(
  samples: readonly TrafficSample[],
  x: (at: number) => number,
  y: (sample: TrafficSample) => number | null,
  between: number | null,
): Corner[] {
  const corners: Corner[] = [];
  let end: number | null = null;
  for (const sample of samples) {
    const value = y(sample);
    if (end !== null && sample.at > end) {
      corners.push({ x: x(end), y: between }, { x: x(sample.at), y: between });
    }
    end = sample.at + sample.ms;
    corners.push({ x: x(sample.at), y: value }, { x: x(end), y: value });
  }
  return corners;
}
