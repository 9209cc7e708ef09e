import type { TrafficSample } from '../../model/run.ts';
import { html, type Markup } from '../html/markup.ts';
import { formatDuration, grouped } from '../printable.ts';
import { type Drawing, drawPlot, type LegendEntry, plotFigure } from './draw-plot.ts';

/** A plot of fewer samples, one a second, would show nothing: a quick run does not load the plot library for it. */
const MIN_SAMPLES = 5;
const SIZE = { width: 440, height: 200, marginLeft: 44, marginRight: 12, marginTop: 14, marginBottom: 36 };
const Y = { label: null, grid: true, ticks: 4, zero: true };

/** The time axis that all plots of a run share. */
interface Course {
  readonly samples: readonly TrafficSample[];
  readonly x: (at: number) => number;
  readonly axis: {
    readonly domain: readonly [number, number];
    readonly label: string;
    readonly ticks: number;
  };
}

/** Request rate, latency and concurrency over the time of a run; null for a run that is too short. */
export async function trafficPlots(samples: readonly TrafficSample[]): Promise<Markup | null> {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || samples.length < MIN_SAMPLES) return null;
  const span = Math.max(1, last.at + last.ms - first.at);
  const unit = unitOf(span);
  const course: Course = {
    samples,
    x: (at) => Number(((at - first.at) / unit.ms).toFixed(4)),
    axis: { domain: [0, span / unit.ms], label: `${unit.name} since the first request`, ticks: 6 },
  };
  return html`<div class="plots">
${await ratePlot(course)}
${await answerPlot(course)}
${await concurrencyPlot(course)}
</div>
`;
}

async function ratePlot({ samples, x, axis }: Course): Promise<Markup> {
  const rate = (figure: number, ms: number) => Number(((figure / Math.max(1, ms)) * 1000).toFixed(2));
  const all = steps(samples, x, ({ requests, ms }) => rate(requests, ms), 0);
  const failed = steps(samples, x, (sample) => rate(sample.failed, sample.ms), 0);
  const retries = steps(samples, x, (sample) => rate(sample.retries, sample.ms), 0);
  const most = Math.max(...samples.map(({ requests, ms }) => rate(requests, ms)));
  const sum = (figure: 'failed' | 'retries') => samples.reduce((whole, sample) => whole + sample[figure], 0);
  const marks: Marks = (plot) => [
    plot.areaY(all, { ...AREA, fill: 'var(--plot-main)', fillOpacity: 0.22 }),
    plot.line(all, { ...LINE, stroke: 'var(--plot-main)', strokeWidth: 1.25 }),
    plot.areaY(failed, { ...AREA, fill: 'var(--plot-bad)', fillOpacity: 0.8 }),
    ...(sum('retries') > 0
      ? [plot.line(retries, { ...LINE, stroke: 'var(--plot-second)', strokeDasharray: '4 3' })]
      : []),
  ];
  const title = 'Requests per second';
  const text = `At most ${grouped(Math.round(most))} per second; ${grouped(sum('failed'))} failed, ${grouped(sum('retries'))} were retries.`;
  return await courseFigure({ title, text, axis, marks }, [
    { kind: 'main', label: 'all' },
    ...(sum('failed') > 0 ? [{ kind: 'bad', label: 'failed' } as const] : []),
    ...(sum('retries') > 0 ? [{ kind: 'second', label: 'retries' } as const] : []),
  ]);
}

async function answerPlot({ samples, x, axis }: Course): Promise<Markup> {
  const slowest = Math.max(0, ...samples.map(({ p95 }) => p95 ?? 0));
  const inSeconds = slowest >= 2_000;
  const shown = (ms: number | null) => (ms === null ? null : inSeconds ? ms / 1000 : ms);
  const half = steps(samples, x, ({ p50 }) => shown(p50), null);
  const most = steps(samples, x, ({ p95 }) => shown(p95), null);
  const marks: Marks = (plot) => [
    plot.areaY(most, { ...AREA, fill: 'var(--plot-second)', fillOpacity: 0.16 }),
    plot.line(most, { ...LINE, stroke: 'var(--plot-second)', strokeDasharray: '4 3' }),
    plot.line(half, { ...LINE, stroke: 'var(--plot-main)' }),
  ];
  const title = `Latency, in ${inSeconds ? 'seconds' : 'milliseconds'}`;
  const text = `Median and p95; the highest p95 is ${formatDuration(slowest)}.`;
  return await courseFigure({ title, text, axis, marks }, [
    { kind: 'main', label: 'median' },
    { kind: 'second', label: 'p95' },
  ]);
}

async function concurrencyPlot({ samples, x, axis }: Course): Promise<Markup> {
  const allowed = steps(samples, x, ({ concurrency }) => concurrency, null);
  const most = Math.max(1, ...samples.map(({ concurrency }) => concurrency));
  const pauses = samples
    .filter(({ pausedMs }) => pausedMs > 0)
    .map(({ at, ms, pausedMs }) => ({ from: x(at), to: x(at + Math.min(ms, pausedMs)) }));
  const y = { ...Y, domain: [0, most], ticks: Math.min(4, most), tickFormat: 'd' };
  const marks: Marks = (plot) => [
    plot.rectY(pauses, { x1: 'from', x2: 'to', y1: 0, y2: most, fill: 'var(--plot-pause)' }),
    plot.line(allowed, { ...LINE, stroke: 'var(--plot-main)' }),
  ];
  const paused = samples.reduce((sum, { pausedMs }) => sum + pausedMs, 0);
  const title = 'Concurrent requests allowed by the limiter';
  const text = `At most ${grouped(most)}${paused > 0 ? `; sending paused for ${formatDuration(paused)}` : ''}.`;
  return await courseFigure({ title, text, axis, marks, y }, [
    { kind: 'main', label: 'allowed' },
    ...(paused > 0 ? [{ kind: 'pause', label: 'paused' } as const] : []),
  ]);
}

type Marks = (plot: Parameters<Drawing>[0]) => NonNullable<ReturnType<Drawing>['marks']>;

interface CourseFigure extends Pick<Course, 'axis'> {
  readonly title: string;
  /** The figures in words, for readers who do not see the plot. */
  readonly text: string;
  readonly marks: Marks;
  readonly y?: ReturnType<Drawing>['y'];
}

async function courseFigure(
  { title, text, axis, marks, y = Y }: CourseFigure,
  legend: readonly LegendEntry[],
): Promise<Markup> {
  const drawing: Drawing = (plot) => ({ ...SIZE, x: axis, y, marks: [...marks(plot), plot.ruleY([0])] });
  return plotFigure(title, await drawPlot(drawing, `${title}. ${text}`), legend);
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

/** A corner of a line that changes in steps; null interrupts the line. */
export interface Corner {
  readonly x: number;
  readonly y: number | null;
}

/** The style of a step line, and of the area below it. */
const LINE = { x: ({ x }: Corner) => x, y: ({ y }: Corner) => y, strokeWidth: 1.5 };
const AREA = { x: ({ x }: Corner) => x, y1: 0, y2: ({ y }: Corner) => y };

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
