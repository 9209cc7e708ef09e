import { forgotten, type Run, type RunStatus, type RunTotals, type Verification } from '../model/run.ts';
import { counted, grouped, printable, sentence, shortened } from './printable.ts';
import type { ClockKeeper } from './run-facts.ts';
import type { Tone, Words } from './section.ts';

/** Each status as the beginning of a sentence that continues with a duration, and how it is emphasised. */
const STATUSES: Readonly<Record<RunStatus, readonly [words: string, tone: Tone]>> = {
  running: ['running', 'strong'],
  planned: ['planned, nothing sent,', 'strong'],
  done: ['done', 'good'],
  'done-with-rejects': ['done, with rejects,', 'warning'],
  stopped: ['stopped by a safety limit', 'warning'],
  failed: ['failed', 'bad'],
  interrupted: ['interrupted', 'warning'],
  superseded: ['superseded by a later run', 'quiet'],
};

/** A status as the beginning of a sentence that continues with a duration. */
export function statusWords(
  status: RunStatus,
  { rejected, held }: Pick<RunTotals, 'rejected' | 'held'> = { rejected: 0, held: 0 },
): string {
  const onlyHeld = status === 'done-with-rejects' && rejected === 0 && held > 0;
  return onlyHeld ? 'done, with held records,' : STATUSES[status][0];
}

/** A status alone: `Done, with rejects`. `outcome`: its words, as `statusWords` gives them. */
export function statusLabel(status: RunStatus, outcome = statusWords(status)): string {
  return sentence(outcome.replace(/,$/, ''));
}

/** Whether schedules are active, and what to do if they are not. */
export function schedulesNote(keeper: ClockKeeper, program: string): Words {
  if (keeper === 'worker') return 'Schedules are active: a worker is running.';
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
  Partial<Pick<Run, 'verification' | 'error' | 'resend' | 'progress'>>;

/**
 * The figures that are not zero: `12 applied, 498 unchanged, 1 rejected`; for a verification `50 verified, 0
 * forgotten`. For a run without results, or one that was stopped, also the cause. Empty if nothing is known.
 */
export function totalsWords(run: Ended): string {
  const { kind, status, totals, verification } = run;
  if (verification !== undefined) return verifiedWords(verification);
  if (totals === null) return soFarWords(run);
  const why = whyLeft(run, totals);
  if (why !== null) return why;
  const shown = figuresList([
    [totals.applied, 'applied'],
    [totals.unchanged, 'unchanged'],
    [totals.deleted, 'deleted'],
    [toDelete(run, totals), 'to delete'],
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

/** For a run that has not ended or whose process died: what was known about a second earlier. */
function soFarWords({ progress }: Ended): string {
  if (progress == null || progress.applied + progress.rejected === 0) return '';
  return `${figuresList([
    [progress.applied, 'applied'],
    [progress.rejected, 'rejected'],
  ])} so far`;
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
): number {
  // Resent operations are included, and their number is not known.
  if (kind === 'export' || resend === true || !NOT_THROUGH.includes(status)) return 0;
  return Math.max(0, Math.min(removed, operations - added - changed) - deleted);
}

const LONGEST_REASON = 120;

/** Why a run had no result: the first line of its error; null if figures are more useful. */
function whyLeft({ status, error = null }: Ended, { records, applied, requests }: RunTotals): string | null {
  const isLost = status === 'failed' || status === 'interrupted' || status === 'stopped';
  if (!isLost || error === null || applied + requests > 0) return null;
  if (records > 0 && status !== 'stopped') return null;
  return shortened(printable(error.split('\n')[0] ?? ''), LONGEST_REASON);
}

function verifiedWords(found: Verification): string {
  const { sampled, unsent } = found;
  return `${grouped(sampled - unsent)} verified, ${grouped(forgotten(found))} forgotten${unsent > 0 ? `, ${grouped(unsent)} unsent` : ''}`;
}

/** The word for operations that were not sent: `planned` for a plan that was not applied. */
export function unsentWord({ kind, status, totals }: Ended): 'planned' | 'unsent' {
  const onlyPlanned = status === 'planned' || (status === 'superseded' && kind === 'plan');
  return onlyPlanned && (totals === null || totals.requests === 0) ? 'planned' : 'unsent';
}
