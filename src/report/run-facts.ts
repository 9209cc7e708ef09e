import { withoutUndefined } from '../model/json-object.ts';
import type { ListHistory } from '../model/mapped-record.ts';
import type { Plan } from '../model/plan.ts';
import type { Reason, ReasonGroup } from '../model/reason.ts';
import {
  type ChangedId,
  type Exported,
  isUnsentPlan,
  type Run,
  type RunTotals,
  type Traffic,
} from '../model/run.ts';
import type { OutcomeTally } from '../state/state.ts';
import { maskPeople, maskPersonalData } from '../text/mask-personal-data.ts';

/** The report of a run as one file to view, print and mail, in the run's folder. */
export const REPORT_FILE = 'report.html';

/** Everything known about a run, which may still be running. All output about a run derives from this. */
export interface RunFacts {
  readonly run: Run;
  /** Null for exports, verifications and comparisons, and before a run has planned. */
  readonly plan: Plan | null;
  readonly totals: RunTotals;
  /** Planned deletes without a final outcome. */
  readonly unsentDeletes: number;
  /** Planned deletes that were given up (`Left` in src/model/operation.ts). */
  readonly leftDeletes: number;
  /** Records that the store refused, by reason. */
  readonly refusals: readonly ReasonGroup[];
  readonly unsentReasons: readonly { readonly reason: Reason; readonly count: number }[];
  /** The first of the records for which the store answered with another id than before, and their number. */
  readonly changedIds: readonly ChangedId[];
  readonly changedIdCount: number;
  /** Path of the rejects file; null if nothing was rejected. */
  readonly rejectsFile: string | null;
  /** Path of the report that was written when the run ended; null if there is none. */
  readonly reportFile: string | null;
  /** What an export wrote; null for imports, and before the file is written. */
  readonly exported: Exported | null;
  /** The requests over time; null if none were sent or recorded. */
  readonly traffic: Traffic | null;
  /** The history that an export of list statistics adds to; absent for all other runs. */
  readonly history?: ListHistory | null;
}

/** A job of the workspace, its next run and its last run. */
export interface JobFacts {
  readonly job: string;
  /** Null if it has no schedule, or its file is invalid. */
  readonly schedule: { readonly cron: string; readonly timezone: string } | null;
  /** The next scheduled run, in milliseconds since the epoch; null if unknown. */
  readonly next: number | null;
  /** Its file is invalid. */
  readonly broken: boolean;
  /** The latest run that executed the job (`EXECUTING_KINDS`). */
  readonly last: Run | undefined;
}

/** Whether a worker keeps the schedules. */
export type ScheduleStatus = 'no-worker' | 'worker';

/** For whom and when the facts are shown. */
export interface View {
  /** In milliseconds since the epoch. */
  readonly now: number;
  /** The time zone of shown times; default: that of this machine. */
  readonly timezone?: string | undefined;
  /** The beginning of the next commands, such as `storeferry -C shop`. */
  readonly program: string;
  /** The version of Storeferry. */
  readonly version: string;
  /** Buttons replace most commands. */
  readonly buttons?: boolean;
  /** The id of a later run of the job. */
  readonly later?: string | undefined;
  /** The page of the run, which has its progress and links to its files, shows it. */
  readonly onRunPage?: boolean;
}

/** A plan, or a run that a limit stopped before its first request. */
export function isOnlyPlanned({ run, totals }: RunFacts): boolean {
  if (totals.requests > 0) return false;
  return isUnsentPlan({ ...run, totals }) || (run.status === 'superseded' && run.kind === 'plan');
}

/**
 * Of a run that a worker has begun for a file in a watched folder, and that did not send all of it: where the worker moves the file,
 * and where it came from.
 */
export function failedFile({
  run: { id, status },
  plan,
}: Pick<RunFacts, 'run'> & Partial<Pick<RunFacts, 'plan'>>): { failed: string; arrived: string } | null {
  const name = plan?.source.files[0]?.name ?? '';
  const claimed = `processing/${id}-`;
  const at = name.lastIndexOf(claimed);
  if (at < 0 || (status !== 'failed' && status !== 'superseded')) return null;
  const [inbox, file] = [name.slice(0, at), name.slice(at + claimed.length)];
  return { failed: `${inbox}failed/${id}-${file}`, arrived: `${inbox}${file}` };
}

type MayQuotePeople = Pick<RunFacts, 'run' | 'refusals' | 'unsentReasons'> & Partial<Pick<RunFacts, 'plan'>>;

/** Codes of reasons whose message quotes the store: `store-422`, `answer-unproved`. */
const OF_STORE = /^(?:store|answer)-/;

/**
 * The facts of a run for use outside this machine: a mailed page, a webhook. Names and addresses in texts of the
 * store are masked for every resource. Our own sentences about contacts and orders lose addresses and numbers.
 */
export function withoutPersonalData<Facts extends MayQuotePeople>(facts: Facts): Facts {
  const { run, plan } = facts;
  const ours = (text: string) => (run.resource === 'products' ? text : maskPersonalData(text));
  const unquoted = <Quoting extends { readonly code: string; readonly message: string }>(
    reason: Quoting,
  ) => ({
    ...reason,
    message: OF_STORE.test(reason.code) ? maskPeople(reason.message, []) : ours(reason.message),
  });
  return {
    ...facts,
    run: run.error === null ? run : { ...run, error: ours(run.error) },
    ...(plan != null && { plan: { ...plan, rejections: plan.rejections.map(unquoted) } }),
    refusals: facts.refusals.map(unquoted),
    unsentReasons: facts.unsentReasons.map(({ reason, count }) => ({ reason: unquoted(reason), count })),
  };
}

/**
 * Why records were rejected, for a webhook. For contacts and orders it has only the status and the field, not the
 * text of the store, because a mask cannot know every name.
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

function statusOf({ code, field }: ReasonGroup) {
  const status = /^store-(\d{3})$/.exec(code)?.[1];
  const what =
    status === undefined ? `the answer of the store is \`${code}\`` : `the store answered ${status}`;
  return `${what}${field === null ? '' : ` for ${field}`} (its message is in the report)`;
}

/** The totals of a run of which nothing is known yet. */
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
  held: 0,
  requests: 0,
  fieldsChanged: {},
  inRows: { applied: 0, unchanged: 0, rejected: 0, skipped: 0, unsent: 0, held: 0 },
};

/**
 * The totals of a whole run: the result of the plan, and what was done so far. Upserts without a final outcome count
 * as unsent. Without a plan nothing is known. `renamedKeys`: how many old keys of renamed products the run has removed.
 */
export function runTotals(plan: Plan | null, tally: OutcomeTally, renamedKeys = 0): RunTotals {
  if (plan === null) return { ...NO_TOTALS, requests: tally.requests };
  const { counts } = plan;
  const planned = plannedUpserts(plan);
  const deletesRefused = refusedDeletes(plan, tally);
  const refused = tally.rejected - deletesRefused;
  return withoutUndefined<RunTotals>({
    rows: counts.rows,
    records: counts.records,
    new: counts.new.records,
    changed: counts.changed.records,
    unchanged: counts.unchanged.records,
    removed: counts.removed,
    operations: planned.records + counts.deletes + deletesOfRenamed(plan),
    applied: tally.applied,
    deleted: tally.deleted - renamedKeys,
    refusedDeletes: deletesRefused || undefined,
    rejected: counts.rejected.records + refused,
    skipped: counts.skipped.records,
    unsent: planned.records - tally.applied - refused,
    held: counts.held.records,
    requests: tally.requests,
    fieldsChanged: Object.fromEntries(plan.fieldsChanged.map(({ field, records }) => [field, records])),
    created: plan.created?.records,
    renamed: plan.renamed?.records,
    adopted: plan.adopted?.records,
    inRows: {
      applied: tally.appliedRows,
      unchanged: counts.unchanged.rows,
      rejected: counts.rejected.rows + tally.rejectedRows,
      skipped: counts.skipped.rows,
      unsent: planned.rows - tally.appliedRows - tally.rejectedRows,
      held: counts.held.rows,
    },
  });
}

/**
 * The number of deletes that the store refused. They are not records, so no sum includes them. Deletes are sent
 * after every upsert has its final outcome, so each refusal beyond the planned upserts is a delete.
 */
export function refusedDeletes(plan: Plan, tally: Pick<OutcomeTally, 'applied' | 'rejected'>): number {
  return Math.max(0, tally.applied + tally.rejected - plannedUpserts(plan).records);
}

/** Planned deletes without a final outcome. */
export function unsentDeletes(plan: Plan, tally: OutcomeTally): number {
  const planned = plan.counts.deletes + (plan.renamed?.records ?? 0);
  return planned - tally.deleted - tally.left - refusedDeletes(plan, tally);
}

/** The requests that delete products under their old urls; none where the store changes urls. */
export function deletesOfRenamed({ renamed }: Plan): number {
  return renamed === undefined || renamed.byId ? 0 : renamed.records;
}

function plannedUpserts({ counts }: Plan) {
  return {
    records: counts.new.records + counts.changed.records + counts.resent.records,
    rows: counts.new.rows + counts.changed.rows + counts.resent.rows,
  };
}
