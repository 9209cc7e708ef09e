import { z } from 'zod';
import { addProblem, type DeepReadonly, onlyKey, optional } from '../../model/json-object.ts';
import { numberOptions } from '../transforms/number.ts';
import { oneOrMore, valueSchema } from './value.ts';

const takes = {
  sum: optional(oneOrMore, 'The sum, blanks left out.'),
  min: optional(oneOrMore, 'The smallest number.'),
  max: optional(oneOrMore, 'The greatest number.'),
  first: optional(oneOrMore, 'The first cell that is not blank.'),
  count: optional(oneOrMore, 'How many are not blank.'),
};

/** What a column of a join makes of several rows that have the same key. */
export type Take = keyof typeof takes;

const TAKES: readonly Take[] = ['sum', 'min', 'max', 'first', 'count'];

const columnSchema = z.union([
  oneOrMore,
  z
    .strictObject({
      ...takes,
      number: optional(numberOptions, 'How numbers are written, as for the step `number`.'),
    })
    .superRefine((column, context) => {
      const take = onlyKey(column, TAKES, context);
      if ('number' in column && (take === 'first' || take === 'count'))
        addProblem(context, '`number` goes with sum, min and max', 'number');
    }),
]);

/** `join` of a lookup: its columns become columns of the source. */
export const joinSchema = z.strictObject({
  on: valueSchema.describe('What is compared with the matched column.'),
  columns: z
    .record(
      z.string().regex(/^[A-Za-z_]\w*$/, 'expected a word of letters, digits and _'),
      columnSchema.describe('What is made of the rows that have the same key.'),
    )
    .describe(
      'Its columns by name: `stock.qty` is `qty` of the lookup `stock`. A header alone rejects the record if rows with its key differ.',
    ),
  missing: optional(
    z.enum(['blank', 'reject']),
    'If no row has the key: `blank` (default), or reject the record.',
  ),
});

/** `join` of a lookup, as its file says it. */
export type JoinSpec = Readonly<z.infer<typeof joinSchema>>;

/** One column of a join: its headers, the first of which that is there counts, and what becomes of several rows. */
export interface JoinColumn {
  readonly name: string;
  readonly headers: readonly string[];
  /** `only`: rows of one key must not differ. */
  readonly take: Take | 'only';
  /** How numbers are written, where it is said. */
  readonly number: DeepReadonly<z.infer<typeof numberOptions>> | undefined;
}

/** The columns of a join, in order. */
export function joinColumns({ columns }: JoinSpec): readonly JoinColumn[] {
  return Object.entries(columns).map(([name, column]) => {
    if (typeof column === 'string') return { name, headers: [column], take: 'only', number: undefined };
    if ('length' in column) return { name, headers: column, take: 'only', number: undefined };
    const take = TAKES.find((one) => column[one] !== undefined) ?? 'first';
    return { name, headers: [column[take] ?? []].flat(), take, number: column.number };
  });
}
