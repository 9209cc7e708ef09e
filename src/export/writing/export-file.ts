import type { ExportJob } from '../../config/job/job.ts';
import { parsedJson } from '../../model/json-object.ts';
import { withoutInertMark } from '../../model/row.ts';
import { CsvError, DestinationError } from '../../model/storeferry-error.ts';
import type { HistoryPoint, ListHistory } from '../../model/subscriber-list.ts';
import type { FileAccess } from '../../state/file-access.ts';
import { readCsv } from '../../tables/open-table.ts';
import type { TablePass } from '../../tables/write-table.ts';
import { arrangeOrders, filterOrders } from '../arrange-orders.ts';
import { type Destination, openDestination } from '../open-destination.ts';
import { openDatabaseTable } from './database-table.ts';
import { shapeOf } from './row-shape.ts';
import { textLines, watchBytes } from './text-lines.ts';
import { type Items, type Written, writeFile } from './write-file.ts';
import { datedPlace } from './write-new-file.ts';

export { readableSince, readPosition } from '../export-position.ts';
// The folder that picture files are published in.
export { openPublicFolder, type PublicFolder } from '../open-destination.ts';
export {
  openNewest,
  placeFilesSince,
  type Reconciliation,
  reconcileFiles,
  writeNewFile,
} from './write-new-file.ts';

/** The input of writing an export. */
interface WriteItemsOptions {
  /** Opens the items, from the first one each time. */
  readonly items: () => Items;
  /** When the store was read, ISO 8601 in UTC. */
  readonly readAt: string;
  readonly signal: AbortSignal;
  /** Called with the number of written items. */
  readonly onProgress: (items: number) => void;
}

/** The file or table that an export job writes. */
export interface ExportFile extends Pick<Destination, 'location' | 'read'> {
  /** What its lock is called: equal for every way to name it. */
  readonly lockedAs: string;
  /** Writes items as the destination of the job requests: completely, or the file stays unchanged. */
  write(options: WriteItemsOptions): Promise<Written>;
  /** Whether its table exists; absent for a file. */
  exists?(signal: AbortSignal): Promise<boolean>;
  /** Reads a history in the format of the job; undefined if there is no file. DestinationError where it cannot be read. */
  history(signal: AbortSignal): Promise<ListHistory | undefined>;
}

/**
 * The file of a job for a reading of `readAt`, ISO 8601 in UTC, which its name may have; nothing is written or connected yet.
 * DestinationError if it can never be written.
 */
export async function openExportFile(
  access: FileAccess,
  job: ExportJob,
  readAt: string,
): Promise<ExportFile> {
  const { table } = job.destination;
  if (table !== undefined) return await openTable(access, job, table);
  const destination = await openDestination(datedPlace(job.destination, readAt), access);
  const { location, read } = destination;
  return {
    location,
    lockedAs: location,
    read,
    write: (options) => writeItems(job, destination, options),
    history: (signal) => readHistory(job, destination, signal),
  };
}

/** The table of a job, which has no file. */
async function openTable(access: FileAccess, job: ExportJob, table: string): Promise<ExportFile> {
  const { location, lockedAs, upsert, exists } = await openDatabaseTable(
    { ...job.destination, table },
    access,
  );
  const noFile = async () => {
    throw new DestinationError(`${location} is no file.`, { hint: 'Query the database.' });
  };
  return {
    location,
    lockedAs,
    exists,
    read: noFile,
    history: noFile,
    write: async (options) => {
      const { shape, items } = await contentOf(job, options);
      return await upsert({ shape, items, signal: options.signal });
    },
  };
}

/** The rows of a job's export. */
async function contentOf(job: ExportJob, { items, readAt, onProgress }: WriteItemsOptions) {
  const open = (): Items =>
    job.export === 'orders' ? arrangeOrders(filterOrders(items(), job), job) : items();
  const shape = await shapeOf(job, readAt, open);
  const written = (pass: TablePass) => (pass === 'content' ? withProgress(open(), onProgress) : open());
  return { items: written, shape };
}

async function writeItems(
  job: ExportJob,
  destination: Destination,
  options: WriteItemsOptions,
): Promise<Written> {
  const content = { ...(await contentOf(job, options)), file: job.destination, signal: options.signal };
  return await writeFile(destination, job.destination.mode, content);
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

async function readHistory(
  job: ExportJob,
  destination: Destination,
  signal: AbortSignal,
): Promise<ListHistory | undefined> {
  const file = await destination.read(signal);
  if (file === undefined) return undefined;
  const points: HistoryPoint[] = [];
  let unreadable = 0;
  const add = (value: (column: string) => unknown): void => {
    const point = pointOf(value);
    if (point === undefined) unreadable++;
    else points.push(point);
  };
  if (job.destination.format === 'jsonl') {
    for await (const lines of textLines(file.content, destination.location)) {
      for (const { text } of lines) {
        if (text.trim() === '') continue;
        const fields = parse(text);
        add((column) => fields.get(column));
      }
    }
    return { points, unreadable };
  }
  const { decimal = '.' } = job.destination;
  // A file keeps the sign that it began with; beyond shares, 1,234 may have been written by a spreadsheet.
  const figureWithComma = decimal === ',' ? /^\d+,\d+$/ : /^0,\d+$/;
  const plainFigure = (cell: string) => (figureWithComma.test(cell) ? cell.replace(',', '.') : cell);
  const bytes = watchBytes(file.content);
  try {
    const { header, batches } = await readCsv(bytes.content, { name: destination.location });
    for await (const rows of batches()) {
      for (const { cells } of rows) {
        add((column) => plainFigure(withoutInertMark(cells[header.indexOf(column)] ?? '')));
      }
    }
    return { points, unreadable };
  } catch (error) {
    bytes.content.destroy();
    if (!(error instanceof CsvError)) throw error;
    // `run` treats an empty file as a new one, too.
    if (bytes.isEmpty()) return { points, unreadable };
    throw new DestinationError(`The history cannot be read: ${error.message}`, {
      place: error.place,
      hint: 'Correct or remove that line.',
      cause: error,
    });
  }
}

/** The members of a JSON object; none for other values. */
function parse(text: string): ReadonlyMap<string, unknown> {
  const value = parsedJson(text);
  return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);
}

function pointOf(value: (column: string) => unknown): HistoryPoint | undefined {
  const id = textOf(value('id'));
  const readAt = Date.parse(textOf(value('read_at')));
  if (id === '' || Number.isNaN(readAt)) return undefined;
  return {
    id,
    name: textOf(value('name')),
    readAt,
    subscribers: figure(value('subscribers')),
    opens: figure(value('opens')),
    clicks: figure(value('clicks')),
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function figure(value: unknown): number | null {
  const text = textOf(value).trim();
  const number = Number(text);
  return text === '' || !Number.isFinite(number) ? null : number;
}
