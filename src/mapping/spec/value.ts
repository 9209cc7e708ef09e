import { z } from 'zod';
import { addProblem, onlyKey, optional } from '../../model/json-object.ts';
import { type Transform, transformSchema } from '../transforms/transforms.ts';

const word = z.union([z.string(), z.number(), z.boolean()]);
const words = z.union([word, z.array(word).min(1)]);

const test = z.strictObject({
  contains: optional(words, 'The cell contains this text, or one of these, in any case.'),
  starts: optional(words, 'The cell begins with this text, or one of these, in any case.'),
  matches: optional(z.string().min(1), 'The whole cell fits this pattern (RE2 syntax).'),
  above: optional(z.number(), 'The cell is a number greater than this.'),
  below: optional(z.number(), 'The cell is a number less than this.'),
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

const valueObject: z.ZodType<ValueObject> = z.lazy(() =>
  z
    .strictObject({
      value: optional(valueSchema, 'The value itself, where it needs the options below.'),
      const: optional(z.union([z.string(), z.number(), z.boolean()]), 'Always this.'),
      first: optional(z.array(valueSchema).min(1), 'The first of these that is not blank.'),
      all: optional(
        z.array(valueSchema).min(1),
        'A list: these values one after the other, of all rows of the product, blanks and repeats left out.',
      ),
      join: optional(z.array(valueSchema).min(1), 'One text of these, blanks left out.'),
      sum: optional(
        z.array(valueSchema).min(1),
        'The sum of these numbers, blanks left out; blank if all are.',
      ),
      min: optional(z.array(valueSchema).min(1), 'The smallest of these numbers, blanks left out.'),
      max: optional(z.array(valueSchema).min(1), 'The greatest of these numbers, blanks left out.'),
      with: optional(z.string(), 'With `join`: the separator. Default: a blank.'),
      when: optional(conditionSchema, 'Blank unless this condition is true.'),
      unless: optional(conditionSchema, 'Blank if this condition is true.'),
      blank: optional(
        z.enum(['leave-out', 'clear', 'reject']),
        'Of a field: what a blank means. Default: `leave-out`; title and url reject.',
      ),
      from: optional(
        z.enum(['head', 'any']),
        'Of a product field: `head`, the row that describes the product (default), or `any`, the first row with a value.',
      ),
      order: optional(
        z.string(),
        'With `all`: a column with numbers that order the rows; rows without one come last.',
      ),
    })
    .superRefine((value, context) => {
      onlyKey(value, ['value', 'const', 'first', 'all', 'join', 'sum', 'min', 'max'], context);
      if ('with' in value && !('join' in value)) addProblem(context, '`with` goes with `join`', 'with');
      if ('order' in value && !('all' in value)) addProblem(context, '`order` goes with `all`', 'order');
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
