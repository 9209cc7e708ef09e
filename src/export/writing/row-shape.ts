import type { ExportJob } from '../../config/job/job.ts';
import { LIST_COLUMNS } from '../../model/subscriber-list.ts';
import { exactJson } from '../exact-json.ts';
import { readKeptList } from '../reading/read-items.ts';
import { cellText, valueAt } from './cell-text.ts';
import { pathOf } from './column-name.ts';
import { FoundColumns } from './found-columns.ts';
import { listReading } from './list-reading.ts';

/** How items become lines of a file. */
export interface RowShape {
  readonly columns: readonly string[];
  /** The columns that identify a line: one whose key is in the file already is not added. */
  readonly keyColumns: readonly string[];
  /** Whether each line is a new one, so that a line that is there already is worth a word. */
  readonly isHistory: boolean;
  /** An item, as JSON, as cells in the order of the columns. */
  cells(item: string): readonly string[];
  /** An item, as JSON, as a line of JSON. */
  json(item: string): string;
}

/** Lines of list statistics, one a list and reading. */
export function listShape(readAt: string, columns: readonly string[] = LIST_COLUMNS): RowShape {
  const reading = (item: string) => listReading(readKeptList(item), readAt);
  const paths = columns.map(pathOf);
  return {
    columns,
    keyColumns: ['id', 'read_at'],
    isHistory: true,
    cells(item) {
      const value = reading(item);
      return paths.map((path) => cellText(valueAt(value, path)));
    },
    json: (item) => JSON.stringify(reading(item)),
  };
}

/** Lines of orders, one an order; its JSON is passed on as it came. */
export function orderShape(columns: readonly string[]): RowShape {
  const paths = columns.map(pathOf);
  return {
    columns,
    keyColumns: ['id'],
    isHistory: false,
    cells(item) {
      const order = exactJson(item);
      return paths.map((path) => cellText(valueAt(order, path)));
    },
    json: (item) => item,
  };
}

/** The shape that a job asks for; columns that it does not name are found in what was read. */
export async function shapeOf(
  job: Pick<ExportJob, 'export' | 'columns' | 'destination'>,
  readAt: string,
  items: () => AsyncIterable<readonly string[]>,
): Promise<RowShape> {
  switch (job.export) {
    case 'subscriber-lists':
      return listShape(readAt, job.columns);
    case 'orders':
      if (job.columns !== undefined) return orderShape(job.columns);
      return orderShape(job.destination.format === 'jsonl' ? [] : await columnsOf(items()));
    default:
      return job.export satisfies never;
  }
}

async function columnsOf(items: AsyncIterable<readonly string[]>): Promise<string[]> {
  const found = new FoundColumns();
  for await (const batch of items) for (const item of batch) found.add(exactJson(item));
  // A store without orders: the one column that every order has.
  return found.names().length === 0 ? ['id'] : found.names();
}
