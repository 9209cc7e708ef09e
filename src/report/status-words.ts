import type { Plan } from '../model/plan.ts';
import type { Count } from '../model/reason.ts';
import {
  type Drift,
  forgotten,
  type Run,
  type RunKind,
  type RunStatus,
  type RunStep,
  type RunTotals,
  type Verification,
} from '../model/run.ts';
import {
  capitalise,
  counted,
  formatBytes,
  formatBytesOf,
  formatDuration,
  grouped,
  printable,
  truncate,
} from '../text/printable.ts';
import type { ScheduleStatus } from './run-facts.ts';
import type { Tone, Words } from './section.ts';

/** The progress of a step. */
export interface Progress {
  readonly step: RunStep;
  readonly done: number;
  /** Null while unknown. */
  readonly total: number | null;
  readonly unit: 'bytes' | 'rows' | 'requests' | 'orders' | 'contacts' | 'pictures';
  /** Null while unknown. */
  readonly ratePerSecond: number | null;
  readonly etaMs: number | null;
}

const STEP_WIDTH = 'finish'.length;
const BAR_WIDTH = 24;

/**
 * One line for a terminal of `width` columns: step, bar, percentage, figures, rate and time left. A narrow terminal
 * omits the least important parts. Without a correct total there is no bar and no percentage. The bar is full, with
 * 100%, only when all is done.
 */
export function formatProgress(progress: Progress, width: number): string {
  const step = progress.step.padEnd(STEP_WIDTH);
  const share = shareOf(progress);
  const { percent, figures, rate, left } = progressWords(progress);
  const bar = share === null ? '' : `${barOf(share)} ${percent.padStart(4)}`;
  const candidates = [
    [step, bar, figures, rate, left],
    [step, bar, figures, left],
    [step, bar, figures],
    [step, figures],
  ].map((parts) => parts.filter((part) => part !== '').join('  '));
  return (
    candidates.find((line) => line.length <= width) ?? (candidates.at(-1) ?? '').slice(0, Math.max(0, width))
  );
}

/** The same as a line for logs: `apply: 5,400 of 12,000 requests (45%), 430/s, 15 s left`. */
export function progressLine(progress: Progress): string {
  const { percent, figures, rate, left } = progressWords(progress);
  const done = `${progress.step}: ${figures}${percent === '' ? '' : ` (${percent})`}`;
  return [done, rate, left].filter((part) => part !== '').join(', ');
}

/** The parts of such a line, for the caller's layout. */
export type ProgressWords = ReturnType<typeof progressWords>;

/** The progress of a step in words, each part separately; empty where nothing is known. */
export function progressWords(progress: Progress) {
  const share = shareOf(progress);
  const { etaMs } = progress;
  return {
    percent: share === null ? '' : `${Math.floor(share * 100)}%`,
    figures: figuresOf(progress),
    rate: rateOf(progress),
    left: etaMs === null ? '' : `${formatDuration(Math.max(1, Math.ceil(etaMs / 1000)) * 1000)} left`,
  };
}

/** Between 0 and 1; null if the total is unknown or was wrong. */
export function shareOf({ done, total }: Pick<Progress, 'done' | 'total'>): number | null {
  return total === null || total <= 0 || done > total ? null : done / total;
}

function barOf(share: number) {
  const filled = Math.floor(share * BAR_WIDTH);
  return '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
}

function figuresOf({ done, total, unit }: Progress) {
  const known = total !== null && done <= total;
  if (unit === 'bytes') return known ? formatBytesOf(done, total) : formatBytes(done);
  return `${grouped(done)}${known ? ` of ${grouped(total)}` : ''} ${unit}`;
}

function rateOf({ ratePerSecond, unit }: Progress) {
  if (ratePerSecond === null) return '';
  if (unit === 'bytes') return `${formatBytes(ratePerSecond)}/s`;
  return `${ratePerSecond < 10 ? ratePerSecond.toFixed(1) : grouped(Math.round(ratePerSecond))}/s`;
}

const WINDOW_MS = 10_000;
/** A rate over a shorter time would be a guess. */
const SETTLED_MS = 1_000;

/** A smaller distance between samples would only use memory. */
const SAMPLE_MS = 200;

interface Sample {
  readonly atMs: number;
  readonly done: number;
}

/** The rate over the last ten seconds: the rate before a pause does not predict the rate after it. */
export class ProgressMeter {
  #samples: Sample[] = [];
  #latest: Sample | undefined;
  #step: RunStep | undefined;
  #pausedUntil = Number.NEGATIVE_INFINITY;

  /** The speed of a step at this progress. Another step counts other things: its measurement starts again. */
  measure(
    { step, done, total }: { readonly step: RunStep; readonly done: number; readonly total: number | null },
    atMs: number,
  ): Pick<Progress, 'ratePerSecond' | 'etaMs'> {
    if (step !== this.#step) this.#samples = [];
    this.#step = step;
    this.add(atMs, done);
    return { ratePerSecond: this.ratePerSecond, etaMs: this.etaMs(total) };
  }

  /** `atMs`: any clock that never goes back. A smaller `done` than before starts a new measurement. */
  add(atMs: number, done: number): void {
    if (atMs < this.#pausedUntil) {
      this.#samples = [];
      this.#latest = { atMs, done };
      return;
    }
    if (this.#latest !== undefined && done < this.#latest.done) this.#samples = [];
    this.#latest = { atMs, done };
    if (atMs - (this.#samples.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) < SAMPLE_MS) return;
    this.#samples.push(this.#latest);
    while ((this.#samples[1]?.atMs ?? atMs) <= atMs - WINDOW_MS) this.#samples.shift();
  }

  /** A pause until `atMs` of the same clock is no measured time: the measurement starts again after it. */
  pauseUntil(atMs: number): void {
    if (atMs <= this.#pausedUntil) return;
    this.#pausedUntil = atMs;
    this.#samples = [];
  }

  /** Null while unknown. */
  get ratePerSecond(): number | null {
    const first = this.#samples[0];
    const latest = this.#latest;
    if (first === undefined || latest === undefined || latest.atMs - first.atMs < SETTLED_MS) return null;
    return ((latest.done - first.done) * 1000) / (latest.atMs - first.atMs);
  }

  /** The remaining time until `total` at the present rate; null if unknown. */
  etaMs(total: number | null): number | null {
    const rate = this.ratePerSecond;
    const done = this.#latest?.done;
    if (total === null || done === undefined || rate === null || rate <= 0 || done > total) return null;
    return ((total - done) * 1000) / rate;
  }
}

/** What a run does, for lists: a plan that undoes counts as an undo, and one that copies as a copy, whether it was approved or not. */
export function kindOf({ kind, undo, copy }: Run): RunKind {
  return undo !== undefined ? 'undo' : copy !== undefined ? 'copy' : kind;
}

/** Each status as the beginning of a sentence that continues with a duration, and how it is emphasised. */
const STATUSES: Readonly<Record<RunStatus, readonly [words: string, tone: Tone]>> = {
  running: ['running', 'strong'],
  planned: ['planned, nothing sent,', 'strong'],
  done: ['done', 'good'],
  'done-with-rejects': ['done, with rejects,', 'warning'],
  stopped: ['stopped by a safety limit', 'warning'],
  failed: ['failed', 'bad'],
  interrupted: ['interrupted', 'warning'],
  superseded: ['superseded', 'quiet'],
};

/** A status as the beginning of a sentence that continues with a duration. */
export function statusWords(
  status: RunStatus,
  { rejected = 0, held = 0, skipped = 0 }: Partial<Pick<RunTotals, 'rejected' | 'held' | 'skipped'>> = {},
): string {
  if (status !== 'done-with-rejects' || rejected > 0) return STATUSES[status][0];
  if (held > 0) return 'done, with held records,';
  return skipped > 0 ? 'done, with skipped records,' : STATUSES[status][0];
}

/** A status alone: `Done, with rejects`. `outcome`: its words, as `statusWords` gives them. */
export function statusLabel(status: RunStatus, outcome = statusWords(status)): string {
  return capitalise(outcome.replace(/,$/, ''));
}

/** Whether schedules are active, and what to do if they are not. */
export function schedulesNote(schedules: ScheduleStatus, program: string): Words {
  if (schedules === 'worker') return 'Schedules are active: a worker is running.';
  return [
    'Schedules are inactive: no worker is running. Start one: ',
    { as: 'code', words: `${program} worker` },
  ];
}

/** How a status is emphasised. */
export function statusTone(status: RunStatus): Tone {
  return STATUSES[status][1];
}

type Ended = Pick<Run, 'kind' | 'status' | 'totals'> &
  Partial<Pick<Run, 'verification' | 'drift' | 'error' | 'resend' | 'progress'>>;

/**
 * The figures that are not zero: `12 applied, 498 unchanged, 1 rejected`; for a verification `50 verified, 0
 * forgotten`. For a run without results, or one that was stopped, also the cause. Empty if nothing is known.
 */
export function totalsWords(run: Ended): string {
  const { kind, status, totals, verification } = run;
  if (verification !== undefined) return verifiedWords(verification);
  if (kind === 'drift' && run.drift !== undefined) return driftWords(run.drift);
  if (totals === null) return soFarWords(run);
  const why = whyLeft(run, totals);
  if (why !== null) return why;
  const shown = figuresList([
    [totals.applied, 'applied'],
    [totals.unchanged, 'unchanged'],
    [totals.deleted, 'deleted'],
    [toDelete(run, totals), 'to delete'],
    [totals.refusedDeletes ?? 0, 'not deleted'],
    [totals.rejected, 'rejected'],
    [totals.unsent, unsentWord(run)],
    [totals.held, 'held'],
    [totals.skipped, 'skipped'],
  ]);
  if (shown !== '') return shown;
  const records = counted(totals.records, 'record');
  return kind === 'export' && status !== 'done' && totals.records > 0 ? `${records} read` : records;
}

/** The same without the error, for places that show the error beside the figures. */
export function figuresWords(run: Ended): string {
  return run.error != null && run.totals?.records === 0 ? '' : totalsWords({ ...run, error: null });
}

/** For a run that has not ended: what was known about a second earlier; where its process died, all that is known. */
function soFarWords({ progress, status }: Ended) {
  if (progress == null || progress.applied + progress.rejected === 0) return '';
  return `${figuresList([
    [progress.applied, 'applied'],
    [progress.rejected, 'rejected'],
  ])}${status === 'running' ? ' so far' : ''}`;
}

/** `12 applied, 1 rejected`: those that are not zero. */
export function figuresList(figures: readonly (readonly [figure: number, word: string])[]): string {
  return figures
    .filter(([figure]) => figure > 0)
    .map(([figure, word]) => `${grouped(figure)} ${word}`)
    .join(', ');
}

const NOT_THROUGH: readonly RunStatus[] = ['planned', 'stopped', 'failed', 'interrupted'];

/** Planned deletes, or deletes that a run has left. */
function toDelete(
  { kind, status, resend }: Ended,
  { operations, new: added, changed, removed, deleted }: RunTotals,
) {
  // Resent operations are included, and their number is not known.
  if (kind === 'export' || resend === true || !NOT_THROUGH.includes(status)) return 0;
  return Math.max(0, Math.min(removed, operations - added - changed) - deleted);
}

const MAX_REASON_LENGTH = 120;

/** Why a run had no result: the first line of its error; null if figures are more useful. */
function whyLeft({ status, error = null }: Ended, { records, applied, requests }: RunTotals) {
  const isLost = status === 'failed' || status === 'interrupted' || status === 'stopped';
  if (!isLost || error === null || applied + requests > 0) return null;
  if (records > 0 && status !== 'stopped') return null;
  return truncate(printable(error.split('\n')[0] ?? ''), MAX_REASON_LENGTH);
}

function verifiedWords(found: Verification) {
  const { sampled, unsent } = found;
  return `${grouped(sampled - unsent)} verified, ${grouped(forgotten(found))} forgotten${unsent > 0 ? `, ${grouped(unsent)} unsent` : ''}`;
}

function driftWords({ checked, edited, deleted, recreated }: Drift) {
  return figuresList([
    [checked, 'compared'],
    [edited, 'edited'],
    [deleted, 'deleted'],
    [recreated, 'made again'],
  ]);
}

/** The word for operations that were not sent: `planned` for a plan that was not applied. */
export function unsentWord({ kind, status, totals }: Ended): 'planned' | 'unsent' {
  const onlyPlanned = status === 'planned' || (status === 'superseded' && kind === 'plan');
  return onlyPlanned && (totals === null || totals.requests === 0) ? 'planned' : 'unsent';
}

const NOUNS = {
  products: 'product',
  contacts: 'contact',
  orders: 'order',
  'subscriber-lists': 'list',
} as const;

/** The noun for a record, or for an item of an export. */
export function resourceNoun(resource: Run['resource']): (typeof NOUNS)[Run['resource']] {
  return NOUNS[resource];
}

/** A part of the records that are not in the ledger, with its word. */
interface NewPart extends Count {
  readonly word: string;
  /** What becomes of them in the store. */
  readonly effect: string;
}

/** The records that are not in the ledger: created ones first, then contacts that the store has. */
export function newParts({ counts, resource, created }: Plan): NewPart[] {
  if (resource === 'products') return [{ ...counts.new, word: 'new', effect: 'created' }];
  const { records = 0, rows = 0, uncertain } = created ?? {};
  const rest = { records: counts.new.records - records, rows: counts.new.rows - rows };
  const effect = uncertain ? 'created (or updated, where the store has the address)' : 'created';
  const word = uncertain ? 'without a known id' : 'new';
  const parts = [
    { records, rows, word, effect },
    { ...rest, word: 'not sent before', effect: 'updated' },
  ];
  return records === 0 ? parts.slice(1) : parts.filter((part) => part.records > 0);
}
