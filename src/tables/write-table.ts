import { PassThrough, Readable } from 'node:stream';
import type { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import yazl from 'yazl';
import { formatRow, inertCell, MAX_SHEET_COLUMNS, MAX_SHEET_ROWS } from '../model/row.ts';
import { DestinationError } from '../model/storeferry-error.ts';
import { columnLetters } from './number-text.ts';

/**
 * A cell with its type. A number is its digits, so that none is lost: amounts are decimal, and ids may be longer than
 * numbers of JavaScript. Null is an empty cell.
 */
export type TypedCell = string | boolean | Date | null | { readonly number: string };

/** A table to write. */
export interface WrittenTable {
  /** Of the sheet. */
  readonly name: string;
  readonly columns: readonly string[];
  /** Whether a sheet has the beginning of a text that is too long for a cell; otherwise it is refused. */
  readonly cutsTexts?: boolean;
  /** Opens the rows, from the first one each time, in batches. */
  readonly rows: (pass: TablePass) => AsyncIterable<readonly (readonly TypedCell[])[]>;
}

/** Why rows are read: formats and tables with types need those of all values before the first row is written. */
export type TablePass = 'types' | 'content';

/** A cell as text; `decimal` is the sign of decimals. A time is `2026-11-01 06:00:00`, in UTC. */
export function cellAsText(cell: TypedCell, decimal: '.' | ',' = '.'): string {
  if (cell === null) return '';
  if (typeof cell === 'string') return cell;
  if (typeof cell === 'boolean') return String(cell);
  if (cell instanceof Date) return cell.toISOString().replace(/\..*/, '').replace('T', ' ');
  return decimal === '.' ? cell.number : cell.number.replace('.', decimal);
}

/** The formats of tables that Storeferry writes. */
export type WrittenFormat = 'csv' | 'excel-csv' | 'xlsx' | 'parquet';

/** The style of the lines of a CSV file. */
export type CsvStyle = ReturnType<typeof csvStyle>;

/** How a job writes CSV. */
export interface CsvOptions {
  readonly format: 'csv' | 'excel-csv';
  readonly delimiter?: string | undefined;
  /** The sign of decimals. Default: the point. */
  readonly decimal?: '.' | ',';
}

/** The style of a new CSV file: `excel-csv` is for spreadsheets, `csv` for everything else. */
export function csvStyle({ format, decimal, delimiter = decimal === ',' ? ';' : ',' }: CsvOptions) {
  const forSpreadsheets = format === 'excel-csv';
  return {
    delimiter,
    newline: forSpreadsheets ? '\r\n' : '\n',
    /** Whether the file begins with a byte order mark. */
    bom: forSpreadsheets,
    /** For spreadsheets: no cell starts a formula. */
    forSpreadsheets,
  };
}

/**
 * What spreadsheets of people who read this language open: where decimals have a comma, columns are separated by semicolons.
 * `languages`: as a browser sends them, the preferred one first.
 */
export function csvForLanguage(languages = ''): CsvOptions {
  const [tag = ''] = languages.split(/[,;]/, 1);
  const [language = 'en'] = Intl.NumberFormat.supportedLocalesOf(/^[A-Za-z-]+$/.test(tag) ? tag : 'en');
  const hasComma = new Intl.NumberFormat(language).format(1.5).includes(',');
  return { format: 'excel-csv', decimal: hasComma ? ',' : '.' };
}

/** For programs, but no cell starts a formula where somebody opens it in a spreadsheet. */
export const INERT_CSV: CsvStyle = { ...csvStyle({ format: 'csv' }), forSpreadsheets: true };

/** The text before the header. */
export function markOf({ bom }: CsvStyle): string {
  return bom ? '\ufeff' : '';
}

/** One row with its line end. */
export function csvLine(cells: readonly string[], style: CsvStyle): string {
  return formatRow(style.forSpreadsheets ? cells.map(inertCell) : cells, style.delimiter) + style.newline;
}

/** The text of a CSV file, in pieces. */
export async function* csvText(
  { columns, rows }: WrittenTable,
  style: CsvStyle,
  decimal: '.' | ',' = '.',
): AsyncGenerator<string> {
  yield markOf(style) + csvLine(columns, style);
  for await (const batch of rows('content')) {
    yield batch
      .map((cells) =>
        csvLine(
          cells.map((cell) => cellAsText(cell, decimal)),
          style,
        ),
      )
      .join('');
  }
}

/** The bytes of a table in a format. DestinationError for a table that a format cannot hold. */
export function writeTable(table: WrittenTable, format: WrittenFormat): AsyncIterable<Uint8Array | string> {
  switch (format) {
    case 'csv':
    case 'excel-csv':
      return csvText(table, csvStyle({ format }));
    case 'xlsx':
      return writeXlsx(table);
    case 'parquet':
      return writeParquet(table);
    default:
      return format satisfies never;
  }
}

/** Excel cuts texts after this many characters, and repairs files with longer ones. */
export const MAX_CELL_LENGTH = 32_767;
/** Excel keeps no more digits of a number. */
const MAX_SHEET_DIGITS = 15;

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
/** The earliest time in a zip, so that equal rows give equal bytes. */
const MODIFIED = new Date(1980, 0, 1);

/** The places of `cellXfs` in the styles. */
const STYLE = { number: 0, text: 1, header: 2, time: 3 } as const;

/** The parts of a workbook with one sheet, except the sheet. */
const PARTS: Readonly<Record<string, string>> = {
  '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${TYPE}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${TYPE}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="${TYPE}.styles+xml"/></Types>`,
  '_rels/.rels': `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="${OFFICE}/styles" Target="styles.xml"/></Relationships>`,
  'xl/styles.xml': `<styleSheet xmlns="${MAIN}"><numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="4"><xf/><xf numFmtId="49" applyNumberFormat="1"/><xf numFmtId="49" fontId="1" applyNumberFormat="1" applyFont="1"/><xf numFmtId="164" applyNumberFormat="1"/></cellXfs></styleSheet>`,
};

/**
 * The bytes of an .xlsx with one sheet: the header stays in view and filters the rows. A spreadsheet changes no text and
 * runs none as a formula.
 */
function writeXlsx(table: WrittenTable): Readable {
  const zip = new yazl.ZipFile();
  const options = { mtime: MODIFIED };
  for (const [name, content] of Object.entries(PARTS))
    zip.addBuffer(Buffer.from(XML + content), name, options);
  const workbook = `${XML}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="${escaped(table.name)}" sheetId="1" r:id="rId1"/></sheets></workbook>`;
  zip.addBuffer(Buffer.from(workbook), 'xl/workbook.xml', options);
  const content = Readable.from(sheetXml(table), { objectMode: false });
  zip.addReadStream(content, 'xl/worksheets/sheet1.xml', options);
  zip.end();
  const output = new PassThrough();
  content.on('error', (error) => output.destroy(error));
  // A reader that ends early ends the rows, and what they are read from.
  output.once('close', () => content.destroy());
  zip.outputStream.pipe(output);
  return output;
}

function sheetError(most: string) {
  return new DestinationError(`A sheet has at most ${most}.`, { hint: 'Choose format: csv or parquet.' });
}

/** DestinationError for a text that a cell cannot hold; `row`: that of the sheet. */
function refuseLongText(columns: readonly string[], cells: readonly TypedCell[], row: number) {
  const at = cells.findIndex((cell) => typeof cell === 'string' && cell.length > MAX_CELL_LENGTH);
  if (at === -1) return;
  const key = columns.findIndex((name) => name === 'id' || name === 'url');
  const record = key === -1 ? '' : ` of the ${columns[key]} ${cellAsText(cells[key] ?? null)}`;
  throw sheetError(
    `${MAX_CELL_LENGTH} characters in a cell: '${columns[at]}'${record} (row ${row}) has more`,
  );
}

async function* sheetXml({ columns, rows, cutsTexts = false }: WrittenTable): AsyncGenerator<string> {
  if (columns.length > MAX_SHEET_COLUMNS) throw sheetError(`${MAX_SHEET_COLUMNS} columns`);
  yield `${XML}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>`;
  yield `<row>${columns.map((name) => textXml(name, STYLE.header)).join('')}</row>`;
  let count = 1;
  for await (const batch of rows('content')) {
    if (!cutsTexts)
      for (const [row, cells] of batch.entries()) refuseLongText(columns, cells, count + row + 1);
    count += batch.length;
    if (count > MAX_SHEET_ROWS) throw sheetError(`${MAX_SHEET_ROWS} rows`);
    yield batch.map((cells) => `<row>${cells.map(cellXml).join('')}</row>`).join('');
  }
  yield '</sheetData>';
  if (columns.length > 0) yield `<autoFilter ref="A1:${columnLetters(columns.length - 1)}${count}"/>`;
  yield '</worksheet>';
}

function cellXml(cell: TypedCell) {
  if (cell === null || cell === '') return `<c s="${STYLE.text}"/>`;
  if (typeof cell === 'string') return textXml(cell, STYLE.text);
  if (typeof cell === 'boolean') return `<c t="b"><v>${cell ? 1 : 0}</v></c>`;
  if (cell instanceof Date) {
    const days = (cell.getTime() - FIRST_DAY) / MS_PER_DAY;
    const isShown = days >= MIN_SHEET_DAYS && days < MAX_SHEET_DAYS;
    return isShown ? `<c s="${STYLE.time}"><v>${days}</v></c>` : textXml(cellAsText(cell), STYLE.text);
  }
  // Excel repairs a file with a number that it cannot hold.
  const isKept =
    Number.isFinite(Number(cell.number)) &&
    cell.number.replaceAll(/\D|^-?0[.]0*|[eE].*/g, '').length <= MAX_SHEET_DIGITS;
  return isKept ? `<c><v>${cell.number}</v></c>` : textXml(cell.number, STYLE.text);
}

function textXml(text: string, style: number) {
  if (text === '') return `<c s="${style}"/>`;
  return `<c s="${style}" t="inlineStr"><is><t xml:space="preserve">${escaped(text.slice(0, MAX_CELL_LENGTH))}</t></is></c>`;
}

const MS_PER_DAY = 86_400_000;
/** Spreadsheets count days from here, on and after 1 March 1900: before it, Excel is a day late. */
const FIRST_DAY = Date.UTC(1899, 11, 30);
const MIN_SHEET_DAYS = 61;
/** The first day that they do not show: 1 January 10000. */
const MAX_SHEET_DAYS = 2_958_466;

/** Characters that XML cannot contain are written as `_x000B_`; text that already looks like this is marked. */
function escaped(text: string) {
  return text
    .replaceAll(/_x(?=[0-9A-Fa-f]{4}_)/g, '_x005F_x')
    .replaceAll(/[^\P{Cc}\t\n]|[\ufffe\uffff]/gu, (character) => {
      return `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`;
    })
    .toWellFormed()
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** Amounts of different files have the same type as long as none has more decimals. */
export const MIN_SCALE = 4;

/** The sign, the digits before the point and those after it. */
export const DECIMAL_NUMBER = /^(-?)([0-9]+)(?:\.([0-9]+))?$/;

/** What all values of a column are; `text` if they are of several kinds. */
export interface ColumnType {
  readonly kind: 'text' | 'boolean' | 'time' | 'number';
  /** Of a number: the most digits before and after the point. */
  readonly digits: number;
  readonly scale: number;
}

/** The types of columns by all their values; undefined for a column without any. */
export async function columnTypes(
  count: number,
  rows: ReturnType<WrittenTable['rows']>,
): Promise<readonly (ColumnType | undefined)[]> {
  const types: (ColumnType | undefined)[] = Array.from({ length: count });
  for await (const batch of rows) {
    for (const cells of batch) {
      for (const [index, cell] of cells.entries())
        if (cell !== null && cell !== '') types[index] = widerType(types[index], typeOf(cell));
    }
  }
  return types;
}

const TEXT: ColumnType = { kind: 'text', digits: 0, scale: 0 };

function typeOf(cell: Exclude<TypedCell, null>): ColumnType {
  if (typeof cell === 'string') return TEXT;
  if (typeof cell === 'boolean') return { ...TEXT, kind: 'boolean' };
  if (cell instanceof Date) return { ...TEXT, kind: 'time' };
  const [, , whole = '', decimals = ''] = DECIMAL_NUMBER.exec(cell.number) ?? [];
  return whole === '' ? TEXT : { kind: 'number', digits: whole.length, scale: decimals.length };
}

function widerType(one: ColumnType | undefined, other: ColumnType) {
  if (one === undefined) return other;
  if (one.kind !== other.kind) return TEXT;
  return {
    kind: one.kind,
    digits: Math.max(one.digits, other.digits),
    scale: Math.max(one.scale, other.scale),
  };
}

/** The rows of a group, whose columns are written together. */
const ROWS_PER_GROUP = 10_000;
/** The digits of a decimal that is stored in 64 bits, and in 16 bytes. */
const MAX_DIGITS = { short: 18, long: 38 } as const;

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

/**
 * The bytes of a Parquet file, in groups of rows. The rows are read twice: first for the types of the columns. Whole
 * numbers are INT64, other numbers exact decimals, times TIMESTAMP in UTC; all values may be null.
 */
async function* writeParquet({ columns, rows }: WrittenTable): AsyncGenerator<Uint8Array> {
  // Loaded on first use.
  const { ByteWriter, ParquetWriter } = await import('hyparquet-writer');
  const types = await columnTypes(columns.length, rows('types'));
  const schema = columns.map((name, index) => schemaElement(name, types[index]));
  const writer = new ByteWriter();
  const file = new ParquetWriter({
    writer,
    schema: [{ name: 'root', num_children: columns.length }, ...schema],
    createdBy: 'storeferry',
  });
  let group: (readonly TypedCell[])[] = [];
  const writeGroup = () => {
    const columnData = columns.map((name, index) => ({
      name,
      data: group.map((cells) => storedValue(cells[index] ?? null, types[index])),
    }));
    file.write({ columnData, rowGroupSize: ROWS_PER_GROUP });
    group = [];
  };
  for await (const batch of rows('content')) {
    group.push(...batch);
    if (group.length < ROWS_PER_GROUP) continue;
    writeGroup();
    yield takeBytes(writer);
  }
  if (group.length > 0) writeGroup();
  file.finish();
  yield takeBytes(writer);
}

/** The bytes so far; the writer goes on with an empty buffer. */
function takeBytes(writer: ByteWriter): Uint8Array {
  const bytes = writer.getBytes().slice();
  writer.index = 0;
  return bytes;
}

/** Decimals with the scale of the column; undefined where a decimal is too short for them. */
function decimalOf({ digits, scale }: ColumnType) {
  const stored = scale === 0 ? 0 : Math.max(scale, MIN_SCALE);
  const precision = [MAX_DIGITS.short, MAX_DIGITS.long].find((most) => digits + stored <= most);
  return precision === undefined ? undefined : { precision, scale: stored };
}

function schemaElement(name: string, type: ColumnType | undefined): SchemaElement {
  const column = { name, repetition_type: 'OPTIONAL' } as const;
  const text = { ...column, type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const;
  if (type === undefined) return text;
  switch (type.kind) {
    case 'text':
      return text;
    case 'boolean':
      return { ...column, type: 'BOOLEAN' };
    case 'time':
      return { ...column, type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' };
    case 'number': {
      const decimal = decimalOf(type);
      if (decimal === undefined) return text;
      const isShort = decimal.precision === MAX_DIGITS.short;
      if (decimal.scale === 0 && isShort) return { ...column, type: 'INT64' };
      const stored = isShort
        ? ({ type: 'INT64' } as const)
        : ({ type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16 } as const);
      return { ...column, ...stored, ...decimal, converted_type: 'DECIMAL' };
    }
    default:
      return type.kind satisfies never;
  }
}

function storedValue(cell: TypedCell, type: ColumnType | undefined) {
  if (cell === null || type === undefined) return null;
  const decimal = type.kind === 'number' ? decimalOf(type) : undefined;
  if (decimal !== undefined && typeof cell === 'object' && 'number' in cell) {
    const [, sign = '', whole = '', decimals = ''] = DECIMAL_NUMBER.exec(cell.number) ?? [];
    return BigInt(sign + whole + decimals.padEnd(decimal.scale, '0'));
  }
  if (type.kind === 'boolean' || type.kind === 'time')
    return typeof cell === 'boolean' || cell instanceof Date ? cell : null;
  return type.kind === 'number' && cell === '' ? null : cellAsText(cell);
}
