import { forgotten, type Run, type RunStatus, type RunTotals, type Verification } from '../model/run.ts';
import { counted, grouped, printable, sentence, shortened } from './printable.ts';
import type { ClockKeeper } from './run-facts.ts';
import type { Tone, Words } from './section.ts';

/** A status as the beginning of a sentence that continues with a duration. */
export function statusWords(
  status: RunStatus,
  { rejected, held }: Pick<RunTotals, 'rejected' | 'held'> = { rejected: 0, held: 0 },
): string {
  switch (status) {
    case 'running':
      return 'running';
    case 'planned':
      return 'planned, nothing sent,';
    case 'done':
      return 'done';
    case 'done-with-rejects':
      return rejected === 0 && held > 0 ? 'done, with held records,' : 'done, with rejects,';
    case 'stopped':
      return 'stopped by a safety limit';
    case 'failed':
      return 'failed';
    case 'interrupted':
      return 'interrupted';
    case 'superseded':
      return 'superseded by a later run';
    default:
      return status satisfies never;
  }
}

/** A status alone: `Done, with rejects`. */
export function statusLabel(status: RunStatus): string {
  return sentence(statusWords(status).replace(/,$/, ''));
}

/** Whether schedules are active, and what to do if they are not. */
export function schedulesNote(keeper: ClockKeeper, program: string): Words {
  const code = (words: string): Words => ({ as: 'code', words });
  switch (keeper) {
    case 'worker':
      return 'Schedules are active: a worker is running.';
    case 'no-worker':
      return ['Schedules are inactive: no worker is running. Start one: ', code(`${program} worker`)];
    default:
      return keeper satisfies never;
  }
}

/** How a status is emphasised. */
export function statusTone(status: RunStatus): Tone {
  switch (status) {
    case 'done':
      return 'good';
    case 'done-with-rejects':
    case 'stopped':
    case 'interrupted':
      return 'warning';
    case 'failed':
      return 'bad';
    case 'running':
    case 'planned':
      return 'strong';
    case 'superseded':
      return 'quiet';
    default:
      return status satisfies never;
  }
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
  const parts = [
    [totals.applied, 'applied'],
    [totals.unchanged, 'unchanged'],
    [totals.deleted, 'deleted'],
    [toDelete(run, totals), 'to delete'],
    [totals.rejected, 'rejected'],
    [totals.unsent, unsentWord(run)],
    [totals.held, 'held'],
    [totals.skipped, 'skipped'],
  ] as const;
  const shown = parts.filter(([figure]) => figure > 0).map(([figure, word]) => `${grouped(figure)} ${word}`);
  if (shown.length > 0) return shown.join(', ');
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
  const parts = [[progress.applied, 'applied'] as const, [progress.rejected, 'rejected'] as const];
  return `${parts
    .filter(([figure]) => figure > 0)
    .map(([figure, word]) => `${grouped(figure)} ${word}`)
    .join(', ')} so far`;
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
  const left = unsent > 0 ? [`${grouped(unsent)} unsent`] : [];
  return [`${grouped(sampled - unsent)} verified`, `${grouped(forgotten(found))} forgotten`, ...left].join(
    ', ',
  );
}

/** The word for operations that were not sent: `planned` for a plan that was not applied. */
export function unsentWord({ kind, status, totals }: Ended): 'planned' | 'unsent' {
  const onlyPlanned = status === 'planned' || (status === 'superseded' && kind === 'plan');
  return onlyPlanned && (totals === null || totals.requests === 0) ? 'planned' : 'unsent';
}
