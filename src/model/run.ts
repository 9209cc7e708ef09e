import { z } from 'zod';
import type { Resource } from './mapped-record.ts';
import type { Sample } from './sample.ts';

/** `running` is also the status of a run whose process died; the next run of the job continues it. */
export const RUN_STATUSES = [
  'running',
  'planned',
  'done',
  'done-with-rejects',
  'stopped',
  'failed',
  'interrupted',
  'superseded',
] as const;
/** The status of a run, or how it ended (design.md, Commands). */
export type RunStatus = (typeof RUN_STATUSES)[number];

/** Everything that could be sent has been sent. */
export const COMPLETED: readonly RunStatus[] = ['done', 'done-with-rejects'];
/** A later run of the job may continue it. */
export const UNFINISHED: readonly RunStatus[] = ['running', 'failed', 'interrupted'];

/**
 * The kind of a run: `plan` only plans, `retry` sends a corrected rejects file, `export` reads the store, `verify`
 * sends a sample of acknowledged records again, `undo` sends what was there before another run, `release` sends records
 * that guards held in another run.
 */
export type RunKind = 'run' | 'plan' | 'retry' | 'export' | 'verify' | 'undo' | 'release';

/** The kinds that execute the job; a plan and a verification do not. */
export const KINDS_BUT_PLAN: readonly RunKind[] = ['run', 'retry', 'export', 'undo', 'release'];
/** The kinds that write to the store. */
export const SENDING_KINDS: readonly RunKind[] = ['run', 'retry', 'verify', 'undo', 'release'];

/** The named steps, in order: stage, plan, apply, finish of an import; read, write, finish of an export. */
export type RunStep = 'stage' | 'plan' | 'apply' | 'read' | 'write' | 'finish';

/** One execution of a job. Times are milliseconds since the epoch. */
export interface Run {
  readonly id: string;
  /**
   * Increases with every run of the state, in the order in which they began; the state assigns it on `create`, 0
   * before. Everything that depends on the order of runs uses it, because the clock may be set.
   */
  readonly sequence: number;
  readonly job: string;
  readonly kind: RunKind;
  readonly resource: Resource | 'subscriber-lists' | 'orders';
  /** The name of the store and its address when the run began, for people. */
  readonly store: string;
  readonly baseUrl: string;
  /** The identity of the store (store-identity.ts), which its ledger and locks use. */
  readonly storeId: string;
  readonly status: RunStatus;
  /** The current step, or the last one that began. */
  readonly step: RunStep;
  /** Of source, crosswalk, lookups, mapping, job and version: with the same digest the run may be continued. */
  readonly digest: string | null;
  /** A digest of what decides a record's key: if it changes, the catalog may be created a second time. */
  readonly keyDigest: string | null;
  /** For people, like all times of a run: nothing depends on it. */
  readonly startedAt: number;
  /** When the source was staged, or staged again to continue the run; dated sales are judged at this moment. */
  readonly stagedAt: number | null;
  readonly finishedAt: number | null;
  /**
   * Milliseconds that processes have worked on it, by monotonic clocks, without waiting for approval and
   * interruptions. Recorded about once per second; absent in state of earlier versions.
   */
  readonly workedMs?: number;
  /**
   * The sequence of the newest run that had begun when this one last ended; absent until then, and in state of
   * earlier versions.
   */
  readonly endSequence?: number;
  readonly totals: RunTotals | null;
  /** Why it did not succeed. For a running run: why it is about to end; workers then begin nothing more of it. */
  readonly error: string | null;
  /** A person approved the plan: its safety limits no longer stop it. */
  readonly approved: boolean;
  /** `--resend`: fingerprints are ignored. */
  readonly resend: boolean;
  /** Set if it plans only a part of its source. */
  readonly sample?: Sample;
  /** The run whose rejects this one retries. */
  readonly retryOf: string | null;
  /** Set if it undoes another run; its plan has the kind `plan` until it is approved. */
  readonly undo?: RunPart;
  /** Set if it releases records that guards held in another run. */
  readonly release?: RunPart;
  /**
   * The version of a remote source when this run read it, and the digest of its content; absent if it has no version.
   */
  readonly source?: { readonly version: string; readonly sha256: string };
  /** Set if the state had lost data when this run began. */
  readonly stateLoss?: StateLoss;
  /** The run that last read the same source: the source has not changed since, so this run had nothing to do. */
  readonly unchangedSince?: string;
  /** The result of a verification; absent in other runs, and before it has ended. */
  readonly verification?: Verification;
  /** Lost records that an earlier verification found, if not everything was sent again since; otherwise absent. */
  readonly foundGone?: FoundGone;
  /** How fast the last sending process could send; absent while nothing was sent. */
  readonly limits?: FoundLimits;
  /** When its end was requested; null or absent if it was not, or after it was continued. */
  readonly interruptAskedAt?: number | null;
  /**
   * Its progress, written about once per second by its process; null after the end. A ProgressMeter computes rate and
   * time left.
   */
  readonly progress?: RunProgress | null;
  /** Null or absent if no record of it had to wait; over after `until`. */
  readonly waiting?: RunWaiting | null;
}

/** What a run undoes or releases. */
export interface RunPart {
  /** The id of the run. */
  readonly of: string;
  /** Only the records with these keys; left out: all. */
  readonly only?: readonly string[];
}

/** Waiting operations: the store may still be processing earlier requests for the same records. */
export interface RunWaiting {
  readonly operations: number;
  /** When the last of them is sent, in milliseconds since the epoch; for people. */
  readonly until: number;
}

/**
 * How long a run has lasted, in milliseconds: the working time, without waiting and interruptions. For a running run
 * the value of about a second ago; by the wall clock if nothing is recorded, in its first second or by an earlier
 * version.
 */
export function lastedMs(
  { workedMs, startedAt, finishedAt }: Pick<Run, 'workedMs' | 'startedAt' | 'finishedAt'>,
  now: number,
): number {
  return workedMs ?? Math.max(0, (finishedAt ?? now) - startedAt);
}

/** Records that a verification sent again and that the store no longer had. */
export interface FoundGone {
  /** The verification. */
  readonly run: string;
  readonly sampled: number;
  readonly gone: number;
}

/** The state has lost data about what was sent to a store's resource. */
export interface StateLoss {
  /**
   * `lost`: the state is new. `behind`: it is older than the last requests, like a restored copy, or a database that
   * lost its last writes. `unwitnessed`: there is no proof either way.
   */
  readonly kind: 'lost' | 'behind' | 'unwitnessed';
  /** How many keys are in doubt because of this. */
  readonly keys: number;
}

/** The progress of a step. */
export interface RunProgress {
  readonly step: RunStep;
  readonly done: number;
  /** Null while it is not known. */
  readonly total: number | null;
  readonly unit: 'bytes' | 'rows' | 'requests' | 'orders';
  /** Records that the store has accepted so far, and records that the store or the mapping has refused. */
  readonly applied: number;
  readonly rejected: number;
  /** When that was. */
  readonly at: number;
}

/** The limits that the limiter found for a store, with reasons, for people. */
export interface FoundLimits {
  readonly concurrency: number;
  readonly because: string;
  /** Null if nothing limits the requests per second. */
  readonly rate: { readonly requestsPerSecond: number; readonly because: string } | null;
}

/**
 * The figures of a run. In records: `records = applied + unchanged + rejected + unsent + skipped + held`; the same
 * sum is true for rows. `applied` counts upserts, `deleted` is counted separately.
 */
export interface RunTotals {
  readonly rows: number;
  readonly records: number;
  readonly new: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly removed: number;
  readonly operations: number;
  readonly applied: number;
  readonly deleted: number;
  readonly rejected: number;
  readonly skipped: number;
  readonly unsent: number;
  readonly held: number;
  readonly requests: number;
  readonly fieldsChanged: Readonly<Record<string, number>>;
  readonly inRows: {
    readonly applied: number;
    readonly unchanged: number;
    readonly rejected: number;
    readonly skipped: number;
    readonly unsent: number;
    readonly held: number;
  };
}

const count = z.int().nonnegative();

/** Earlier versions did not have this figure. */
const addedCount = count.default(0);

/** The stored figures of a run. */
export const runTotalsSchema = z.looseObject({
  rows: count,
  records: count,
  new: count,
  changed: count,
  unchanged: count,
  removed: count,
  operations: count,
  applied: count,
  deleted: count,
  rejected: count,
  skipped: count,
  unsent: count,
  held: addedCount,
  requests: count,
  fieldsChanged: z.record(z.string(), count),
  inRows: z.looseObject({
    applied: count,
    unchanged: count,
    rejected: count,
    skipped: count,
    unsent: count,
    held: addedCount,
  } satisfies Record<keyof RunTotals['inRows'], z.ZodType>),
} satisfies Record<keyof RunTotals, z.ZodType>);

/** A share in [0, 1], with the bounds of its confidence interval. */
export interface ShareEstimate {
  /** Null if no answer was conclusive: then the bounds are 0 and 1. */
  readonly estimate: number | null;
  readonly low: number;
  readonly high: number;
}

/**
 * What the answers to a re-sent sample show about the store. `sampled = asKnown + recreated + altered + rejected +
 * unsent`.
 */
export interface Verification {
  /** Records of the sample. */
  readonly sampled: number;
  /** The population of the sample: records that are acknowledged for this job and have an id to compare. */
  readonly known: number;
  /** Records of this job that are in doubt or have no id: no answer can be compared with the ledger. */
  readonly notComparable: number;
  /** Answered with the ledger's id and the fields that were sent. */
  readonly asKnown: number;
  /** Answered with another id: the store no longer had the record under its key, or under that id. */
  readonly recreated: number;
  /** Answered with the ledger's id and other fields than were sent. */
  readonly altered: number;
  /** Refused by the store; `missing` of these as not found. */
  readonly rejected: number;
  readonly missing: number;
  readonly unsent: number;
  /** In how many altered records each field differs, most first. */
  readonly alteredFields: readonly { readonly field: string; readonly records: number }[];
  /** The share of known records that the store no longer has under their key and id, at 95 % confidence. */
  readonly forgottenShare: ShareEstimate;
}

/** Records of the sample that the store no longer had under their key and id. */
export function forgotten({ recreated, missing }: Pick<Verification, 'recreated' | 'missing'>): number {
  return recreated + missing;
}

/** Whether any answer differs from the ledger. */
export function hasDifferences({
  recreated,
  altered,
  rejected,
}: Pick<Verification, 'recreated' | 'altered' | 'rejected'>): boolean {
  return recreated + altered + rejected > 0;
}

/** The requests between all processes of a run and its store during a stretch of time. */
export interface TrafficSample {
  /** When the stretch began, milliseconds since the epoch. */
  readonly at: number;
  /** How long it was, in milliseconds. */
  readonly ms: number;
  /** Attempts that ended in it, retries included. */
  readonly requests: number;
  /** Attempts that will be repeated, or were given up: no answer, 5xx, 408, 429. A refused record is an answer. */
  readonly failed: number;
  /** Attempts that were not the first of their operation. */
  readonly retries: number;
  /**
   * Median and 95th percentile of the duration of the attempts, in milliseconds, at most 5 % wrong; null if none
   * ended.
   */
  readonly p50: number | null;
  readonly p95: number | null;
  /** The highest concurrency that the limiter allowed, over all sending processes. */
  readonly concurrency: number;
  /** How long nothing was sent because the store failed (breaker) or asked to wait; to a quarter of a second. */
  readonly pausedMs: number;
}

/**
 * The traffic of a run over time, in order, continuations included: first one second each, longer ones in a long run,
 * 300 at most. Times without a working process are left out.
 */
export interface Traffic {
  readonly samples: readonly TrafficSample[];
  /** How the answers differ from what was sent; absent if an earlier version recorded the run. */
  readonly answers?: AnswersFound;
}

/** A field that the store altered or left out in its answers, and in how many of them. */
export interface AnsweredField {
  /** With its path: `title`, `variants.price`. */
  readonly field: string;
  readonly altered: number;
  readonly dropped: number;
  /** A few records, with the values that were sent and answered; without values where they are personal data. */
  readonly samples: readonly { readonly key: string; readonly sent?: string; readonly answered?: string }[];
}

/** How the answers of the store to upserts differ from what was sent. */
export interface AnswersFound {
  /** Answers that repeat at least half of the fields; others say nothing. */
  readonly compared: number;
  /** Most frequent first. */
  readonly fields: readonly AnsweredField[];
}

/** As files keep it. */
export const answersFoundSchema: z.ZodType<AnswersFound> = z.object({
  compared: z.int(),
  fields: z.array(
    z.object({
      field: z.string(),
      altered: z.int(),
      dropped: z.int(),
      samples: z.array(
        z.object({ key: z.string(), sent: z.string().exactOptional(), answered: z.string().exactOptional() }),
      ),
    }),
  ),
});

/** What an export run did, beyond the totals. */
export interface Exported {
  /** Where the file is: relative to the workspace if it is inside, else as an address or an absolute path. */
  readonly location: string;
  readonly mode: 'replace' | 'append';
  /** There was nothing to add to: the file is new. */
  readonly begun?: true;
  readonly format: 'csv' | 'excel-csv' | 'jsonl';
  /** When the store was read, ISO 8601 in UTC. */
  readonly readAt: string;
  /** Lists or orders that were read, each once. */
  readonly items: number;
  /** Lines that this run added, header not counted. */
  readonly lines: number;
  /** Size of the whole file. */
  readonly bytes: number;
  /** Notes for people, in sentences. */
  readonly notes: readonly string[];
}
