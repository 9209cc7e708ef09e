import type { Plan } from '../model/plan.ts';
import type { Reason, ReasonGroup } from '../model/reason.ts';
import type { Exported, Run, RunTotals, Traffic } from '../model/run.ts';
import type { ListHistory } from '../model/subscriber-list.ts';
import type { ChangedId } from '../state/state.ts';

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
  /** Buttons take the place of the commands to type. */
  readonly buttons?: boolean;
  /** The progress of a run under way is shown beside the document, and newer than it. */
  readonly progress?: boolean;
}

/** A plan, or a run that a limit stopped before its first request. */
export function isOnlyPlanned({ run, totals }: Pick<RunFacts, 'run' | 'totals'>): boolean {
  const { status } = run;
  if (totals.requests > 0) return false;
  return status === 'planned' || status === 'stopped' || (status === 'superseded' && run.kind === 'plan');
}
