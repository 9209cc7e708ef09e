import type { Run } from '../../model/run.ts';
import { forgotten, type Verification } from '../../model/verification.ts';
import { counted, grouped } from './words.ts';

type Ended = Pick<Run, 'kind' | 'status' | 'totals'> & Partial<Pick<Run, 'verification'>>;

/** `12 applied, 498 unchanged, 1 rejected`: what is not zero; of a verification `50 verified, 0 forgotten`. Empty when nothing is known. */
export function totalsWords(run: Ended): string {
  const { kind, status, totals, verification } = run;
  if (totals === null) return '';
  if (verification !== undefined) return verifiedWords(verification);
  const parts = [
    [totals.applied, 'applied'],
    [totals.unchanged, 'unchanged'],
    [totals.deleted, 'deleted'],
    [totals.rejected, 'rejected'],
    [totals.unsent, unsentWord(run)],
    [totals.skipped, 'skipped'],
  ] as const;
  const shown = parts.filter(([figure]) => figure > 0).map(([figure, word]) => `${grouped(figure)} ${word}`);
  if (shown.length > 0) return shown.join(', ');
  const records = counted(totals.records, 'record');
  return kind === 'export' && status !== 'done' && totals.records > 0 ? `${records} read` : records;
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
