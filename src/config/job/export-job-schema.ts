import { z } from 'zod';
import { addProblem, optional } from '../../model/json-object.ts';
import { LIST_COLUMNS } from '../../model/subscriber-list.ts';
import { remoteFields, workspacePathSchema } from '../../remote/remote-kinds.ts';
import { didYouMean } from '../../text/nearest.ts';
import { exactlyOnePlace, oneFile } from '../complete-places.ts';
import { jobFields, valueWords } from './job-fields.ts';

/** What an export does with its file in each mode. */
export const DESTINATION_WORDS = {
  replace: 'writes the whole file again',
  append: 'adds to the file: a line per list and run, or the orders that it does not have yet',
} as const;

/** What each format of an export is for. */
export const FORMAT_WORDS = {
  csv: 'for programs',
  'excel-csv': 'for spreadsheets',
  jsonl: 'JSON Lines, which keep orders whole, one per line',
} as const;

/** The destination of an export: exactly one of `path`, `url`, `s3` and `sftp`. */
const destinationSchema = z
  .strictObject({
    path: optional(workspacePathSchema, 'The file to write.'),
    ...remoteFields('destination'),
    mode: z.enum(['replace', 'append']).default('replace').describe(valueWords(DESTINATION_WORDS)),
    format: z
      .enum(['csv', 'excel-csv', 'jsonl'])
      .default('csv')
      .describe(
        `${valueWords(FORMAT_WORDS)} \`excel-csv\` has a byte order mark, and an apostrophe before what would start a formula, by whichever character the spreadsheet splits; \`created\` and \`createdOn\` of orders are dates in UTC instead of seconds.`,
      ),
  })
  .superRefine(exactlyOnePlace)
  .superRefine(oneFile);

/** A job that reads a store into a file. */
export const exportJobSchema = z
  .strictObject({
    export: z.enum(['subscriber-lists', 'orders']).describe('What to read from the store.'),
    store: jobFields.store,
    destination: destinationSchema.describe('Where it goes.'),
    columns: optional(
      z.array(z.string().min(1)).min(1),
      'The columns and their order, nested fields by their path: `customer.email`, `items.0.sku` for the first of a list, `items.sku` for all. Left out: all that are found.',
    ),
    schedule: jobFields.schedule,
    notify: jobFields.notify,
  })
  .superRefine(({ export: what, destination, columns }, context) => {
    for (const { at, message } of columnProblems(what, destination, columns ?? []))
      addProblem(context, message, 'columns', ...at);
  });

interface ColumnProblem {
  /** Which of the columns; empty for all of them. */
  readonly at: readonly number[];
  readonly message: string;
}

/** The problems of the columns that a job names. */
function columnProblems(
  what: 'subscriber-lists' | 'orders',
  { mode, format }: { readonly mode: string; readonly format: string },
  columns: readonly string[],
): ColumnProblem[] {
  if (columns.length === 0) return [];
  if (format === 'jsonl') {
    return [{ at: [], message: 'JSON Lines keep everything: leave the columns out, or choose format: csv' }];
  }
  const known: readonly string[] = LIST_COLUMNS;
  const problems: ColumnProblem[] = [];
  for (const [at, name] of columns.entries()) {
    if (columns.indexOf(name) < at)
      problems.push({ at: [at], message: `the column '${name}' is named twice` });
    if (what === 'subscriber-lists' && !known.includes(name)) {
      const message = `a list has no column '${name}'${didYouMean(name, known)} (known: ${known.join(', ')})`;
      problems.push({ at: [at], message });
    }
  }
  const keys = what === 'orders' ? ['id'] : ['id', 'read_at'];
  const lacking = keys.filter((name) => !columns.includes(name));
  if (mode === 'append' && lacking.length > 0) {
    const message = `mode: append needs ${lacking.join(' and ')} among the columns, so that no line is added twice`;
    problems.push({ at: [], message });
  }
  return problems;
}
