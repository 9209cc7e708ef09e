import { z } from 'zod';
import { HTML_POLICIES, priceRulesSchema } from '../../mapping/spec/mapping-spec.ts';
import {
  GUARD_ACTIONS,
  GUARD_CONDITIONS,
  GUARD_FIELDS,
  isNumberField,
  MIN_RECORDS_FOR_SHARE,
} from '../../model/guard.ts';
import { DEFAULT_LIMITS, LIMIT_NAMES, LIMIT_WORDS, type LimitName } from '../../model/input-limits.ts';
import { addProblem, namesOf, optional, recordOf } from '../../model/json-object.ts';
import {
  IMPORT_MODES,
  type ImportMode,
  PRODUCT_FIELDS,
  RESOURCES,
  UPDATE_MATCHES,
} from '../../model/mapped-record.ts';
import { CONFLICT_FIELDS, CONFLICT_POLICIES } from '../../model/observation.ts';
import { pictureFolderSchema, storeTextSchema, workspacePathSchema } from '../../model/remote-address.ts';
import { tableFields } from '../../model/row.ts';
import {
  FLOOR_TEXT,
  type Limit,
  limitText,
  SAFETY_LIMIT_NAMES,
  safetyLimit,
  WAVE_LIMIT_NAMES,
  WAVE_LIMITS,
  type WaveSize,
} from '../../model/safety-limits.ts';
import { databaseFields, exactlyOnePlace, PLACES, remoteFields } from '../../remote/remote-kinds.ts';
import { oneFile } from '../complete-places.ts';
import { jobFields, storeName, valueWords, WEEKLY_PROBLEM, wantsWeekly } from './job-fields.ts';

/** A folder below the workspace, and a pattern for the names in it alone. */
function isInboxPattern(path: string) {
  const parts = path.split('/');
  const folders = parts.slice(0, -1);
  return (
    folders.length > 0 && folders.every((part) => /^[^*?[\]{}]+$/.test(part) && part !== '..' && part !== '.')
  );
}

/** The fields of a table that is read, wherever its file is. */
function tableFileFields(what: string) {
  return {
    path: optional(workspacePathSchema, what),
    ...remoteFields('source'),
    ...databaseFields,
    ...tableFields,
  };
}

/** The source of an import: exactly one of its places. */
const sourceSchema = z
  .strictObject({
    path: optional(
      workspacePathSchema,
      'A file, or a glob of several with the same columns; gzip and zip are unpacked.',
    ),
    ...remoteFields('source'),
    ...databaseFields,
    watch: optional(
      workspacePathSchema
        .refine(isInboxPattern, 'expected files of one folder of the workspace, such as inbox/*.csv')
        .meta({ examples: ['inbox/*.csv'] }),
      'Files that arrive: a worker runs the job for each. A file is complete when it has not changed for two seconds, or `FILE.done` stands beside it.',
    ),
    files: optional(z.int().min(1), 'How many files the glob must find, else the run stops.'),
    ...tableFields,
  })
  .superRefine((written, context) => exactlyOnePlace(written, context, [...PLACES, 'watch']));

const crosswalkSchema = z
  .strictObject({
    ...tableFileFields("The file with the store's ids, in any format of a source."),
    match: z
      .string()
      .min(1)
      .meta({
        description: 'Its column to compare, in any case, with the field of the same name, or with `field`.',
        examples: ['email', 'E-mail'],
      }),
    field: z
      .string()
      .min(1)
      .exactOptional()
      .meta({
        description: 'The field to compare with, if its name differs.',
        examples: ['email'],
      }),
    id: z.string().min(1).default('id').describe("Its column with the store's id."),
  })
  .superRefine(exactlyOnePlace);

const adoptSchema = z
  .strictObject({
    ...tableFileFields('An export of the store, in any format of a source.'),
    mapping: z.string().min(1).describe('The mapping that reads it.'),
  })
  .superRefine(exactlyOnePlace);

const EXPECTED = 'expected a whole number, a percentage such as 5%, or off';
const PATTERN = /^(off|\d+|(100(\.0+)?|\d{1,2}(\.\d+)?)\s*%)$/;

function parseLimit(written: number | string): Limit {
  return written === 'off' ? { kind: 'off' } : parseSize(written);
}

function parseSize(written: number | string): WaveSize {
  return typeof written === 'string' && written.endsWith('%')
    ? { kind: 'percent', percent: Number(written.slice(0, -1)) }
    : { kind: 'count', count: Number(written) };
}

/** A limit in a job: `500`, `5%` or `off`. */
const limitSchema = z
  .union([
    z.int(EXPECTED).min(0, EXPECTED),
    z.string(EXPECTED).regex(PATTERN, EXPECTED).meta({ title: 'percentage, or `off`' }),
  ])
  .transform(parseLimit);

function limitField({
  default: usual,
  description,
}: {
  readonly default: string;
  readonly description: string;
}) {
  return limitSchema.prefault(usual).describe(description);
}

/** The limits that stop a run before its first write. Naming one limit keeps the defaults of the others. */
export const safetySchema = z.strictObject(
  recordOf(SAFETY_LIMIT_NAMES, (name) => limitField(safetyLimit(name))),
);

const SIZE = 'expected a number of records such as 10, or a percentage such as 1%';

const waveSizeSchema = z
  .union([
    z.int(SIZE).min(1, SIZE),
    z
      .string(SIZE)
      .regex(/^(100(\.0+)?|\d{1,2}(\.\d+)?)\s*%$/, SIZE)
      .meta({ title: 'percentage' }),
  ])
  .transform(parseSize);

/** How a plan is sent. */
const applySchema = z
  .strictObject({
    waves: z
      .array(waveSizeSchema)
      .min(1)
      .meta({
        description:
          'How many records have been sent when each wave ends; the last is `100%`. Beyond a limit below the run stops; `approve RUN` then sends the next wave.',
        examples: [[10, '1%', '100%']],
      }),
    ...recordOf(WAVE_LIMIT_NAMES, (name) => limitField(WAVE_LIMITS[name])),
  })
  .superRefine(({ waves }, context) => {
    for (const [index, size] of waves.entries()) {
      const before = waves.slice(0, index).findLast(({ kind }) => kind === size.kind);
      if (sizeOf(size) <= (before === undefined ? 0 : sizeOf(before)))
        addProblem(
          context,
          `expected more than ${before === undefined ? '0%' : limitText(before)}: each wave ends later than the one before`,
          'waves',
          index,
        );
    }
    const last = waves.at(-1);
    if (last !== undefined && (last.kind !== 'percent' || last.percent !== 100))
      addProblem(
        context,
        'the last wave must be 100%; to send only a part, use --limit',
        'waves',
        waves.length - 1,
      );
  });

function sizeOf(size: WaveSize) {
  return size.kind === 'count' ? size.count : size.percent;
}

const SHARE = /^\d+(\.\d+)?\s*%$/;

/** Smaller parts of a catalog are not worth a run. */
const MIN_DRIFT_PERCENT = 0.01;

/** A percentage, as its number. */
function percentage(expected: string) {
  return z
    .string(expected)
    .regex(SHARE, expected)
    .meta({ title: 'percentage' })
    .transform((written) => Number(written.replace('%', '')));
}

/** A guard on the values of a field. */
const guardSchema = z
  .strictObject({
    field: z.enum(GUARD_FIELDS).describe('The field to watch, of each variant.'),
    changeBy: optional(
      percentage('expected a percentage such as 50%'),
      'Hit by a value that differs from the acknowledged one by at least this.',
    ),
    above: optional(z.number(), 'Hit by a value that becomes more than this.'),
    below: optional(z.number(), 'Hit by a value that becomes less than this.'),
    to: optional(
      z.union([z.number(), z.string(), z.boolean()]),
      'Hit by a value that becomes this, such as 0.',
    ),
    share: optional(
      percentage('expected a percentage such as 20%'),
      `Acts only if more than this share of the records, and at least ${MIN_RECORDS_FOR_SHARE}, are hit. Default: acts on each.`,
    ),
    action: z
      .enum(GUARD_ACTIONS)
      .describe(
        '`hold` keeps these records back until released; `stop` stops the run before its first request; `warn` reports them.',
      ),
  })
  .superRefine((guard, context) => {
    const conditions = GUARD_CONDITIONS.filter((name) => guard[name] !== undefined);
    if (conditions.length === 0)
      addProblem(context, `needs a condition: ${GUARD_CONDITIONS.join(', ')}`, 'field');
    if (isNumberField(guard.field)) return;
    for (const name of conditions) {
      if (name !== 'to') addProblem(context, `${guard.field} is not a number; use \`to\``, name);
    }
  });

function most(name: LimitName) {
  return z.int().min(1).default(DEFAULT_LIMITS[name]).describe(LIMIT_WORDS[name].counts);
}

/** The limits on the input of an import, each with its default. */
export const limitsSchema = z.strictObject(recordOf(LIMIT_NAMES, most));

const { s3, sftp } = remoteFields('destination');

/** Where picture files are published, and under which address visitors find them there. */
const publishSchema = z
  .strictObject({
    from: workspacePathSchema.describe('A folder or ZIP with the files that cells name.'),
    address: pictureFolderSchema
      .meta({
        description: 'The web address of the published folder.',
        examples: ['https://images.example/products/'],
      })
      .transform((address) => (address.endsWith('/') ? address : `${address}/`)),
    path: optional(workspacePathSchema, 'The folder, on this machine.'),
    s3: s3.describe('A folder of S3, such as `s3://bucket/products`.'),
    sftp: sftp.describe('A folder of an SFTP server.'),
  })
  .superRefine((written, context) => exactlyOnePlace(written, context, ['path', 's3', 'sftp']))
  .superRefine(oneFile);

/** How image addresses are looked at while a plan is made, and picture files published. */
const imagesSchema = z.strictObject({
  publish: optional(publishSchema, 'Uploads files before the products that name them.'),
  check: z
    .enum(['off', 'warn'])
    .default('off')
    .describe('`warn` requests each new address once and reports what is missing, empty or no image.'),
  withinSeconds: z
    .int()
    .min(1)
    .max(3600)
    .default(60)
    .describe('How long a plan may look; the rest is reported as unchecked.'),
  allowPrivateAddresses: z.boolean().default(false).describe('Also in private networks.'),
});

/** What an import does in each mode. */
export const MODE_WORDS: Readonly<Record<ImportMode, string>> = {
  upsert: 'creates and changes products, updates contacts, deletes nothing',
  mirror: 'creates and changes, and deletes what this job last sent and the source no longer has',
  update: 'changes the fields that the mapping names in products that Storeferry has sent before',
  create: 'sends only products that Storeferry has not sent before',
};

/** What an import does with rows or records of the same key. */
export const DUPLICATES_WORDS = {
  reject: 'rejects every copy',
  first: 'uses the first copy',
  last: 'uses the last copy',
  merge: 'merges the copies into one (contacts only)',
} as const;

/** What is done about a field that was changed on both sides. */
const CONFLICT_WORDS = {
  hold: 'keeps the record back until somebody releases it (default)',
  source: "sends the source's value",
  store: "leaves the store's value",
} as const;

const conflictsSchema = z.strictObject({
  default: optional(z.enum(CONFLICT_POLICIES), 'For all fields that are not named.'),
  ...recordOf(CONFLICT_FIELDS, () => optional(z.enum(CONFLICT_POLICIES), 'For this field as a whole.')),
});

/** A store of a job with several: its name, or what the job has differently there. */
const storeOfJobSchema = z.union([
  storeName,
  z
    .looseObject({ store: storeName.describe('The store, by its name.') })
    .describe('Any key of the job with its value for this store; `params` and `safety` by entry.'),
]);

const storesSchema = z
  .array(storeOfJobSchema)
  .min(1)
  .superRefine((stores, context) => {
    const names = stores.map((entry) => (typeof entry === 'string' ? entry : entry.store));
    for (const [index, name] of names.entries())
      if (names.indexOf(name) < index) addProblem(context, `the store '${name}' is named twice`, index);
  });

/** The fields of an import job; `importJobSchema` checks the relations between them. */
const fields = z.strictObject({
  import: z.enum(RESOURCES).describe('What to write into the store.'),
  store: jobFields.store,
  stores: optional(
    storesSchema,
    'Instead of `store`: a job for each, `JOB@STORE`. An entry is a name, or `{ store: de, params: { … }, prices: [ … ] }` with what differs.',
  ),
  source: sourceSchema.describe('Where the rows come from.'),
  mapping: z
    .string('expected the name of a mapping')
    .min(1, 'expected the name of a mapping')
    .describe('A file in `mappings/`, or one shipped with Storeferry.'),
  params: z
    .record(z.string(), z.union([storeTextSchema, z.number(), z.boolean()]))
    .default({})
    .describe('Values for params of the mapping.'),
  prices: optional(priceRulesSchema, 'Products only: instead of `prices` of the store; `[]`: none.'),
  mode: optional(
    z.enum(IMPORT_MODES).meta({ default: 'upsert' }),
    `${valueWords(MODE_WORDS)} Contacts have only \`upsert\`; they are created where it is written, with \`crosswalk: store\`.`,
  ),
  match: optional(
    z.enum(UPDATE_MATCHES),
    'With `mode: update`, finds products by `url` (default), the `sku` of a variant, or the `id` in the store.',
  ),
  keep: optional(
    z.array(z.enum(PRODUCT_FIELDS)).min(1),
    'Fields that another job owns: they stay as last acknowledged, stock as read. `variants.pricing` (or `variants.price`) is all prices.',
  ),
  leaveOut: optional(
    z.array(z.union([z.string().min(1), z.int()], 'expected the key of a record').transform(String)).min(1),
    'Keys of records to leave out: they count as skipped, and stay in the store, also with `mode: mirror`.',
  ),
  adopt: optional(
    z.union([z.literal('store'), adoptSchema]),
    'Matches new records with products that the store had before: `store` where it lists them (`probe`), else an export of it.',
  ),
  renames: optional(
    z.boolean(),
    'Products with a new `url`: `true` gives the known product the new url; `false` takes them for new ones. Default: `true` with `mode: mirror` and where the store changes a url by the id; else they are held.',
  ),
  duplicates: z
    .enum(namesOf(DUPLICATES_WORDS))
    .default('reject')
    .describe(
      `If a key occurs more than once in a source. ${valueWords(DUPLICATES_WORDS)} Identical copies count once.`,
    ),
  crosswalk: optional(
    z.union([z.literal('store'), crosswalkSchema]),
    'Contacts only: finds the ids in the store. `store`: by e-mail address, from the store if `probe` has seen that it lists or searches contacts, else from `contacts-of-STORE.csv` of `contacts scan`.',
  ),
  safety: safetySchema.prefault({}).describe(`Limits that stop a run before its first write. ${FLOOR_TEXT}`),
  guards: optional(
    z.array(guardSchema),
    'Products only: conditions on new and changed values, all of which must be met.',
  ),
  conflicts: optional(
    z.union([z.enum(CONFLICT_POLICIES), conflictsSchema]),
    `For a field that was changed in the store and in the source. ${valueWords(CONFLICT_WORDS)} For all fields, or of products by field. Needs a \`probe\`.`,
  ),
  apply: optional(applySchema, 'Sends in waves, each only if the answers are as expected.'),
  approval: optional(
    z.strictObject({
      by: z.literal('another').describe('Another person than who started the run.'),
    }),
    'A run stops before its first request until somebody, signed in by name, approves it.',
  ),
  html: z
    .enum(HTML_POLICIES)
    .default('keep')
    .describe(
      'HTML in values: `keep` sends it, `sanitize` allows harmless formatting in descriptions, `strip` removes it.',
    ),
  limits: limitsSchema.prefault({}).describe('Limits on source, crosswalk and lookup files.'),
  drift: optional(
    percentage('expected a percentage of the records such as 1%').refine(
      (share) => share >= MIN_DRIFT_PERCENT && share <= 100,
      'expected from 0.01% to 100%',
    ),
    'Before each run, compares this share of the records of the job with the store, another part each time. Needs a `probe`.',
  ),
  images: optional(imagesSchema, 'Products only.'),
  schedule: jobFields.schedule,
  notify: jobFields.notify,
});

/** A job file with `stores`; for each of them the file is read by `importJobSchema`. */
export const storesJobSchema = fields
  .partial({ store: true, source: true, mapping: true })
  .superRefine((job, context) => {
    if (job.store !== undefined) addProblem(context, 'the job has `stores`; remove one of the two', 'store');
  });

/** A job that moves rows into a store. */
export const importJobSchema = fields.superRefine((job, context) => {
  const { mode } = job;
  const isUpdateOrCreate = mode === 'update' || mode === 'create';
  const only = (isWrong: boolean, key: keyof typeof job, message: string) => {
    if (isWrong) addProblem(context, message, key);
  };
  if (job.import === 'products') {
    only(job.duplicates === 'merge', 'duplicates', 'merge is for contacts only; use reject, first or last');
    only(
      'crosswalk' in job,
      'crosswalk',
      'a crosswalk is for contacts only, because products are identified by url; remove it',
    );
  } else {
    only(isUpdateOrCreate, 'mode', `${mode} is for products only; contacts have only upsert`);
    only(mode === 'mirror', 'mode', 'mirror is for products only: the API deletes no contacts; use upsert');
    for (const key of ['keep', 'guards', 'adopt', 'renames', 'prices', 'images'] as const)
      only(key in job, key, FOR_PRODUCTS_ONLY[key]);
    only(
      typeof job.conflicts === 'object',
      'conflicts',
      'conflicts by field are for products only; write one word: hold, source or store',
    );
  }
  only(
    'match' in job && mode !== 'update',
    'match',
    'match goes with mode: update; remove it, or set the mode',
  );
  only(wantsWeekly(job.notify), 'notify', WEEKLY_PROBLEM);
  for (const key of ['adopt', 'renames', 'keep'] as const) {
    const instead = key === 'keep' && mode === 'update' ? 'leave the field out of the mapping' : 'remove it';
    only(key in job && isUpdateOrCreate, key, `${key} goes with mode: upsert or mirror; ${instead}`);
  }
});

/** Why jobs for contacts cannot have these keys. */
const FOR_PRODUCTS_ONLY = {
  keep: 'keep is for products only: of contacts only the fields that the mapping names are sent',
  guards:
    'guards are for products only: they watch prices, stock and texts of products; for contacts limit `safety.maxChanges`, or send in waves (`apply`)',
  adopt: 'adopt is for products only; for contacts, use a crosswalk',
  renames: 'renames is for products only: contacts are identified by the id of the store; remove it',
  prices: 'price rules are for products only; remove it',
  images: 'images are for products only, because contacts have none; remove it',
} as const;
