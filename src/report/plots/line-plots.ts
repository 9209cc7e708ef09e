import { sumOf, withoutAbsent } from '../../model/json-object.ts';
import type { TrafficSample } from '../../model/run.ts';
import {
  DAY,
  formatDuration,
  grouped,
  HOUR,
  listed,
  MINUTE,
  printable,
  SECOND,
  serverTimezone,
  truncate,
} from '../../text/printable.ts';
import { html, type Markup, type Slot } from '../html/markup.ts';
import type { Plot, TrendSeries } from '../section.ts';

/** A value of an axis, with its label. */
export interface Tick {
  readonly value: number;
  readonly label: string;
}

interface Axis {
  /** The values at its two ends. */
  readonly domain: readonly [number, number];
  readonly ticks: readonly Tick[];
}

/** Positions in the plot, in its pixels. */
interface Scales {
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
}

interface PlotSpec {
  readonly size: {
    readonly width: number;
    readonly height: number;
    readonly left: number;
    readonly right: number;
    readonly top: number;
    readonly bottom: number;
  };
  /** `label`: what it measures, at its right end. */
  readonly x: Axis & { readonly label?: string };
  readonly y: Axis;
  /** What is drawn above the grid. */
  readonly marks: (scales: Scales) => Slot;
  /** The figures in words, for readers who do not see the plot. */
  readonly description: string;
}

/**
 * Draws a plot as self-contained SVG: no ids, and no style elements or attributes (the policy of pages forbids them;
 * their stylesheet has the rules). Equal figures give equal SVG.
 */
export function drawPlot({ size, x, y, marks, description }: PlotSpec): Markup {
  const { width, height, left, right, top, bottom } = size;
  const scales: Scales = {
    x: scale(x.domain, [left, width - right]),
    y: scale(y.domain, [height - bottom, top]),
  };
  const base = height - bottom;
  return html`<svg class="plot" role="img" aria-label="${printable(description)}" viewBox="0 0 ${width} ${height}" fill="currentColor" text-anchor="middle">
${y.ticks.map(({ value, label }) => {
  const at = scales.y(value);
  return html`<path d="M${left} ${at}H${width - right}" stroke="currentColor" stroke-opacity="0.12"/>${labelAt({ x: left - 6, y: at, label, anchor: 'end', dy: 4 })}`;
})}${x.ticks.map(({ value, label }) => labelAt({ x: scales.x(value), y: base, label, dy: 16 }))}${
  x.label !== undefined &&
  labelAt({ x: width - right, y: height, label: `${x.label} →`, anchor: 'end', dy: -3 })
}${marks(scales)}${y.domain[0] === 0 && html`<path d="M${left} ${base}H${width - right}" stroke="currentColor"/>`}
</svg>`;
}

function scale([low, high]: Axis['domain'], [start, end]: readonly [number, number]) {
  return (value: number) => round(start + ((value - low) / (high - low)) * (end - start));
}

/** To the hundredth of a pixel: shorter files, and nobody sees the difference. */
export function round(pixels: number): number {
  return Math.round(pixels * 100) / 100;
}

interface Label {
  readonly x: number;
  readonly y: number;
  readonly label: string;
  readonly anchor?: 'start' | 'middle' | 'end';
  readonly dy?: number;
  /** The ink of figures, readable above a bar, instead of that of axes. */
  readonly outlined?: boolean;
}

export function labelAt({ x, y, label, anchor = 'middle', dy = 0, outlined }: Label): Markup {
  return html`<text x="${x}" y="${round(y + dy)}"${anchor !== 'middle' && html` text-anchor="${anchor}"`}${
    outlined === true &&
    html` fill="var(--ink)" font-weight="600" stroke="var(--panel)" stroke-width="4" stroke-linejoin="round" paint-order="stroke"`
  }>${label}</text>`;
}

/** Zero and at most this many ticks above it. */
const MAX_TICKS = 4;

/** The finest of round steps that gives a range at most this many ticks. */
export function stepOf(range: number, steps: readonly number[]): number | undefined {
  return steps.find((step) => range / step <= MAX_TICKS);
}

/** Round values from `low` to `high`, at least `finest` apart. */
export function numberTicks(
  [low, high]: Axis['domain'],
  label: (value: number) => string,
  finest = 0,
): Tick[] {
  const power = 10 ** Math.floor(Math.log10((high - low) / MAX_TICKS));
  const step = stepOf(
    high - low,
    [finest, power, 2 * power, 5 * power].filter((one) => one >= finest && one > 0),
  );
  return ticksEvery(step ?? Math.max(finest, 10 * power), [low, high], label);
}

const MOMENT_STEPS = [
  ...[1, 5, 15, 30].map((step) => step * MINUTE),
  ...[1, 3, 6, 12].map((step) => step * HOUR),
  ...[1, 2, 7, 14, 30, 60, 90, 180, 365, 730, 1825].map((step) => step * DAY),
];

/** Days, or times of a day where the range is short, in a time zone. */
export function momentTicks([from, to]: Axis['domain'], timeZone: string): Tick[] {
  const step = stepOf(to - from, MOMENT_STEPS) ?? 10_000 * DAY;
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    ...(step < DAY
      ? ({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const)
      : ({ day: 'numeric', month: 'short', ...(step > 60 * DAY && { year: 'numeric' }) } as const)),
  });
  return ticksEvery(step, [from, to], (at) => format.format(at));
}

export function ticksEvery(
  step: number,
  [low, high]: Axis['domain'],
  label: (value: number) => string,
): Tick[] {
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, index) => {
    const value = (first + index) * step;
    return { value, label: label(value) };
  });
}

/** A colour of a plot and its meaning. `none` is a sign whose label explains itself. */
export interface LegendEntry {
  readonly kind: 'main' | 'second' | 'bad' | 'pause' | 'good' | 'quiet' | 'held' | 'none';
  readonly label: string;
}

/** A plot with its caption above and its legend below. */
export function plotFigure(caption: string, plot: Markup, legend: readonly LegendEntry[]): Markup {
  return html`<figure class="plot-figure"><figcaption>${caption}</figcaption>${plot}${
    legend.length > 0 &&
    html`<ul class="plot-legend">${legend.map(
      ({ kind, label }) =>
        html`<li>${kind !== 'none' && html`<span class="swatch plot-${kind}" aria-hidden="true"></span>`}${label}</li>`,
    )}</ul>`
  }</figure>`;
}

/** A corner of a line; null interrupts the line. */
interface Corner {
  readonly x: number;
  readonly y: number | null;
}

/** A line over time, and its colour and name in the legend. */
interface Line extends LegendEntry {
  readonly corners: readonly Corner[];
  readonly dashes?: string;
  /** How much colour the area between the line and zero has, from 0 to 1. */
  readonly fill?: number;
}

interface LineFigure extends Pick<PlotSpec, 'x'> {
  readonly title: string;
  /** The figures in words. */
  readonly text: string;
  /** The lowest and the highest value; default: from zero to the highest of the lines. */
  readonly domain?: readonly [number, number];
  /** The smallest distance of ticks. */
  readonly finest?: number;
  readonly lines: readonly Line[];
}

const SIZE = { width: 440, height: 200, left: 48, right: 12, top: 14, bottom: 36 };

function lineFigure({ title, text, x, domain, finest, lines }: LineFigure) {
  const most = Math.max(0, ...lines.flatMap(({ corners }) => corners.map(({ y }) => y ?? 0)));
  // Nothing but zeros has an axis too.
  const values = domain ?? ([0, most > 0 ? most : 1] as const);
  const plot = drawPlot({
    size: SIZE,
    x,
    y: { domain: values, ticks: numberTicks(values, grouped, finest) },
    marks: (scales) => lines.map((line) => drawLine(scales, line)),
    description: `${title}. ${text}`,
  });
  return plotFigure(title, plot, lines.length > 1 ? lines : []);
}

function drawLine(scales: Scales, { kind, corners, dashes, fill }: Line) {
  const parts = stretches(corners);
  const point = ({ x, y }: Corner) => `${scales.x(x)} ${scales.y(y ?? 0)}`;
  const base = scales.y(0);
  const area = parts.map(
    (part) => `M${scales.x(part[0]?.x ?? 0)} ${base}L${part.map(point).join('L')}V${base}Z`,
  );
  // The line without length at its end makes a single point visible.
  const path = parts.map((part) => `M${part.map(point).join('L')}h0`);
  return html`${
    fill !== undefined &&
    html`<path class="plot-${kind}" d="${area.join('')}" fill="var(--share)" fill-opacity="${fill}"/>`
  }<path class="plot-${kind}" d="${path.join('')}" fill="none" stroke="var(--share)" stroke-width="2" stroke-linecap="round"${
    dashes !== undefined && html` stroke-dasharray="${dashes}"`
  }/>`;
}

/** The parts of a line between its interruptions. */
function stretches(corners: readonly Corner[]) {
  const found: Corner[][] = [[]];
  for (const corner of corners) {
    if (corner.y === null) found.push([]);
    else found.at(-1)?.push(corner);
  }
  return found.filter(({ length }) => length > 0);
}

/** The figures of a run or of readings over time; nothing for a run that is too short to show any. */
export function linePlots(plot: Plot['of']): Markup {
  const figures =
    plot.figure === 'traffic'
      ? trafficPlots(plot.samples)
      : plot.trends.map(({ title, series }) => trendPlot(title, series, plot.timezone));
  return html`${figures !== null && html`<div class="plots">${figures}</div>\n`}`;
}

/** A plot of fewer samples, one a second, would show nothing. */
const MIN_SAMPLES = 5;

/** Request rate, latency and concurrency over the time of a run; null for a run that is too short. */
function trafficPlots(samples: readonly TrafficSample[]) {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || samples.length < MIN_SAMPLES) return null;
  const span = Math.max(1, last.at + last.ms - first.at);
  const [unit, unitMs] = unitOf(span);
  const domain = [0, span / unitMs] as const;
  const x = { domain, ticks: numberTicks(domain, grouped), label: `${unit} since the first request` };
  const line = (of: (sample: TrafficSample) => number | null, between: number | null = null) =>
    steps(samples, (at) => (at - first.at) / unitMs, of, between);
  const perSecond = (figure: 'requests' | 'failed' | 'retries') =>
    line((sample) => (sample[figure] / Math.max(1, sample.ms)) * SECOND, 0);
  const sum = (figure: 'failed' | 'retries' | 'pausedMs') => sumOf(samples, (sample) => sample[figure]);
  const highest = (of: (sample: TrafficSample) => number | null) =>
    Math.max(0, ...samples.map((sample) => of(sample) ?? 0));

  const rates: Line[] = [
    { kind: 'main', label: 'all', corners: perSecond('requests'), fill: 0.22 },
    { kind: 'bad', label: 'failed', corners: perSecond('failed'), fill: 0.8 },
    { kind: 'second', label: 'retries', corners: perSecond('retries'), dashes: '4 3' },
  ];
  const most = Math.max(0, ...(rates[0]?.corners.map(({ y }) => y ?? 0) ?? []));
  const slowest = highest(({ p95 }) => p95);
  const inSeconds = slowest >= 2 * SECOND;
  const latency = (ms: number | null) => (ms === null ? null : inSeconds ? ms / SECOND : ms);
  const allowed = highest(({ concurrency }) => concurrency);
  const pausedMs = sum('pausedMs');
  const pauses = samples.map((sample) => ({ ...sample, ms: Math.min(sample.ms, sample.pausedMs) }));
  const paused: Line = {
    kind: 'pause',
    label: 'paused',
    corners: steps(
      pauses.filter(({ ms }) => ms > 0),
      (at) => (at - first.at) / unitMs,
      () => allowed,
      null,
    ),
    fill: 1,
  };
  return html`${lineFigure({
    title: 'Requests per second',
    text: `At most ${grouped(Math.round(most))} per second; ${grouped(sum('failed'))} failed, ${grouped(sum('retries'))} retries.`,
    x,
    lines: rates.filter(({ corners }, index) => index === 0 || corners.some(({ y }) => y !== 0)),
  })}
${lineFigure({
  title: `Latency, in ${inSeconds ? 'seconds' : 'milliseconds'}`,
  text: `Median and p95; the highest p95 is ${formatDuration(slowest)}.`,
  x,
  lines: [
    { kind: 'second', label: 'p95', corners: line(({ p95 }) => latency(p95)), dashes: '4 3', fill: 0.16 },
    { kind: 'main', label: 'median', corners: line(({ p50 }) => latency(p50)) },
  ],
})}
${lineFigure({
  title: 'Concurrent requests allowed by the limiter',
  text: `At most ${grouped(allowed)}${pausedMs > 0 ? `; sending paused for ${formatDuration(pausedMs)}` : ''}.`,
  x,
  finest: 1,
  lines: withoutAbsent([
    pausedMs > 0 && paused,
    { kind: 'main', label: 'allowed', corners: line(({ concurrency }) => concurrency) },
  ]),
})}`;
}

/** The unit that gives a time axis simple numbers. */
function unitOf(spanMs: number): readonly [name: string, ms: number] {
  if (spanMs < 2 * MINUTE) return ['seconds', SECOND];
  return spanMs < 3 * HOUR ? ['minutes', MINUTE] : ['hours', HOUR];
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
    if (end !== null && sample.at > end)
      corners.push({ x: x(end), y: between }, { x: x(sample.at), y: between });
    end = sample.at + sample.ms;
    corners.push({ x: x(sample.at), y: value }, { x: x(end), y: value });
  }
  return corners;
}

const KINDS = ['main', 'second', 'good', 'quiet'] as const;
const MAX_NAME_LENGTH = 60;

/** Lines over time, scaled from the lowest to the highest value; empty without values. */
function trendPlot(title: string, series: readonly TrendSeries[], timezone = serverTimezone()) {
  const drawn = series.filter(({ points }) => points.length > 0);
  if (drawn.length === 0) return html``;
  const all = drawn.flatMap(({ points }) => points);
  const days = roomy(
    all.map(({ at }) => at),
    0,
    DAY / 2,
  );
  const named = drawn.map(({ name, points }) => ({
    name: truncate(printable(name), MAX_NAME_LENGTH),
    points,
  }));
  const changes = named.map(
    ({ name, points }) =>
      `${name} from ${grouped(points[0]?.value ?? 0, 1)} to ${grouped(points.at(-1)?.value ?? 0, 1)}`,
  );
  return lineFigure({
    title,
    text: `Over time: ${listed(changes)}.`,
    x: { domain: days, ticks: momentTicks(days, timezone), label: timezone },
    domain: roomy(
      all.map(({ value }) => value),
      0.1,
      1,
    ),
    lines: named.map(({ name, points }, index) => ({
      kind: KINDS[index % KINDS.length] ?? 'main',
      label: name,
      corners: points.map(({ at, value }) => ({ x: at, y: value })),
    })),
  });
}

/** The range of values with this share of it at each end, not below zero for values that are not; around equal values `least`. */
function roomy(values: readonly number[], share: number, least: number): readonly [number, number] {
  const [lowest, highest] = [Math.min(...values), Math.max(...values)];
  const air = highest > lowest ? (highest - lowest) * share : least;
  return [lowest >= 0 ? Math.max(0, lowest - air) : lowest - air, highest + air];
}
