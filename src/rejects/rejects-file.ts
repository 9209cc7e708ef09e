import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { type Dialect, inertCell, type Table, type TablePlaces } from '../model/row.ts';
import { StateError } from '../model/storeferry-error.ts';
import type { RunFolder } from '../state/artifacts.ts';
import { RejectedSpans, type Rejection } from './rejected-spans.ts';

const ROWS_FILE = 'rejects-rows.jsonl';
const WRITTEN_AT_ONCE = 256 * 1024;

/** A file of the snapshot, to be read again. */
export interface RejectsSource {
  readonly name: string;
  /** How its rows are identified, if the file has no text lines. */
  readonly places?: TablePlaces | undefined;
  /** Of corrected rejects, as in a PlanSource. */
  readonly sourceRows?: Readonly<Record<string, string>> | undefined;
  open(): Promise<Table & { readonly dialect: Dialect }>;
}

/** One row as CSV text. Injected, because stages do not import csv/. */
export type FormatRow = (cells: readonly string[], delimiter: string) => string;

export interface WriteRejectsOptions {
  readonly folder: RunFolder;
  /** The files of the snapshot, in its order. */
  readonly sources: readonly RejectsSource[];
  readonly rejections: AsyncIterable<readonly Rejection[]>;
  readonly formatRow: FormatRow;
  /** What the index needs to know about the keys of these rejections. */
  readonly describeKeys?: ((keys: Iterable<string>) => Promise<RejectedKey[]>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Writes the rejected rows of the snapshot in source order, unaltered but for marks where a spreadsheet would run a formula
 * (`inertCell`), each with why and from where: what the user
 * corrects, and a copy that stays untouched. Gives how many rows that are; no file is written for none.
 *
 * Under several headers, the columns are those of all, by name; a row's cells are under its own. Of several files,
 * `storeferry_line` names the file as well.
 */
export async function writeRejects(options: WriteRejectsOptions): Promise<{ readonly rows: number }> {
  const { folder } = options;
  return await withRejectedRows(options, async (gathered) => {
    await folder.write(UNTOUCHED_FILE, compose(options, gathered, [REASON_COLUMN, LINE_COLUMN]));
    await folder.write(REJECTS_FILE, await folder.read(UNTOUCHED_FILE));
    const { delimiter = ',', headers, extras, index: rows, keyless, continues } = gathered;
    const keys = (await options.describeKeys?.(gathered.keys)) ?? [];
    const index = { delimiter, extras, headers, rows, keys, keyless, continues } satisfies WrittenIndex;
    await folder.write(INDEX_FILE, [JSON.stringify(index)]);
  });
}

/**
 * Writes the rows of records that cannot be found into their own file, with the columns of the source, so that other programs
 * can read it, and on request with the reason. Text that a spreadsheet would run is marked here, too.
 */
export async function writeUnmatched(
  options: WriteRejectsOptions,
  { withReason }: { readonly withReason: boolean },
): Promise<{ readonly rows: number }> {
  return await withRejectedRows(options, async (gathered) => {
    const columns = withReason ? [REASON_COLUMN] : [];
    await options.folder.write(UNMATCHED_FILE, compose(options, gathered, columns));
  });
}

/** Collects the rejected rows and writes them, if there are any. */
async function withRejectedRows(
  options: WriteRejectsOptions,
  write: (gathered: Gathered) => Promise<void>,
): Promise<{ readonly rows: number }> {
  const { folder } = options;
  const namesOf = (file: number) => options.sources[file] ?? {};
  const rejected = new RejectedSpans(namesOf);
  const keyless = new RejectedSpans(namesOf);
  const keys = new Set<string>();
  for await (const batch of options.rejections) {
    for (const rejection of batch) {
      rejected.add(rejection);
      if (rejection.key === null) keyless.add(rejection);
      else if (rejection.key !== undefined) keys.add(rejection.key);
    }
  }

  const gathered: Gathered = {
    keys,
    keyless: [],
    continues: [],
    headers: [],
    index: {},
    rows: 0,
    extras: 0,
    delimiter: undefined,
    newline: '\n',
  };
  try {
    await folder.write(ROWS_FILE, gather({ rejected, keyless }, options, gathered));
    if (gathered.rows > 0) await write(gathered);
    return { rows: gathered.rows };
  } finally {
    await folder.remove([ROWS_FILE]);
  }
}

/** Facts that are known only after all rejected rows were read. */
interface Gathered {
  readonly keys: ReadonlySet<string>;
  /** The `storeferry_line` of rows without a key. */
  readonly keyless: string[];
  /** The `storeferry_line` of rows that continue the record of the row before. */
  readonly continues: string[];
  rows: number;
  extras: number;
  /** The header of the first file. */
  delimiter: string | undefined;
  newline: '\n' | '\r\n';
  readonly headers: (readonly string[])[];
  readonly index: RejectsIndex['rows'];
}

const gatheredRow = z.tuple([z.int(), z.string(), z.string(), z.array(z.string())]);
type GatheredRow = z.infer<typeof gatheredRow>;

/**
 * The rejected rows as JSON lines: header, `storeferry_line`, reason, cells. The width of the file is not known yet.
 */
async function* gather(
  { rejected, keyless }: Readonly<Record<'rejected' | 'keyless', RejectedSpans>>,
  { sources, signal }: WriteRejectsOptions,
  gathered: Gathered,
): AsyncGenerator<string> {
  for (const [file, source] of sources.entries()) {
    const lines = rejected.sweep(file);
    if (lines === undefined) continue;
    const withoutKey = keyless.sweep(file);
    const table = await source.open();
    const columns = table.header.length;
    gathered.delimiter ??= table.dialect.delimiter;
    if (table.dialect.newline === '\r\n') gathered.newline = '\r\n';
    const header = indexOfHeader(gathered, table.header);

    for await (const batch of table.batches()) {
      signal?.throwIfAborted();
      let text = '';
      for (const row of batch) {
        const reason = lines.at(row.line);
        if (reason === undefined) continue;
        const cells = withoutBlankSurplus(row.cells, columns);
        const line = sources.length > 1 ? `${source.name}:${row.line}` : String(row.line);
        gathered.rows += 1;
        if (withoutKey?.at(row.line) !== undefined) gathered.keyless.push(line);
        if (!lines.begins(row.line)) gathered.continues.push(line);
        gathered.extras = Math.max(gathered.extras, cells.length - columns);
        const ragged = cells.length !== columns;
        if (ragged || header > 0) {
          gathered.index[line] = { ...(ragged && { cells: cells.length }), ...(header > 0 && { header }) };
        }
        text += `${JSON.stringify([header, line, reason, cells] satisfies GatheredRow | [number, string, string, readonly string[]])}\n`;
      }
      if (text !== '') yield text;
      if ((batch.at(-1)?.line ?? 0) >= lines.lastLine) break;
    }
  }
}

function indexOfHeader({ headers }: Gathered, header: readonly string[]): number {
  const text = JSON.stringify(header);
  const known = headers.findIndex((other) => JSON.stringify(other) === text);
  return known >= 0 ? known : headers.push(header) - 1;
}

async function* compose(
  { folder, formatRow }: WriteRejectsOptions,
  gathered: Gathered,
  ownColumns: readonly string[],
): AsyncGenerator<string> {
  const { headers, extras, newline, delimiter = ',' } = gathered;
  const union = uniteColumns(headers);
  const columns = union.header.length;
  const extraColumns = Array.from({ length: extras }, (_, index) => extraColumn(index + 1));
  const line = (cells: readonly string[]) => formatRow(cells.map(inertCell), delimiter) + newline;
  let text = `\ufeff${line([...union.header, ...extraColumns, ...ownColumns])}`;

  for await (const json of linesOf(await folder.read(ROWS_FILE))) {
    const [header, place, reason, cells] = gatheredRow.parse(JSON.parse(json));
    const positions = union.positions[header] ?? [];
    const written: string[] = new Array(columns + extras).fill('');
    for (const [index, cell] of cells.entries()) {
      written[positions[index] ?? columns + index - positions.length] = cell;
    }
    written.push(...[reason, place].slice(0, ownColumns.length));
    text += line(written);
    if (text.length >= WRITTEN_AT_ONCE) {
      yield text;
      text = '';
    }
  }
  yield text;
}

/** Lines that end with LF only: readline also splits at U+2028, which JSON does not escape. */
async function* linesOf(stream: Readable): AsyncGenerator<string> {
  stream.setEncoding('utf8');
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

/** The file that the user corrects, its untouched copy, and the facts that neither of them contains. */
export const REJECTS_FILE = 'rejects.csv';
/** The same as a workbook, if the source is one. */
export const REJECTS_WORKBOOK = 'rejects.xlsx';
/** The copy of the rejects file that is never edited. */
export const UNTOUCHED_FILE = 'rejects-untouched.csv';
/** The rejected rows whose contact the crosswalk does not know. */
export const UNMATCHED_FILE = 'unmatched.csv';
const INDEX_FILE = 'rejects.json';

const indexSchema = z.strictObject({
  delimiter: z.string(),
  /** How many `storeferry_extra_n` columns there are. */
  extras: z.int().min(0),
  /** The headers of the rejected rows, each once. */
  headers: z.array(z.array(z.string())).min(1),
  /** Every rejected key, with the position of the ledger (`Ledger.position`) at that time. */
  keys: z.array(z.tuple([z.string(), z.string()])),
  /** The `storeferry_line` of each row that was rejected without a key. */
  keyless: z.array(z.string()).exactOptional(),
  /** The `storeferry_line` of each row that continues the record of the row before. */
  continues: z.array(z.string()),
  /**
   * By `storeferry_line`: rows that were shorter or longer than their header, and rows under another header than the
   * first.
   */
  rows: z.record(z.string(), z.strictObject({ cells: z.int().optional(), header: z.int().optional() })),
});

/** Facts that a rejects file itself does not contain: the lengths of rows, and their headers and keys. */
export type RejectsIndex = z.infer<typeof indexSchema>;

/** A rejected key, and the position of the ledger when it was rejected. */
export type RejectedKey = RejectsIndex['keys'][number];

type WrittenIndex = Omit<RejectsIndex, 'headers'> & Pick<Gathered, 'headers'>;

/** StateError if the run has no rejects, or another version wrote them. */
export async function readRejectsIndex(folder: RunFolder): Promise<RejectsIndex> {
  try {
    return indexSchema.parse(JSON.parse(await text(await folder.read(INDEX_FILE))));
  } catch (cause) {
    if (cause instanceof StateError) throw cause;
    throw new StateError(`${folder.location}: ${INDEX_FILE} is damaged.`, {
      cause,
      hint: 'Run the job again: it writes new rejects.',
    });
  }
}

/** The columns that a rejects file adds after those of the source. */
export const REASON_COLUMN = 'storeferry_reason';
/** The position of the row in its source. */
export const LINE_COLUMN = 'storeferry_line';

/** The column for the n-th cell (from 1) of a long row beyond its header. */
export function extraColumn(number: number): string {
  return `storeferry_extra_${number}`;
}

/** Several headers as one: every column of each header, those of the first one first. */
interface ColumnUnion {
  readonly header: readonly string[];
  /** For each header, the positions of its columns in the union. */
  readonly positions: readonly (readonly number[])[];
}

/** Unites headers by name. Columns that repeat a name within a header are kept apart by their occurrence. */
export function uniteColumns(headers: readonly (readonly string[])[]): ColumnUnion {
  const places = new Map<string, number>();
  const union: string[] = [];
  const positions = headers.map((header) =>
    columnKeys(header).map((key, index) => {
      const known = places.get(key);
      if (known !== undefined) return known;
      places.set(key, union.length);
      union.push(header[index] ?? '');
      return union.length - 1;
    }),
  );
  return { header: union, positions };
}

/** A key for each column: its name and its occurrence among columns of that name. */
export function columnKeys(header: readonly string[]): string[] {
  const seen = new Map<string, number>();
  return header.map((name) => {
    const occurrence = (seen.get(name) ?? 0) + 1;
    seen.set(name, occurrence);
    return `${occurrence}:${name}`;
  });
}

/** The cells without trailing blank cells that have no column in the header. */
export function withoutBlankSurplus(cells: readonly string[], columns: number): readonly string[] {
  let length = cells.length;
  while (length > columns && cells[length - 1]?.trim() === '') length -= 1;
  return length === cells.length ? cells : cells.slice(0, length);
}
