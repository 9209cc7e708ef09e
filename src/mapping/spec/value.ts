import { z } from 'zod';
import { type Transform, transformSchema } from '../transforms/transforms.ts';

const word = z.union([z.string(), z.number(), z.boolean()]);
const words = z.union([word, z.array(word).min(1)]);

const test = z.strictObject({
  contains: words.exactOptional().describe('The cell contains this text, or one of these, in any case.'),
  starts: words.exactOptional().describe('The cell begins with this text, or one of these, in any case.'),
  matches: z.string().min(1).exactOptional().describe('The whole cell fits this pattern (RE2 syntax).'),
  above: z.number().exactOptional().describe('The cell is a number greater than this.'),
  below: z.number().exactOptional().describe('The cell is a number less than this.'),
});

/** A test for a cell. */
const matcher = z
  .union([word, z.array(word).min(1), test])
  .describe(
    'A word or several: equal in any case, numbers by value. `blank`, `present` and `missing` (no such column) have their meaning; `yes` and `no` include all words with that meaning.',
  );

/** A word that a cell is compared with. */
export type Word = string | number | boolean;

/** A test other than equality; exactly one of them. */
export type CellTest = Readonly<z.infer<typeof test>>;
/** A test for a cell: a word, one of several, or another test. */
export type Matcher = Word | readonly Word[] | CellTest;

/** `any`, `all` or `not` must be the only key; otherwise columns and their tests, all of which must be met. */
export type Condition =
  | { readonly any: readonly Condition[] }
  | { readonly all: readonly Condition[] }
  | { readonly not: Condition }
  | { readonly [column: string]: Matcher };

const columns = z.record(z.string(), matcher).refine((tests) => Object.keys(tests).length > 0, {
  message: 'expected a column and what it is tested for',
});

/** True or false for the cells of one row. A column that the file lacks meets only `missing`. */
export const conditionSchema: z.ZodType<Condition> = z.lazy(() =>
  z
    .union([
      z.strictObject({ any: z.array(conditionSchema).min(1) }),
      z.strictObject({ all: z.array(conditionSchema).min(1) }),
      z.strictObject({ not: conditionSchema }),
      columns,
    ])
    .meta({ id: 'Condition', description: 'A test on cells: columns with words, or any, all, not.' }),
);

/** The meaning of a blank: the field is not sent, is sent empty, or rejects the record. */
export type BlankRule = 'leave-out' | 'clear' | 'reject';

/** A value written as a map: one of value, const, first, all, join, sum, min, max, and what goes with it. */
export interface ValueObject {
  readonly value?: Value;
  readonly const?: string | number | boolean;
  readonly first?: readonly Value[];
  readonly all?: readonly Value[];
  readonly join?: readonly Value[];
  readonly sum?: readonly Value[];
  readonly min?: readonly Value[];
  readonly max?: readonly Value[];
  readonly with?: string;
  readonly when?: Condition;
  readonly unless?: Condition;
  readonly blank?: BlankRule;
  readonly from?: 'head' | 'any';
  readonly order?: string;
}

/** A column, a `{template}`, a constant number or boolean, a pipeline `[source, transform, …]`, or a map. */
export type Value = string | number | boolean | readonly [Value, ...Transform[]] | ValueObject;

/** The keys of a value written as a map that say what it is. */
const VALUE_MAINS = ['value', 'const', 'first', 'all', 'join', 'sum', 'min', 'max'] as const;

const valueObject: z.ZodType<ValueObject> = z.lazy(() =>
  z
    .strictObject({
      value: valueSchema.exactOptional().describe('The value itself, where it needs the options below.'),
      const: z.union([z.string(), z.number(), z.boolean()]).exactOptional().describe('Always this.'),
      first: z.array(valueSchema).min(1).exactOptional().describe('The first of these that is not blank.'),
      all: z
        .array(valueSchema)
        .min(1)
        .exactOptional()
        .describe(
          'A list: these values one after the other, of all rows of the product, blanks and repeats left out.',
        ),
      join: z.array(valueSchema).min(1).exactOptional().describe('One text of these, blanks left out.'),
      sum: z
        .array(valueSchema)
        .min(1)
        .exactOptional()
        .describe('The sum of these numbers, blanks left out; blank if all are.'),
      min: z
        .array(valueSchema)
        .min(1)
        .exactOptional()
        .describe('The smallest of these numbers, blanks left out.'),
      max: z
        .array(valueSchema)
        .min(1)
        .exactOptional()
        .describe('The greatest of these numbers, blanks left out.'),
      with: z.string().exactOptional().describe('With `join`: the separator. Default: a blank.'),
      when: conditionSchema.exactOptional().describe('Blank unless this condition is true.'),
      unless: conditionSchema.exactOptional().describe('Blank if this condition is true.'),
      blank: z
        .enum(['leave-out', 'clear', 'reject'])
        .exactOptional()
        .describe('Of a field: what a blank means. Default: `leave-out`; title and url reject.'),
      from: z
        .enum(['head', 'any'])
        .exactOptional()
        .describe(
          'Of a product field: `head`, the row that describes the product (default), or `any`, the first row with a value.',
        ),
      order: z
        .string()
        .exactOptional()
        .describe('With `all`: a column with numbers that order the rows; rows without one come last.'),
    })
    .superRefine((value, context) => {
      const mains = VALUE_MAINS.filter((key) => key in value);
      if (mains.length !== 1) {
        context.addIssue({
          code: 'custom',
          message: `expected one of ${VALUE_MAINS.join(', ')}${mains.length > 1 ? `, found ${mains.join(' and ')}` : ''}`,
        });
      }
      if (value.with !== undefined && value.join === undefined) {
        context.addIssue({ code: 'custom', path: ['with'], message: '`with` goes with `join`' });
      }
      if (value.order !== undefined && value.all === undefined) {
        context.addIssue({ code: 'custom', path: ['order'], message: '`order` goes with `all`' });
      }
    }),
);

/** The source of a field's value. */
export const valueSchema: z.ZodType<Value> = z.lazy(() =>
  z
    .union([z.string().min(1), z.number(), z.boolean(), z.tuple([valueSchema], transformSchema), valueObject])
    .meta({
      id: 'Value',
      description:
        'A column by its name under `columns`; a text with `{column}` or `{param}` in it; a number or boolean as it is; a pipeline `[column, transform, …]`; or a map.',
    }),
);

/** A yes/no field: a condition, or a value that ends in a boolean. */
export const flagSchema: z.ZodType<Flag> = z.lazy(() =>
  z.union([z.boolean(), z.string().min(1), z.tuple([valueSchema], transformSchema), conditionSchema]),
);
/** The definition of a yes/no field. */
export type Flag = boolean | string | readonly [Value, ...Transform[]] | Condition;
