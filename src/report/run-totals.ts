import type { Plan } from '../model/plan.ts';
import type { RunTotals } from '../model/run.ts';
import type { OutcomeTally } from '../state/state.ts';

/** Of a run of which nothing is known yet. */
export const NO_TOTALS: RunTotals = {
  rows: 0,
  records: 0,
  new: 0,
  changed: 0,
  unchanged: 0,
  removed: 0,
  operations: 0,
  applied: 0,
  deleted: 0,
  rejected: 0,
  skipped: 0,
  unsent: 0,
  requests: 0,
  fieldsChanged: {},
  inRows: { applied: 0, unchanged: 0, rejected: 0, skipped: 0, unsent: 0 },
};

/**
 * The figures of a whole run: what the plan found, and what has become of it by now. Upserts without a final outcome
 * count as unsent. Without a plan nothing is known.
 */
export function runTotals(plan: Plan | null, tally: OutcomeTally): RunTotals {
  if (plan === null) return { ...NO_TOTALS, requests: tally.requests };
  const { counts } = plan;
  const planned = plannedUpserts(plan);
  const refused = tally.rejected - refusedDeletes(plan, tally);
  return {
    rows: counts.rows,
    records: counts.records,
    new: counts.new.records,
    changed: counts.changed.records,
    unchanged: counts.unchanged.records,
    removed: counts.removed,
    operations: planned.records + counts.deletes,
    applied: tally.applied,
    deleted: tally.deleted,
    rejected: counts.rejected.records + refused,
    skipped: counts.skipped.records,
    unsent: planned.records - tally.applied - refused,
    requests: tally.requests,
    fieldsChanged: Object.fromEntries(plan.fieldsChanged.map(({ field, records }) => [field, records])),
    inRows: {
      applied: tally.appliedRows,
      unchanged: counts.unchanged.rows,
      rejected: counts.rejected.rows + tally.rejectedRows,
      skipped: counts.skipped.rows,
      unsent: planned.rows - tally.appliedRows - tally.rejectedRows,
    },
  };
}

/**
 * Deletes that the store refused: no record, and so in no total. Deletes are sent only when every upsert has its
 * final outcome, so whatever was refused beyond the planned upserts is a delete.
 */
export function refusedDeletes(plan: Plan, tally: Pick<OutcomeTally, 'applied' | 'rejected'>): number {
  return Math.max(0, tally.applied + tally.rejected - plannedUpserts(plan).records);
}

/** Planned deletes that have no final outcome yet. */
export function unsentDeletes(plan: Plan, tally: OutcomeTally): number {
  return plan.counts.deletes - tally.deleted - tally.left - refusedDeletes(plan, tally);
}

function plannedUpserts({ counts }: Plan): { readonly records: number; readonly rows: number } {
  return {
    records: counts.new.records + counts.changed.records + counts.resent.records,
    rows: counts.new.rows + counts.changed.rows + counts.resent.rows,
  };
}
