import { z } from 'zod';
import { StateError } from '../model/errors.ts';
import type { Reason } from '../model/reason.ts';
import type { RowSpan } from '../model/row.ts';
import {
  type FoundLimits,
  RUN_STATUSES,
  type Run,
  type RunProgress,
  type RunTotals,
  type RunWaiting,
  type StateLoss,
} from '../model/run.ts';
import type { Verification } from '../model/verification.ts';
import type { ChangedId, Refusal } from './state.ts';

/** A schema for each field of a type, so that a field which is added there is missing here until it has its own. */
type FieldsOf<Type> = { readonly [Field in keyof Required<Type>]: z.ZodType };

const count = z.int().nonnegative();
const moment = z.number();
const steps = z.enum(['stage', 'plan', 'apply', 'read', 'write', 'finish']);

/** The figures of a run. */
export const storedTotals = z.looseObject({
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
  requests: count,
  fieldsChanged: z.record(z.string(), count),
  inRows: z.looseObject({
    applied: count,
    unchanged: count,
    rejected: count,
    skipped: count,
    unsent: count,
  } satisfies FieldsOf<RunTotals['inRows']>),
} satisfies FieldsOf<RunTotals>);

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

/** Fields that a newer version has added are kept as they are. */
const storedRun: z.ZodType<Run> = z.looseObject({
  id: z.string(),
  sequence: count,
  job: z.string(),
  kind: z.enum(['run', 'plan', 'retry', 'export', 'verify']),
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
  totals: storedTotals.nullable(),
  error: z.string().nullable(),
  approved: z.boolean(),
  resend: z.boolean(),
  retryOf: z.string().nullable(),
  source: z.object({ version: z.string(), sha256: z.string() }).exactOptional(),
  stateLoss: z
    .looseObject({
      kind: z.enum(['lost', 'behind', 'unwitnessed']),
      keys: count,
    } satisfies FieldsOf<StateLoss>)
    .exactOptional(),
  unchangedSince: z.string().exactOptional(),
  verification: verification.exactOptional(),
  limits: foundLimits.exactOptional(),
  interruptAskedAt: moment.nullable().exactOptional(),
  progress: progress.nullable().exactOptional(),
  waiting: z
    .looseObject({ operations: count, until: moment } satisfies FieldsOf<RunWaiting>)
    .nullable()
    .exactOptional(),
} satisfies FieldsOf<Run>);

/** Why a record was rejected or not sent. */
export const storedReason: z.ZodType<Reason> = z.object({
  code: z.string(),
  message: z.string(),
  field: z.string().exactOptional(),
  line: z.number().exactOptional(),
  column: z.string().exactOptional(),
} satisfies FieldsOf<Reason>);

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
  reason: storedReason,
} satisfies FieldsOf<Refusal>);

/** A record whose id the store answered otherwise than before. */
export const storedChangedId: z.ZodType<ChangedId> = z.object({
  key: z.string(),
  knownId: z.int(),
  answeredId: z.int(),
} satisfies FieldsOf<ChangedId>);

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

/** The run of a JSON text; StateError that names what is wrong with it. */
export const parseStoredRun = reader('run', storedRun);
/** A refusal of the store, from its JSON text. StateError. */
export const parseStoredRefusal = reader('refused record', refusal);
/** A reason, from its JSON text. StateError. */
export const parseStoredReason = reader('reason', storedReason);
/** A changed id, from its JSON text. StateError. */
export const parseStoredChangedId = reader('changed id', storedChangedId);

/** A run that is JSON no more. StateError that names what is wrong with it. */
export const checkStoredRun = checker('run', storedRun);
/** The same for a refusal of the store. */
export const checkStoredRefusal = checker('refused record', refusal);

/** `name` says which one it is, in the message. */
function reader<Type>(what: string, schema: z.ZodType<Type>): (json: string, name: string) => Type {
  const check = checker(what, schema);
  return (json, name) => {
    let value: unknown;
    try {
      value = JSON.parse(json);
    } catch {
      throw new UnreadableRecord(what, name, 'it is not JSON');
    }
    return check(value, name);
  };
}

function checker<Type>(what: string, schema: z.ZodType<Type>): (value: unknown, name: string) => Type {
  return (value, name) => {
    const { data, error } = schema.safeParse(value);
    if (error === undefined) return data;
    // Neither values nor the names within them are quoted: nobody knows what is in them.
    const [issue] = error.issues;
    const problem = `field '${String(issue?.path[0] ?? '')}': ${issue?.message ?? 'another shape'}`;
    throw new UnreadableRecord(what, name, problem);
  };
}
