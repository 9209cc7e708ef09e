import type { ExportJob } from '../../config/job/job.ts';
import type { Destination } from '../destination/destination.ts';
import { appendLines } from './append-lines.ts';
import { appendTable, type OpenTable } from './append-table.ts';
import { type Items, newStyle, replaceFile, type TableStyle, type Written } from './replace-file.ts';
import { shapeOf } from './row-shape.ts';

/** The input of writing an export. */
export interface WriteItemsOptions {
  /** Opens the items, from the first one each time. */
  readonly items: () => Items;
  /** When the store was read, ISO 8601 in UTC. */
  readonly readAt: string;
  readonly signal: AbortSignal;
  readonly openTable: OpenTable;
  readonly formatRow: TableStyle['formatRow'];
  /** Called with the number of written items. */
  readonly onProgress: (items: number) => void;
}

/** Writes items as the job's destination requests: completely, or the destination stays unchanged. */
export async function writeItems(
  job: Pick<ExportJob, 'export' | 'columns' | 'destination'>,
  destination: Destination,
  { items: open, readAt, signal, openTable, formatRow, onProgress }: WriteItemsOptions,
): Promise<Written> {
  const { mode, format } = job.destination;
  const shape = await shapeOf(job, readAt, open);
  const style = format === 'jsonl' ? null : newStyle(format, formatRow);
  const options = { items: withProgress(open(), onProgress), shape, signal };
  if (mode === 'replace') return await replaceFile(destination, { ...options, style });
  if (style === null) return await appendLines(destination, options);
  return await appendTable(destination, { ...options, style, openTable });
}

async function* withProgress(
  items: Items,
  onProgress: (items: number) => void,
): AsyncGenerator<readonly string[]> {
  let done = 0;
  for await (const batch of items) {
    yield batch;
    done += batch.length;
    onProgress(done);
  }
}
