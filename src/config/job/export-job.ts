import { z } from 'zod';
import type { DeepReadonly } from '../../model/deep-readonly.ts';
import { didYouMean } from '../../model/nearest.ts';
import { LIST_COLUMNS } from '../../model/subscriber-list.ts';
import { type DestinationSpec, destinationSchema } from './destination-spec.ts';
import { type Notify, notifySchema } from './notify.ts';
import { scheduleSchema } from './schedule-schema.ts';

/** A job that reads a store into a file. */
export const exportJobSchema = z
  .strictObject({
    export: z.enum(['subscriber-lists', 'orders']).describe('What to read from the store.'),
    store: z
      .string('expected the name of a store in stores.yaml')
      .min(1, 'expected the name of a store in stores.yaml')
      .describe('The store, by its name in `stores.yaml`.'),
    destination: destinationSchema.describe('Where it goes.'),
    columns: z
      .array(z.string().min(1))
      .min(1)
      .exactOptional()
      .describe(
        'The columns of a table and their order, nested fields by their path: `customer.email`, `items.0.sku` for the first of a list, `items.sku` for all of them. Left out: all of a list, or what is found in the orders.',
      ),
    schedule: scheduleSchema.exactOptional().describe('When workers run the job. Left out: only by hand.'),
    notify: notifySchema.exactOptional().describe('Where to send a notification when a run ends.'),
  })
  .superRefine(({ export: what, destination, columns }, context) => {
    for (const { at, message } of columnProblems(what, destination, columns ?? [])) {
      context.addIssue({ code: 'custom', path: at === null ? ['columns'] : ['columns', at], message });
    }
  });

interface ColumnProblem {
  /** Which of the columns; null for all of them. */
  readonly at: number | null;
  readonly message: string;
}

/** What is wrong with the columns that a job names. */
function columnProblems(
  what: 'subscriber-lists' | 'orders',
  { mode, format }: { readonly mode: string; readonly format: string },
  columns: readonly string[],
): ColumnProblem[] {
  if (columns.length === 0) return [];
  if (format === 'jsonl') {
    return [
      { at: null, message: 'JSON Lines keep everything: leave the columns out, or choose format: csv' },
    ];
  }
  const known: readonly string[] = LIST_COLUMNS;
  const problems: ColumnProblem[] = [];
  for (const [at, name] of columns.entries()) {
    if (columns.indexOf(name) < at) problems.push({ at, message: `the column '${name}' is named twice` });
    if (what === 'subscriber-lists' && !known.includes(name)) {
      const message = `a list has no column '${name}'${didYouMean(name, known)} (there is ${known.join(', ')})`;
      problems.push({ at, message });
    }
  }
  const keys = what === 'orders' ? ['id'] : ['id', 'read_at'];
  const lacking = keys.filter((name) => !columns.includes(name));
  if (mode === 'append' && lacking.length > 0) {
    const message = `mode: append needs ${lacking.join(' and ')} among the columns, to add no line twice`;
    problems.push({ at: null, message });
  }
  return problems;
}

/** An export job with its defaults filled in. `notify` is absent when its address is empty. */
export type ExportJob = Omit<DeepReadonly<z.infer<typeof exportJobSchema>>, 'destination' | 'notify'> & {
  readonly kind: 'export';
  readonly name: string;
  readonly destination: DestinationSpec;
  readonly notify?: Notify;
};
