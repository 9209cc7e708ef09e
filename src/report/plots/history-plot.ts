import { withoutAbsent } from '../../model/json-object.ts';
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
  stepOf,
  type Tick,
  ticksEvery,
} from './line-plots.ts';

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
const BAR_GAP = 0.08;
/** With at most this many runs, each bar has its value if there is room. */
const FEW_RUNS = 6;
/** Approximate width of a character in a label, and of the space between two labels, in pixels of the plot. */
const CHARACTER_WIDTH = 6.5;
const LABEL_GAP = 6;

/**
 * The duration of each run (given newest first) and the outcomes of its records, oldest first, with axes; null if there are too
 * few. Only runs and exports are compared: other kinds send nothing or only a part. The last bar, the tallest bars and
 * outliers have their value above them. A bar that exceeds the plot is marked with an arrow, a failed or stopped run with a
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
  const hasOutcomes = runs.some((run) => countOutcomes(run) > 0);
  return html`<div class="history">${durationPlot(runs, timezone)}${hasOutcomes && recordsPlot(runs, timezone)}</div>`;
}

function durationPlot(runs: readonly PastRun[], timezone: string) {
  const values = runs.map(({ durationMs }) => durationMs);
  const unfinished = runs.filter(({ status }) => ENDINGS[status] !== NO_SIGN);
  const outliers = findOutliers(values);
  const unusual = runs.filter((_, index) => outliers[index]);
  const endings = new Set(runs.map(({ status }) => ENDINGS[status]));
  return barFigure({
    title: 'How long it took',
    text: [
      `The last ${counted(runs.length, 'run')} took ${formatDuration(Math.min(...values))} to ${formatDuration(Math.max(...values))}.`,
      ...named(
        'Unusual',
        unusual,
        (run) => `${formatDuration(run.durationMs)} on ${formatMoment(run.at, { timezone })}`,
      ),
      ...named(
        'Not finished',
        unfinished,
        ({ at, status }) => `${formatMoment(at, { timezone })}, ${status}`,
      ),
    ].join(' '),
    runs,
    timezone,
    values,
    partsOf: ({ status, durationMs }) => [{ kind: ENDINGS[status].kind, value: durationMs }],
    signs: runs.map(({ status }) => ENDINGS[status].sign),
    ticksOf: durationTicks,
    words: formatDuration,
    legend: [FAILED, STOPPED].filter((ending) => endings.has(ending)),
  });
}

function recordsPlot(runs: readonly PastRun[], timezone: string) {
  const values = runs.map(countOutcomes);
  return barFigure({
    title: 'Records sent, deleted, rejected, held or unsent',
    text: `Of the last run ${counted(values.at(-1) ?? 0, 'record')}, at most ${grouped(Math.max(0, ...values))}.`,
    runs,
    timezone,
    values,
    partsOf: (run) => PARTS.map(({ kind, label }) => ({ kind, value: run[label] })),
    ticksOf: countTicks,
    words: grouped,
    legend: PARTS.filter(({ label }) => runs.some((run) => run[label] > 0)),
  });
}

/** The outcomes of the records of a run, from the bottom of its bar. */
const PARTS = [
  { kind: 'good', label: 'applied' },
  { kind: 'second', label: 'deleted' },
  { kind: 'bad', label: 'rejected' },
  { kind: 'held', label: 'held' },
  { kind: 'quiet', label: 'unsent' },
] as const satisfies readonly LegendEntry[];

interface BarFigure {
  readonly title: string;
  /** The figures in words. */
  readonly text: string;
  readonly runs: readonly PastRun[];
  readonly timezone: string;
  /** The full height of each run, also above the plot. */
  readonly values: readonly number[];
  /** The parts of a bar, from the bottom. */
  readonly partsOf: (
    run: PastRun,
  ) => readonly { readonly kind: LegendEntry['kind']; readonly value: number }[];
  /** A prefix for each value; empty for none. */
  readonly signs?: readonly string[];
  readonly ticksOf: (height: number) => readonly Tick[];
  readonly words: (value: number) => string;
  readonly legend: readonly LegendEntry[];
}

/** Bars with an axis of round values, the last run at the right, and the days of both ends below. */
function barFigure({
  title,
  text,
  runs,
  timezone,
  values,
  partsOf,
  signs = [],
  ticksOf,
  words,
  legend,
}: BarFigure) {
  const height = plotHeight(values);
  const outliers = findOutliers(values);
  const bands = Math.max(MIN_BANDS, runs.length);
  const bandWidth = (SIZE.width - SIZE.left - SIZE.right) / bands;
  const longest = Math.max(...values.map((value) => words(value).length + 2));
  const apart = Math.ceil((longest * CHARACTER_WIDTH + LABEL_GAP) / bandWidth);
  const withValue = valued(values, outliers, apart);
  const plot = drawPlot({
    size: SIZE,
    // A unit for each run, with the last one at the right.
    x: { domain: [runs.length - bands, runs.length], ticks: [] },
    y: { domain: [0, height], ticks: ticksOf(height) },
    description: `${title}. ${text}`,
    marks: ({ x, y }) => [
      ...runs.map((run, index) => {
        const [left, right] = [x(index + BAR_GAP), x(index + 1 - BAR_GAP)];
        const isNoted = outliers[index] === true || (signs[index] ?? '') !== '';
        // A run that exceeds the height of the plot fills it, with its parts in proportion.
        const scale = Math.min(1, height / Math.max(1, values[index] ?? 0));
        let from = 0;
        return partsOf(run).map(({ kind, value }) => {
          const base = y(from);
          from += value * scale;
          return (
            value > 0 &&
            html`<rect class="plot-${kind}" x="${left}" y="${y(from)}" width="${round(right - left)}" height="${round(base - y(from))}" fill="var(--share)" fill-opacity="${isNoted ? 1 : 0.65}"><title>${titleOf(run, timezone)}</title></rect>`
          );
        });
      }),
      ...values.map((value, index) => {
        const label = [
          signs[index] ?? '',
          withValue[index] === true ? words(value) : '',
          value > height ? '↑' : '',
        ].filter((part) => part !== '');
        const place = { x: x(index + 0.5), y: y(Math.min(height, value)), dy: -4 };
        return label.length > 0 && labelAt({ ...place, label: label.join(' '), outlined: true });
      }),
      ...endTicks(
        runs.map(({ at }) => at),
        timezone,
      ).map(({ value, label }) => {
        const anchor = value === 0 ? 'start' : 'end';
        return labelAt({ x: x(value + (value === 0 ? 0 : 1)), y: y(0), label, anchor, dy: 16 });
      }),
    ],
  });
  const isCut = values.some((value) => value > height);
  return plotFigure(
    title,
    plot,
    withoutAbsent([...legend, isCut && ({ kind: 'none', label: '↑ higher than drawn' } as const)]),
  );
}

/** The last ones of these runs, in words. */
function named(what: string, runs: readonly PastRun[], words: (run: PastRun) => string) {
  return runs.length === 0 ? [] : [`${what}: ${listed(runs.slice(-5).map(words))}.`];
}

/**
 * Which bars have their value above them: all if there are few, otherwise the last, the outliers and the tallest; where two
 * would overlap, the last wins, then the larger value.
 */
function valued(values: readonly number[], outliers: readonly boolean[], apart: number) {
  const last = values.length - 1;
  const tallest = values.indexOf(Math.max(...values));
  const wanted = values.map(
    (value, index) =>
      value > 0 &&
      (index === last || outliers[index] === true || index === tallest || values.length <= FEW_RUNS),
  );
  // Readers look for the last bar, so it takes precedence over a larger neighbour.
  return labelled(values.with(last, Number.POSITIVE_INFINITY), wanted, apart);
}

/** Only failed and stopped runs have a colour and a sign; rejects are in the other plot. */
const NO_SIGN = { kind: 'main', sign: '', label: '' } as const;
const FAILED = { kind: 'bad', sign: '✕', label: '✕ failed' } as const;
const STOPPED = { kind: 'quiet', sign: '!', label: '! stopped or interrupted' } as const;
const ENDINGS: Readonly<Record<RunStatus, LegendEntry & { readonly sign: string }>> = {
  done: NO_SIGN,
  'done-with-rejects': NO_SIGN,
  running: NO_SIGN,
  planned: NO_SIGN,
  failed: FAILED,
  stopped: STOPPED,
  interrupted: STOPPED,
  superseded: STOPPED,
};

function countOutcomes({ applied, deleted, rejected, held, unsent }: PastRun) {
  return applied + deleted + rejected + held + unsent;
}

function titleOf({ at, status, durationMs, unchanged, ...run }: PastRun, timezone: string) {
  const figures = figuresList([
    [run.applied, 'applied'],
    [unchanged, 'unchanged'],
    [run.deleted, 'deleted'],
    [run.rejected, 'rejected'],
    [run.held, 'held'],
    [run.unsent, 'unsent'],
  ]);
  const what = `${formatMoment(at, { timezone })}: ${statusWords(status, run).replace(/,$/, '')}, ${formatDuration(durationMs)}`;
  return figures === '' ? what : `${what}, ${figures}`;
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

function median(values: readonly number[]) {
  const rising = values.toSorted((a, b) => a - b);
  const half = Math.floor(rising.length / 2);
  const upper = rising[half] ?? 0;
  return rising.length % 2 === 1 ? upper : ((rising[half - 1] ?? upper) + upper) / 2;
}

const DURATION_STEPS = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  ...[1, 2, 5, 10, 15, 30].map((step) => step * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((step) => step * MINUTE),
  ...[1, 2, 3, 6, 12].map((step) => step * HOUR),
  ...[1, 2, 5, 10, 20, 50].map((step) => step * DAY),
];

/** `0`, `2 min`, `4 min`: round durations up to `most` milliseconds, all different. */
export function durationTicks(most: number): Tick[] {
  const step = stepOf(most, DURATION_STEPS) ?? most;
  return ticksEvery(step, [0, most], (value) => (value === 0 ? '0' : formatDuration(value)));
}

/** `0`, `200`, `400`, or `0`, `2K`, `4K`: round counts up to `most`, all different. */
export function countTicks(most: number): Tick[] {
  // Not with the module, which every report loads: the first use of Intl takes 14 ms and 7 MiB.
  const compact = new Intl.NumberFormat('en', { notation: 'compact' });
  return numberTicks([0, most], (value) => compact.format(value), 1);
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

function format(at: number, timeZone: string, parts: Intl.DateTimeFormatOptions) {
  return new Intl.DateTimeFormat('en-GB', { timeZone, hourCycle: 'h23', ...parts }).format(at);
}
