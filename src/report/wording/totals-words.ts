import { forgotten, type Run, type RunStatus, type RunTotals, type Verification } from '../../model/run.ts';
import { printable, shortened } from './printable.ts';
import { counted, grouped } from './words.ts';

type Ended = Pick<Run, 'kind' | 'status' | 'totals'> &
  Partial<Pick<Run, 'verification' | 'error' | 'resend' | 'progress'>>;

/**
 * `12 applied, 498 unchanged, 1 rejected`: what is not zero; of a verification `50 verified, 0 forgotten`; of a run that got
 * nowhere, or was stopped, also why. Empty when nothing is known.
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
    [totals.skipped, 'skipped'],
  ] as const;
  const shown = parts.filter(([figure]) => figure > 0).map(([figure, word]) => `${grouped(figure)} ${word}`);
  if (shown.length > 0) return shown.join(', ');
  const records = counted(totals.records, 'record');
  return kind === 'export' && status !== 'done' && totals.records > 0 ? `${records} read` : records;
}

/** Of a run that has not ended, or whose process died: what it was known to have done a second before. */
function soFarWords({ progress }: Ended): string {
  if (progress == null || progress.applied + progress.rejected === 0) return '';
  const parts = [[progress.applied, 'applied'] as const, [progress.rejected, 'rejected'] as const];
  return `${parts
    .filter(([figure]) => figure > 0)
    .map(([figure, word]) => `${grouped(figure)} ${word}`)
    .join(', ')} by then`;
}

const NOT_THROUGH: readonly RunStatus[] = ['planned', 'stopped', 'failed', 'interrupted'];

/** Deletes that a plan is about to do, or a run has left. */
function toDelete(
  { kind, status, resend }: Ended,
  { operations, new: added, changed, removed, deleted }: RunTotals,
): number {
  // What is sent again is among the operations, too, and nothing says how much that is.
  if (kind === 'export' || resend === true || !NOT_THROUGH.includes(status)) return 0;
  return Math.max(0, Math.min(removed, operations - added - changed) - deleted);
}

const LONGEST_REASON = 120;

/** Why nothing at all came of a run, in the first line of its error; null where figures say more. */
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

/** What the operations are that a run leaves: a plan that nobody applied was not to send any. */
export function unsentWord({ kind, status, totals }: Ended): 'planned' | 'unsent' {
  const onlyPlanned = status === 'planned' || (status === 'superseded' && kind === 'plan');
  return onlyPlanned && (totals === null || totals.requests === 0) ? 'planned' : 'unsent';
}
