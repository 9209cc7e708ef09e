import { DAY, HOUR, MINUTE, printable } from '../../text/printable.ts';
import { html, type Markup, type Slot } from '../html/markup.ts';

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
export interface Scales {
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
}

export interface PlotSpec {
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
  return (value: number): number => round(start + ((value - low) / (high - low)) * (end - start));
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
export function plotFigure(caption: string, plot: Markup, legend: readonly LegendEntry[] = []): Markup {
  return html`<figure class="plot-figure"><figcaption>${caption}</figcaption>${plot}${
    legend.length > 0 &&
    html`<ul class="plot-legend">${legend.map(
      ({ kind, label }) =>
        html`<li>${kind !== 'none' && html`<span class="swatch plot-${kind}" aria-hidden="true"></span>`}${label}</li>`,
    )}</ul>`
  }</figure>`;
}
