import { masked, withoutPeople } from '../model/masked.ts';
import type { Plan } from '../model/plan.ts';
import type { Reason, ReasonGroup } from '../model/reason.ts';
import type { Exported, Run, RunTotals, Traffic } from '../model/run.ts';
import type { ListHistory } from '../model/subscriber-list.ts';
import type { ChangedId, OutcomeTally } from '../state/state.ts';

/** Everything known about a run, which may still be under way. All that is shown of a run is made of this. */
export interface RunFacts {
  readonly run: Run;
  /** Null for exports and verifications, and until a run has planned. */
  readonly plan: Plan | null;
  readonly totals: RunTotals;
  /** Planned deletes without a final outcome. */
  readonly unsentDeletes: number;
  /** Deletes that the store refused; they are in no total. */
  readonly refusedDeletes: number;
  /** Planned deletes that were not sent, since the product is no longer this job's. */
  readonly leftDeletes: number;
  /** Records that the store refused, by reason. */
  readonly refusals: readonly ReasonGroup[];
  readonly unsentReasons: readonly { readonly reason: Reason; readonly count: number }[];
  /** The first of the records whose id the store answered otherwise than before, and how many there are. */
  readonly changedIds: readonly ChangedId[];
  readonly changedIdCount: number;
  /** Where the rejects file is; null when nothing was rejected. */
  readonly rejectsFile: string | null;
  /** Where the report is that was written when the run ended; null when there is none. */
  readonly reportFile: string | null;
  /** What an export wrote; null for imports, and until it is written. */
  readonly exported: Exported | null;
  /** The requests over time; null when none were sent, or none were recorded. */
  readonly traffic: Traffic | null;
  /** The kept history that an export of list statistics adds to; absent for all other runs. */
  readonly history?: ListHistory | null;
}

/** A job of the workspace, when it runs and what its last run did. */
export interface JobFacts {
  readonly job: string;
  /** Null when it runs by hand only, or its file cannot be used. */
  readonly schedule: { readonly cron: string; readonly timezone: string } | null;
  /** When it runs next by its schedule, in milliseconds since the epoch; null when unknown. */
  readonly next: number | null;
  /** Its file cannot be used. */
  readonly broken: boolean;
  /** The latest run that was more than a plan. */
  readonly last: Run | undefined;
}

/** Who keeps the schedules: they need Redis and a worker. */
export type ClockKeeper = 'no-redis' | 'no-worker' | 'worker';

/** How fast requests are sent and why, such as 'the limit in stores.yaml'. */
export interface Pace {
  readonly requestsPerSecond: number;
  readonly because: string;
}

/** For whom the facts are shown, and when. */
export interface View {
  /** In milliseconds since the epoch. */
  readonly now: number;
  /** How the commands to type next begin, such as `storeferry -C shop`. */
  readonly program: string;
  /** Of Storeferry. */
  readonly version: string;
  /** For the estimate of how long a plan takes; null or absent where it is not known. */
  readonly pace?: Pace | null;
  /** Buttons take the place of most commands to type. */
  readonly buttons?: boolean;
  /** The id of a run of the job that has begun since. */
  readonly later?: string | undefined;
  /** The progress of a run under way is shown beside the document, and newer than it. */
  readonly progress?: boolean;
}

/** A plan, or a run that a limit stopped before its first request. */
export function isOnlyPlanned({ run, totals }: Pick<RunFacts, 'run' | 'totals'>): boolean {
  const { status } = run;
  if (totals.requests > 0) return false;
  return status === 'planned' || status === 'stopped' || (status === 'superseded' && run.kind === 'plan');
}

interface MayQuotePeople {
  readonly run: Run;
  readonly plan?: Plan | null;
  readonly refusals: readonly ReasonGroup[];
  readonly unsentReasons: readonly { readonly reason: Reason; readonly count: number }[];
}

/** Codes of reasons whose message quotes the store: `store-422`, `answer-unproved`. */
const OF_STORE = /^(?:store|answer)-/;

/**
 * The facts of a run fit for what leaves this machine: a page that is mailed, a webhook. Names and addresses in the words of a store are masked,
 * whatever the resource; of our own sentences, those about contacts and orders lose addresses and numbers.
 */
export function withoutPersonalData<Facts extends MayQuotePeople>(facts: Facts): Facts {
  const { run, plan } = facts;
  const ours = (text: string) => (run.resource === 'products' ? text : masked(text));
  const unquoted = <Quoting extends { readonly code: string; readonly message: string }>(
    reason: Quoting,
  ) => ({
    ...reason,
    message: OF_STORE.test(reason.code) ? withoutPeople(reason.message, []) : ours(reason.message),
  });
  return {
    ...facts,
    run: run.error === null ? run : { ...run, error: ours(run.error) },
    ...(plan == null ? {} : { plan: { ...plan, rejections: plan.rejections.map(unquoted) } }),
    refusals: facts.refusals.map(unquoted),
    unsentReasons: facts.unsentReasons.map(({ reason, count }) => ({ reason: unquoted(reason), count })),
  };
}

/**
 * Why records were rejected, for a webhook: of contacts and orders without the words of the store, of which only status and
 * field are given. A mask cannot know every name.
 */
export function reasonsForWebhook(
  reasons: readonly ReasonGroup[],
  { resource }: Pick<Run, 'resource'>,
): readonly ReasonGroup[] {
  if (resource === 'products') return reasons;
  return reasons.map((reason) =>
    OF_STORE.test(reason.code) ? { ...reason, message: statusOf(reason) } : reason,
  );
}

function statusOf({ code, field }: ReasonGroup): string {
  const status = /^store-(\d{3})$/.exec(code)?.[1];
  const what =
    status === undefined ? `the answer of the store is \`${code}\`` : `the store answered ${status}`;
  return `${what}${field === null ? '' : ` for ${field}`} (its message is in the report)`;
}

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
 * The figures of a whole run: what the plan found, and what has been done so far. Upserts without a final outcome
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
