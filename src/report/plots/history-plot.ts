import { lastedMs, type Run, type RunStatus, type RunTotals } from '../../model/run.ts';
import {
  counted,
  DAY,
  formatDuration,
  formatMoment,
  grouped,
  HOUR,
  listed,
  MINUTE,
  SECOND,
} from '../../text/printable.ts';
import { html, type Markup } from '../html/markup.ts';
import { NO_TOTALS } from '../run-facts.ts';
import { figuresList, statusWords } from '../status-words.ts';
import {
  drawPlot,
  type LegendEntry,
  labelAt,
  numberTicks,
  plotFigure,
  round,
  type Tick,
  ticksEvery,
} from './draw-plot.ts';

/** A run of a job, drawn as one bar among others. */
interface PastRun extends RunTotals {
  /** Start time in milliseconds since the epoch. */
  readonly at: number;
  readonly status: RunStatus;
  readonly durationMs: number;
}

/** A single run has nothing to compare with. */
const MIN_COMPARED = 2;

const SIZE = { width: 416, height: 124, left: 48, right: 26, top: 22, bottom: 22 };
/** Bars of few runs would be too wide to compare. */
const MIN_BANDS = 12;
/** The space at each side of a bar, as a share of its band. */
const BAND_GAP = 0.08;
/** With at most this many runs, each bar has its value if there is room. */
const FEW_RUNS = 6;
/** Approximate width of a character in a label, and of the space between two labels, in pixels of the plot. */
const CHARACTER_WIDTH = 6.5;
const LABEL_GAP = 6;

/**
 * The duration of each run (given newest first) and the records that it sent, oldest first, with axes; null if there are too
 * few. Plans send nothing and retries are parts of runs, so both are left out. The last bar, the tallest bars and
 * outliers have their value above them. A bar that exceeds the plot is marked with an arrow, an unfinished run with a
 * sign. Days are in `timezone`.
 */
export function historyPlot(
  latest: readonly Run[],
  { timezone, now }: { readonly timezone: string; readonly now: number },
): Markup | null {
  const runs = latest
    .filter(({ kind }) => kind === 'run' || kind === 'export')
    .map((run) => ({
      ...(run.totals ?? NO_TOTALS),
      at: run.startedAt,
      status: run.status,
      durationMs: lastedMs(run, now),
    }))
    .reverse();
  if (runs.length < MIN_COMPARED) return null;
  const sentAnything = runs.some((run) => handled(run) > 0);
  return html`<div class="history">${durationPlot(runs, timezone)}${sentAnything && recordsPlot(runs, timezone)}</div>`;
}

function durationPlot(runs: readonly PastRun[], timezone: string): Markup {
  const values = runs.map(({ durationMs }) => durationMs);
  const height = plotHeight(values);
  const odd = findOutliers(values);
  const bars = runs.map((run, index) => ({
    index,
    from: 0,
    to: Math.min(height, run.durationMs),
    fill: ENDINGS[run.status].fill,
    opacity: odd[index] === true || ENDINGS[run.status] !== FINISHED ? 1 : 0.6,
    title: titleOf(run),
  }));
  const signs = runs.map((run) => ENDINGS[run.status].sign);
  const unfinished = runs.filter((run) => ENDINGS[run.status] !== FINISHED);
  const endings = new Set(runs.map(({ status }) => ENDINGS[status]));
  const text = [
    `The last ${counted(runs.length, 'run')} took ${formatDuration(Math.min(...values))} to ${formatDuration(Math.max(...values))}.`,
    ...unusual(odd, runs),
    ...(unfinished.length > 0
      ? [
          `Not finished: ${listed(unfinished.slice(-5).map(({ at, status }) => `${formatMoment(at)}, ${status}`))}.`,
        ]
      : []),
  ].join(' ');
  const plot = barPlot({
    runs,
    timezone,
    bars,
    values,
    height,
    odd,
    signs,
    ticks: durationTicks(height),
    words: formatDuration,
    description: `How long it took. ${text}`,
  });
  return plotFigure('How long it took', plot, [
    ...(endings.has(FAILED) ? [{ kind: 'bad', label: '✕ failed' } as const] : []),
    ...(endings.has(STOPPED) ? [{ kind: 'quiet', label: '! stopped or interrupted' } as const] : []),
    ...higherEntry(values, height),
  ]);
}

function recordsPlot(runs: readonly PastRun[], timezone: string): Markup {
  const values = runs.map(handled);
  const height = plotHeight(values);
  const odd = findOutliers(values);
  const bars = runs.flatMap((run, index) => {
    // A run that exceeds the height of the plot fills it, with its parts in proportion.
    const scale = Math.min(1, height / Math.max(1, handled(run)));
    let from = 0;
    return PARTS.flatMap(({ of, fill }) => {
      const value = of(run) * scale;
      if (value === 0) return [];
      const opacity = odd[index] === true ? 1 : 0.7;
      const bar = { index, from, to: from + value, fill, opacity, title: titleOf(run) };
      from += value;
      return [bar];
    });
  });
  const shown = PARTS.filter(({ of }) => runs.some((run) => of(run) > 0));
  const legend: LegendEntry[] = shown.map(({ kind, label }) => ({ kind, label }));
  const text = `Of the last run ${counted(values.at(-1) ?? 0, 'record')}, at most ${grouped(Math.max(0, ...values))}.`;
  const title = 'Records sent, deleted, rejected or held';
  const plot = barPlot({
    runs,
    timezone,
    bars,
    values,
    height,
    odd,
    signs: runs.map(() => ''),
    ticks: countTicks(height),
    words: grouped,
    description: `${title}. ${text}`,
  });
  return plotFigure(title, plot, [...legend, ...higherEntry(values, height)]);
}

/** The outcomes of the records of a run, from the bottom of its bar. */
const PARTS = [
  { kind: 'good', label: 'applied', of: (run: PastRun) => run.applied, fill: 'var(--share-applied)' },
  { kind: 'second', label: 'deleted', of: (run: PastRun) => run.deleted, fill: 'var(--plot-second)' },
  { kind: 'bad', label: 'rejected', of: (run: PastRun) => run.rejected, fill: 'var(--share-rejected)' },
  { kind: 'held', label: 'held', of: (run: PastRun) => run.held, fill: 'var(--share-unsent)' },
  { kind: 'quiet', label: 'unsent', of: (run: PastRun) => run.unsent, fill: 'var(--quiet)' },
] as const;

/** A part of the bar of a run. */
interface Bar {
  /** The position of the run. */
  readonly index: number;
  readonly from: number;
  readonly to: number;
  readonly fill: string;
  readonly opacity: number;
  readonly title: string;
}

interface BarPlotParts {
  readonly runs: readonly PastRun[];
  readonly timezone: string;
  readonly bars: readonly Bar[];
  /** The full height of each run, also above the plot. */
  readonly values: readonly number[];
  readonly height: number;
  readonly odd: readonly boolean[];
  /** A prefix for each value; empty for none. */
  readonly signs: readonly string[];
  readonly ticks: readonly Tick[];
  readonly words: (value: number) => string;
  readonly description: string;
}

/** Bars with an axis of round values, the last run at the right, and the days of both ends below. */
function barPlot(parts: BarPlotParts): Markup {
  const { runs, timezone, bars, values, height, odd, signs, ticks, words, description } = parts;
  const bands = Math.max(MIN_BANDS, runs.length);
  const bandWidth = (SIZE.width - SIZE.left - SIZE.right) / bands;
  const longest = Math.max(...values.map((value) => words(value).length + 2));
  const apart = Math.ceil((longest * CHARACTER_WIDTH + LABEL_GAP) / bandWidth);
  const withValue = valued(values, odd, apart);
  const ends = endTicks(
    runs.map(({ at }) => at),
    timezone,
  );
  return drawPlot({
    size: SIZE,
    // A unit for each run, with the last one at the right.
    x: { domain: [runs.length - bands, runs.length], ticks: [] },
    y: { domain: [0, height], ticks },
    description,
    marks: ({ x, y }) => [
      ...bars.map(({ index, from, to, fill, opacity, title }) => {
        const [left, right] = [x(index + BAND_GAP), x(index + 1 - BAND_GAP)];
        const [top, base] = [y(to), y(from)];
        return html`<rect x="${left}" y="${top}" width="${round(right - left)}" height="${round(base - top)}" fill="${fill}" fill-opacity="${opacity}"><title>${title}</title></rect>`;
      }),
      ...values.map((value, index) => {
        const label = [
          signs[index] ?? '',
          withValue[index] === true ? words(value) : '',
          value > height ? '↑' : '',
        ].filter((part) => part !== '');
        const place = { x: x(index + 0.5), y: y(Math.min(height, value)), dy: -4 };
        return html`${label.length > 0 && labelAt({ ...place, label: label.join(' '), tone: 'outlined' })}`;
      }),
      ...ends.map(({ value, label }) => {
        const anchor = value === 0 ? 'start' : 'end';
        return labelAt({ x: x(value + (value === 0 ? 0 : 1)), y: y(0), label, anchor, dy: 16 });
      }),
    ],
  });
}

/**
 * Which bars have their value above them: all if there are few, otherwise the last, then outliers, then the tallest.
 */
function valued(values: readonly number[], odd: readonly boolean[], apart: number): boolean[] {
  const last = values.length - 1;
  const tallest = values.indexOf(Math.max(...values));
  const wanted = values.map(
    (value, index) =>
      value > 0 && (index === last || odd[index] === true || index === tallest || values.length <= FEW_RUNS),
  );
  // Readers look for the last bar, so it takes precedence over a larger neighbour.
  return labelled(values.with(last, Number.POSITIVE_INFINITY), wanted, apart);
}

/** Only unfinished runs have a colour and a sign; rejects are in the other plot. */
const FINISHED = { fill: 'var(--plot-main)', sign: '' };
const FAILED = { fill: 'var(--plot-bad)', sign: '✕' };
const STOPPED = { fill: 'var(--quiet)', sign: '!' };
const ENDINGS: Readonly<Record<RunStatus, typeof FINISHED>> = {
  done: FINISHED,
  'done-with-rejects': FINISHED,
  running: FINISHED,
  planned: FINISHED,
  failed: FAILED,
  stopped: STOPPED,
  interrupted: STOPPED,
  superseded: STOPPED,
};

function higherEntry(values: readonly number[], height: number): LegendEntry[] {
  return values.some((value) => value > height) ? [{ kind: 'none', label: '↑ higher than drawn' }] : [];
}

function handled({ applied, deleted, rejected, held, unsent }: PastRun): number {
  return applied + deleted + rejected + held + unsent;
}

function titleOf({ at, status, durationMs, unchanged, ...run }: PastRun): string {
  const figures = figuresList([
    [run.applied, 'applied'],
    [unchanged, 'unchanged'],
    [run.deleted, 'deleted'],
    [run.rejected, 'rejected'],
    [run.held, 'held'],
    [run.unsent, 'unsent'],
  ]);
  const what = `${formatMoment(at)}: ${statusWords(status, run).replace(/,$/, '')}, ${formatDuration(durationMs)}`;
  return figures === '' ? what : `${what}, ${figures}`;
}

function unusual(odd: readonly boolean[], runs: readonly PastRun[]): string[] {
  const found = runs.filter((_, index) => odd[index] === true);
  if (found.length === 0) return [];
  return [
    `Unusual: ${listed(found.slice(-5).map(({ at, durationMs }) => `${formatDuration(durationMs)} on ${formatMoment(at)}`))}.`,
  ];
}

/** With fewer values the usual value is unknown. */
const MIN_VALUES = 5;
/**
 * The minimum distance of an outlier from the median: this many times the median distance, and at least this share of
 * the median.
 */
const DISTANCES = 4;
const SHARE = 0.5;

/** Which values are outliers; none where there are too few values. */
export function findOutliers(values: readonly number[]): boolean[] {
  if (values.length < MIN_VALUES) return values.map(() => false);
  const middle = median(values);
  const usual = median(values.map((value) => Math.abs(value - middle)));
  const far = Math.max(usual * DISTANCES, Math.abs(middle) * SHARE, Number.MIN_VALUE);
  return values.map((value) => Math.abs(value - middle) > far);
}

/**
 * Which of the wanted values get a label: the largest first, and no two within this many positions, so that labels do
 * not overlap.
 */
export function labelled(values: readonly number[], wanted: readonly boolean[], apart: number): boolean[] {
  const chosen: number[] = [];
  const candidates = [...wanted.keys()].filter((index) => wanted[index] === true);
  for (const index of candidates.toSorted((a, b) => (values[b] ?? 0) - (values[a] ?? 0))) {
    if (chosen.every((other) => Math.abs(other - index) >= apart)) chosen.push(index);
  }
  return values.map((_, index) => chosen.includes(index));
}

/** A value that is this many times the median would leave no room for the others. */
const MAX_MEDIANS = 5;

/** The height of the plot, chosen so that usual values can be compared. Larger values reach the top. */
export function plotHeight(values: readonly number[]): number {
  const most = Math.max(1, ...values);
  const middle = median(values);
  return middle > 0 ? Math.min(most, middle * MAX_MEDIANS) : most;
}

function median(values: readonly number[]): number {
  const rising = values.toSorted((a, b) => a - b);
  const half = Math.floor(rising.length / 2);
  const upper = rising[half] ?? 0;
  return rising.length % 2 === 1 ? upper : ((rising[half - 1] ?? upper) + upper) / 2;
}

/** Zero and at most this many ticks above it. */
const MAX_TICKS = 4;

const DURATION_UNITS = [
  { name: 'd', ms: DAY, steps: [1, 2, 5, 10, 20, 50] },
  { name: 'h', ms: HOUR, steps: [1, 2, 3, 6, 12] },
  { name: 'min', ms: MINUTE, steps: [1, 2, 5, 10, 15, 30] },
  { name: 's', ms: SECOND, steps: [0.2, 0.5, 1, 2, 5, 10, 15, 30] },
  { name: 'ms', ms: 1, steps: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
] as const;

/** `0`, `2 min`, `4 min`: round durations up to `most` milliseconds, in one unit and all different. */
export function durationTicks(most: number): Tick[] {
  const [finest] = DURATION_UNITS.flatMap(({ name, ms, steps }) =>
    steps.map((step) => ({ name, ms, size: ms * step })),
  )
    .filter(({ size }) => most / size <= MAX_TICKS)
    .sort((one, other) => one.size - other.size);
  if (finest === undefined) return [{ value: 0, label: '0' }];
  return fromZero(ticksEvery(finest.size, [0, most], (value) => `${value / finest.ms} ${finest.name}`));
}

/** `0`, `200`, `400`, or `0`, `2K`, `4K`: round counts up to `most`, all different. */
export function countTicks(most: number): Tick[] {
  // Not with the module, which every report loads: the first use of Intl takes 14 ms and 7 MiB.
  const compact = new Intl.NumberFormat('en', { notation: 'compact' });
  return numberTicks([0, most], (value) => compact.format(value), 1);
}

/** Zero needs no unit. */
function fromZero(ticks: readonly Tick[]): Tick[] {
  return ticks.map((tick) => (tick.value === 0 ? { ...tick, label: '0' } : tick));
}

/**
 * The start of the first and the last run, in the time zone of the job: days, with times if both are on the same day.
 * With fewer than four runs only the last one, because there is no room for two labels.
 */
export function endTicks(moments: readonly number[], timezone: string): Tick[] {
  const [first, last] = [moments[0], moments.at(-1)];
  if (first === undefined || last === undefined) return [];
  const day = (at: number) => format(at, timezone, { day: 'numeric', month: 'short' });
  const tick = (index: number, label: string): Tick => ({ value: index, label });
  if (moments.length < MIN_FOR_BOTH_ENDS) return [tick(moments.length - 1, day(last))];
  if (day(first) !== day(last)) return [tick(0, day(first)), tick(moments.length - 1, day(last))];
  const minute = (at: number) => format(at, timezone, { hour: '2-digit', minute: '2-digit' });
  const second = (at: number) =>
    format(at, timezone, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
  const time = minute(first) === minute(last) ? second : minute;
  return [tick(0, `${day(first)}, ${time(first)}`), tick(moments.length - 1, time(last))];
}

const MIN_FOR_BOTH_ENDS = 4;

function format(at: number, timeZone: string, parts: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat('en-GB', { timeZone, hourCycle: 'h23', ...parts }).format(at);
}
