import { z } from 'zod';
import type { DeepReadonly } from '../../model/json-object.ts';
import { numberOptions } from '../transforms/number.ts';
import { valueSchema } from './value.ts';

const headers = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]);

const takes = {
  sum: headers.exactOptional().describe('The sum of their numbers, blanks left out.'),
  min: headers.exactOptional().describe('The smallest of their numbers.'),
  max: headers.exactOptional().describe('The greatest of their numbers.'),
  first: headers.exactOptional().describe('The first cell that is not blank.'),
  count: headers.exactOptional().describe('How many of their cells are not blank.'),
};

/** What a column of a join makes of several rows that have the same key. */
export type Take = keyof typeof takes;

const TAKES: readonly Take[] = ['sum', 'min', 'max', 'first', 'count'];

const columnSchema = z.union([
  headers,
  z
    .strictObject({
      ...takes,
      number: numberOptions
        .exactOptional()
        .describe('How the numbers of `sum`, `min` and `max` are written, as for the step `number`.'),
    })
    .superRefine((column, context) => {
      const [take, second] = TAKES.filter((name) => name in column);
      if (take === undefined || second !== undefined) {
        context.addIssue({ code: 'custom', message: `expected one of ${TAKES.join(', ')}` });
      } else if (column.number !== undefined && (take === 'first' || take === 'count')) {
        const message = '`number` goes with sum, min and max';
        context.addIssue({ code: 'custom', path: ['number'], message });
      }
    }),
]);

/** `join` of a lookup: its columns become columns of the source. */
export const joinSchema = z.strictObject({
  on: valueSchema.describe(
    'The value of each row that is compared with the matched column: a column, or a pipeline.',
  ),
  columns: z
    .record(
      z.string().regex(/^[A-Za-z_]\w*$/, 'expected a word of letters, digits and _'),
      columnSchema.describe('What is made of the rows that have the same key.'),
    )
    .describe(
      'Columns of the table, by a name each: `stock.qty` is `qty` of the lookup `stock`. A header alone rejects the record if its key has several rows with different values.',
    ),
  missing: z
    .enum(['blank', 'reject'])
    .exactOptional()
    .describe(
      'If the key of a record has no row: the columns are blank (default), or the record is rejected.',
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
