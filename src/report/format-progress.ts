import type { RunStep } from '../model/run.ts';
import { formatBytes, formatBytesOf } from './wording/byte-sizes.ts';
import { formatDuration } from './wording/durations.ts';
import { grouped } from './wording/words.ts';

/** How far a step has come. */
export interface Progress {
  readonly step: RunStep;
  readonly done: number;
  /** Null while nobody can know it. */
  readonly total: number | null;
  readonly unit: 'bytes' | 'rows' | 'requests' | 'orders';
  /** Null while it cannot be said. */
  readonly ratePerSecond: number | null;
  readonly etaMs: number | null;
}

const STEP_WIDTH = 'finish'.length;
const BAR_WIDTH = 24;

/**
 * One line for a terminal of `width` columns: step, bar, percentage, figures, rate and time left, of which the least
 * important are left out where it is narrow. No bar and no percentage unless the total is known and holds; the bar
 * is full, and says 100%, only when all is done.
 */
export function formatProgress(progress: Progress, width: number): string {
  const step = progress.step.padEnd(STEP_WIDTH);
  const share = shareOf(progress);
  const bar = share === null ? [] : [`${barOf(share)} ${percentOf(share).padStart(4)}`];
  const [figures, rate, left] = [figuresOf(progress), rateOf(progress), leftOf(progress)];
  const candidates = [
    [step, ...bar, figures, ...rate, ...left],
    [step, ...bar, figures, ...left],
    [step, ...bar, figures],
    [step, figures],
  ].map((parts) => parts.join('  '));
  return (
    candidates.find((line) => line.length <= width) ?? (candidates.at(-1) ?? '').slice(0, Math.max(0, width))
  );
}

/** The same as a plain line for logs: `apply: 5,400 of 12,000 requests (45%), 430/s, 15 s left`. */
export function progressLine(progress: Progress): string {
  const share = shareOf(progress);
  const percent = share === null ? '' : ` (${percentOf(share)})`;
  return [
    `${progress.step}: ${figuresOf(progress)}${percent}`,
    ...rateOf(progress),
    ...leftOf(progress),
  ].join(', ');
}

/** The parts of such a line, for whoever lays them out; empty where nothing can be said. */
export interface ProgressWords {
  readonly percent: string;
  readonly figures: string;
  readonly rate: string;
  readonly left: string;
}

/** How far a step has come in words, each part by itself. */
export function progressWords(progress: Progress): ProgressWords {
  const share = shareOf(progress);
  return {
    percent: share === null ? '' : percentOf(share),
    figures: figuresOf(progress),
    rate: rateOf(progress).join(''),
    left: leftOf(progress).join(''),
  };
}

/** Between 0 and 1; null when the total is unknown, or was wrong. */
export function shareOf({ done, total }: Pick<Progress, 'done' | 'total'>): number | null {
  return total === null || total <= 0 || done > total ? null : done / total;
}

function barOf(share: number): string {
  const filled = Math.floor(share * BAR_WIDTH);
  return '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
}

function percentOf(share: number): string {
  return `${Math.floor(share * 100)}%`;
}

function figuresOf({ done, total, unit }: Progress): string {
  const known = total !== null && done <= total;
  switch (unit) {
    case 'bytes':
      return known ? formatBytesOf(done, total) : formatBytes(done);
    case 'rows':
    case 'requests':
    case 'orders':
      return known ? `${grouped(done)} of ${grouped(total)} ${unit}` : `${grouped(done)} ${unit}`;
    default:
      return unit satisfies never;
  }
}

function rateOf({ ratePerSecond, unit }: Progress): string[] {
  if (ratePerSecond === null) return [];
  if (unit === 'bytes') return [`${formatBytes(ratePerSecond)}/s`];
  return [`${ratePerSecond < 10 ? ratePerSecond.toFixed(1) : grouped(Math.round(ratePerSecond))}/s`];
}

function leftOf({ etaMs }: Progress): string[] {
  if (etaMs === null) return [];
  return [`${formatDuration(Math.max(1, Math.ceil(etaMs / 1000)) * 1000)} left`];
}
