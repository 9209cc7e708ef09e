import type { Run } from '../../model/run.ts';
import { counted, grouped } from './words.ts';

/** `12 applied, 498 unchanged, 1 rejected`: what is not zero. Empty when nothing is known. */
export function totalsWords({ totals }: Pick<Run, 'totals'>): string {
  if (totals === null) return '';
  const parts = [
    [totals.applied, 'applied'],
    [totals.unchanged, 'unchanged'],
    [totals.deleted, 'deleted'],
    [totals.rejected, 'rejected'],
    [totals.unsent, 'unsent'],
    [totals.skipped, 'skipped'],
  ] as const;
  const shown = parts.filter(([figure]) => figure > 0).map(([figure, word]) => `${grouped(figure)} ${word}`);
  return shown.length === 0 ? counted(totals.records, 'record') : shown.join(', ');
}
