import type { Plan } from '../model/plan.ts';
import type { Run, RunTotals } from '../model/run.ts';
import { grouped } from './wording/words.ts';

/** `3 still to be deleted`, or `3 not deleted` where nothing more will be sent; empty when none is left. */
export function pendingDeletes(
  { run, totals }: { readonly run: Run; readonly totals: RunTotals },
  plan: Plan,
): string {
  const pending = plan.counts.deletes - totals.deleted;
  if (pending <= 0) return '';
  const isOver = totals.unsent === 0 && run.status !== 'planned';
  return `${grouped(pending)} ${isOver ? 'not deleted' : 'still to be deleted'}`;
}
