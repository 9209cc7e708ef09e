import { z } from 'zod';
import type { Stored } from './json-object.ts';
import { RESOURCES } from './mapped-record.ts';
import { CONFLICT_SIDES } from './observation.ts';
import { judgedWaveSchema } from './safety-limits.ts';

const text = z.string();
const integer = z.int();

/** A sample as a run stores it. */
const sampleSchema = z.object({
  /** `--only`: the records with these keys. */
  only: z.array(text).readonly().exactOptional(),
  /** `--limit`: the first records of the source, this many; of those of `only`, if both are given. */
  limit: integer.exactOptional(),
});

/** The part of its source that a run plans: `--only KEY`, `--limit N`. The rest is counted as skipped. */
export type Sample = Readonly<z.infer<typeof sampleSchema>>;

/**
 * `running` is also the status of a run whose process died. A later run of the same kind (run, retry, export, drift) may continue it; others are
 * superseded or planned again.
 */
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
/** The status of a run, or how it ended. */
export type RunStatus = (typeof RUN_STATUSES)[number];

/** Everything that could be sent has been sent; of a verification or comparison: it has looked at everything. */
export const COMPLETED: readonly RunStatus[] = ['done', 'done-with-rejects'];
/** A later run of the job may continue it. */
export const UNFINISHED: readonly RunStatus[] = ['running', 'failed', 'interrupted'];

/** What a job may be notified of; `NOTIFY_WORDS` has the words. */
export type NotifiedCondition =
  | ('failed' | 'stopped' | 'rejects' | 'held' | 'edited')
  | ('drift' | 'missed' | 'done' | 'weekly');

/** A count of records or rows. */
const count = z.int().nonnegative();
/** Milliseconds since the epoch. */
const moment = z.number();
/** The named steps, in order: stage, plan, apply, finish of an import; read, write, finish of an export. */
const runStep = z.enum(['stage', 'plan', 'apply', 'read', 'write', 'finish']);

const inRows = {
  applied: count,
  unchanged: count,
  rejected: count,
  skipped: count,
  unsent: count,
  held: count,
};

/**
 * The figures of a run. In records: `records = applied + unchanged + rejected + unsent + skipped + held`; the same
 * sum is true for rows. `applied` counts upserts, `deleted` is counted separately.
 */
export const runTotalsSchema = z.looseObject({
  rows: count,
  records: count,
  new: count,
  changed: count,
  removed: count,
  operations: count,
  deleted: count,
  requests: count,
  ...inRows,
  fieldsChanged: z.record(text, count),
  /** Deletes that the store refused, which are no records; absent if there are none. */
  refusedDeletes: count.exactOptional(),
  /** Contacts that the plan creates, or may, counted as new; absent if there are none. */
  created: count.exactOptional(),
  /** Products with a new url, counted as changed; absent if there are none. */
  renamed: count.exactOptional(),
  /** Products that the store had before, counted as changed; absent if there are none. */
  adopted: count.exactOptional(),
  inRows: z.looseObject(inRows),
});
export type RunTotals = Stored<typeof runTotalsSchema>;

/** Records that were rejected, and deletes that the store refused. */
export function refusedIn({
  rejected,
  refusedDeletes = 0,
}: Pick<RunTotals, 'rejected' | 'refusedDeletes'>): number {
  return rejected + refusedDeletes;
}

/** What a run undoes or releases. */
const runPart = z.looseObject({
  /** The id of the run. */
  of: text,
  /** Only the records with these keys; left out: all. */
  only: z.array(text).exactOptional(),
  /** Of a release: whose value a field gets that was changed in the store and in the source; left out: the source's. */
  conflicts: z.enum(CONFLICT_SIDES).exactOptional(),
});
export type RunPart = Stored<typeof runPart>;

/** The run that another one undoes, releases or promotes. */
export function partOf({ undo, release, copy }: Run): { readonly of: string } | undefined {
  return undo ?? release ?? (copy?.of == null ? undefined : { of: copy.of });
}

/** What a run sends to another store than it was acknowledged by. */
const runCopy = z.looseObject({
  /** The run that it promotes; null where it clones the catalog of a time. */
  of: text.nullable(),
  /** The job of that run; absent: unknown. */
  job: text.exactOptional(),
  /** The name and the identity of the store that acknowledged it. */
  store: text,
  storeId: text,
  /** The time of the catalog; null where it promotes a run. */
  at: moment.nullable(),
});
export type RunCopy = Stored<typeof runCopy>;

/** The state has lost data about what was sent to a store's resource. */
const stateLoss = z.looseObject({
  /**
   * `lost`: the state is new. `behind`: it is older than the last requests, like a restored copy, or a database that
   * lost its last writes. `unwitnessed`: there is no proof either way.
   */
  kind: z.enum(['lost', 'behind', 'unwitnessed']),
  /** How many keys are in doubt because of this. */
  keys: count,
});
export type StateLoss = Stored<typeof stateLoss>;

/** A share in [0, 1], with the bounds of its confidence interval. */
const shareEstimate = z.looseObject({
  /** Null if no answer was conclusive: then the bounds are 0 and 1. */
  estimate: z.number().nullable(),
  low: z.number(),
  high: z.number(),
});
export type ShareEstimate = Stored<typeof shareEstimate>;

/**
 * What the answers to a re-sent sample show about the store. `sampled = asKnown + recreated + altered + rejected +
 * unsent`.
 */
const verification = z.looseObject({
  /** Records of the sample. */
  sampled: count,
  /** The population of the sample: records that are acknowledged for this job and have an id to compare. */
  known: count,
  /** Records of this job that are in doubt or have no id: no answer can be compared with the ledger. */
  notComparable: count,
  /** Answered with the ledger's id and the fields that were sent. */
  asKnown: count,
  /** Answered with another id: the store no longer had the record under its key, or under that id. */
  recreated: count,
  /** Answered with the ledger's id and other fields than were sent. */
  altered: count,
  /** Refused by the store; `missing` of these as not found. */
  rejected: count,
  missing: count,
  unsent: count,
  /** In how many altered records each field differs, most first. */
  alteredFields: z.array(z.looseObject({ field: text, records: count })),
  /** The share of known records that the store no longer has under their key and id, at 95 % confidence. */
  forgottenShare: shareEstimate,
});
export type Verification = Stored<typeof verification>;

/** In how many edited records a field differs. */
const driftField = z.looseObject({ field: text, records: count });

/** How a store differs from what it last answered about the records of a job. */
const drift = z.looseObject({
  /** `touching`: by writes that change nothing, whose answers have the record. */
  by: z.enum(['reading', 'touching']),
  /** Records of the job that can be compared. */
  known: count,
  /** Records of the job that are in doubt or have no id. */
  notComparable: count,
  checked: count,
  edited: count,
  /** Fields that differ, over all edited records. */
  fields: count,
  byField: z.array(driftField),
  /** The store no longer has them. */
  deleted: count,
  /** The store has them under another id. */
  recreated: count,
  /** Products that no job has sent; null where they were not listed. */
  strangers: count.nullable(),
  /** The first of each kind. */
  examples: z.array(
    z.looseObject({
      kind: z.enum(['edited', 'deleted', 'recreated', 'stranger']),
      key: text,
      fields: z.array(
        z.looseObject({
          path: text,
          believed: text.exactOptional(),
          found: text.exactOptional(),
        }),
      ),
    }),
  ),
  /** The table of all findings; absent where there are none. */
  file: text.exactOptional(),
  /** The ledger has taken what was found: later comparisons do not report it. */
  accepted: z.literal(true).exactOptional(),
  /** Which parts of the records of the job were checked, from `number`, counted from 0; absent: a sample, or all. */
  slice: z.looseObject({ number: count, of: count, parts: count }).exactOptional(),
});
export type Drift = Stored<typeof drift>;

/** Whether the store differs in any record that a job has sent. */
export function hasDrifted({
  edited,
  deleted,
  recreated,
}: Pick<Drift, 'edited' | 'deleted' | 'recreated'>): boolean {
  return edited + deleted + recreated > 0;
}

/** Whether it has found something that was not accepted. */
export function isDriftOpen(found: Drift): boolean {
  return hasDrifted(found) && found.accepted !== true;
}

/** How many edited records reports name. */
export const EDITED_SHOWN = 100;

/** Records that somebody edited in the store and that changed in the source: in how many the edit stays, and which. */
export const editedFoundSchema = z.object({
  kept: integer,
  held: integer,
  /** The whole product is sent: the store takes no part of it, or it gets a new url. */
  overwritten: integer,
  records: z.array(
    z.object({
      key: text,
      how: z.enum(['kept', 'held', 'overwritten']),
      fields: z.array(text),
    }),
  ),
});
export type EditedFound = Stored<typeof editedFoundSchema>;

/** One execution of a job, with the unknown fields of newer versions. Times are milliseconds since the epoch. */
export const runSchema = z.looseObject({
  id: text,
  /**
   * Increases with every run of the state, in the order in which they began; the state assigns it on `create`, 0
   * before. Everything that depends on the order of runs uses it, because the clock may be set.
   */
  sequence: count,
  job: text,
  /**
   * `plan` only plans, `retry` sends a corrected rejects file, `export` reads the store, `verify` sends a sample of
   * acknowledged records again, `drift` compares the store with what it last answered, `undo` sends what was there
   * before another run, `release` sends records that another run held, or restores what a comparison has found changed, `copy` sends what another store has acknowledged.
   */
  kind: z.enum(['run', 'plan', 'retry', 'export', 'verify', 'drift', 'undo', 'release', 'copy']),
  resource: z.enum([...RESOURCES, 'subscriber-lists', 'orders']),
  /** The name of the store and its address when the run began, for people. */
  store: text,
  baseUrl: text,
  /** The identity of the store (`storeIdentity`), which its ledger and locks use. */
  storeId: text,
  status: z.enum(RUN_STATUSES),
  /** The current step, or the last one that began. */
  step: runStep,
  /** Of source, crosswalk, lookups, mapping, job and version, of an export of its destination: with the same digest the run may be continued. */
  digest: text.nullable(),
  /** Digests of parts of it, to say what has changed since; absent: unknown. */
  inputs: z.looseObject({ job: text, mapping: text }).exactOptional(),
  /** A digest of what decides a record's key: if it changes, the catalog may be created a second time. */
  keyDigest: text.nullable(),
  /** What the prices named (`CurrencyWatch.found`), for the next run; absent if none was read, or the store has a currency. */
  currency: text.exactOptional(),
  /** Rows of each second table that the mapping joins; absent if it joins none. */
  tableRows: z.record(text, count).exactOptional(),
  /** Records of the run that somebody edited in the store, as it was known when the run ended; absent: none. */
  edited: editedFoundSchema.exactOptional(),
  /** For people, like all times of a run: nothing depends on it. */
  startedAt: moment,
  /** When the source was staged, or staged again to continue the run; dated sales are judged at this moment. */
  stagedAt: moment.nullable(),
  finishedAt: moment.nullable(),
  /**
   * Milliseconds that processes have worked on it, by monotonic clocks, without waiting for approval and
   * interruptions. Recorded about once per second.
   */
  workedMs: z.number().exactOptional(),
  /** The sequence of the newest run that had begun when this one last ended; absent until then. */
  endSequence: count.exactOptional(),
  totals: runTotalsSchema.nullable(),
  /** Why it did not succeed. For a running run: why it is about to end; workers then begin nothing more of it. */
  error: text.nullable(),
  /** A person approved the plan, or asked for this release: its safety limits do not stop it. */
  approved: z.boolean(),
  /** The names of who started it: none for a token that people share; absent for a schedule, a file or an event. */
  startedBy: z.array(text).exactOptional(),
  /** The job asked for the approval of another person when the run began. */
  approval: z.literal('another').exactOptional(),
  /** `--resend`: fingerprints are ignored. */
  resend: z.boolean(),
  /** The position of the ledger (`Ledger.position`) before its first request; absent until then, and where it has none to send. */
  beginPosition: text.exactOptional(),
  /** The position of the ledger when it stopped working on its target; absent before, and if nothing locked it. */
  endPosition: text.exactOptional(),
  /** Set if it plans only a part of its source. */
  sample: sampleSchema.exactOptional(),
  /** Set if an export writes its files from this run or time on again. */
  since: text.exactOptional(),
  /** The run whose rejects this one retries. */
  retryOf: text.nullable(),
  /** Set if a person discarded its plan, or forgot a contact that its files name; its status is `superseded`. */
  discarded: z.literal([true, 'forgotten']).exactOptional(),
  /** Set if it undoes another run; its plan has the kind `plan` until it is approved. */
  undo: runPart.exactOptional(),
  /** Set if it sends again what a comparison, `of`, has found changed in the store; its plan has the kind `plan` until it is approved. */
  restore: runPart.exactOptional(),
  /** Set if it releases records that another run held. */
  release: runPart.exactOptional(),
  /** Set if it sends what another store has acknowledged; its plan has the kind `plan` until it is approved. */
  copy: runCopy.exactOptional(),
  /**
   * The version of a remote source when this run read it, and the digest of its content; absent if it has no version.
   */
  source: z.object({ version: text, sha256: text }).exactOptional(),
  /** Set if the state had lost data when this run began. */
  stateLoss: stateLoss.exactOptional(),
  /** The run that last read the same source: the source has not changed since, so this run had nothing to do. */
  unchangedSince: text.exactOptional(),
  /** The result of a verification; absent in other runs, and before it has ended. */
  verification: verification.exactOptional(),
  /** How the store differs; absent in runs that do not compare it, and before they have. */
  drift: drift.exactOptional(),
  /** Why the comparison that the job asks for was not made. */
  notCompared: text.exactOptional(),
  /**
   * The lost records that an earlier verification, `run`, found when it sent records again, if not everything was sent
   * again since; otherwise absent.
   */
  foundGone: z.looseObject({ run: text, sampled: count, gone: count }).exactOptional(),
  /**
   * The limits that the limiter of the last sending process found for the store, with reasons, for people; absent while
   * nothing was sent. `rate` is null if nothing limits the requests per second.
   */
  limits: z
    .looseObject({
      concurrency: z.number(),
      because: text,
      rate: z.looseObject({ requestsPerSecond: z.number(), because: text }).nullable(),
    })
    .exactOptional(),
  /** Picture files that it has uploaded, and those that it found in their place; absent where it had none to publish. */
  pictures: z.looseObject({ uploaded: count, present: count }).exactOptional(),
  /** Requests that it sent, repetitions left out, and in how many milliseconds, for the pace of later plans; absent before the end. */
  sent: z.looseObject({ requests: count, ms: z.number() }).exactOptional(),
  /** Requests per second of the last `runs` runs to this store, when it had planned; absent without any, and once something was sent. */
  pace: z.looseObject({ slowest: z.number(), fastest: z.number(), runs: count }).exactOptional(),
  /** When its end was requested; null or absent if it was not, or after it was continued. */
  interruptAskedAt: moment.nullable().exactOptional(),
  /**
   * Its progress, written about once per second by its process; null after the end. A ProgressMeter computes rate and
   * time left.
   */
  progress: z
    .looseObject({
      step: runStep,
      done: z.number(),
      /** Null while it is not known. */
      total: z.number().nullable(),
      unit: z.enum(['bytes', 'rows', 'requests', 'orders', 'contacts', 'pictures']),
      /** Records that the store has accepted so far, and records that the store or the mapping has refused. */
      applied: z.number(),
      rejected: z.number(),
      /** When that was. */
      at: moment,
    })
    .nullable()
    .exactOptional(),
  /**
   * Operations that wait, because the store may still be processing earlier requests for the same records, until the last
   * of them is sent (for people). Null or absent if no record had to wait; over after `until`.
   */
  waiting: z.looseObject({ operations: count, until: moment }).nullable().exactOptional(),
  /** The waves that were sent and judged, in order; absent where the job sends in one go, and before the first. */
  waves: z.array(judgedWaveSchema).exactOptional(),
});
export type Run = Stored<typeof runSchema>;
export type RunKind = Run['kind'];
export type RunStep = Run['step'];
export type RunProgress = NonNullable<Run['progress']>;
export type RunWaiting = NonNullable<Run['waiting']>;
export type FoundLimits = NonNullable<Run['limits']>;
export type Pace = NonNullable<Run['pace']>;
export type FoundGone = NonNullable<Run['foundGone']>;

/** The kinds that change the store or write a file for good: they execute the job. */
export const EXECUTING_KINDS: readonly RunKind[] = ['run', 'retry', 'export', 'undo', 'release', 'copy'];
/** The kinds that may write to the store. */
export const SENDING_KINDS: readonly RunKind[] = [
  ...(['run', 'retry', 'verify', 'drift', 'undo', 'release', 'copy'] as const),
];

/** The kinds that may hold and reject records of their own. */
export const HOLDING_KINDS = ['run', 'retry', 'copy'] as const;

/** Whether it is a plan that waits, or a run that was stopped before its first request. */
export function isUnsentPlan({ status, totals }: Pick<Run, 'status' | 'totals'>): boolean {
  return (status === 'planned' || status === 'stopped') && (totals?.requests ?? 0) === 0;
}

/**
 * How long a run has lasted, in milliseconds: the working time, without waiting and interruptions. For a running run
 * the value of about a second ago; by the wall clock if nothing is recorded, in its first second.
 */
export function lastedMs({ workedMs, startedAt, finishedAt }: Run, now: number): number {
  return workedMs ?? Math.max(0, (finishedAt ?? now) - startedAt);
}

/** Records of the sample that the store no longer had under their key and id. */
export function forgotten({ recreated, missing }: Pick<Verification, 'recreated' | 'missing'>): number {
  return recreated + missing;
}

/** Whether any answer differs from the ledger. */
export function hasDifferences({ recreated, altered, rejected }: Verification): boolean {
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
  readonly answers?: AnswerDifferences;
}

/** A field that the store altered or left out in its answers, and in how many of them. */
const answeredFieldSchema = z.object({
  /** With its path: `title`, `variants.price`. */
  field: text,
  altered: integer,
  dropped: integer,
  /** Answers with another spelling of the same url, which count as unaltered; absent if there are none. */
  respelled: integer.exactOptional(),
  /** A few records, with the values that were sent and answered; without values where they are personal data. */
  samples: z.array(z.object({ key: text, sent: text.exactOptional(), answered: text.exactOptional() })),
});
export type AnsweredField = Stored<typeof answeredFieldSchema>;

/** How the answers of the store to upserts differ from what was sent. */
export const answerDifferencesSchema = z.object({
  /** All answers that accepted an upsert. */
  answered: integer,
  /** Answers that repeat at least half of the fields; others say nothing. */
  compared: integer,
  /** Those of them that alter or leave out a field. */
  altered: integer,
  /** Most frequent first. */
  fields: z.array(answeredFieldSchema),
});
export type AnswerDifferences = Stored<typeof answerDifferencesSchema>;

/** What an export run did, beyond the totals. */
export const exportedSchema = z.object({
  /** Where the file is: relative to the workspace if it is inside, else as an address or an absolute path. */
  location: text,
  mode: z.enum(['replace', 'append', 'new']),
  /** There was nothing to add to: the file is new. */
  begun: z.literal(true).exactOptional(),
  /** The location is a table of a database. */
  isTable: z.literal(true).exactOptional(),
  format: z.enum(['csv', 'excel-csv', 'xlsx', 'parquet', 'jsonl']),
  /** When the store was read, ISO 8601 in UTC. */
  readAt: text,
  /** Lists or orders that were read, each once. */
  items: z.number(),
  /** Lines that this run added, header not counted. */
  lines: z.number(),
  /** Size of the whole file. */
  bytes: z.number(),
  /** Notes for people, in sentences. */
  notes: z.array(text),
});
export type Exported = Stored<typeof exportedSchema>;

/** An upsert whose answered id differs from the ledger's id for its url: the store may have the product twice. */
export const changedIdSchema = z.object({ key: text, knownId: integer, answeredId: integer });
export type ChangedId = Stored<typeof changedIdSchema>;

/** Separates a job file from one of its stores; no file of a job has it in its name. */
const STORE_SIGN = '@';

/** The name of a job for one store: `catalog@uk`. */
export function jobForStore(job: string, store: string): string {
  return `${jobFileName(job)}${STORE_SIGN}${store}`;
}

/** The parts of the name of a job; undefined if it is none. */
export function jobNameParts(
  job: string,
): { readonly file: string; readonly store: string | undefined } | undefined {
  const [file = '', store, ...rest] = job.split(STORE_SIGN);
  return rest.length > 0 ? undefined : { file, store };
}

/** The name of the file that a job is in, without its ending. */
export function jobFileName(job: string): string {
  return jobNameParts(job)?.file ?? job;
}

/** The file that a job is in, relative to the workspace. */
export function jobFile(job: string): string {
  return `jobs/${jobFileName(job)}.yaml`;
}

/** The name of a file of a watched folder once a worker has it: the id of its run, then its own. */
export const CLAIMED = /^([a-z][a-z0-9]{7,})-(.+)$/s;

/** A job that has no file: its records come from the history of another store. */
export const CLONE_JOB = 'clone';

/**
 * The outcome of a record in a run; `planned` where the plan waits for approval. Unchanged records are not listed. `edited`: a record that was
 * applied, listed once more, because fields that somebody edited in the store stayed as they are there.
 */
export const RECORD_OUTCOMES = [
  'applied',
  'renamed',
  'deleted',
  'rejected',
  'held',
  'edited',
  'unsent',
  'planned',
] as const;
/** One of them. */
export type RecordOutcome = (typeof RECORD_OUTCOMES)[number];

/** The formats of a file of records, or of a catalog, by the ending of its name. */
export const RECORD_FORMATS = ['csv', 'jsonl', 'xlsx', 'parquet'] as const;
/** One of them. */
export type RecordFormat = (typeof RECORD_FORMATS)[number];

type Target = Pick<Run, 'storeId' | 'resource'>;

/** Whether both write to the same resource of the same store. */
export function isSameTarget(one: Target, other: Target): boolean {
  return one.storeId === other.storeId && one.resource === other.resource;
}
