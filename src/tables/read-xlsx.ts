import { DATE_CELL, MAX_SHEET_ROWS } from '../model/row.ts';
import {
  FIRST_DAY_1904,
  formatById,
  formatCurrencies,
  NO_RESULT,
  type NumberFormat,
  numberText,
  sectionOf,
  shownBy,
} from './number-text.ts';
import { readXml, type XmlHandlers } from './read-xml.ts';
import {
  chooseSheet,
  type MergedCells,
  type MergedFirst,
  noteRow,
  noteShown,
  type SheetInfo,
  type SheetMarks,
  sheetRows,
} from './sheet-rows.ts';
import {
  refuseColumns,
  refuseRowBytes,
  type TableFile,
  type TableReader,
  type TableRow,
  tableError,
  tableLimitError,
} from './table-file.ts';

interface XlsxSheet extends SheetInfo {
  readonly part: string;
}

/** What a workbook has besides the content of its sheets. */
type Workbook = Awaited<ReturnType<typeof readWorkbook>>;

/** The shared texts of a workbook are kept in memory. */
const MAX_STRING_BYTES = 512 * 1024 * 1024;
const GROWTH_BYTES = 1 << 20;
/** Characters. */
const LONG_TEXT = 4_096;
const MAX_LONG_CHARACTERS = 1 << 26;
/** Characters. Excel allows 255; other programs may allow more. */
const MAX_FORMAT_LENGTH = 1_000;
const LOCAL = { localNames: true } as const;

/**
 * Reads one sheet of an Excel workbook as a stream: numbers and days as shown (`numberText`), and the stored results
 * of formulas. Keeps the shared texts and the rows of one piece of input in memory.
 */
export async function readXlsx(file: TableFile): Promise<TableReader> {
  const workbook = await readWorkbook(file);
  const filled = new Map<string, Promise<boolean>>();
  const sheet = await chooseSheet(file, workbook.sheets, (one) => {
    // Many sheets of a hostile workbook may be the same part.
    const known = filled.get(one.part) ?? hasContent(file, one);
    filled.set(one.part, known);
    return known;
  });
  const merged: MergedFirst = [];
  const marks: SheetMarks = { hidden: [], struck: [], shown: [] };
  return {
    batches: rowsOf({ ...file, title: sheet.name }, workbook, sheet, merged, marks),
    title: () => sheet.name,
    header: () => null,
    merged,
    marks,
  };
}

/** Finds a part in any case, as the format demands: some programs write `SharedStrings.xml` and refer to `sharedStrings.xml`. */
function openPart(file: TableFile, path: string): AsyncIterable<Uint8Array> {
  const isMeant = (name: string) => name.toLowerCase() === path.toLowerCase();
  const open = file.parts.get(path) ?? [...file.parts].find(([name]) => isMeant(name))?.[1];
  if (open !== undefined) return open();
  throw tableError(
    file,
    `The workbook has no part ${path}.`,
    'Open it in a spreadsheet and save it again as .xlsx.',
  );
}

/** Reads a small part completely. */
async function readPart(file: TableFile, path: string, handlers: XmlHandlers) {
  for await (const _ of readXml(openPart(file, path), handlers, { file, ...LOCAL }));
}

interface Relation {
  readonly type: string;
  readonly path: string;
}

/** The parts that a part refers to, by id. */
async function relationsOf(file: TableFile, part: string): Promise<ReadonlyMap<string, Relation>> {
  const folder = part.slice(0, part.lastIndexOf('/') + 1);
  const relations = new Map<string, Relation>();
  await readPart(file, `${folder}_rels/${part.slice(folder.length)}.rels`, {
    open(name, { Id = '', Type = '', Target = '' }) {
      if (name !== 'Relationship') return;
      const path = pathOf(Target.replaceAll('\\', '/'), folder);
      // Other targets are addresses, which may be of any form.
      if (path !== undefined) relations.set(Id, { type: Type.slice(Type.lastIndexOf('/') + 1), path });
    },
  });
  return relations;
}

/** Undefined if the target of a relation is no path within the workbook. */
function pathOf(target: string, folder: string) {
  try {
    return decodeURIComponent(new URL(target, `zip:///${folder}`).pathname.slice(1));
  } catch {
    return undefined;
  }
}

async function readWorkbook(file: TableFile) {
  const roots = [...(await relationsOf(file, '')).values()];
  const path = roots.find(({ type }) => type === 'officeDocument')?.path ?? 'xl/workbook.xml';
  if (path.endsWith('.bin')) {
    throw tableError(file, 'The source is a binary Excel workbook (.xlsb).', 'Save it as .xlsx.');
  }
  const relations = await relationsOf(file, path);
  const sheets: XlsxSheet[] = [];
  let counts1904 = false;
  await readPart(file, path, {
    open(name, attributes) {
      const { date1904 = '', name: called = '', state = 'visible' } = attributes;
      if (name === 'workbookPr') counts1904 = /^(?:1|true)$/.test(date1904);
      if (name !== 'sheet') return;
      const id = Object.entries(attributes).find(([key]) => key === 'r:id' || key.endsWith(':id'))?.[1];
      const relation = relations.get(id ?? '');
      // A sheet may also be a chart.
      if (relation?.type !== 'worksheet') return;
      sheets.push({ name: called, hidden: state !== 'visible', part: relation.path });
    },
  });
  const partOf = (type: string) => [...relations.values()].find((relation) => relation.type === type)?.path;
  return { sheets, counts1904, strings: partOf('sharedStrings'), styles: partOf('styles') };
}

function isContent(name: string) {
  return name === 'v' || name === 'is' || name === 'f';
}

async function hasContent(file: TableFile, sheet: XlsxSheet) {
  let found = false;
  const handlers: XmlHandlers = {
    open: (name) => {
      found ||= isContent(name);
    },
  };
  for await (const _ of readXml(openPart(file, sheet.part), handlers, { file, ...LOCAL }))
    if (found) return true;
  return found;
}

/** How a style shows numbers, and whether it strikes out what it shows. */
type CellStyle = ReturnType<typeof styleOf>;

const PLAIN_STYLE: CellStyle = {
  format: { kind: 'general' },
  currency: undefined,
  shown: undefined,
  struck: false,
};

async function readStyles(file: TableFile, path: string | undefined): Promise<readonly CellStyle[]> {
  const formats: CellStyle[] = [];
  if (path === undefined) return formats;
  const spelledOut = new Map<number, string>();
  const known = new Map<string, CellStyle>();
  const struckFonts = new Set<number>();
  let fonts = -1;
  let parent = '';
  await readPart(file, path, {
    open(name, { numFmtId = '0', formatCode = '', fontId = '0', val = '1' }) {
      const id = Number(numFmtId);
      if (name === 'numFmt' && formatCode.length <= MAX_FORMAT_LENGTH) spelledOut.set(id, formatCode);
      if (name === 'cellXfs' || name === 'fonts') parent = name;
      if (name === 'font' && parent === 'fonts') fonts += 1;
      if (name === 'strike' && parent === 'fonts' && /^(?:1|true)$/.test(val)) struckFonts.add(fonts);
      if (name !== 'xf' || parent !== 'cellXfs') return;
      const struck = struckFonts.has(Number(fontId));
      const key = `${id} ${struck}`;
      const style = known.get(key) ?? styleOf(formatById(id, spelledOut), spelledOut.get(id), struck);
      known.set(key, style);
      formats.push(style);
    },
    close(name) {
      if (name === parent) parent = '';
    },
  });
  return formats;
}

function styleOf(format: NumberFormat, written: string | undefined, struck: boolean) {
  const isAmount = format.kind === 'fixed' || format.kind === 'general' || format.kind === 'code';
  const code = isAmount ? written : undefined;
  const isTime = format.kind === 'date' || format.kind === 'duration';
  return {
    format,
    /** As in `CellCurrencies`. */
    currency: isTime ? DATE_CELL : code && formatCurrencies(code),
    /** As `shownBy` gives it. */
    shown: code && shownBy(code),
    struck,
  };
}

/** The texts that cells refer to by number. */
async function readStrings(file: TableFile, path: string | undefined) {
  const strings = stringPool();
  if (path === undefined) return strings;
  const text = richText(file.limits.cellBytes);
  await readPart(file, path, {
    open: (name) => text.open(name),
    text: (part) => void text.add(part),
    close(name) {
      text.close(name);
      if (name !== 'si') return;
      if (!strings.add(text.take())) {
        throw tableError(
          file,
          `The workbook has more than ${MAX_STRING_BYTES} bytes of texts, which Storeferry keeps in memory.`,
          'Save the sheet as "CSV UTF-8".',
        );
      }
    },
  });
  return strings;
}

/**
 * A text of several parts, without its phonetic guides (`rPh`), which East Asian texts have. Keeps hardly more than `most`
 * characters: the reader refuses a cell with a longer text, and names it.
 */
function richText(most: number) {
  let text = '';
  let isText = false;
  let isPhonetic = false;
  return {
    open(name: string) {
      if (name === 't') isText = !isPhonetic;
      if (name === 'rPh') isPhonetic = true;
    },
    /** Returns the present length of the text. */
    add(part: string): number {
      if (isText && text.length <= most) text += part;
      return text.length;
    },
    close(name: string) {
      if (name === 't') isText = false;
      if (name === 'rPh') isPhonetic = false;
    },
    take(): string {
      const taken = unescaped(text);
      text = '';
      return taken;
    },
  };
}

/** Characters that XML cannot contain are written as `_x000D_`. */
function unescaped(text: string) {
  if (!text.includes('_x')) return text;
  return text
    .replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll(/\r\n?/g, '\n');
}

async function* rowsOf(
  file: TableFile,
  workbook: Workbook,
  sheet: XlsxSheet,
  mergedFirst: MergedFirst,
  marks: SheetMarks,
): AsyncGenerator<readonly TableRow[]> {
  const formats = await readStyles(file, workbook.styles);
  const strings = await readStrings(file, workbook.strings);
  const merged = await mergedCells(file, sheet);
  const isWide = merged.some(({ firstColumn, lastColumn }) => lastColumn - firstColumn >= WIDE_COLUMNS);
  const usedWidth = isWide ? await widthOf(file, sheet) : Number.POSITIVE_INFINITY;
  const rows = sheetRows(file, { merged, mergedFirst, usedWidth });
  const firstDay = workbook.counts1904 ? FIRST_DAY_1904 : undefined;
  let line = 0;
  let column = -1;
  let cells: string[] = [];
  let currencies: Record<number, string> | undefined;
  let characters = 0;
  let isHidden = false;
  let count = { all: 0, struck: 0 };
  let cell: Readonly<Record<string, string>> = {};
  let value = '';
  let [isValue, hasValue, hasFormula] = [false, false, false];
  const text = richText(file.limits.cellBytes);

  const mark = (word: string | undefined) => {
    if (word === undefined) return;
    currencies ??= {};
    currencies[column] = `${currencies[column] ?? ''} ${word}`.trim();
  };
  const read = () => {
    const { t: type = 'n', s: style = '' } = cell;
    if (hasFormula && !hasValue && type !== 'inlineStr') return NO_RESULT;
    switch (type) {
      case 's': {
        const found = strings.get(Number(value));
        if (found !== undefined || value === '') return found ?? '';
        throw tableError(
          file,
          `The workbook has no text for cell ${sheet.name}!${cell['r'] ?? `row ${line}`}.`,
          'Open it in a spreadsheet and save it again as .xlsx.',
        );
      }
      case 'inlineStr':
        return text.take();
      case 'b':
        return value === '1' || value === 'true' ? 'TRUE' : value === '' ? '' : 'FALSE';
      case 'd':
        mark(DATE_CELL);
        return value.replace(/T00:00:00(?:\.0+)?Z?$/, '');
      case 'str':
      case 'e':
        return unescaped(value);
      default: {
        if (value === '') return '';
        const { format, currency, shown } = formats[Number(style)] ?? PLAIN_STYLE;
        noteShown(marks, column, shown);
        mark(currency);
        mark(sectionOf(format, Number(value)).mark);
        return numberText(value, format, firstDay);
      }
    }
  };
  const handlers: XmlHandlers = {
    open(name, attributes) {
      const { r: reference } = attributes;
      switch (name) {
        case 'row':
          line = reference === undefined ? line + 1 : Number(reference);
          if (!(line >= 1 && line <= MAX_SHEET_ROWS))
            throw tableLimitError(file, 'rows', { line: MAX_SHEET_ROWS });
          cells = [];
          currencies = undefined;
          characters = 0;
          column = -1;
          isHidden = /^(?:1|true)$/.test(attributes['hidden'] ?? '');
          count = { all: 0, struck: 0 };
          break;
        case 'c':
          cell = attributes;
          column = columnOf(reference) ?? column + 1;
          refuseColumns(file, column + 1, line);
          value = '';
          [isValue, hasValue, hasFormula] = [false, false, false];
          break;
        case 'v':
          isValue = true;
          // The result of a formula may be an empty text.
          hasValue = cell['t'] === 'str';
          break;
        case 'f':
          hasFormula = true;
          break;
        default:
          text.open(name);
      }
    },
    text(part) {
      if (isValue) value += part;
      const length = isValue ? value.length : text.add(part);
      if (length > file.limits.cellBytes) throw tableLimitError(file, 'cellBytes', { line, column });
    },
    close(name) {
      switch (name) {
        case 'v':
          isValue = false;
          hasValue ||= value !== '';
          break;
        case 'c': {
          const shown = read();
          cells[column] = shown;
          if (shown !== '') {
            count.all += 1;
            if (formats[Number(cell['s'] ?? '')]?.struck === true) count.struck += 1;
          }
          characters += shown.length;
          refuseRowBytes(file, characters, line);
          break;
        }
        case 'row':
          noteRow(marks, line, isHidden, count);
          rows.end(line, cells, currencies);
          break;
        default:
          text.close(name);
      }
    },
  };
  for await (const _ of readXml(openPart(file, sheet.part), handlers, { file, ...LOCAL })) yield* rows.take();
}

const LETTER_A = 65;

/** The index of the column in `C17`; undefined if it names none. */
function columnOf(reference = '') {
  let column = 0;
  for (let at = 0; at < reference.length; at += 1) {
    const code = reference.charCodeAt(at);
    if (code < LETTER_A) break;
    column = column * 26 + (code & ~0x20) - LETTER_A + 1;
  }
  return column === 0 ? undefined : column - 1;
}

const MERGED = /<(?:\w+:)?mergeCell\s[^<>]*?\bref=["']([A-Z]+\d+):([A-Z]+\d+)["'][^<>]*>/gi;
/** Characters of an element that the next piece of input continues. */
const OVERLAP = 1_000;

/** Merged cells are listed after the rows: the part is unpacked again, and searched without parsing. */
async function mergedCells(file: TableFile, sheet: XlsxSheet) {
  const merged: MergedCells[] = [];
  let rest = '';
  for await (const chunk of openPart(file, sheet.part)) {
    rest += Buffer.from(chunk).toString('latin1');
    if (rest.includes('mergeCell')) {
      for (const [, first = '', last = ''] of rest.matchAll(MERGED)) {
        const rowOf = (reference: string) => Number(/(?<!\d)\d+$/.exec(reference)?.[0]);
        merged.push({
          firstRow: rowOf(first),
          lastRow: rowOf(last),
          firstColumn: columnOf(first) ?? 0,
          lastColumn: columnOf(last) ?? 0,
        });
      }
      if (merged.length > MAX_SHEET_ROWS) throw tableLimitError(file, 'rows');
    }
    const last = rest.lastIndexOf('<');
    rest = last < rest.length - OVERLAP || rest.includes('>', last) ? '' : rest.slice(last);
  }
  return merged.sort((a, b) => a.firstRow - b.firstRow);
}

/** Wider merged cells than these are worth another pass to find where the columns with values end. */
const WIDE_COLUMNS = 64;

/** The number of columns up to the last cell with a value. */
async function widthOf(file: TableFile, sheet: XlsxSheet) {
  let width = 0;
  let column = -1;
  await readPart(file, sheet.part, {
    open(name, { r: reference }) {
      if (name === 'row') column = -1;
      else if (name === 'c') column = columnOf(reference) ?? column + 1;
      else if (isContent(name)) width = Math.max(width, column + 1);
    },
  });
  return width;
}

/**
 * Texts by number, stored as bytes: a workbook may have millions of them, and as strings they take several times the
 * memory. Both buffers grow in place, and return their memory to the system at once.
 */
function stringPool() {
  const texts = new ArrayBuffer(0, { maxByteLength: MAX_STRING_BYTES });
  let written = Buffer.from(texts);
  const endsBuffer = new ArrayBuffer(0, { maxByteLength: MAX_STRING_BYTES });
  /** Where each text ends. */
  const ends = new Uint32Array(endsBuffer);
  let size = 0;
  /** Thousands of cells may refer to the same text: a long one is the same string in all of them. */
  const long = new Map<number, string>();
  let longCharacters = 0;
  const endOf = (number: number) => ends[number] ?? 0;
  return {
    /** Returns false if the texts take too much memory. */
    add(text: string): boolean {
      const from = endOf(size - 1);
      const end = from + Buffer.byteLength(text);
      if (end > MAX_STRING_BYTES || size * 4 >= MAX_STRING_BYTES) return false;
      if (end > written.length) {
        texts.resize(Math.ceil(end / GROWTH_BYTES) * GROWTH_BYTES);
        written = Buffer.from(texts);
      }
      if (size === ends.length) endsBuffer.resize(size * 4 + GROWTH_BYTES);
      written.write(text, from);
      ends[size] = end;
      size += 1;
      return true;
    },
    /** Undefined if there is no text with this number. */
    get(number: number): string | undefined {
      if (!Number.isInteger(number) || number < 0 || number >= size) return undefined;
      const known = long.get(number);
      if (known !== undefined) return known;
      const text = written.toString('utf8', endOf(number - 1), endOf(number));
      if (text.length > LONG_TEXT) {
        longCharacters += text.length;
        if (longCharacters > MAX_LONG_CHARACTERS) {
          long.clear();
          longCharacters = text.length;
        }
        long.set(number, text);
      }
      return text;
    },
  };
}
