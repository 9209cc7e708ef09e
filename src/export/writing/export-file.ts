import type { ExportJob } from '../../config/job/job.ts';
import { parsedJson } from '../../model/json-object.ts';
import { type Row, withoutInertMark } from '../../model/row.ts';
import { CsvError, DestinationError } from '../../model/storeferry-error.ts';
import type { HistoryPoint, ListHistory } from '../../model/subscriber-list.ts';
import type { FileAccess } from '../../state/file-access.ts';
import { readCsv } from '../../tables/open-table.ts';
import { type CsvStyle, cellAsText, csvLine, csvStyle, markOf } from '../../tables/write-table.ts';
import { arrangeOrders, filterOrders } from '../arrange-orders.ts';
import { exactJson, exactText, isPlainObject } from '../exact-json.ts';
import { type Destination, openDestination } from '../open-destination.ts';
import { openDatabaseTable } from './database-table.ts';
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

/** The file that an export job writes. */
export interface ExportFile extends Pick<Destination, 'location' | 'read'> {
  /** Writes items as the destination of the job requests: completely, or the file stays unchanged. */
  write(options: WriteItemsOptions): Promise<Written>;
  /** Whether its table exists; absent for a file. */
  exists?(signal: AbortSignal): Promise<boolean>;
  /** Reads a history in the format of the job; undefined if there is no file. DestinationError. */
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
    read,
    write: (options) => writeItems(job, destination, options),
    history: (signal) => readHistory(job, destination, signal),
  };
}

/** The table of a job, which has no file. */
async function openTable(access: FileAccess, job: ExportJob, table: string): Promise<ExportFile> {
  const { location, upsert, exists } = await openDatabaseTable({ ...job.destination, table }, access);
  const noFile = async () => {
    throw new DestinationError(`${location} is no file.`, { hint: 'Query the database.' });
  };
  return {
    location,
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
  return { items: () => withProgress(open(), onProgress), shape };
}

async function writeItems(
  job: ExportJob,
  destination: Destination,
  options: WriteItemsOptions,
): Promise<Written> {
  const { mode, format } = job.destination;
  const content = { ...(await contentOf(job, options)), file: job.destination, signal: options.signal };
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
  const found = await inspectLines(destination, options);
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
  return isPlainObject(value) ? lineKey(keyColumns.map((name) => exactText(value[name]) ?? '')) : undefined;
}

async function inspectLines(destination: Destination, { shape, signal }: FileContent) {
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

/** An existing file keeps its delimiter and line ends. */
interface AppendTableOptions extends FileContent {
  readonly file: FileContent['file'] & { readonly format: 'csv' | 'excel-csv' };
}

/** The present content of the destination. */
interface Found {
  readonly version: string | null;
  readonly header: readonly string[];
  readonly style: CsvStyle;
  /** What `linePrint` gives for the last line of each key, of the columns that the file and the job have. */
  readonly lines: ReadonlyMap<string, string>;
  readonly notes: readonly string[];
}

/** The destination is empty or does not exist. `version`: `ifVersion` for `Destination.write`. */
interface Nothing {
  readonly lines: null;
  readonly version: string | null | undefined;
}

const WHOLE_INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const CORRECT_LINE =
  'Correct or remove that line (or move the file away to begin a new one), then run again: no reading is lost.';

/**
 * Adds lines to a table, completely or not at all: the file is written again with its previous content and the lines
 * that it lacks. Columns are matched by name: a missing column is added and is blank in earlier lines; a column that
 * only the file has is blank in new lines. DestinationError for a file to which nothing can safely be added: one that
 * cannot be read, whose last line is incomplete, or that lacks a key column.
 */
export async function appendTable(destination: Destination, options: AppendTableOptions): Promise<Written> {
  const { items, shape, signal } = options;
  const { decimal } = options.file;
  const found = await inspectTable(destination, options);
  if (found.lines === null) {
    return { ...(await replaceFile(destination, { ...options, ifVersion: found.version })), begun: true };
  }
  const added = shape.columns.filter((name) => !found.header.includes(name));
  const header = [...found.header, ...added];
  const width = found.header.length;
  const places = header.map((name) => shape.columns.indexOf(name));
  const keyPlaces = shape.keyColumns.map((name) => shape.columns.indexOf(name));
  const common = found.header.map((name) => shape.columns.indexOf(name)).filter((place) => place >= 0);
  const addedPlaces = added.map((name) => shape.columns.indexOf(name));
  const notes = [...found.notes];
  if (added.length > 0)
    notes.push(`The file had no column ${added.join(', ')}. It was added, and is blank in earlier lines.`);
  let lines = 0;
  let there = 0;

  const bytes = await destination.write(content(found), overVersion(found.version, signal));
  return { lines, bytes, notes: [...notes, ...alreadyThere(there, shape)] };

  async function* content({ style, lines: known, version }: Found): AsyncGenerator<string> {
    yield markOf(style) + csvLine(header, style);
    const again = await readAgain(destination, version, signal);
    const blanks = added.map(() => '');
    const table = await readCsv(again, { name: destination.location });
    for await (const rows of table.batches()) {
      yield rows
        .map(({ cells }) => cells.map(plainCell(style)))
        .map((cells) => csvLine(cells.length === width ? [...cells, ...blanks] : cells, style))
        .join('');
    }
    for await (const batch of items()) {
      let text = '';
      for (const item of batch) {
        const cells = shape.cells(item).map((cell) => cellAsText(cell, decimal));
        const key = keyPlaces.map((place) => cells[place] ?? '');
        if (key[0] === '') throw withoutId(destination);
        const compared = lineKey(common.map((place) => cells[place] ?? ''));
        const hasMore = !shape.isHistory && addedPlaces.some((place) => cells[place] !== '');
        if (!hasMore && hasLine(known, lineKey(key), compared, shape)) {
          there++;
          continue;
        }
        lines++;
        text += csvLine(
          places.map((place) => cells[place] ?? ''),
          style,
        );
      }
      yield text;
    }
  }
}

/** The original of a cell, before it was written in this style. */
function plainCell({ forSpreadsheets }: CsvStyle): (cell: string) => string {
  return forSpreadsheets ? withoutInertMark : (cell) => cell;
}

/** Reads the present content. */
async function inspectTable(destination: Destination, options: AppendTableOptions): Promise<Found | Nothing> {
  const { shape, file, signal } = options;
  const style = csvStyle(file);
  const name = destination.location;
  const before = await destination.read(signal);
  if (before === undefined) return { lines: null, version: null };
  const bytes = watchBytes(before.content);
  try {
    const table = await readCsv(bytes.content, { name });
    const { dialect } = table;
    const plain = plainCell(style);
    const header = table.header.map(plain);
    refuseHeader(header, shape, name);
    const keyPlaces = shape.keyColumns.map((column) => header.indexOf(column));
    const common = header.flatMap((column, place) => (shape.columns.includes(column) ? [place] : []));
    const lines = new Map<string, string>();
    const odd: number[] = [];
    let last: Row | undefined;
    for await (const rows of table.batches()) {
      for (const { line, cells } of rows) {
        if (cells.length !== header.length) odd.push(line);
        const textOf = (places: readonly number[]) =>
          lineKey(places.map((place) => plain(cells[place] ?? '')));
        lines.set(textOf(keyPlaces), linePrint(textOf(common), shape));
      }
      last = rows.at(-1) ?? last;
    }
    if (!bytes.endsLine()) refuseHalfLine(header, last, name);
    const newline = dialect.newline === '\r\n' || dialect.newline === '\n' ? dialect.newline : style.newline;
    return {
      version: before.version,
      header,
      style: { ...style, delimiter: dialect.delimiter, newline, bom: style.bom || dialect.bom },
      lines,
      notes: oddNotes(odd, header.length),
    };
  } catch (error) {
    bytes.content.destroy();
    if (bytes.isEmpty() && error instanceof CsvError) {
      return { lines: null, version: before.version ?? undefined };
    }
    if (!(error instanceof CsvError)) throw error;
    throw new DestinationError(`Nothing can be added to the file: ${error.message}`, {
      place: error.place,
      hint: CORRECT_LINE,
      cause: error,
    });
  }
}

function refuseHeader(header: readonly string[], { keyColumns }: RowShape, name: string): void {
  const place = { file: name, line: 1 };
  const lacking = keyColumns.filter((column) => !header.includes(column));
  if (lacking.length > 0) {
    throw new DestinationError(
      `The file has no column ${lacking.join(' and no ')}: this job did not write it, or wrote it in another format.`,
      { place, hint: 'Give destination another path, or move the file away to begin a new one.' },
    );
  }
  const repeated = header.find((column, index) => header.indexOf(column) !== index);
  if (repeated === undefined) return;
  throw new DestinationError(
    `The file has the column '${repeated}' twice: it is not clear which one is meant.`,
    {
      place,
      hint: 'Rename one of them, then run again: no reading is lost.',
    },
  );
}

/**
 * A last line without a line end may be incomplete. It is certainly complete only if its last cell proves it: a
 * complete timestamp, or the header's last name.
 */
function refuseHalfLine(header: readonly string[], last: Row | undefined, name: string): void {
  const lastColumn = header.at(-1);
  if (last === undefined && lastColumn === 'read_at') return;
  const isWhole = last?.cells.length === header.length && WHOLE_INSTANT.test(last.cells.at(-1) ?? '');
  if (lastColumn === 'read_at' && isWhole) return;
  throw new DestinationError('The last line has no line end and may be incomplete, so nothing is added.', {
    place: { file: name, line: last?.line ?? 1 },
    hint: `Add a line break if it is complete. ${CORRECT_LINE}`,
  });
}

const ODD_SHOWN = 5;

function oddNotes(lines: readonly number[], columns: number): string[] {
  if (lines.length === 0) return [];
  const shown = lines.slice(0, ODD_SHOWN).join(', ');
  const more = lines.length > ODD_SHOWN ? ` and ${lines.length - ODD_SHOWN} more` : '';
  return [`Lines of the file that do not have its ${columns} columns were not changed: ${shown}${more}.`];
}
