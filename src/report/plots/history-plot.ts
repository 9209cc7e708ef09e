import type * as PlotLibrary from '@observablehq/plot';
import type { RunStatus } from '../../model/run.ts';
import { html, type Markup } from '../html/markup.ts';
import { formatDuration } from '../wording/durations.ts';
import { formatMoment } from '../wording/moments.ts';
import { statusTone, statusWords } from '../wording/status-words.ts';
import { counted, grouped, listed } from '../wording/words.ts';
import { type Drawing, drawPlot } from './draw-plot.ts';
import { labelled, oddValues, plotHeight } from './odd-values.ts';
import { type LegendEntry, plotFigure } from './plot-figure.ts';

/** A run of a job, as a night among others. */
export interface Night {
  /** When it began, in milliseconds since the epoch. */
  readonly at: number;
  readonly status: RunStatus;
  readonly durationMs: number;
  readonly applied: number;
  readonly rejected: number;
  readonly unchanged: number;
  readonly unsent: number;
}

const SIZE = { width: 416, height: 104, marginLeft: 6, marginRight: 6, marginTop: 24, marginBottom: 22 };
/** How bars are drawn whose data name their own fill, opacity and title. */
const BAR = { fill: 'fill', fillOpacity: 'opacity', title: 'title', insetLeft: 1, insetRight: 1 } as const;
/** How the figure stands above its bar. */
const FIGURE_ABOVE = { lineAnchor: 'bottom', dy: -4, fontWeight: 600, fill: 'var(--ink)' } as const;
/** As wide as the longest figure, `59 min 59 s`, where all the bands are full. */
const LABEL_BANDS = 4;
/** Of fewer nights the dates of the first and the last would meet. */
const FEWEST_FOR_TWO_DATES = 4;
/** The bars of few nights would be as wide as a hand. */
const FEWEST_BANDS = 12;

/**
 * How long each run took and what it sent, oldest first: an odd night stands in a strong colour with its figure above
 * it, one that did not end well with a sign.
 */
export async function historyPlot(nights: readonly Night[]): Promise<Markup> {
  if (nights.length === 0) return html``;
  const sentAnything = nights.some(({ applied, rejected, unsent }) => applied + rejected + unsent > 0);
  return html`<div class="history">${await durationPlot(nights)}${sentAnything && (await recordsPlot(nights))}</div>`;
}

async function durationPlot(nights: readonly Night[]): Promise<Markup> {
  const odd = oddValues(nights.map(({ durationMs }) => durationMs));
  const height = plotHeight(nights.map(({ durationMs }) => durationMs));
  const withFigure = labelled(
    nights.map(({ durationMs }) => durationMs),
    odd,
    LABEL_BANDS,
  );
  const bars = nights.map((night, index) => ({
    index,
    value: Math.min(height, night.durationMs),
    fill: colourOf(night),
    opacity: odd[index] === true || !endedWell(night) ? 1 : 0.45,
    label: [
      ...(endedWell(night) ? [] : [signOf(night)]),
      ...(withFigure[index] === true ? [formatDuration(night.durationMs)] : []),
    ].join(' '),
    title: titleOf(night),
  }));
  const most = Math.max(...nights.map(({ durationMs }) => durationMs));
  const drawing: Drawing = (plot) => ({
    ...bands(nights),
    y: { axis: null, domain: [0, height] },
    marks: [
      plot.barY(bars, {
        x: 'index',
        y: 'value',
        ...BAR,
      }),
      plot.text(bars, {
        x: 'index',
        y: 'value',
        text: 'label',
        ...FIGURE_ABOVE,
      }),
      plot.ruleY([0]),
      dates(plot, nights),
    ],
  });
  const bad = nights.filter((night) => !endedWell(night));
  const text = `The last ${counted(nights.length, 'run')} took ${formatDuration(Math.min(...nights.map(({ durationMs }) => durationMs)))} to ${formatDuration(most)}.${unusual(odd, nights)}${bad.length > 0 ? ` Not ended well: ${listed(bad.slice(-5).map(({ at, status }) => `${formatMoment(at)}, ${status}`))}.` : ''}`;
  return plotFigure('How long it took', await drawPlot(drawing, `How long it took. ${text}`));
}

async function recordsPlot(nights: readonly Night[]): Promise<Markup> {
  const odd = oddValues(nights.map(sent));
  const height = plotHeight(nights.map(sent));
  const parts = [
    { kind: 'good', label: 'applied', of: (night: Night) => night.applied, fill: 'var(--share-applied)' },
    { kind: 'bad', label: 'rejected', of: (night: Night) => night.rejected, fill: 'var(--share-rejected)' },
    { kind: 'unsent', label: 'unsent', of: (night: Night) => night.unsent, fill: 'var(--share-unsent)' },
  ] as const;
  const bars = nights.flatMap((night, index) => {
    // A night beyond the height of the plot fills it, its parts in proportion.
    const scale = Math.min(1, height / Math.max(1, sent(night)));
    let from = 0;
    return parts.flatMap(({ of, fill }) => {
      const value = of(night) * scale;
      if (value === 0) return [];
      const bar = {
        index,
        from,
        to: from + value,
        fill,
        opacity: odd[index] === true ? 1 : 0.6,
        title: titleOf(night),
      };
      from += value;
      return [bar];
    });
  });
  const withFigure = labelled(nights.map(sent), odd, LABEL_BANDS);
  const labels = nights.flatMap((night, index) =>
    withFigure[index] === true
      ? [{ index, value: Math.min(height, sent(night)), label: grouped(sent(night)) }]
      : [],
  );
  const most = Math.max(0, ...nights.map(sent));
  const drawing: Drawing = (plot) => ({
    ...bands(nights),
    y: { axis: null, domain: [0, height] },
    marks: [
      plot.barY(bars, {
        x: 'index',
        y1: 'from',
        y2: 'to',
        ...BAR,
      }),
      plot.text(labels, {
        x: 'index',
        y: 'value',
        text: 'label',
        ...FIGURE_ABOVE,
      }),
      plot.ruleY([0]),
      dates(plot, nights),
    ],
  });
  const shown = parts.filter(({ of }) => nights.some((night) => of(night) > 0));
  const legend: LegendEntry[] = shown.map(({ kind, label }) => ({ kind, label }));
  const last = nights.at(-1);
  const text = `Of the last run ${last === undefined ? 'nothing' : counted(sent(last), 'record')}, at most ${grouped(most)}.`;
  return plotFigure(
    'Records sent or rejected',
    await drawPlot(drawing, `Records sent or rejected. ${text}`),
    legend,
  );
}

/** A band for each night, the last at the right; the first and the last have their dates below. */
function bands(nights: readonly Night[]) {
  const missing = Math.max(0, FEWEST_BANDS - nights.length);
  const domain = Array.from({ length: nights.length + missing }, (_, index) => index - missing);
  return { ...SIZE, x: { axis: null, domain, padding: 0.12 } };
}

function dates(plot: typeof PlotLibrary, nights: readonly Night[]): PlotLibrary.Markish {
  const ends = nights.length < FEWEST_FOR_TWO_DATES ? [nights.length - 1] : [0, nights.length - 1];
  const labels = ends.map((index) => ({
    index,
    label: shortDate(nights[index]?.at ?? 0),
    anchor: index === 0 && nights.length > 1 ? 'start' : 'end',
  }));
  return labels.map(({ index, label, anchor }) =>
    plot.text([{ index, label }], {
      x: 'index',
      text: 'label',
      frameAnchor: 'bottom',
      lineAnchor: 'top',
      textAnchor: anchor === 'end' ? 'end' : 'start',
      dx: anchor === 'start' ? -8 : 8,
      dy: 6,
    }),
  );
}

function shortDate(at: number): string {
  return new Date(at).toLocaleDateString('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' });
}

function sent({ applied, rejected, unsent }: Night): number {
  return applied + rejected + unsent;
}

function endedWell({ status }: Night): boolean {
  return status === 'done' || status === 'running' || status === 'planned';
}

function colourOf({ status }: Night): string {
  const tone = statusTone(status);
  switch (tone) {
    case 'bad':
      return 'var(--bad)';
    case 'warning':
      return 'var(--warning)';
    case 'good':
    case 'quiet':
    case 'strong':
      return 'var(--plot-main)';
    default:
      return tone satisfies never;
  }
}

function signOf({ status }: Night): string {
  return statusTone(status) === 'bad' ? '✕' : '!';
}

function titleOf({ at, status, durationMs, applied, rejected, unchanged, unsent }: Night): string {
  const figures = [
    [applied, 'applied'],
    [unchanged, 'unchanged'],
    [rejected, 'rejected'],
    [unsent, 'unsent'],
  ] as const;
  const parts = figures
    .filter(([figure]) => figure > 0)
    .map(([figure, word]) => `${grouped(figure)} ${word}`);
  return [
    `${formatMoment(at)}: ${statusWords(status).replace(/,$/, '')}`,
    formatDuration(durationMs),
    ...parts,
  ].join(', ');
}

function unusual(odd: readonly boolean[], nights: readonly Night[]): string {
  const found = nights.filter((_, index) => odd[index] === true);
  if (found.length === 0) return '';
  return ` Unusual: ${listed(found.slice(-5).map(({ at, durationMs }) => `${formatDuration(durationMs)} on ${formatMoment(at)}`))}.`;
}
