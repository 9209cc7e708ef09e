import { z } from 'zod';
import { addProblem, onlyKey, optional } from '../../model/json-object.ts';
import { storeTextSchema } from '../../model/remote-address.ts';
import { type Transform, transformSchema } from '../transforms/transforms.ts';

/** A name, a column or a pattern. */
export const nonEmpty = z.string().min(1);

/** One, or several. */
export const oneOrMore = z.union([nonEmpty, z.array(nonEmpty).min(1)]);
export const scalar = z.union([z.string(), z.number(), z.boolean()]);
export const sentScalar = z.union([storeTextSchema, z.number(), z.boolean()]);
const words = z.union([scalar, z.array(scalar).min(1)]);

const test = z.strictObject({
  contains: optional(words, 'This text, or one of these, in any case.'),
  starts: optional(words, 'As `contains`, at the beginning.'),
  matches: optional(nonEmpty, 'A pattern (RE2) for the whole cell.'),
  above: optional(z.number(), 'A greater number.'),
  below: optional(z.number(), 'A smaller number.'),
});

/** A test for a cell. */
const matcher = z
  .union([...words.options, test])
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
      value: optional(valueSchema, 'The value, with options below.'),
      const: optional(sentScalar, 'Always this.'),
      first: optional(z.array(valueSchema).min(1), 'The first of these that is not blank.'),
      all: optional(
        z.array(valueSchema).min(1),
        'A list of these, of all rows of the product, without blanks and repeats.',
      ),
      join: optional(z.array(valueSchema).min(1), 'One text of these, blanks left out.'),
      sum: optional(z.array(valueSchema).min(1), 'Their sum, blanks left out.'),
      min: optional(z.array(valueSchema).min(1), 'The smallest.'),
      max: optional(z.array(valueSchema).min(1), 'The greatest.'),
      with: optional(z.string(), 'With `join`: the separator. Default: a blank.'),
      when: optional(conditionSchema, 'Blank unless this holds.'),
      unless: optional(conditionSchema, 'Blank if this holds.'),
      blank: optional(
        z.enum(['leave-out', 'clear', 'reject']),
        'What a blank means. Default: `leave-out`; title and url reject.',
      ),
      from: optional(
        z.enum(['head', 'any']),
        'The `head` row (default), or `any`: the first row with a value.',
      ),
      order: optional(z.string(), 'With `all`: a column of numbers that order the rows, blank ones last.'),
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
    .union([
      storeTextSchema.min(1),
      z.number(),
      z.boolean(),
      z.tuple([valueSchema], transformSchema),
      valueObject,
    ])
    .meta({
      id: 'Value',
      description:
        'A column by its name; a text with `{column}` or `{param}`; a number or boolean; a pipeline `[column, transform, …]`; or a map.',
    }),
);

/** A yes/no field: a condition, or a value that ends in a boolean. */
export const flagSchema: z.ZodType<Flag> = z.lazy(() =>
  z.union([z.boolean(), nonEmpty, z.tuple([valueSchema], transformSchema), conditionSchema]),
);
/** The definition of a yes/no field. */
export type Flag = boolean | string | readonly [Value, ...Transform[]] | Condition;
