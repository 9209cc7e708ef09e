import { z } from 'zod';
import { HTML_POLICIES } from '../../mapping/spec/mapping-spec.ts';
import type { DeepReadonly } from '../../model/deep-readonly.ts';
import { FLOOR_TEXT } from '../../model/safety-limits.ts';
import { workspacePathSchema } from '../../model/stays-inside.ts';
import { limitsSchema } from './limits-schema.ts';
import { type Notify, notifySchema } from './notify.ts';
import { safetySchema } from './safety-schema.ts';
import { scheduleSchema } from './schedule-schema.ts';
import { type SourceSpec, sourceSchema } from './source-spec.ts';

const crosswalkSchema = z.strictObject({
  path: workspacePathSchema.describe("The CSV file with the store's ids."),
  match: z
    .string()
    .min(1)
    .meta({
      description:
        "The crosswalk's column to match, by its header; case, spaces, hyphens and underscores do not matter. Its values, trimmed and in lower case, are compared with the record's field of the same name, or with `field`.",
      examples: ['email', 'E-mail'],
    }),
  field: z
    .string()
    .min(1)
    .exactOptional()
    .meta({
      description: 'The field to compare with, where its name is not that of the column.',
      examples: ['email'],
    }),
  id: z.string().min(1).default('id').describe("The crosswalk's column that holds the store's id."),
});

/** The fields of an import job; the relations between them are judged in `importJobSchema`. */
const fields = z.strictObject({
  import: z.enum(['products', 'contacts']).describe('What to write into the store.'),
  store: z
    .string('expected the name of a store in stores.yaml')
    .min(1, 'expected the name of a store in stores.yaml')
    .describe('The store, by its name in `stores.yaml`.'),
  source: sourceSchema.describe('Where the rows come from.'),
  mapping: z
    .string('expected the name of a mapping')
    .min(1, 'expected the name of a mapping')
    .describe('How rows become records: a file in `mappings/`, or one shipped with Storeferry.'),
  params: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .default({})
    .describe('Values for the parameters that the mapping names.'),
  mode: z
    .enum(['upsert', 'mirror'])
    .default('upsert')
    .describe(
      '`upsert` creates and changes products, and updates contacts, which the API cannot create. `mirror` (products only) also deletes what this job last sent and the source no longer has.',
    ),
  duplicates: z
    .enum(['reject', 'first', 'last', 'merge'])
    .default('reject')
    .describe(
      'The same key again in one source: reject every copy, keep the `first` or the `last`, or `merge` (contacts only). Identical copies are skipped.',
    ),
  crosswalk: crosswalkSchema
    .exactOptional()
    .describe(
      'Contacts only: joins the records with the ids of the store, since the API updates by id only.',
    ),
  safety: safetySchema.prefault({}).describe(`Limits that stop a run before its first write. ${FLOOR_TEXT}`),
  html: z
    .enum(HTML_POLICIES)
    .default('keep')
    .describe(
      'HTML in the values that the mapping gives. `keep` sends it as it is; `sanitize` allows harmless formatting in descriptions and no HTML in other fields; `strip` removes all HTML.',
    ),
  limits: limitsSchema
    .prefault({})
    .describe(
      'Limits that protect memory and disk from a damaged or hostile source, crosswalk or lookup file.',
    ),
  schedule: scheduleSchema.exactOptional().describe('When workers run the job. Left out: only by hand.'),
  notify: notifySchema.exactOptional().describe('Where to send a notification when a run ends.'),
});

/** A job that moves rows into a store. */
export const importJobSchema = fields.superRefine((job, context) => {
  if (job.mode === 'mirror' && job.import !== 'products') {
    context.addIssue({
      code: 'custom',
      path: ['mode'],
      message: 'mirror is for products only: the API deletes no contacts; use upsert',
    });
  }
  if (job.duplicates === 'merge' && job.import !== 'contacts') {
    context.addIssue({
      code: 'custom',
      path: ['duplicates'],
      message: 'merge is for contacts only; use reject, first or last',
    });
  }
  if (job.crosswalk !== undefined && job.import !== 'contacts') {
    context.addIssue({
      code: 'custom',
      path: ['crosswalk'],
      message: 'a crosswalk is for contacts only: a product is known by its url; remove it',
    });
  }
});

type Fields = DeepReadonly<z.infer<typeof fields>>;

/** An import job with its defaults filled in. `notify` is absent when its address is empty. */
export type ImportJob = Omit<Fields, 'source' | 'notify'> & {
  readonly kind: 'import';
  readonly name: string;
  readonly source: SourceSpec;
  readonly notify?: Notify;
};
