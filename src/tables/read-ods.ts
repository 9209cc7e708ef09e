import { DATE_CELL, MAX_SHEET_ROWS, shownMark } from '../model/row.ts';
import {
  currenciesBeside,
  declaredCurrency,
  joinedCurrencies,
  NO_RESULT,
  numberText,
  withoutCurrencies,
} from './number-text.ts';
import { readXml, type XmlHandlers } from './read-xml.ts';
import {
  chooseSheet,
  type MergedFirst,
  noteRow,
  noteShown,
  type SheetInfo,
  type SheetMarks,
  sheetRows,
} from './sheet-rows.ts';
import {
  refuseColumns,
  type TableFile,
  type TableReader,
  type TableRow,
  tableError,
  tableLimitError,
} from './table-file.ts';

interface OdsSheet extends SheetInfo {
  readonly index: number;
  readonly filled: boolean;
  /** The number of columns up to the last cell with a value. */
  readonly width: number;
}

const CONTENT = 'content.xml';

/** Reads one sheet of a LibreOffice workbook as a stream; cells become texts as those of an Excel workbook do. */
export async function readOds(file: TableFile): Promise<TableReader> {
  await refusePassword(file);
  const document = await readDocument(file);
  const { sheets } = document;
  const sheet = await chooseSheet(file, sheets, async ({ filled }) => filled);
  const merged: MergedFirst = [];
  const marks: SheetMarks = { hidden: [], struck: [], shown: [] };
  return {
    batches: rowsOf({ ...file, title: sheet.name }, sheet, document, merged, marks),
    title: () => sheet.name,
    header: () => null,
    merged,
    marks,
  };
}

/** The parts of a document with a password are encrypted, but not the zip. */
async function refusePassword(file: TableFile) {
  const open = file.parts.get('META-INF/manifest.xml');
  if (open === undefined) return;
  const handlers: XmlHandlers = {
    open(name) {
      if (name !== 'encryption-data') return;
      throw tableError(file, 'The document has a password.', 'Save it without a password.');
    },
  };
  for await (const _ of readXml(open(), handlers, { file, localNames: true }));
}

function openContent(file: TableFile): AsyncIterable<Uint8Array> {
  const open = file.parts.get(CONTENT);
  if (open !== undefined) return open();
  throw tableError(file, `The document has no part ${CONTENT}.`, 'Open it and save it again as .ods.');
}

/** What a document has besides the cells of the sheet that is read. */
type OdsDocument = Awaited<ReturnType<typeof readDocument>>;

/** All sheets are in one part, which is first read completely to find them and the styles. */
async function readDocument(file: TableFile) {
  const sheets: { -readonly [Key in keyof OdsSheet]: OdsSheet[Key] }[] = [];
  let column = 0;
  const hiddenStyles = new Set<string>();
  const codeFormats = new Set<string>();
  const formatByStyle = new Map<string, string>();
  const struck = new Set<string>();
  const wordsByFormat = new Map<string, (string | undefined)[]>();
  let style = '';
  let beside: string | undefined;
  const handlers: XmlHandlers = {
    open(name, attributes) {
      style = attributes['style:name'] ?? style;
      if (name === 'style:style') {
        const parent = attributes['style:parent-style-name'] ?? '';
        formatByStyle.set(style, attributes['style:data-style-name'] ?? formatByStyle.get(parent) ?? '');
        if (struck.has(parent)) struck.add(style);
      }
      const strike = attributes['style:text-line-through-style'];
      if (name === 'style:text-properties' && strike !== undefined)
        strike === 'none' ? struck.delete(style) : struck.add(style);
      if (isBesideNumber(name)) beside = '';
      if (name === 'number:number' && isCode(attributes)) codeFormats.add(style);
      if (name === 'style:table-properties' && attributes['table:display'] === 'false')
        hiddenStyles.add(style);
      if (name === 'table:table') {
        const hidden = hiddenStyles.has(attributes['table:style-name'] ?? '');
        const called = attributes['table:name'] ?? '';
        sheets.push({ name: called, hidden, index: sheets.length, filled: false, width: 0 });
      }
      if (name === 'table:table-row') column = 0;
      if (isCell(name)) column += countOf(attributes['table:number-columns-repeated']);
      const sheet = sheets.at(-1);
      const hasValue = attributes['office:value-type'] !== undefined;
      if (sheet === undefined || !(hasValue || name === 'text:p')) return;
      sheet.filled ||= hasValue;
      sheet.width = Math.max(sheet.width, column);
    },
    text(part) {
      if (beside !== undefined && beside.length < MAX_BESIDE) beside += part.slice(0, MAX_BESIDE);
    },
    close(name) {
      if (beside === undefined || !isBesideNumber(name)) return;
      const words = name === 'number:text' ? currenciesBeside(beside) : [declaredCurrency(beside)];
      const known = wordsByFormat.get(style);
      if (known === undefined) wordsByFormat.set(style, [...words]);
      else known.push(...words);
      beside = undefined;
    },
  };
  const namedStyles = file.parts.get('styles.xml')?.();
  if (namedStyles !== undefined)
    for await (const _ of readXml(namedStyles, handlers, { file, localNames: false }));
  for await (const _ of readXml(openContent(file), handlers, { file, localNames: false }));
  const codes = [...formatByStyle].filter(([, format]) => codeFormats.has(format)).map(([one]) => one);
  const currencies = new Map<string, string>();
  for (const [one, format] of formatByStyle) {
    const named = joinedCurrencies(wordsByFormat.get(format) ?? []);
    if (named !== undefined) currencies.set(one, named);
  }
  return {
    sheets,
    /** The styles of cells whose numbers are codes with leading zeros, such as `ART-0042`. */
    codes: new Set(codes),
    /** What the styles of cells name, as in `CellCurrencies`. */
    currencies,
    /** The styles of cells that strike out what they show. */
    struck,
  };
}

/** Characters that a format shows beside a number. */
const MAX_BESIDE = 100;

function isBesideNumber(name: string) {
  return name === 'number:currency-symbol' || name === 'number:text';
}

function isCell(name: string) {
  return name === 'table:table-cell' || name === 'table:covered-table-cell';
}

/** Whether a format shows a whole number with leading zeros. */
function isCode(number: Readonly<Record<string, string>>) {
  return (
    Number(number['number:min-integer-digits']) > 1 &&
    Number(number['number:decimal-places'] ?? 0) === 0 &&
    number['number:grouping'] !== 'true'
  );
}

async function* rowsOf(
  file: TableFile,
  sheet: OdsSheet,
  { codes, currencies: currencyByStyle, struck }: OdsDocument,
  mergedFirst: MergedFirst,
  marks: SheetMarks,
): AsyncGenerator<readonly TableRow[]> {
  const rows = sheetRows(file, { usedWidth: sheet.width, mergedFirst });
  const { limits } = file;
  let copiedRows = 0;
  let table = -1;
  let line = 0;
  let [rowRepeats, cellRepeats] = [1, 1];
  let cells: string[] = [];
  let currencies: Record<number, string> | undefined;
  let column = 0;
  let isHidden = false;
  let count = { all: 0, struck: 0 };
  let cell: Readonly<Record<string, string>> | undefined;
  let text = '';
  let paragraphs = 0;
  // Notes and drawings have texts that do not belong to the cell.
  let aside = 0;
  const isAside = (name: string) => name === 'office:annotation' || name.startsWith('draw:');
  // The styles of cells that name none.
  let rowStyle: string | undefined;
  const columnStyles: string[] = [];

  const put = (value: string, currency: string | undefined) => {
    if (value !== '') {
      refuseColumns(file, column + cellRepeats, line);
      for (let at = column; at < column + cellRepeats; at += 1) {
        cells[at] = value;
        if (currency === undefined) continue;
        currencies ??= {};
        currencies[at] = currency;
      }
    }
    column += cellRepeats;
  };
  const append = (part: string) => {
    if (cell === undefined || aside > 0 || paragraphs === 0) return;
    text += part;
    if (text.length > limits.cellBytes) throw tableLimitError(file, 'cellBytes', { line, column });
  };
  const handlers: XmlHandlers = {
    open(name, attributes) {
      if (name === 'table:table') table += 1;
      if (table !== sheet.index) return;
      if (isAside(name)) aside += 1;
      if (aside > 0) return;
      switch (name) {
        case 'table:table-column': {
          const repeats = countOf(attributes['table:number-columns-repeated']);
          const end = Math.min(columnStyles.length + repeats, limits.columns);
          while (columnStyles.length < end)
            columnStyles.push(attributes['table:default-cell-style-name'] ?? '');
          break;
        }
        case 'table:table-row':
          rowStyle = attributes['table:default-cell-style-name'];
          rowRepeats = countOf(attributes['table:number-rows-repeated']);
          line += 1;
          cells = [];
          currencies = undefined;
          column = 0;
          isHidden = /^(?:collapse|filter)$/.test(attributes['table:visibility'] ?? '');
          count = { all: 0, struck: 0 };
          break;
        case 'table:table-cell':
        case 'table:covered-table-cell':
          cellRepeats = countOf(attributes['table:number-columns-repeated']);
          cell = attributes;
          text = '';
          paragraphs = 0;
          break;
        case 'text:p':
          paragraphs += 1;
          if (paragraphs > 1) append('\n');
          break;
        case 'text:s':
          append(' '.repeat(blanksOf(file, line, attributes['text:c'])));
          break;
        case 'text:tab':
          append('\t');
          break;
        case 'text:line-break':
          append('\n');
          break;
        default:
      }
    },
    text: append,
    close(name) {
      if (table !== sheet.index) return;
      if (isAside(name)) aside -= 1;
      if (aside > 0) return;
      switch (name) {
        case 'table:covered-table-cell':
          column += cellRepeats;
          cell = undefined;
          break;
        case 'table:table-cell': {
          if (cell === undefined) break;
          const style = cell['table:style-name'] ?? rowStyle ?? columnStyles[column] ?? '';
          const value = cellText(cell, text, codes.has(style));
          const type = cell['office:value-type'];
          const isNumber = type === 'float' || type === 'currency';
          const own = declaredCurrency(cell['office:currency'] ?? '');
          const date = type === 'date' || type === 'time' ? DATE_CELL : undefined;
          const currency = isNumber
            ? joinedCurrencies([currencyByStyle.get(style) ?? own, markOf(text, value)])
            : date;
          const [columns, spanned] = [
            countOf(cell['table:number-columns-spanned']),
            countOf(cell['table:number-rows-spanned']),
          ];
          if (columns > 1 || spanned > 1) {
            const [lastRow, lastColumn] = [line + spanned - 1, column + columns - 1];
            rows.span({ firstRow: line, lastRow, firstColumn: column, lastColumn }, value, currency);
          }
          if (isNumber) noteShown(marks, column, shownAround(text));
          if (value !== '') {
            count.all += 1;
            if (struck.has(style)) count.struck += 1;
          }
          put(value, currency);
          cell = undefined;
          break;
        }
        case 'table:table-row':
          if (line + rowRepeats - 1 > MAX_SHEET_ROWS) {
            // The empty rest of a sheet is written as one row.
            if (cells.length > 0) throw tableLimitError(file, 'rows', { line });
            break;
          }
          if (cells.length > 0) copiedRows += rowRepeats - 1;
          if (copiedRows > MAX_COPIED_ROWS) {
            throw tableError(
              file,
              `The sheet ${sheet.name} repeats the row ${line}: it has more than ${MAX_COPIED_ROWS} copies of rows.`,
              'Delete the copies, and save the document again.',
            );
          }
          noteRow(marks, line, isHidden, count);
          rows.end(line, cells, currencies, rowRepeats);
          line += rowRepeats - 1;
          break;
        default:
      }
    },
  };
  for await (const _ of readXml(openContent(file), handlers, { file, localNames: false })) {
    yield* rows.take();
    if (table > sheet.index) return;
  }
}

/** A few bytes would be a million rows: a minute of the processor to map them. */
const MAX_COPIED_ROWS = 50_000;
/** A few bytes would be megabytes of memory. */
const MAX_BLANKS = 10_000;

function blanksOf(file: TableFile, line: number, written: string | undefined) {
  const blanks = countOf(written);
  if (blanks <= MAX_BLANKS) return blanks;
  throw tableError(
    file,
    `A cell of row ${line} of the sheet ${file.title ?? ''} has more than ${MAX_BLANKS} blanks in succession.`,
    'Remove the blanks, and save the document again.',
  );
}

function countOf(written: string | undefined) {
  const count = Number(written ?? 1);
  return Number.isInteger(count) && count > 0 ? count : 1;
}

function cellText(cell: Readonly<Record<string, string>>, shown: string, isCode: boolean) {
  if (cell['calcext:value-type'] === 'error' || /^Err:\d{3}$/.test(shown)) {
    return shown.startsWith('#') ? shown : '#VALUE!';
  }
  const value = cell['office:value'] ?? '';
  switch (cell['office:value-type']) {
    case undefined:
      return cell['table:formula'] === undefined || shown !== '' ? shown : NO_RESULT;
    case 'float':
      if (isCode && shown !== '' && /^\d{1,15}$/.test(value)) return shown;
      return shownNumber(value, shown, 1);
    case 'currency':
      return shownNumber(value, shown, 1);
    case 'percentage':
      return `${shownNumber(value, shown, 100)}%`;
    case 'date':
      return (cell['office:date-value'] ?? shown).replace(/T00:00:00(?:\.0+)?$/, '');
    case 'time': {
      const [, hours = '0', minutes = '0', seconds = '0'] =
        /^PT(\d+)H(\d+)M(\d+)(?:[.,]\d+)?S$/.exec(cell['office:time-value'] ?? '') ?? [];
      return [hours, minutes, seconds].map((part) => part.padStart(2, '0')).join(':');
    }
    case 'boolean':
      return cell['office:boolean-value'] === 'true' ? 'TRUE' : 'FALSE';
    default:
      return shown === '' ? (cell['office:string-value'] ?? '') : shown;
  }
}

/** The mark of a number of which the sheet shows more than is read. */
function markOf(shown: string, read: string) {
  const [digits, own] = [shown, read].map((text) => text.replaceAll(/\D/g, ''));
  const isPlain =
    /^[-()\d\s.,'’]*$/.test(withoutCurrencies(shown)) &&
    !/^\D*0\d|\d[-()]+\d/.test(shown) &&
    /^0*$/.test(`${digits}`.replace(`${own}`, ''));
  return isPlain || shown.replace(',', '.') === read ? undefined : shownMark(shown);
}

/** As `shownBy` gives it, of a shown text. */
function shownAround(text: string) {
  const shown = text.replace(/\d(?:[\d.,'’\s]*\d)?/, '#').trim();
  return shown.includes('#') && /\p{L}/u.test(shown) ? shown : undefined;
}

const MAX_DECIMALS = 10;

/** The number with its shown decimals, computed by digits, because signs differ by country. Codes keep their zeros. */
function shownNumber(stored: string, shown: string, times: number) {
  const value = Number((Number(stored) * times).toPrecision(15));
  const digits = shown.replaceAll(/[^0-9]/g, '');
  if (digits === '' && /\p{L}/u.test(shown)) return shown;
  if (/^0\d/.test(digits) && /^[-+()\d\s/'’]+$/.test(shown) && Number(digits) === value) return shown;
  if (/\d[eE][+-]?\d/.test(shown)) return shown.replace(',', '.');
  for (let most = 0; most <= MAX_DECIMALS && digits !== ''; most += 1) {
    const text = numberText(String(value), { kind: 'fixed', least: most, most });
    if (text.replaceAll(/[^0-9]/g, '') === digits)
      return numberText(String(value), { kind: 'fixed', least: most === 3 ? 0 : most, most });
  }
  return numberText(String(value), { kind: 'general' });
}
