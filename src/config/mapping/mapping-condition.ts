import { z } from 'zod';

const word = z.union([z.string(), z.number(), z.boolean()]);
const words = z.union([word, z.array(word).min(1)]);

const test = z.strictObject({
  contains: words.exactOptional().describe('The cell holds this text, or one of these, in any case.'),
  starts: words.exactOptional().describe('The cell begins with this text, or one of these, in any case.'),
  matches: z.string().min(1).exactOptional().describe('The whole cell fits this pattern (RE2 syntax).'),
  above: z.number().exactOptional().describe('The cell is a number greater than this.'),
  below: z.number().exactOptional().describe('The cell is a number less than this.'),
});

/** What a cell is tested for. */
const matcher = z
  .union([word, z.array(word).min(1), test])
  .describe(
    'A word or several: equal in any case, numbers by value. `blank`, `present` and `missing` (no such column) have their meaning; `yes` and `no` stand for all words that say so.',
  );

/** A word that a cell is compared with. */
export type Word = string | number | boolean;

/** A test other than equality; exactly one of them. */
export type CellTest = Readonly<z.infer<typeof test>>;
/** What a cell is tested for: a word, one of several, or another test. */
export type Matcher = Word | readonly Word[] | CellTest;

/** `any`, `all` or `not` stand alone; otherwise columns and what each is tested for, all of which must hold. */
export type Condition =
  | { readonly any: readonly Condition[] }
  | { readonly all: readonly Condition[] }
  | { readonly not: Condition }
  | { readonly [column: string]: Matcher };

const columns = z.record(z.string(), matcher).refine((tests) => Object.keys(tests).length > 0, {
  message: 'expected a column and what it is tested for',
});

/** Yes or no, judged on the cells of one row. A column that the file lacks meets nothing but `missing`. */
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
