import { hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { ExportJob } from '../../config/job/job.ts';
import { type Row, withoutInertMark } from '../../model/row.ts';
import { CsvError, DestinationError } from '../../model/storeferry-error.ts';
import { readCsv } from '../../tables/open-table.ts';
import {
  type CsvStyle,
  cellAsText,
  columnTypes,
  csvLine,
  csvStyle,
  csvText,
  markOf,
  type TablePass,
  type TypedCell,
  writeTable,
} from '../../tables/write-table.ts';
import { exactJson, exactText, isPlainObject } from '../exact-json.ts';
import { changedMeanwhile, type Destination } from '../open-destination.ts';
import { type RowShape, timeOf } from './row-shape.ts';
import { textLines, watchBytes } from './text-lines.ts';

/** Items as JSON, in batches. */
export type Items = AsyncIterable<readonly string[]>;

/** The result of writing to the destination. */
export interface Written {
  /** Lines that were added, without the header; rows of a table that were added or updated. */
  readonly lines: number;
  /** Set if the file is new: there was no content to add to. */
  readonly begun?: true;
  /** Size of the whole file. */
  readonly bytes: number;
  /** Notes for people, in sentences. */
  readonly notes: readonly string[];
}

/** What a file is written from. */
export interface FileContent {
  /** Opens the items, from the first one each time: Parquet and tables read them twice. */
  readonly items: (pass: TablePass) => Items;
  readonly shape: RowShape;
  readonly file: Pick<ExportJob['destination'], 'format' | 'delimiter' | 'decimal'>;
  readonly signal: AbortSignal;
}

/**
 * Writes the file of an export, completely or not at all: in place of the one that is there, or with its lines. DestinationError for
 * a format to whose files nothing can be added.
 */
export async function writeFile(
  destination: Destination,
  mode: ExportJob['destination']['mode'],
  content: FileContent,
): Promise<Written> {
  if (mode === 'replace') return await replaceFile(destination, content);
  const { format } = content.file;
  switch (format) {
    case 'jsonl':
    case 'csv':
    case 'excel-csv':
      return await appendFile(destination, { ...content, file: { ...content.file, format } });
    case 'xlsx':
    case 'parquet':
      throw new DestinationError(`A file of the format ${format} is written whole.`, {
        hint: 'Set `mode: replace` under destination in the job.',
      });
    default:
      return format satisfies never;
  }
}

/** Replaces the destination. `ifVersion` as for `Destination.write`: null if no file may exist yet. */
export async function replaceFile(
  destination: Destination,
  { items, shape, file, signal, ifVersion }: FileContent & { readonly ifVersion?: string | null | undefined },
): Promise<Written> {
  let lines = 0;
  const bytes = await destination.write(
    content(),
    ifVersion === undefined ? { signal } : { signal, ifVersion },
  );
  return { lines, bytes, notes: [] };

  function content() {
    const { format, decimal } = file;
    const table = {
      name: 'Export',
      columns: shape.columns,
      rows: (pass: TablePass) => converted(pass, shape.cells),
    };
    switch (format) {
      case 'jsonl':
        return jsonLines();
      case 'csv':
      case 'excel-csv':
        return csvText(table, csvStyle({ ...file, format }), decimal);
      case 'xlsx':
      case 'parquet':
        return writeTable(table, format);
      default:
        return format satisfies never;
    }
  }

  async function* converted<Line>(pass: TablePass, convert: (item: string) => Line): AsyncGenerator<Line[]> {
    lines = 0;
    for await (const batch of items(pass)) {
      lines += batch.length;
      yield batch.map(convert);
    }
  }

  async function* jsonLines(): AsyncGenerator<string> {
    for await (const batch of converted('content', shape.json))
      yield batch.map((line) => `${line}\n`).join('');
  }
}

/** The key of a line, from the values of its key columns. */
export function lineKey(values: readonly string[]): string {
  return values.join('\u001f');
}

/** The present content of the destination, and how it is written again. */
interface Found {
  /** What `linePrint` gives for the last line of each key. */
  readonly known: ReadonlyMap<string, string>;
  readonly notes: readonly string[];
  again(content: Readable): AsyncIterable<string>;
  lineOf(item: string): NewLine;
}

/** A line for an item, ended. */
interface NewLine {
  /** Empty for an order without an id, which cannot be compared. */
  readonly key: string;
  /** What is compared with the last line of its key. */
  readonly compared: string;
  readonly text: string;
  /** It has a value where the file has no column. */
  readonly hasMore?: boolean;
}

/** An existing table keeps its delimiter, line ends, and the form of decimals and times; JSON Lines get line feeds and no byte order mark. */
interface AppendFileOptions extends FileContent {
  readonly file: FileContent['file'] & { readonly format: 'jsonl' | 'csv' | 'excel-csv' };
}

/**
 * Adds lines to a file, completely or not at all: it is written again with its previous content and the lines that it lacks. One with
 * the key of a line is there, if it is that of a history or, of an order, equal. DestinationError for a file to which nothing can
 * safely be added, such as one whose last line is incomplete.
 */
export async function appendFile(destination: Destination, options: AppendFileOptions): Promise<Written> {
  const { items, shape, signal, file } = options;
  const { format } = file;
  const before = await destination.read(signal);
  const found =
    before &&
    (format === 'jsonl'
      ? await inspectLines(before.content, destination, options)
      : await inspectTable(before.content, destination, options, csvStyle({ ...file, format })));
  if (found === undefined) {
    const ifVersion = before === undefined ? null : (before.version ?? undefined);
    return { ...(await replaceFile(destination, { ...options, ifVersion })), begun: true };
  }
  const version = before?.version ?? null;
  let lines = 0;
  let there = 0;
  const bytes = await destination.write(
    content(found),
    version === null ? { signal } : { signal, ifVersion: version },
  );
  // Normal for orders.
  const repeated =
    there > 0 && shape.isHistory ? [`${there} lines were already in the file and were not added again.`] : [];
  return { lines, bytes, notes: [...found.notes, ...repeated] };

  async function* content({ known, again, lineOf }: Found): AsyncGenerator<string> {
    const now = await destination.read(signal);
    if (now === undefined || now.version !== version) {
      now?.content.destroy();
      throw changedMeanwhile(destination.location);
    }
    yield* again(now.content);
    for await (const batch of items('content')) {
      let text = '';
      for (const item of batch) {
        const line = lineOf(item);
        if (line.key === '')
          throw new DestinationError(
            `An order has no id, so it cannot be compared with the orders in ${destination.location}; nothing was added.`,
            { hint: 'Set `mode: replace` under destination in the job.' },
          );
        if (line.hasMore !== true && known.get(line.key) === linePrint(line.compared, shape)) there++;
        else {
          lines++;
          text += line.text;
        }
      }
      if (text !== '') yield text;
    }
  }
}

/** What is kept of a line of the file, to see later whether an order has changed; nothing of a history, whose lines never change. */
function linePrint(text: string, { isHistory }: RowShape) {
  return isHistory ? '' : hash('sha256', text, 'base64url');
}

/** Undefined for anything but a JSON object. */
function keyOf(line: string, { keyColumns }: RowShape) {
  let value: unknown;
  try {
    value = exactJson(line);
  } catch {
    return undefined;
  }
  return isPlainObject(value) ? lineKey(keyColumns.map((name) => exactText(value[name]) ?? '')) : undefined;
}

async function inspectLines(
  content: Readable,
  { location: file }: Destination,
  { shape }: AppendFileOptions,
): Promise<Found> {
  const known = new Map<string, string>();
  const odd: number[] = [];
  for await (const batch of textLines(content, file)) {
    for (const { number, text, ended } of batch) {
      if (text.trim() === '') continue;
      const key = keyOf(text, shape);
      if (key !== undefined) known.set(key, linePrint(text, shape));
      else if (ended) odd.push(number);
      else
        throw new DestinationError(
          'The last line is not a complete JSON object and has no line end, so nothing is added.',
          {
            place: { file, line: number },
            hint: 'Correct or remove that line, then run again: no reading is lost.',
          },
        );
    }
  }
  if (known.size === 0 && odd.length > 0)
    throw new DestinationError(
      'The file has no JSON objects: this job did not write it, or wrote it in another format.',
      { place: { file, line: odd[0] ?? 1 }, hint: OTHER_FILE },
    );
  return {
    known,
    notes:
      odd.length === 0
        ? []
        : [
            `These lines of the file are not JSON objects and were not changed: ${odd.slice(0, ODD_SHOWN).join(', ')}.`,
          ],
    async *again(content) {
      for await (const batch of textLines(content, file))
        yield `${batch.map(({ text }) => text).join('\n')}\n`;
    },
    lineOf(item) {
      const line = shape.json(item);
      return { key: keyOf(line, shape) ?? '', compared: line, text: `${line}\n` };
    },
  };
}

const ODD_SHOWN = 5;
const OTHER_FILE = 'Give destination another path, or move the file away to begin a new one.';
/** How a cell of a file writes decimals or times: by the sign of decimals, in seconds, or as a time. */
type Form = '.' | ',' | 'seconds' | 'time';
const WRITTEN = /^(?:-?\d+(?<sign>[.,])\d+|(?<seconds>\d{1,12})|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)$/;

function formOf(cell: string): Form | undefined {
  const { groups } = WRITTEN.exec(cell) ?? {};
  if (groups === undefined) return undefined;
  if (groups['sign'] !== undefined) return groups['sign'] === '.' ? '.' : ',';
  return groups['seconds'] === undefined ? 'time' : 'seconds';
}

/** By column, the forms of its cells. */
type FormsFound = ReadonlyMap<string, ReadonlySet<Form>>;

/** The forms of a file, whatever the job says now; `times` is undefined if the file does not contradict the job. */
interface FileForms {
  readonly decimal: '.' | ',';
  readonly times: 'seconds' | 'time' | undefined;
}

/** The sign of decimals is that of all columns of numbers: texts may look like numbers of another sign, such as `9,5`. */
async function fileForms(
  found: FormsFound,
  { items, shape, file: { decimal = '.' } }: AppendFileOptions,
): Promise<FileForms> {
  const { columns, timeColumns } = shape;
  const hasOnly = (among: readonly string[], form: Form, opposite: Form) => {
    const forms = among.flatMap((column) => [...(found.get(column) ?? [])]);
    return forms.includes(form) && !forms.includes(opposite);
  };
  const other = decimal === '.' ? ',' : '.';
  const isOther =
    columns.some((column) => found.get(column)?.has(other)) && hasOnly(await numberColumns(), other, decimal);
  const isSeconds = hasOnly(timeColumns, 'seconds', 'time');
  const isTime = hasOnly(timeColumns, 'time', 'seconds');
  return { decimal: isOther ? other : decimal, times: isSeconds ? 'seconds' : isTime ? 'time' : undefined };

  async function numberColumns() {
    const types = await columnTypes(columns.length, rows());
    return columns.filter((_, index) => types[index]?.kind === 'number');
  }

  async function* rows() {
    for await (const batch of items('types')) yield batch.map(shape.cells);
  }
}

/** A cell as a file writes such cells; `isTime`: its column has times. */
function writtenAs(cell: TypedCell, isTime: boolean, { decimal, times }: FileForms) {
  if (cell instanceof Date && times === 'seconds') return String(cell.getTime() / 1_000);
  const time = isTime && times === 'time' ? timeOf(cell) : undefined;
  return cellAsText(time ?? cell, decimal);
}

const WHOLE_INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const CORRECT_LINE =
  'Correct or remove that line (or move the file away to begin a new one), then run again: no reading is lost.';

/**
 * Columns are matched by name: a missing column is added and is blank in earlier lines; a column that only the file has is blank in
 * new lines. Undefined for an empty file.
 */
async function inspectTable(
  content: Readable,
  { location: name }: Destination,
  options: AppendFileOptions,
  wanted: CsvStyle,
): Promise<Found | undefined> {
  const { shape, file } = options;
  const bytes = watchBytes(content);
  // The original of a cell, before it was written for spreadsheets.
  const plain = wanted.forSpreadsheets ? withoutInertMark : (cell: string) => cell;
  const placeOf = (column: string) => shape.columns.indexOf(column);
  try {
    const table = await readCsv(bytes.content, { name });
    const header = table.header.map(plain);
    refuseHeader(header, shape, name);
    const own = header.flatMap((column, place) => (shape.columns.includes(column) ? [place] : []));
    const ownKeys = shape.keyColumns.map((column) => header.indexOf(column));
    const known = new Map<string, string>();
    const odd: number[] = [];
    const found = new Map<string, Set<Form>>();
    let last: Row | undefined;
    for await (const rows of table.batches()) {
      for (const { line, cells } of rows) {
        if (cells.length !== header.length) odd.push(line);
        for (const place of own) {
          const form = formOf(cells[place] ?? '');
          const column = header[place] ?? '';
          if (form !== undefined) found.set(column, (found.get(column) ?? new Set()).add(form));
        }
        // A file that was begun for spreadsheets has marks that the job no longer writes.
        const textOf = (places: readonly number[]) =>
          lineKey(places.map((place) => withoutInertMark(cells[place] ?? '')));
        known.set(textOf(ownKeys), linePrint(textOf(own), shape));
      }
      last = rows.at(-1) ?? last;
    }
    if (!bytes.endsLine()) refuseHalfLine(header, last, name);
    const { delimiter, newline: ends, bom } = table.dialect;
    const newline = ends === '\r\n' || ends === '\n' ? ends : wanted.newline;
    const style = { ...wanted, delimiter, newline, bom: wanted.bom || bom };

    const added = shape.columns.filter((column) => !header.includes(column));
    const columns = [...header, ...added];
    const keyPlaces = shape.keyColumns.map(placeOf);
    const common = header.map(placeOf).filter((place) => place >= 0);
    const areTimes = shape.columns.map((column) => shape.timeColumns.includes(column));
    const forms = await fileForms(found, options);
    let isNoted = false;
    const notes = oddNotes(odd, header.length);
    if (added.length > 0)
      notes.push(`The file had no column ${added.join(', ')}. It was added, and is blank in earlier lines.`);
    return {
      known,
      notes,
      async *again(content) {
        yield markOf(style) + csvLine(columns, style);
        const blanks = added.map(() => '');
        for await (const rows of (await readCsv(content, { name })).batches())
          yield rows
            .map(({ cells }) => cells.map(plain))
            .map((cells) => csvLine(cells.length === header.length ? [...cells, ...blanks] : cells, style))
            .join('');
      },
      lineOf(item) {
        const typed = shape.cells(item);
        const cells = typed.map((cell, place) => writtenAs(cell, areTimes[place] === true, forms));
        if (!isNoted && typed.some((cell, place) => cellAsText(cell, file.decimal) !== cells[place])) {
          isNoted = true;
          notes.push(
            'The file keeps the way in which it writes decimals and times: to begin one as the job now says, move it away.',
          );
        }
        const at = (places: readonly number[]) => places.map((place) => cells[place] ?? '');
        const key = at(keyPlaces).map(withoutInertMark);
        return {
          key: key[0] === '' ? '' : lineKey(key),
          compared: lineKey(at(common).map(withoutInertMark)),
          text: csvLine(at(columns.map(placeOf)), style),
          hasMore: !shape.isHistory && at(added.map(placeOf)).some((cell) => cell !== ''),
        };
      },
    };
  } catch (error) {
    bytes.content.destroy();
    if (!(error instanceof CsvError)) throw error;
    if (bytes.isEmpty()) return undefined;
    throw new DestinationError(`Nothing can be added to the file: ${error.message}`, {
      place: error.place,
      hint: CORRECT_LINE,
      cause: error,
    });
  }
}

function refuseHeader(header: readonly string[], { keyColumns }: RowShape, name: string) {
  const place = { file: name, line: 1 };
  const lacking = keyColumns.filter((column) => !header.includes(column));
  if (lacking.length > 0) {
    throw new DestinationError(
      `The file has no column ${lacking.join(' and no ')}: this job did not write it, or wrote it in another format.`,
      { place, hint: OTHER_FILE },
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
function refuseHalfLine(header: readonly string[], last: Row | undefined, name: string) {
  const lastColumn = header.at(-1);
  if (last === undefined && lastColumn === 'read_at') return;
  const isWhole = last?.cells.length === header.length && WHOLE_INSTANT.test(last.cells.at(-1) ?? '');
  if (lastColumn === 'read_at' && isWhole) return;
  throw new DestinationError('The last line has no line end and may be incomplete, so nothing is added.', {
    place: { file: name, line: last?.line ?? 1 },
    hint: `Add a line break if it is complete. ${CORRECT_LINE}`,
  });
}

function oddNotes(lines: readonly number[], columns: number) {
  if (lines.length === 0) return [];
  const shown = lines.slice(0, ODD_SHOWN).join(', ');
  const more = lines.length > ODD_SHOWN ? ` and ${lines.length - ODD_SHOWN} more` : '';
  return [`Lines of the file that do not have its ${columns} columns were not changed: ${shown}${more}.`];
}
