import { z } from 'zod';
import { reasonSchema } from '../model/reason.ts';
import type { RowSpan } from '../model/row.ts';
import {
  type FoundGone,
  type FoundLimits,
  RUN_STATUSES,
  type Run,
  type RunProgress,
  type RunWaiting,
  runTotalsSchema,
  type StateLoss,
  type Verification,
} from '../model/run.ts';
import { sampleSchema } from '../model/sample.ts';
import { StateError } from '../model/storeferry-error.ts';
import { changedIdSchema, type Refusal } from './state.ts';

/** A schema for each field of a type: a field that is added to the type does not compile here without one. */
type FieldsOf<Type> = { readonly [Field in keyof Required<Type>]: z.ZodType };

const count = z.int().nonnegative();
const moment = z.number();
const steps = z.enum(['stage', 'plan', 'apply', 'read', 'write', 'finish']);

const foundLimits = z.looseObject({
  concurrency: z.number(),
  because: z.string(),
  rate: z.looseObject({ requestsPerSecond: z.number(), because: z.string() }).nullable(),
} satisfies FieldsOf<FoundLimits>);

const progress = z.looseObject({
  step: steps,
  done: z.number(),
  total: z.number().nullable(),
  unit: z.enum(['bytes', 'rows', 'requests', 'orders']),
  applied: z.number(),
  rejected: z.number(),
  at: moment,
} satisfies FieldsOf<RunProgress>);

const verification = z.looseObject({
  sampled: count,
  known: count,
  notComparable: count,
  asKnown: count,
  recreated: count,
  altered: count,
  rejected: count,
  missing: count,
  unsent: count,
  alteredFields: z.array(z.looseObject({ field: z.string(), records: count })),
  forgottenShare: z.looseObject({ estimate: z.number().nullable(), low: z.number(), high: z.number() }),
} satisfies FieldsOf<Verification>);

/** Fields of newer versions are kept unchanged. */
const part = z.looseObject({ of: z.string(), only: z.array(z.string()).exactOptional() });

const run: z.ZodType<Run> = z.looseObject({
  id: z.string(),
  sequence: count,
  job: z.string(),
  kind: z.enum(['run', 'plan', 'retry', 'export', 'verify', 'undo', 'release']),
  resource: z.enum(['products', 'contacts', 'subscriber-lists', 'orders']),
  store: z.string(),
  baseUrl: z.string(),
  storeId: z.string(),
  status: z.enum(RUN_STATUSES),
  step: steps,
  digest: z.string().nullable(),
  keyDigest: z.string().nullable(),
  startedAt: moment,
  stagedAt: moment.nullable(),
  finishedAt: moment.nullable(),
  endSequence: count.exactOptional(),
  workedMs: z.number().exactOptional(),
  totals: runTotalsSchema.nullable(),
  error: z.string().nullable(),
  approved: z.boolean(),
  resend: z.boolean(),
  sample: sampleSchema.exactOptional(),
  retryOf: z.string().nullable(),
  undo: part.exactOptional(),
  release: part.exactOptional(),
  source: z.object({ version: z.string(), sha256: z.string() }).exactOptional(),
  stateLoss: z
    .looseObject({
      kind: z.enum(['lost', 'behind', 'unwitnessed']),
      keys: count,
    } satisfies FieldsOf<StateLoss>)
    .exactOptional(),
  unchangedSince: z.string().exactOptional(),
  verification: verification.exactOptional(),
  foundGone: z
    .looseObject({ run: z.string(), sampled: count, gone: count } satisfies FieldsOf<FoundGone>)
    .exactOptional(),
  limits: foundLimits.exactOptional(),
  interruptAskedAt: moment.nullable().exactOptional(),
  progress: progress.nullable().exactOptional(),
  waiting: z
    .looseObject({ operations: count, until: moment } satisfies FieldsOf<RunWaiting>)
    .nullable()
    .exactOptional(),
} satisfies FieldsOf<Run>);

const span: z.ZodType<RowSpan> = z.object({
  file: count,
  from: count,
  to: count,
} satisfies FieldsOf<RowSpan>);

const refusal: z.ZodType<Refusal> = z.object({
  shard: count,
  index: count,
  key: z.string(),
  rows: count,
  spans: z.array(span),
  reason: reasonSchema,
} satisfies FieldsOf<Refusal>);

/** A record of the state that is damaged, or that another program or version wrote. */
export class UnreadableRecord extends StateError {
  constructor(what: string, name: string, problem: string) {
    // Its writer may have chosen its name as well.
    const shown = JSON.stringify(name.slice(0, 60)).slice(1, -1);
    super(`The stored ${what} ${shown} cannot be read: ${problem}.`, {
      hint: 'It is damaged, or another program or version wrote it.',
    });
  }
}

/** A kind of record that the state stores as JSON, and checks when it reads it. */
export class StoredRecord<Type> {
  readonly #what: string;
  readonly schema: z.ZodType<Type>;

  constructor(what: string, schema: z.ZodType<Type>) {
    this.#what = what;
    this.schema = schema;
  }

  /** The record in a JSON text; UnreadableRecord describes the problem and uses `name`. */
  parse(json: string, name: string): Type {
    let value: unknown;
    try {
      value = JSON.parse(json);
    } catch {
      throw new UnreadableRecord(this.#what, name, 'it is not JSON');
    }
    return this.check(value, name);
  }

  /** The same for a parsed value. */
  check(value: unknown, name: string): Type {
    const { data, error } = this.schema.safeParse(value);
    if (error === undefined) return data;
    // Neither values nor the names within them are quoted, because their content is unknown.
    const [issue] = error.issues;
    const problem = `field '${String(issue?.path[0] ?? '')}': ${issue?.message ?? 'another shape'}`;
    throw new UnreadableRecord(this.#what, name, problem);
  }
}

export const storedRun = new StoredRecord('run', run);
/** A record that the store refused. */
export const storedRefusal = new StoredRecord('refused record', refusal);
/** Why a record was rejected or not sent. */
export const storedReason = new StoredRecord('reason', reasonSchema);
export const storedChangedId = new StoredRecord('changed id', changedIdSchema);
