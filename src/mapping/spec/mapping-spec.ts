import { z } from 'zod';
import { addProblem, type DeepReadonly, onlyKey, optional } from '../../model/json-object.ts';
import {
  PRODUCT_FIELDS,
  type ProductField,
  UPDATE_MATCHES,
  type UpdateMatch,
} from '../../model/mapped-record.ts';
import type { FilePlace } from '../../model/remote-address.ts';
import { workspacePathSchema } from '../../model/remote-address.ts';
import { delimiterSchema, encodingSchema, tableFields } from '../../model/row.ts';
import type { Place } from '../../model/storeferry-error.ts';
import { databaseFields, exactlyOnePlace, PLACES, remoteFields } from '../../remote/remote-kinds.ts';
import { suggestNames } from '../../text/printable.ts';
import { RATE_MATCH } from '../lookup-table.ts';
import { convertSchema } from '../transforms/convert.ts';
import { joinSchema } from './join-spec.ts';
import { optionsSchema, type PricingSpec, productSchema, variantsSchema } from './product-spec.ts';
import {
  conditionSchema,
  flagSchema,
  nonEmpty,
  oneOrMore,
  scalar,
  sentScalar,
  type Value,
  valueSchema,
} from './value.ts';

/** How a cell of a product's row lists the children of the product: `sku=A,size=XS|sku=B,size=S`. */
const childrenSchema = z.strictObject({
  cell: nonEmpty.describe('The column that lists the children.'),
  items: nonEmpty.default('|').describe('The separator between two children.'),
  pairs: nonEmpty.default(',').describe('Between two of its name=value pairs.'),
  equals: nonEmpty.default('=').describe('Between name and value.'),
  reference: optional(
    nonEmpty,
    'The pair that names the child; the others are options. Default: the whole item is the name.',
  ),
  except: optional(z.array(nonEmpty).min(1), 'With `reference`: pairs that are no options.'),
  labels: optional(nonEmpty, 'A column with the names of the options, as `code=Name`.'),
});

const fields = z.strictObject({
  by: optional(valueSchema, 'Rows with the same value are one record.'),
  starts: optional(
    conditionSchema,
    'A row that meets this starts a record, to which the following others belong.',
  ),
  parent: optional(nonEmpty, 'The column that names the parent; where it is blank, the row is a record.'),
  children: optional(childrenSchema, 'The column of a parent row that lists its children.'),
  names: optional(z.array(valueSchema).min(1), 'With `parent` or `children`: how rows are referred to.'),
  rows: optional(
    z.enum(['adjacent', 'anywhere']),
    'With `by`: `adjacent` refuses a record whose rows are apart; `anywhere` collects them.',
  ),
  head: optional(conditionSchema, 'The row that describes the record. Default: the first.'),
  alone: optional(
    conditionSchema,
    'With `children`: a child that meets this is also a record. With `rows: anywhere`: a row that meets it is a record, also with the key of others.',
  ),
});

/** How rows become records; if omitted, every row is one. Exactly one of by, starts, parent, children. */
const groupSchema = fields.superRefine((group, context) => {
  const main = onlyKey(group, ['by', 'starts', 'parent', 'children'], context);
  if (main === undefined) return;
  const referring = main === 'parent' || main === 'children';
  if (referring && !('names' in group))
    addProblem(context, `${main} needs names: what rows are referred to by`);
  if (!referring && 'names' in group) addProblem(context, `${main} needs no names`, 'names');
  if (main === 'by' && !('rows' in group)) addProblem(context, 'by needs rows: adjacent or anywhere');
  if (referring && group.rows === 'adjacent')
    addProblem(context, `with ${main}, rows may be anywhere`, 'rows');
  if (main === 'starts' && group.rows === 'anywhere')
    addProblem(context, 'with starts, rows must be adjacent', 'rows');
  if ('alone' in group && main !== 'children' && group.rows !== 'anywhere')
    addProblem(context, 'alone goes with children, or with rows: anywhere', 'alone');
  if ('head' in group && (main === 'starts' || main === 'parent'))
    addProblem(context, `with ${main}, the head is known already`, 'head');
});

/** How a cell lists the children of a record. */
export type ChildrenSpec = Readonly<z.infer<typeof childrenSchema>>;
/** How rows become records: exactly one of `by`, `starts`, `parent` and `children`, with its options. */
export type GroupSpec = Readonly<z.infer<typeof groupSchema>>;

export { priceRulesSchema } from '../price-rules.ts';
export { HTML_POLICIES } from '../transforms/html.ts';
export type { Transform } from '../transforms/transforms.ts';
export type { CategoriesSpec, OptionsSpec, PricingSpec, ProductSpec, VariantsSpec } from './product-spec.ts';
export type { Condition, Flag, Value } from './value.ts';

const refusal = z.strictObject({
  key: z.string().nullable().exactOptional(),
  code: z.string().exactOptional(),
  field: z.string().exactOptional(),
  line: z.int().min(1).exactOptional(),
  column: z.string().exactOptional(),
  message: optional(z.string(), 'A part of the message.'),
});

const expectation = z
  .strictObject({
    sends: optional(z.record(z.string(), z.unknown()), 'The request body, exactly.'),
    includes: optional(
      z.record(z.string(), z.unknown()),
      'A part of the body: lists in full, maps by the keys named.',
    ),
    key: optional(z.string().nullable(), 'The key of the record; null: unreadable.'),
    rejects: optional(z.union([z.string(), refusal]), 'The code of the reason, or more.'),
    skips: optional(z.union([z.string(), refusal]), 'The reason for leaving it out, or more.'),
    rows: optional(z.int().min(0), 'How many rows the record accounts for.'),
    notes: optional(z.array(z.string()), 'What is counted with it.'),
  })
  .superRefine((expected, context) => {
    onlyKey(expected, ['sends', 'includes', 'rejects', 'skips'], context);
  });

/** Rows, and the expected records or rejections. */
const mappingTestSchema = z.strictObject({
  name: nonEmpty.describe('What the test shows.'),
  rows: z
    .union([nonEmpty, z.array(z.array(scalar.nullable())).min(1)])
    .describe('CSV text, or a list of rows, the header first.'),
  delimiter: optional(z.string().length(1), 'Of the CSV text. Default: the comma.'),
  params: optional(z.record(z.string(), scalar), 'As a job would set them.'),
  lookups: optional(z.record(z.string(), z.array(z.record(z.string(), scalar))), 'Rows instead of files.'),
  crosswalk: optional(
    z.strictObject({
      match: nonEmpty.describe('The field that is matched.'),
      ids: z.record(z.string(), z.int().min(0)).describe('The id of each value.'),
    }),
    'As a job would name one.',
  ),
  now: optional(z.string(), 'The time of the import. Default: 2026-01-01.'),
  weightUnit: optional(z.enum(['g', 'kg', 'lb', 'oz']), "The store's unit. Default: kg."),
  expect: z.array(expectation).describe('The expected records, in order.'),
});

/** A test that a mapping contains: rows in, records out. */
export type MappingTest = DeepReadonly<z.infer<typeof mappingTestSchema>>;
/** The expectation of a test for one record. */
export type MappingExpectation = DeepReadonly<z.infer<typeof expectation>>;

const columnSchema = z.union([
  oneOrMore,
  z.strictObject({
    header: oneOrMore.describe('As in the file; of several, the first there.'),
    occurrence: optional(
      z.union([z.int().min(1), z.literal('all')]),
      'Which one to take where it repeats, from 1; `all` makes a family.',
    ),
  }),
]);

const common = {
  description: optional(z.string(), 'What this mapping is for.'),
  csv: optional(
    z.strictObject({
      delimiter: delimiterSchema.exactOptional(),
      encoding: encodingSchema.exactOptional(),
      shortRows: optional(z.literal('pad'), 'Fills up rows that are too short.'),
    }),
    'How files of this format are written, where the job does not say.',
  ),
  columns: z
    .record(nonEmpty, columnSchema)
    .describe(
      'Columns by header, exactly or else loosely in case, spaces, hyphens and underscores. `{n}` in both makes a family; another `{word}` captures a part of the header.',
    ),
  required: optional(z.array(nonEmpty), 'Columns that every file of this format has.'),
  expect: optional(
    z.record(nonEmpty, z.union([nonEmpty, z.array(scalar).min(1)])),
    'Per column, a pattern (RE2) or words for each whole cell that is not blank; another cell makes its row misaligned.',
  ),
  misaligned: optional(conditionSchema, 'A row that meets this has shifted, as with `expect`.'),
  params: optional(
    z.record(
      nonEmpty,
      z.union([
        sentScalar,
        z.strictObject({
          default: optional(sentScalar, 'Left out: the job must set it.'),
          description: z.string().exactOptional(),
        }),
      ]),
    ),
    'What a job may set, with its default.',
  ),
  lookups: optional(
    z.record(
      nonEmpty,
      z
        .strictObject({
          path: optional(workspacePathSchema, 'A file, in any format of a source.'),
          ...remoteFields('source'),
          ...databaseFields,
          ...tableFields,
          match: z
            .string()
            .min(1)
            .describe('The column to compare, in any case; `from` for rates of `convert`.'),
          join: optional(joinSchema, 'Adds its columns to each row with the same key.'),
          of: optional(
            z.literal('subscriber-lists'),
            "Instead of a file: the store's lists, with the columns id and name.",
          ),
          when: optional(conditionSchema, 'With `of`: on params; the store is asked only if it holds.'),
        })
        .superRefine((written, context) => exactlyOnePlace(written, context, [...PLACES, 'of'])),
    ),
    'Tables that values are looked up in.',
  ),
  skip: optional(
    z.array(
      z.strictObject({
        when: conditionSchema.describe('Judged on the head row.'),
        reason: nonEmpty.describe('For the report.'),
      }),
    ),
    'Records to leave out on purpose.',
  ),
  headings: optional(
    z.literal('skip'),
    'Rows with a single text, also in merged cells, are headings: left out and counted.',
  ),
  group: optional(groupSchema, 'How rows become records. Left out: every row is one.'),
  tests: z.array(mappingTestSchema).default([]).describe('Run by `storeferry check`, offline.'),
};

const productMappingSchema = z.strictObject({
  import: z.literal('products'),
  ...common,
  product: productSchema.prefault({}).describe('The fields of the product.'),
  options: optional(optionsSchema, 'The choices a buyer makes.'),
  variants: variantsSchema.prefault({}).describe('What can be bought.'),
});

const propertiesSchema = z.strictObject({
  fields: optional(z.record(nonEmpty, valueSchema), 'Properties by name.'),
  names: optional(nonEmpty, 'A family of columns with their names, such as `field{n}`.'),
  values: optional(nonEmpty, 'The family of columns with their values.'),
  rest: optional(
    z.union([z.boolean(), z.strictObject({ except: z.array(z.string()).min(1) })]),
    'Every column that is used nowhere else becomes a property, named as its header.',
  ),
});

/** The fields of a contact (storefront-api.md, section 4.2). Only fields that are not empty are sent. */
const contactSchema = z.strictObject({
  id: optional(valueSchema, "The store's id, unless the job has a crosswalk."),
  match: optional(
    z.record(nonEmpty, valueSchema),
    'Additional values, not sent, by which a crosswalk may find the id.',
  ),
  name: valueSchema.exactOptional(),
  email: valueSchema.exactOptional(),
  phone: valueSchema.exactOptional(),
  note: valueSchema.exactOptional(),
  address: valueSchema.exactOptional(),
  city: valueSchema.exactOptional(),
  state: valueSchema.exactOptional(),
  zip: valueSchema.exactOptional(),
  country: valueSchema.exactOptional(),
  companyName: valueSchema.exactOptional(),
  properties: optional(propertiesSchema, 'Custom properties.'),
  tags: optional(valueSchema, 'A list.'),
  subscribed: optional(flagSchema, 'Whether the contact receives e-mails.'),
  subscriberLists: optional(valueSchema, 'A list of ids of subscriber lists.'),
});

const contactMappingSchema = z.strictObject({
  import: z.literal('contacts'),
  ...common,
  contact: contactSchema.describe('The fields of the contact.'),
});

/** A mapping file: how the rows of one source format become records. `checkMapping` checks names separately. */
export const mappingSchema = z
  .discriminatedUnion('import', [productMappingSchema, contactMappingSchema])
  .overwrite((spec) => {
    const paths = ratePaths(spec).filter((path) => spec.lookups?.[path] === undefined);
    if (paths.length === 0) return spec;
    const rates = paths.map((path) => [path, { path, match: RATE_MATCH, quotes: 'standard' as const }]);
    return { ...spec, lookups: { ...spec.lookups, ...Object.fromEntries(rates) } };
  });

/** The files that steps `convert` name as their rates, rather than a lookup. */
function ratePaths(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return [];
  const { rates } = ('convert' in part && convertSchema.safeParse(part).data?.convert) || {};
  return [
    ...(rates !== undefined && /[./]/.test(rates) ? [rates] : []),
    ...Object.values(part).flatMap(ratePaths),
  ];
}

/** A mapping of products, as in its file. */
export type ProductMappingSpec = Readonly<z.infer<typeof productMappingSchema>>;
/** A mapping of products that gives all that a product must have, not only the fields that an update changes. */
export type WholeProductSpec = ProductMappingSpec & {
  readonly product: { readonly url: Value; readonly title: Value };
  readonly variants: { readonly pricing: PricingSpec };
};

/** What a mapping lacks of what every product must have; a mapping that lacks any of it is for `mode: update` only. */
export function lackingFields({ product, variants }: ProductMappingSpec): readonly string[] {
  return [
    ...(product.url === undefined ? ['product.url'] : []),
    ...(product.title === undefined ? ['product.title'] : []),
    ...(variants.pricing === undefined ? ['variants.pricing'] : []),
  ];
}

/** Whether the mapping gives all that a product must have. */
export function isWhole(spec: ProductMappingSpec): spec is WholeProductSpec {
  return lackingFields(spec).length === 0;
}

/** The value that an update finds its products by; undefined where the mapping gives none. */
export function matchValue({ product, variants }: ProductMappingSpec, match: UpdateMatch): Value | undefined {
  return { url: product.url, sku: variants.sku, id: product.id }[match];
}

/** By what an update with the mapping finds its products; undefined for a mapping that gives whole products, or contacts. */
export function matchOfMapping(spec: MappingSpec): UpdateMatch | undefined {
  if (spec.import !== 'products' || isWhole(spec)) return undefined;
  return UPDATE_MATCHES.find((match) => matchValue(spec, match) !== undefined);
}

/** The fields that records of the mapping have, as jobs name them. */
export function mappedFields({ product, variants }: ProductMappingSpec): readonly ProductField[] {
  return PRODUCT_FIELDS.filter((field) => {
    const [first, second] = field.split('.');
    return Object.hasOwn(second === undefined ? product : variants, second ?? first ?? '');
  });
}

/** A mapping of contacts, as in its file. */
export type ContactMappingSpec = Readonly<z.infer<typeof contactMappingSchema>>;
/** `contact` of a mapping: the fields of a contact. */
export type ContactSpec = Readonly<z.infer<typeof contactSchema>>;
/** `contact.properties` of a mapping: the named custom properties, or all remaining columns. */
export type PropertiesSpec = Readonly<z.infer<typeof propertiesSchema>>;
/** A mapping, as in its file: the schema is checked, names are not. */
export type MappingSpec = ProductMappingSpec | ContactMappingSpec;
/** One of the `columns` of a mapping: its headers, and which of repeated headers. */
export type ColumnSpec = DeepReadonly<z.infer<typeof columnSchema>>;

/** The params of a mapping that a job has not set, and that have no default. */
export function unsetParams(
  { params = {} }: Pick<MappingSpec, 'params'>,
  set: Readonly<Record<string, unknown>>,
): readonly { readonly name: string; readonly description?: string }[] {
  return Object.entries(params).flatMap(([name, param]) =>
    typeof param !== 'object' || param.default !== undefined || Object.hasOwn(set, name)
      ? []
      : [{ ...param, name }],
  );
}

/** Why the params that a job sets do not fit a mapping: unknown ones, and those that it must set. `mapping`: its name in messages. */
export function paramProblems(
  spec: Pick<MappingSpec, 'params'>,
  set: Readonly<Record<string, unknown>>,
  mapping = 'the mapping',
): readonly { readonly name: string; readonly isUnknown: boolean; readonly message: string }[] {
  const known = Object.keys(spec.params ?? {});
  return [
    ...Object.keys(set)
      .filter((name) => !known.includes(name))
      .map((name) => ({
        name,
        isUnknown: true,
        message: `${mapping} has no parameter '${name}'${suggestNames(name, known)}`,
      })),
    ...unsetParams(spec, set).map(({ name }) => ({
      name,
      isUnknown: false,
      message: `${mapping} needs the parameter '${name}'; set it under params`,
    })),
  ];
}

/** A mapping with its origin. */
export interface MappingFile {
  readonly name: string;
  readonly spec: MappingSpec;
  /** Whether it was shipped with Storeferry, and is not from the workspace. */
  readonly shipped: boolean;
  /** The folder for relative paths of its lookup files. */
  readonly dir: string;
  /** Where its lookups are, their addresses completed; without those of the store's lists. */
  readonly lookupPlaces: ReadonlyMap<string, FilePlace>;
  /** The place of a part of the mapping in the file, for messages. */
  placeOf(path: readonly PropertyKey[], part?: 'key' | 'value'): Place;
}
