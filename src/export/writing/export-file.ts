import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ExportJob } from '../../config/job/job.ts';
import { parsedJson } from '../../model/json-object.ts';
import type { HistoryPoint, ListHistory } from '../../model/mapped-record.ts';
import type { FilePlace } from '../../model/remote-address.ts';
import { namePlaceholders } from '../../model/remote-address.ts';
import { withoutInertMark } from '../../model/row.ts';
import { CsvError, DestinationError } from '../../model/storeferry-error.ts';
import { type RunFolder, sha256OfBytes } from '../../state/artifacts.ts';
import type { FileAccess } from '../../state/file-access.ts';
import { readCsv } from '../../tables/open-table.ts';
import type { TablePass } from '../../tables/write-table.ts';
import { grouped } from '../../text/printable.ts';
import { arrangeOrders, filterOrders } from '../arrange-orders.ts';
import {
  afterFullPass,
  filesSince,
  keepCopy,
  keepPosition,
  type Manifest,
  movePosition,
  openCopy,
  readPosition,
  readPrints,
  selectChanges,
} from '../export-position.ts';
import { type Destination, openDestination } from '../open-destination.ts';
import { openDatabaseTable } from './database-table.ts';
import { shapeOf } from './row-shape.ts';
import { textLines, watchBytes } from './text-lines.ts';
import { type Items, replaceFile, type Written, writeFile } from './write-file.ts';

export { noteUnknownFields } from '../arrange-orders.ts';
export { copyNames, isInCopy, readableSince, readPosition } from '../export-position.ts';
// The folder that picture files are published in.
export { openPublicFolder, type PublicFolder } from '../open-destination.ts';

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
  const open = () => (job.export === 'orders' ? arrangeOrders(filterOrders(items(), job), job) : items());
  const shape = await shapeOf(job, readAt, open);
  const written = (pass: TablePass) => (pass === 'content' ? withProgress(open(), onProgress) : open());
  return { items: written, shape };
}

async function writeItems(job: ExportJob, destination: Destination, options: WriteItemsOptions) {
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
  const add = (value: (column: string) => unknown) => {
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
    const { columns = [] } = job;
    const indexOf = (column: string) => {
      const name = columns.find(({ path }) => path === column)?.name;
      const isAnother = name === undefined && columns.some((one) => one.name === column);
      return isAnother ? -1 : header.indexOf(name ?? column);
    };
    for await (const rows of batches()) {
      for (const { cells } of rows) {
        add((column) => plainFigure(withoutInertMark(cells[indexOf(column)] ?? '')));
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

function textOf(value: unknown) {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function figure(value: unknown) {
  const text = textOf(value).trim();
  const number = Number(text);
  return text === '' || !Number.isFinite(number) ? null : number;
}

/** The input of writing what is new or changed into a file of its own. */
interface NewFileOptions {
  readonly job: ExportJob;
  readonly access: FileAccess;
  /** The folder of the job with its position and copies. */
  readonly kept: RunFolder;
  /** The identity of the store. */
  readonly store: string;
  readonly run: string;
  /** When the store was read, ISO 8601 in UTC. */
  readonly readAt: string;
  /** Opens what was read, from the first order each time. */
  readonly reading: () => Items;
  /** Only orders created since then were read; null: all. */
  readonly createdSince: string | null;
  /** A trial: the most orders of a file beside the others, after which the position stays. */
  readonly limit: number | undefined;
  readonly signal: AbortSignal;
}

/**
 * Writes the orders that no earlier file of the job has unchanged, the manifest beside the file, and then moves the
 * position. A process that dies before that leaves a file which the same reading makes again, byte for byte. Without a location
 * nothing was new or changed, and there is no file.
 */
export async function writeNewFile(options: NewFileOptions) {
  const { job, access, kept, store, run, readAt, createdSince, signal, limit } = options;
  const position = await readPosition(kept, store);
  const last = position.files.at(-1);
  if (last?.run === run) return { location: last.file, lines: last.lines, bytes: last.bytes, notes: [] };
  const next = createdSince === null ? afterFullPass(position, job, readAt) : position;
  const before = await readPrints(kept, position);
  let selected = selectChanges(options.reading(), before);
  let totalCount = 0;
  const items = (): Items => {
    totalCount = 0;
    selected = selectChanges(filterOrders(counted(), job), before);
    return arrangeOrders(limit === undefined ? selected.orders : firstOf(selected.orders, limit), job);
  };
  for await (const batch of items()) if (batch.length > 0) break;
  /** Orders that readers of the files still count; known where all were read. */
  const leftNotes = () => {
    const left = createdSince === null ? before.size - selected.found.seen : 0;
    return left > 0
      ? [
          `Orders of earlier files that are no longer in the store, or no longer have the values of \`filter\`: ${grouped(left)}. No file says so.`,
        ]
      : [];
  };
  const { found } = selected;
  if (found.new + found.changed === 0) {
    // An empty store leaves the position of the one whose orders are in the files.
    const isOtherStore = last !== undefined && position.prints === null;
    if (limit === undefined && next !== position && !isOtherStore) await keepPosition(kept, next);
    const notes = ['Nothing is new or changed, so there is no file.', ...leftNotes()];
    return { location: null, lines: 0, bytes: 0, notes };
  }
  const number = (last?.number ?? 0) + 1;
  const place = filledPlace(job.destination, { number, run, readAt });
  if (limit !== undefined) {
    const trial = await openDestination(suffixed(place, '.trial'), access);
    return { ...(await write(trial)), location: trial.location };
  }
  const destination = await openDestination(place, access);
  const digest = createHash('sha256');
  const { lines, bytes, notes } = await write({
    ...destination,
    async write(content) {
      let size = 0;
      await keepCopy(kept, { number }, measured());
      return size;
      async function* measured() {
        for await (const chunk of content) {
          digest.update(chunk);
          size += Buffer.byteLength(chunk);
          yield chunk;
        }
      }
    },
  });
  const manifest: Manifest = {
    number,
    job: job.name,
    run,
    file: place.remote?.location ?? place.path ?? '',
    sha256: digest.digest('hex'),
    bytes,
    readAt,
    count: selected.found.new + selected.found.changed,
    lines,
    new: selected.found.new,
    changed: selected.found.changed,
    firstId: selected.found.firstId,
    lastId: selected.found.lastId,
    totalCount,
    createdSince,
  };
  await placeFile({ access, job, kept, signal }, manifest);
  await movePosition(kept, next, manifest, selected.found.known);
  return { location: destination.location, lines, bytes, notes: [...notes, ...leftNotes()] };

  async function write(to: Destination) {
    const shape = await shapeOf(job, readAt, items);
    return await replaceFile(to, { items, shape, file: job.destination, signal });
  }

  async function* counted(): Items {
    for await (const batch of options.reading()) {
      totalCount += batch.length;
      yield batch;
    }
  }
}

async function* firstOf(items: Items, limit: number): AsyncGenerator<readonly string[]> {
  let left = limit;
  for await (const batch of items) {
    yield batch.slice(0, left);
    left -= batch.length;
    if (left <= 0) return;
  }
}

/** How the file of a manifest is, compared with its checksum. */
type FileState = 'whole' | 'missing' | 'damaged';

type FilesOptions = Pick<NewFileOptions, 'access' | 'job' | 'kept' | 'store' | 'signal'>;

/** The files of a job, compared with their manifests and with the store. */
export type Reconciliation = Awaited<ReturnType<typeof reconcileFiles>>;

/** Compares each file with its checksum, and what was read with the orders that the files have. Changes nothing. */
export async function reconcileFiles({
  access,
  job,
  kept,
  store,
  signal,
  reading,
}: FilesOptions & Pick<NewFileOptions, 'reading'>) {
  const position = await readPosition(kept, store);
  const states: Record<FileState, Manifest[]> = { whole: [], missing: [], damaged: [] };
  for (const file of position.files) {
    const { read } = await openDestination(filledPlace(job.destination, file), access);
    states[await stateOf(await read(signal), file)].push(file);
  }
  const { found, orders } = selectChanges(filterOrders(reading(), job), await readPrints(kept, position));
  for await (const _ of orders);
  const { missing, damaged } = states;
  return {
    files: position.files,
    missing,
    damaged,
    /** Orders of the store that no file has unchanged: the next run writes them. */
    waiting: found.new + found.changed,
  };
}

/** The bytes of the newest file of a job; undefined where it has written none, or they are kept no more. */
export async function openNewest(kept: RunFolder) {
  const newest = (await readPosition(kept, '')).files.at(-1);
  const content = newest === undefined ? undefined : await openCopy(kept, newest);
  return newest === undefined || content === undefined ? undefined : { location: newest.file, content };
}

/**
 * Writes lost files of a job again, from that of a run or time on. UsageError where no file matches `since`; DestinationError where
 * another file is, or where the bytes are kept no more.
 */
export async function placeFilesSince(options: FilesOptions, since: string) {
  const placed: { readonly file: Manifest; readonly isWritten: boolean }[] = [];
  for (const file of filesSince(await readPosition(options.kept, options.store), since))
    placed.push({ file, isWritten: await placeFile(options, file) });
  return placed;
}

async function stateOf(
  file: Awaited<ReturnType<Destination['read']>>,
  { sha256 }: Manifest,
): Promise<FileState> {
  if (file === undefined) return 'missing';
  return (await sha256OfBytes(file.content)) === sha256 ? 'whole' : 'damaged';
}

/** Puts the kept bytes of a manifest, and the manifest, where the job writes now; false for a whole file, which stays. */
async function placeFile({ access, job, kept, signal }: Omit<FilesOptions, 'store'>, manifest: Manifest) {
  const place = filledPlace(job.destination, manifest);
  const destination = await openDestination(place, access);
  const state = await stateOf(await destination.read(signal), manifest);
  if (state === 'damaged') {
    throw new DestinationError(
      `${destination.location} is there, with other content than file ${manifest.number}.`,
      {
        hint: 'Move it away, then run again: nothing was written over it.',
      },
    );
  }
  if (state === 'missing') {
    const copy = await openCopy(kept, manifest);
    if (copy === undefined) {
      throw new DestinationError(`The content of file ${manifest.number} is kept no more.`, {
        hint: 'It is too old, or it named a contact that was forgotten. Name a later run or time.',
      });
    }
    await destination.write(copy, { signal, ifVersion: null });
  }
  const beside = await openDestination(suffixed(place, '.manifest.json'), access);
  await beside.write(Readable.from([`${JSON.stringify(manifest, null, 2)}\n`]), { signal });
  return state === 'missing';
}

/** The place of a file: `{date}`, `{time}` (UTC), `{run}` and `{number}` have their values; a name without the last two ends with the number. */
function filledPlace(
  place: FilePlace,
  { number, run, readAt }: Pick<Manifest, 'number' | 'run' | 'readAt'>,
): FilePlace {
  const marks = namePlaceholders(place.remote?.location ?? place.path ?? '');
  const isNumbered = marks.includes('{run}') || marks.includes('{number}');
  return renamed(place, (text) => {
    const complete = isNumbered ? text : text.replace(/(\.[^./]*)?$/, '-{number}$1');
    return withTime(complete, readAt).replaceAll('{run}', run).replaceAll('{number}', String(number));
  });
}

/** A place whose name may have `{date}` and `{time}` (UTC). */
function datedPlace(place: FilePlace, readAt: string): FilePlace {
  return renamed(place, (text) => withTime(text, readAt));
}

function withTime(text: string, readAt: string): string {
  return text
    .replaceAll('{date}', readAt.slice(0, 10))
    .replaceAll('{time}', readAt.slice(11, 19).replaceAll(':', ''));
}

function suffixed(place: FilePlace, suffix: string): FilePlace {
  return renamed(place, (name) => name + suffix);
}

/** The members of an address that have the name of the file. */
const NAMING: ReadonlySet<string> = new Set(['location', 'address', 'key', 'path']);

function renamed({ path, remote }: FilePlace, change: (name: string) => string): FilePlace {
  if (remote === undefined) return { path: change(path) };
  const changed = Object.entries(remote).filter(
    (entry): entry is [string, string] => NAMING.has(entry[0]) && typeof entry[1] === 'string',
  );
  return {
    remote: { ...remote, ...Object.fromEntries(changed.map(([name, value]) => [name, change(value)])) },
  };
}
