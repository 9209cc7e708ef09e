import { z } from 'zod';
import type { DeepReadonly } from '../deep-readonly.ts';
import { delimiterSchema, encodingSchema } from '../job/csv-dialect.ts';
import { workspacePathSchema } from '../workspace-path.ts';
import { conditionSchema } from './mapping-condition.ts';
import { contactSchema } from './mapping-contact.ts';
import { type GroupSpec, groupSchema } from './mapping-group.ts';
import { optionsSchema, productSchema, variantsSchema } from './mapping-product.ts';
import { mappingTestSchema } from './mapping-test.ts';

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const headers = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]);

const columnSchema = z.union([
  headers,
  z.strictObject({
    header: headers.describe('As it stands in the file; of several, the first that is there.'),
    occurrence: z
      .union([z.int().min(1), z.literal('all')])
      .exactOptional()
      .describe('Which column to take where the header repeats, counting from 1; `all` makes a family.'),
  }),
]);

const common = {
  description: z.string().exactOptional().describe('What this mapping is for.'),
  csv: z
    .strictObject({
      delimiter: delimiterSchema.exactOptional(),
      encoding: encodingSchema.exactOptional(),
      shortRows: z
        .literal('pad')
        .exactOptional()
        .describe('`pad` fills up rows that are too short, for formats known to write such rows.'),
    })
    .exactOptional()
    .describe('How files of this format are written, where the job does not say.'),
  columns: z
    .record(z.string().min(1), columnSchema)
    .describe(
      'The columns, named once: by header, exactly or else loosely in case, spaces, hyphens and underscores. `{n}` in both makes a family; another `{word}` captures a part of the header.',
    ),
  required: z
    .array(z.string().min(1))
    .exactOptional()
    .describe('Columns without which the file is not of this format.'),
  expect: z
    .record(z.string().min(1), z.union([z.string().min(1), z.array(scalar).min(1)]))
    .exactOptional()
    .describe(
      'Per column, a pattern (RE2 syntax) or words that every whole cell fits unless blank; a row with another is misaligned.',
    ),
  misaligned: conditionSchema
    .exactOptional()
    .describe('A row that meets this has shifted, like one with a cell that `expect` does not.'),
  params: z
    .record(
      z.string().min(1),
      z.union([
        scalar,
        z.strictObject({
          default: scalar.exactOptional().describe('Left out: the job must set it.'),
          description: z.string().exactOptional(),
        }),
      ]),
    )
    .exactOptional()
    .describe('What a job may set, with its default.'),
  lookups: z
    .record(
      z.string().min(1),
      z.strictObject({
        path: workspacePathSchema.exactOptional().describe('A CSV file.'),
        match: z.string().min(1).describe('Its column that is compared, in any case.'),
        of: z
          .literal('subscriber-lists')
          .exactOptional()
          .describe("Instead of a file: the store's own lists, with the columns id and name."),
        when: conditionSchema
          .exactOptional()
          .describe('With `of`: a condition on params; the store is asked only if it holds.'),
      }),
    )
    .exactOptional()
    .describe('Tables that values are looked up in.'),
  skip: z
    .array(
      z.strictObject({
        when: conditionSchema.describe('Judged on the head row.'),
        reason: z.string().min(1).describe('For the report.'),
      }),
    )
    .exactOptional()
    .describe('Records to leave out on purpose.'),
  group: groupSchema.exactOptional().describe('How rows become records. Left out: every row is one.'),
  tests: z.array(mappingTestSchema).default([]).describe('Run by `storeferry check`, offline.'),
};

const productMappingSchema = z.strictObject({
  import: z.literal('products'),
  ...common,
  product: productSchema.describe('The fields of the product.'),
  options: optionsSchema.exactOptional().describe('The choices a buyer makes.'),
  variants: variantsSchema.describe('What can be bought.'),
});

const contactMappingSchema = z.strictObject({
  import: z.literal('contacts'),
  ...common,
  contact: contactSchema.describe('The fields of the contact.'),
});

/** A mapping file: how the rows of one source format become records. Words are checked apart, by `checkMapping`. */
export const mappingSchema = z.discriminatedUnion('import', [productMappingSchema, contactMappingSchema]);

type WithGroup<T> = Readonly<Omit<T, 'group'>> & { readonly group?: GroupSpec };
/** A mapping of products, as its file says it. */
export type ProductMappingSpec = WithGroup<z.infer<typeof productMappingSchema>>;
/** A mapping of contacts, as its file says it. */
export type ContactMappingSpec = WithGroup<z.infer<typeof contactMappingSchema>>;
/** A mapping, as its file says it: checked by the schema, its words not yet. */
export type MappingSpec = ProductMappingSpec | ContactMappingSpec;
/** One of the `columns` of a mapping: its headers, and which of those that repeat. */
export type ColumnSpec = DeepReadonly<z.infer<typeof columnSchema>>;
