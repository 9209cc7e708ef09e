import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { type Stored, withoutAbsent } from '../model/json-object.ts';
import { faultsOf, type Reason } from '../model/reason.ts';
import {
  currenciesNamed,
  DATE_CELL,
  type Dialect,
  formatRow,
  inertCell,
  isMark,
  type Row,
  type RowSpan,
  rowPlace,
  type Table,
  type TablePlaces,
} from '../model/row.ts';
import { StateError } from '../model/storeferry-error.ts';
import { type RunFolder, readLines } from '../state/artifacts.ts';

const ROWS_FILE = 'rejects-rows.jsonl';
const WRITTEN_AT_ONCE = 256 * 1024;
/**
 * All rows are as wide as the widest, so a file of a megabyte could make one of gigabytes. Nobody corrects that: beyond this many
 * cells that the rows do not have, there is no rejects file.
 */
const MAX_PADDING_CELLS = 50_000_000;

/** A file of the snapshot, to be read again. */
interface RejectsSource extends RowNames {
  readonly name: string;
  open(): Promise<Table & { readonly dialect: Dialect }>;
}

export interface WriteRejectsOptions {
  readonly folder: RunFolder;
  /** The files of the snapshot, in its order. */
  readonly sources: readonly RejectsSource[];
  readonly rejections: AsyncIterable<readonly Rejection[]>;
  /** What the index needs to know about the keys of these rejections. */
  readonly describeKeys?: ((keys: Iterable<string>) => Promise<RejectedKey[]>) | undefined;
  /** What the store sells in. */
  readonly currency?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Writes the rejected rows of the snapshot in source order, unaltered but for marks where a spreadsheet would run a formula
 * (`inertCell`) and currencies (`withCurrencies`), each with why and from where: what the user
 * corrects, and a copy that stays untouched. Gives how many rows were written: 0, and no file, if there are none, or if they
 * would need too much padding.
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
async function withRejectedRows(options: WriteRejectsOptions, write: (gathered: Gathered) => Promise<void>) {
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
    cells: 0,
    extras: 0,
    delimiter: undefined,
    newline: '\n',
  };
  try {
    await folder.write(ROWS_FILE, gather({ rejected, keyless }, options, gathered));
    const width = uniteColumns(gathered.headers).header.length + gathered.extras;
    if (width * gathered.rows - gathered.cells > MAX_PADDING_CELLS) return { rows: 0 };
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
  /** Without blank ones at the end of a row. */
  cells: number;
  extras: number;
  /** Of the first file with rejected rows. */
  delimiter: string | undefined;
  newline: '\n' | '\r\n';
  readonly headers: (readonly string[])[];
  readonly index: RejectsIndex['rows'];
}

const gatheredRow = z.tuple([z.int(), z.string(), z.string(), z.array(z.string())]);
type GatheredRow = Stored<typeof gatheredRow>;

/**
 * The rejected rows as JSON lines: header, `storeferry_line`, reason, cells. The width of the file is not known yet.
 */
async function* gather(
  { rejected, keyless }: Readonly<Record<'rejected' | 'keyless', RejectedSpans>>,
  { sources, currency, signal }: WriteRejectsOptions,
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
        const cells = withoutBlankSurplus(
          withCurrencies(row, table.header, { reason, sold: currency, refuses: lines.refuses }),
          columns,
        );
        const line = sources.length > 1 ? `${source.name}:${row.line}` : String(row.line);
        gathered.rows += 1;
        if (withoutKey?.at(row.line) !== undefined) gathered.keyless.push(line);
        if (!lines.begins(row.line)) gathered.continues.push(line);
        gathered.extras = Math.max(gathered.extras, cells.length - columns);
        const ragged = cells.length !== columns;
        if (ragged || header > 0)
          gathered.index[line] = { ...(ragged && { cells: cells.length }), ...(header > 0 && { header }) };
        const values = cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1);
        gathered.cells += values.length;
        text += `${JSON.stringify([header, line, reason, values] satisfies GatheredRow)}\n`;
      }
      if (text !== '') yield text;
      if ((batch.at(-1)?.line ?? 0) >= lines.lastLine) break;
    }
  }
}

/**
 * A retry reads texts, without the formats of a workbook. So an amount in another currency than the store's is written with its
 * currency; where the store's is not known, an amount whose column a reason names. So is a cell with a mark that is refused for it.
 */
function withCurrencies(
  { cells, currencies }: Row,
  header: readonly string[],
  {
    reason,
    sold,
    refuses,
  }: {
    readonly reason: string;
    readonly sold: string | undefined;
    readonly refuses: (code: string, column: string | undefined) => boolean;
  },
) {
  if (currencies === undefined) return cells;
  return cells.map((cell, index) => {
    const named = currencies[index];
    if (named === undefined) return cell;
    const fits = (word: string) => sold !== undefined && currenciesNamed(word)?.includes(sold) === true;
    const name = header[index] ?? '';
    const words = named.split(' ');
    const isRefused = (mark: string) =>
      refuses(mark === DATE_CELL ? 'made-a-date' : 'shown-otherwise', header[index]);
    const isKept =
      sold === undefined
        ? name !== '' && reason.includes(name)
        : !words.every((word) => isMark(word) || fits(word));
    return [cell, ...words.filter((word) => (isMark(word) ? isRefused(word) : isKept))].join(' ');
  });
}

function indexOfHeader({ headers }: Gathered, header: readonly string[]) {
  const text = JSON.stringify(header);
  const known = headers.findIndex((other) => JSON.stringify(other) === text);
  return known >= 0 ? known : headers.push(header) - 1;
}

async function* compose(
  { folder }: WriteRejectsOptions,
  gathered: Gathered,
  ownColumns: readonly string[],
): AsyncGenerator<string> {
  const { headers, extras, newline, delimiter = ',' } = gathered;
  const union = uniteColumns(headers);
  const columns = union.header.length;
  const extraColumns = Array.from({ length: extras }, (_, index) => extraColumn(index + 1));
  const line = (cells: readonly string[]) => formatRow(cells.map(inertCell), delimiter) + newline;
  let text = `\ufeff${line([...union.header, ...extraColumns, ...ownColumns])}`;

  for await (const lines of readLines(folder, ROWS_FILE)) {
    for (const json of lines) {
      const [header, place, reason, cells] = gatheredRow.parse(JSON.parse(json));
      const positions = union.positions[header] ?? [];
      const written: string[] = new Array(columns + extras).fill('');
      for (const [index, cell] of cells.entries())
        written[positions[index] ?? columns + index - positions.length] = cell;
      written.push(...[reason, place].slice(0, ownColumns.length));
      text += line(written);
      if (text.length >= WRITTEN_AT_ONCE) {
        yield text;
        text = '';
      }
    }
  }
  yield text;
}

/** The file that the user corrects. */
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

/** Unites headers by name. Columns that repeat a name within a header are kept apart by their occurrence. */
export function uniteColumns(headers: readonly (readonly string[])[]) {
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
  return {
    header: union,
    /** For each header, the positions of its columns in the union. */
    positions,
  };
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

/** Rows that were refused together, by the mapping or by the store. */
interface Rejection {
  readonly spans: readonly RowSpan[];
  readonly reason: Reason;
  /** Null if it cannot be read; absent if it says nothing about what may be retried. */
  readonly key?: string | null;
}

/** How rows of a file of the snapshot are identified. */
interface RowNames {
  /** If the file has no text lines. */
  readonly places?: TablePlaces | undefined;
  /** As in a PlanSource. */
  readonly sourceRows?: Readonly<Record<string, string>> | undefined;
}

type NamesOf = (file: number) => RowNames;

const MAX_REASONS = 5;
const MAX_REASON_LENGTH = 1000;

/**
 * The rejected rows and their reasons: up to millions of spans in any order, which may overlap, stored as numbers.
 * Each distinct sentence is stored once: positions are added when a row is written.
 */
export class RejectedSpans {
  #file = new Uint32Array(1024);
  #from = new Float64Array(1024);
  #to = new Float64Array(1024);
  #sentence = new Uint32Array(1024);
  /** The position of the cause; NaN if there is none. */
  #cause = new Float64Array(1024);
  #causeFile = new Uint32Array(1024);
  #count = 0;
  readonly #sentences: Sentence[] = [];
  readonly #sentenceIds = new Map<string, number>();
  readonly #namesOf: NamesOf;

  constructor(namesOf: NamesOf = () => ({})) {
    this.#namesOf = namesOf;
  }

  add({ spans, reason }: Rejection): void {
    for (const fault of faultsOf(reason)) this.#add(spans, this.#idOf(fault), fault.line);
  }

  #add(spans: Rejection['spans'], sentence: number, cause = Number.NaN) {
    for (const { file, from, to } of spans) {
      if (this.#count === this.#file.length) this.#double();
      this.#file[this.#count] = file;
      this.#from[this.#count] = from;
      this.#to[this.#count] = to;
      this.#sentence[this.#count] = sentence;
      this.#cause[this.#count] = cause;
      this.#causeFile[this.#count] = spans[0]?.file ?? 0;
      this.#count += 1;
    }
  }

  /**
   * The reasons for the rows of one file, to be queried in the order of lines; undefined if the file has no rejected
   * row.
   */
  sweep(file: number) {
    const order = new Uint32Array(this.#count);
    let found = 0;
    for (let index = 0; index < this.#count; index += 1) {
      if (this.#file[index] === file) {
        order[found] = index;
        found += 1;
      }
    }
    if (found === 0) return undefined;
    const from = this.#from;
    const sorted = order.subarray(0, found).sort((a, b) => (from[a] ?? 0) - (from[b] ?? 0) || a - b);
    let lastLine = 0;
    for (const index of sorted) lastLine = Math.max(lastLine, this.#to[index] ?? 0);

    let next = 0;
    let active: number[] = [];
    return {
      /** No rows are rejected after this line. */
      lastLine,
      /** The reason for the row that starts on this line; undefined if it is not rejected. */
      at: (line: number): string | undefined => {
        let expired = false;
        for (; next < found && (from[sorted[next] ?? 0] ?? 0) <= line; next += 1)
          active.push(sorted[next] ?? 0);
        for (const index of active) if ((this.#to[index] ?? 0) < line) expired = true;
        if (expired) active = active.filter((index) => (this.#to[index] ?? 0) >= line);
        return active.length === 0 ? undefined : this.#joined(active, line);
      },
      /** Whether a rejected record begins with the row for which `at` was called last. */
      begins: (line: number): boolean => active.some((index) => from[index] === line),
      /** Whether the row for which `at` was called last is rejected with this code for a cell of the column. */
      refuses: (code: string, column: string | undefined): boolean =>
        active.some((index) => {
          const sentence = this.#sentences[this.#sentence[index] ?? 0];
          return sentence?.code === code && sentence.column === column;
        }),
    };
  }

  #joined(active: readonly number[], line: number) {
    const texts = [...new Set(active.map((index) => this.#textOf(index, line)))];
    const shown = texts.slice(0, MAX_REASONS);
    if (texts.length > MAX_REASONS) shown.push(`${texts.length - MAX_REASONS} more`);
    return shown.join(' / ');
  }

  /** The reason of a span for the row on `line`: the row of the cause has its position in `storeferry_line`. */
  #textOf(index: number, line: number) {
    const sentence = this.#sentences[this.#sentence[index] ?? 0];
    const cause = this.#cause[index] ?? Number.NaN;
    if (sentence === undefined) return '';
    const names = this.#namesOf(this.#causeFile[index] ?? 0);
    return reasonText(sentence, names, Number.isNaN(cause) ? undefined : cause, line);
  }

  #idOf({ code, message, column }: Reason) {
    const key = `${code}\n${message}\n${column ?? ''}`;
    const known = this.#sentenceIds.get(key);
    if (known !== undefined) return known;
    this.#sentenceIds.set(key, this.#sentences.length);
    return this.#sentences.push({ code, message, column }) - 1;
  }

  #double() {
    const size = this.#count * 2;
    const grow = <T extends Uint32Array | Float64Array>(old: T, larger: T) => {
      larger.set(old);
      return larger;
    };
    this.#file = grow(this.#file, new Uint32Array(size));
    this.#from = grow(this.#from, new Float64Array(size));
    this.#to = grow(this.#to, new Float64Array(size));
    this.#sentence = grow(this.#sentence, new Uint32Array(size));
    this.#cause = grow(this.#cause, new Float64Array(size));
    this.#causeFile = grow(this.#causeFile, new Uint32Array(size));
  }
}

/** What a reason says, without a position. */
interface Sentence {
  readonly code: string;
  readonly message: string;
  readonly column: string | undefined;
}

/** The text of a reason for a cell on `line`, with the position of its cause, unless that is `line`, which `storeferry_line` names. */
function reasonText(
  { message, column }: Sentence,
  { places, sourceRows }: RowNames,
  cause: number | undefined,
  line: number,
) {
  const row = cause === undefined || cause === line ? undefined : rowPlace(cause, column, places);
  const place = withoutAbsent([
    row,
    cause === undefined ? undefined : sourceRows?.[cause],
    column === undefined || row?.endsWith(column) ? undefined : `column ${column}`,
  ]);
  return `${message}${place.length === 0 ? '' : ` (${place.join(', ')})`}`.slice(0, MAX_REASON_LENGTH);
}
