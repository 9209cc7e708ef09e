import type { ExportJob } from '../../config/job/job.ts';
import { withoutInertMark } from '../../model/row.ts';
import { CsvError, DestinationError } from '../../model/storeferry-error.ts';
import type { HistoryPoint, ListHistory } from '../../model/subscriber-list.ts';
import type { FileAccess } from '../../state/file-access.ts';
import { readCsv } from '../../tables/csv/read-csv.ts';
import { arrangeOrders, filterOrders } from '../arrange-orders.ts';
import { exactJson, exactText, isMembers } from '../exact-json.ts';
import { type Destination, openDestination } from '../open-destination.ts';
import { appendTable } from './append-table.ts';
import {
  alreadyThere,
  type FileContent,
  hasLine,
  type Items,
  lineKey,
  linePrint,
  overVersion,
  readAgain,
  replaceFile,
  type Written,
  withoutId,
} from './replace-file.ts';
import { type RowShape, shapeOf } from './row-shape.ts';
import { textLines, watchBytes } from './text-lines.ts';

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

/** The file that an export job writes. */
export interface ExportFile extends Pick<Destination, 'location' | 'read'> {
  /** Writes items as the destination of the job requests: completely, or the file stays unchanged. */
  write(options: WriteItemsOptions): Promise<Written>;
  /** Reads a history in the format of the job; undefined if there is no file. DestinationError. */
  history(signal: AbortSignal): Promise<ListHistory | undefined>;
}

/** The file of a job; nothing is written or connected yet. DestinationError if it can never be written. */
export async function openExportFile(access: FileAccess, job: ExportJob): Promise<ExportFile> {
  const destination = await openDestination(job.destination, access);
  const { location, read } = destination;
  return {
    location,
    read,
    write: (options) => writeItems(job, destination, options),
    history: (signal) => readHistory(job, destination, signal),
  };
}

async function writeItems(
  job: ExportJob,
  destination: Destination,
  { items, readAt, signal, onProgress }: WriteItemsOptions,
): Promise<Written> {
  const { mode, format } = job.destination;
  const open = (): Items =>
    job.export === 'orders' ? arrangeOrders(filterOrders(items(), job), job) : items();
  const shape = await shapeOf(job, readAt, open);
  const content = { items: () => withProgress(open(), onProgress), shape, file: job.destination, signal };
  if (mode === 'replace') return await replaceFile(destination, content);
  switch (format) {
    case 'jsonl':
      return await appendLines(destination, content);
    case 'csv':
    case 'excel-csv':
      return await appendTable(destination, { ...content, file: { ...job.destination, format } });
    case 'xlsx':
    case 'parquet':
      throw new DestinationError(`A file of the format ${format} is written whole.`, {
        hint: 'Set `mode: replace` under destination in the job.',
      });
    default:
      return format satisfies never;
  }
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

/** Adds lines to JSON Lines, completely or not at all. Existing lines are not changed, and none is added twice. */
export async function appendLines(destination: Destination, options: FileContent): Promise<Written> {
  const { items, shape, signal } = options;
  const found = await inspect(destination, options);
  if (found === null) {
    return { ...(await replaceFile(destination, { ...options, ifVersion: null })), begun: true };
  }
  let lines = 0;
  let there = 0;
  const { version, lines: known } = found;
  const isThere = (line: string): boolean => {
    const key = keyOf(line, shape);
    if (key === undefined || key === '') throw withoutId(destination);
    return hasLine(known, key, line, shape);
  };
  const bytes = await destination.write(content(), overVersion(version, signal));
  return { lines, bytes, notes: [...found.notes, ...alreadyThere(there, shape)] };

  async function* content(): AsyncGenerator<string> {
    const content = await readAgain(destination, version, signal);
    for await (const batch of textLines(content, destination.location)) {
      yield `${batch.map(({ text }) => text).join('\n')}\n`;
    }
    for await (const batch of items()) {
      const fresh = batch.map((item) => shape.json(item)).filter((line) => !isThere(line));
      lines += fresh.length;
      there += batch.length - fresh.length;
      if (fresh.length > 0) yield `${fresh.join('\n')}\n`;
    }
  }
}

/** Undefined for anything but a JSON object. */
function keyOf(line: string, { keyColumns }: RowShape): string | undefined {
  let value: unknown;
  try {
    value = exactJson(line);
  } catch {
    return undefined;
  }
  return isMembers(value) ? lineKey(keyColumns.map((name) => exactText(value[name]) ?? '')) : undefined;
}

async function inspect(destination: Destination, { shape, signal }: FileContent) {
  const before = await destination.read(signal);
  if (before === undefined) return null;
  const file = destination.location;
  const lines = new Map<string, string>();
  const odd: number[] = [];
  for await (const batch of textLines(before.content, file)) {
    for (const { number, text, ended } of batch) {
      if (text.trim() === '') continue;
      const key = keyOf(text, shape);
      if (key !== undefined) {
        lines.set(key, linePrint(text, shape));
        continue;
      }
      if (!ended) {
        throw new DestinationError(
          'The last line is not a complete JSON object and has no line end, so nothing is added.',
          {
            place: { file, line: number },
            hint: 'Correct or remove that line, then run again: no reading is lost.',
          },
        );
      }
      odd.push(number);
    }
  }
  if (lines.size === 0 && odd.length > 0) {
    throw new DestinationError(
      'The file has no JSON objects: this job did not write it, or wrote it in another format.',
      {
        place: { file, line: odd[0] ?? 1 },
        hint: 'Give destination another path, or move the file away to begin a new one.',
      },
    );
  }
  const notes =
    odd.length === 0
      ? []
      : [`These lines of the file are not JSON objects and were not changed: ${odd.slice(0, 5).join(', ')}.`];
  return { version: before.version, lines, notes };
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
  const plainFigure = (cell: string) => (/^\d+,\d+$/.test(cell) ? cell.replace(decimal, '.') : cell);
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
  try {
    const value: unknown = JSON.parse(text);
    return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);
  } catch {
    return new Map();
  }
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
