import { z } from 'zod';
import { truncate } from '../text/printable.ts';
import currencyNames from './currency-names.json' with { type: 'json' };
import { addProblem, optional, type Stored } from './json-object.ts';

/** What spreadsheets write for TRUE, in the languages in which they are sold; in lower case. */
export const TRUE_WORDS: ReadonlySet<string> = new Set(
  'true wahr vrai verdadero vero verdadeiro waar prawda истина pravda sant sand tosi igaz doğru adevărat αληθής'.split(
    ' ',
  ),
);

/** What a spreadsheet writes for FALSE, likewise. */
export const FALSE_WORDS: ReadonlySet<string> = new Set(
  'false falsch faux falso onwaar fałsz ложь nepravda falskt falsk usant epätosi hamis yanlış fals ψευδής'.split(
    ' ',
  ),
);

/** How a word is compared with those for yes and no. */
export function booleanWord(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

const ERRORS: ReadonlySet<string> = new Set(
  [
    // The first is ours: a formula whose file holds no result.
    '#FORMULA!',
    'NaN #ERROR! #FEHLER! #ERREUR! #ERRO! #FOUT! #N/A #VALUE! #REF! #NAME? #DIV/0! #NUM! #NULL! #SPILL! #CALC! #FIELD! #BLOCKED! #CONNECT! #GETTING_DATA',
    '#NV #WERT! #BEZUG! #ZAHL! #ÜBERLAUF! #N/D #VALEUR! #NOM? #NOMBRE! #NUL! #PROPAGATION! #¡VALOR! #¡REF!',
    '#¿NOMBRE? #¡DIV/0! #¡NUM! #¡NULO! #¡DESBORDAMIENTO! #VALORE! #RIF! #NOME? #VALOR! #NÚM! #NULO! #WAARDE!',
    '#VERW! #NAAM? #DEEL/0! #GETAL! #LEEG! #N/B #ARG! #ADR! #NAZWA? #DZIEL/0! #LICZBA! #ZERO! #N/D! #BRAK',
    '#Н/Д #ЗНАЧ! #ССЫЛКА! #ИМЯ? #ДЕЛ/0! #ЧИСЛО! #ПУСТО! #VÄRDEFEL! #REFERENS! #NAMN? #DIVISION/0! #SAKNAS! #YOK',
    '#DEĞER! #BAŞV! #AD? #SAYI/0! #SAYI! #BOŞ! #HODNOTA! #ODKAZ! #NÁZEV? #DĚLENÍ_NULOU! #ČÍSLO! #ÉRTÉK! #HIV! #NÉV?',
  ]
    .join(' ')
    .split(' '),
);

/** Whether a cell has the error of a spreadsheet or a program, which is not a value of any column. */
export function isErrorValue(text: string): boolean {
  return ERRORS.has(text) || /^(?:#{3,}|Err:5[0-9]{2})$/.test(text);
}

/** What a spreadsheet takes for the start of a formula, including full-width forms. */
const SIGN = '[=+\\-@＝＋－＠]';
/**
 * Cells of a file that begin like this may be run as formulas, even with invisible characters before the sign. A mark
 * before them does not change that.
 */
const STARTS_FORMULA = new RegExp(`^'*(?:[\\p{White_Space}\\p{Cc}\\p{Cf}]*${SIGN}|[\\t\\r\\n])`, 'u');
/** A negative number is a number and not a formula, whichever sign its decimals have. */
const NEGATIVE_NUMBER = /^-\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * If a spreadsheet splits by another character than the file, a new cell begins after each of these: `a;=1+1` in a
 * file with commas, opened with semicolons as separators.
 */
const SEPARATORS = ';,|\\t\\r\\n';
/** Invisible characters, and removed quotes, between a separator and the sign. */
const UNSEEN = `(?:(?![${SEPARATORS}])[\\p{White_Space}\\p{Cc}\\p{Cf}"'])*`;
const INNER = new RegExp(`([${SEPARATORS}])(?=${UNSEEN}${SIGN})`, 'gu');
const MARKED_INNER = new RegExp(`([${SEPARATORS}])'(?=${UNSEEN}${SIGN})`, 'gu');
const ANY_SIGN = /[=+\-@＝＋－＠\t\r\n]/;

/**
 * The cell in a form that a spreadsheet shows without running it, whichever character separates cells: an apostrophe
 * before each start of a formula, and one more before such existing apostrophes.
 */
export function inertCell(cell: string): string {
  if (!ANY_SIGN.test(cell)) return cell;
  const inner = cell.replace(INNER, "$1'");
  return startsFormula(cell) ? `'${inner}` : inner;
}

/** The original of a cell that `inertCell` made. */
export function withoutInertMark(cell: string): string {
  if (!cell.includes("'")) return cell;
  const whole = cell.replace(MARKED_INNER, '$1');
  return whole.startsWith("'") && STARTS_FORMULA.test(whole.slice(1)) ? whole.slice(1) : whole;
}

function startsFormula(cell: string) {
  return STARTS_FORMULA.test(cell) && !NEGATIVE_NUMBER.test(cell);
}

/**
 * The currencies that the formats of number cells name, by the position of the cell, or by slot: codes and signs, several of one
 * format separated by blanks. With the marks of a cell (`isMark`).
 */
export type CellCurrencies = Readonly<Record<number, string | undefined>>;

/** Instead of a currency: the cell of a workbook is a date or time. Rejects have it behind the text. */
export const DATE_CELL = '(date)';

/** Beside currencies: text targets of the cell must not get its number, of which a workbook shows more. The format or the shown text follows. */
export const SHOWN_AS = '(shown\u00a0as\u00a0';
const MAX_SHOWN_LENGTH = 40;

/** The mark of such a cell: one word. */
export function shownMark(shown: string): string {
  return `${SHOWN_AS}${truncate(shown, MAX_SHOWN_LENGTH).replaceAll(/\s/g, '\u00a0')})`;
}

/** Whether a word beside the currencies of a cell is none of them. */
export function isMark(word: string): boolean {
  return word === DATE_CELL || word.startsWith(SHOWN_AS);
}

/** One row. `line`: of CSV its first physical line (the first of the file is 1), of a sheet its row, else the number of the record. */
export interface Row {
  /** Index of the file within the snapshot; 0 for a source of one file. */
  readonly file: number;
  readonly line: number;
  readonly cells: readonly string[];
  /** Undefined if no cell has one: in all formats but workbooks. */
  readonly currencies?: CellCurrencies | undefined;
  /** Set if the row is a repeated header, or a second one with names or units: not data. */
  readonly heading?: true;
}

const count = z.int().nonnegative();

/** Consecutive rows of one file, by the first line of the first and the last of them. */
export const rowSpanSchema = z.object({ file: count, from: count, to: count });
export type RowSpan = Stored<typeof rowSpanSchema>;

/** A header and its rows. Rows may be shorter or longer than the header; the mapping decides about them. */
export interface Table {
  readonly header: readonly string[];
  /** The rows in source order, about a thousand at a time. May be read once. */
  batches(): AsyncIterable<readonly Row[]>;
}

/** Fewer equal rows than this prove nothing. */
const MIN_ALIKE = 2;

/**
 * By how many blank cells every row exceeds its header: some files end each row with a delimiter. Negative if the
 * header ends with blank names for which no row has a cell. 0 if the rows differ, or if each of them may have shifted
 * by a comma in a sentence or in a price.
 */
export function blankCellsBeyond(header: readonly string[], rows: readonly Row[]): number {
  const [first] = rows;
  const more = (first?.cells.length ?? header.length) - header.length;
  if (more === 0 || rows.some(({ cells }) => cells.length !== header.length + more)) return 0;
  if (more < 0) return header.slice(more).every(isBlank) ? more : 0;
  const blank = rows.every(({ cells }) => cells.slice(header.length).every(isBlank));
  return blank && rows.length >= MIN_ALIKE && !mayHaveShifted(header, rows) ? more : 0;
}

function mayHaveShifted(header: readonly string[], rows: readonly Row[]) {
  const spaced = header.some((name) => name.startsWith(' '));
  return header.some((_, index) => {
    const inSentence = !spaced && rows.every(({ cells }) => cells[index]?.startsWith(' ') === true);
    const inPrice = rows.every(
      ({ cells }) => /^-?[0-9]+$/.test(cells[index] ?? '') && /^[0-9]{2}$/.test(cells[index + 1] ?? ''),
    );
    return inSentence || inPrice;
  });
}

/** Whether a cell holds nothing but white space. */
function isBlank(cell: string | undefined) {
  return cell === undefined || cell === '' || cell.trim() === '';
}

/** How a CSV file is written. */
export interface Dialect {
  /** One character. */
  readonly delimiter: string;
  /** Canonical label, such as `utf-8` or `windows-1252`. */
  readonly encoding: string;
  /** The line end of the beginning of the file; `mixed` if it has several. */
  readonly newline: '\n' | '\r\n' | '\r' | 'mixed';
  /** Whether the file begins with a byte order mark. */
  readonly bom: boolean;
}

/** The detected delimiters by name, most likely first. A job must name any other. */
export const DELIMITERS = { comma: ',', semicolon: ';', tab: '\t', pipe: '|' } as const;

/** Their characters. */
export const DELIMITER_CHARACTERS: readonly string[] = Object.values(DELIMITERS);

/** The name of a delimiter; undefined for one without a name. */
export function delimiterName(character: string): string | undefined {
  return Object.entries(DELIMITERS).find(([, known]) => known === character)?.[0];
}

const ENCODING_EXPECTED = 'expected an encoding such as utf-8, utf-16le, windows-1252 or shift_jis';

/** A charset by any of its labels; gives its WHATWG name. */
export const encodingSchema = z.string(ENCODING_EXPECTED).transform((label, context) => {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    addProblem(context, ENCODING_EXPECTED);
    return z.NEVER;
  }
});

/** A delimiter by name or as the character; gives the character. */
export const delimiterSchema = z
  .enum(
    [',', ';', '|', '\t', 'comma', 'semicolon', 'tab', 'pipe'],
    'expected comma, semicolon, tab or pipe, by name or as the character',
  )
  .transform((written) =>
    written === 'comma' || written === 'semicolon' || written === 'tab' || written === 'pipe'
      ? DELIMITERS[written]
      : written,
  );

/**
 * Encodings of files from shops and spreadsheets, the more common ones first; Node supports all. An undecodable file
 * is compared with them, and they are tried for a corrected file from a spreadsheet.
 */
export const LEGACY_ENCODINGS = [
  'windows-1252',
  'macintosh',
  'windows-1250',
  'iso-8859-2',
  'windows-1251',
  'koi8-r',
  'windows-1253',
  'windows-1254',
  'windows-1255',
  'windows-1256',
  'windows-1257',
  'shift_jis',
  'gb18030',
  'big5',
  'euc-kr',
  'euc-jp',
] as const;

/** The formats of tables other than CSV. */
export const TABLE_FORMAT_NAMES = ['xlsx', 'ods', 'json', 'jsonl', 'xml'] as const;
/** One of them. */
export type TableFormat = (typeof TABLE_FORMAT_NAMES)[number];

/**
 * The facts that a snapshot stores about a table other than CSV, besides its rows, which are JSON lines of a number
 * and cells.
 */
export const stagedTableSchema = z.strictObject({
  format: z.enum(TABLE_FORMAT_NAMES),
  /** The name of the sheet, or the path of the records. */
  title: z.string(),
  /** The columns of records; null if the header is among the rows, as in a sheet. */
  header: z.array(z.string()).nullable(),
  /** The largest number of cells in a row. */
  width: z.int().min(0),
  /** Merged cells of the first rows of a sheet: first and last row (from 1), first and last column (from 0). */
  merged: z.array(z.tuple([count, count, count, count])).optional(),
  /** What its cells do not say of the first rows of a sheet: which are hidden or struck out, and how columns show a number, as `# €/100 pcs`. */
  marks: z
    .strictObject({
      hidden: z.array(count),
      struck: z.array(count),
      shown: z.array(z.tuple([count, z.string()])),
    })
    .optional(),
  /** The first values beside the records, by their paths: `vat` and `excluded`. */
  beside: z.array(z.tuple([z.string(), z.string()])).optional(),
});
export type StagedTable = Stored<typeof stagedTableSchema>;

/** Whether a file was a workbook. */
export function isSheet(table: Pick<TablePlaces, 'format'> | undefined): boolean {
  return table?.format === 'xlsx' || table?.format === 'ods';
}

/** Excel's own limit. */
export const MAX_SHEET_ROWS = 1_048_576;
/** Columns of a sheet. */
export const MAX_SHEET_COLUMNS = 16_384;

/** How rows and cells are named in a table other than CSV. */
export const tablePlacesSchema = z.object({
  format: z.enum(TABLE_FORMAT_NAMES),
  /** The name of the sheet, or the path of the records. */
  title: z.string(),
  /** For a sheet, the letters of the columns by their headers. */
  letters: z.record(z.string(), z.string()),
});
export type TablePlaces = Stored<typeof tablePlacesSchema>;

/**
 * The place of a row, or of a cell if its column is known: `line 17`, `Prices!C17`, `products[16].price`,
 * `/rss/channel/item[17]/g:price`. Rows and records count from 1, except in JSON, which counts from 0.
 */
export function rowPlace(
  line: number,
  column: string | null | undefined,
  table: TablePlaces | undefined,
): string {
  if (table === undefined) return `line ${line}`;
  switch (table.format) {
    case 'jsonl':
      return `line ${line}`;
    case 'xlsx':
    case 'ods': {
      const sheet = /^[\p{L}\p{N}_.]+$/u.test(table.title)
        ? table.title
        : `'${table.title.replaceAll("'", "''")}'`;
      const letters = typeof column === 'string' ? table.letters[column] : undefined;
      return letters === undefined ? `${sheet} row ${line}` : `${sheet}!${letters}${line}`;
    }
    case 'json':
      return `${table.title}[${line - 1}]${column ? `.${column}` : ''}`;
    case 'xml': {
      const cell = column ? `/${column.replaceAll('.', '/').replace(/\/?@/, '/@')}` : '';
      return `/${table.title.replaceAll('.', '/')}[${line}]${cell.replace('//', '/')}`;
    }
    default:
      return table.format satisfies never;
  }
}

/** The keys that say which table of a file is meant, and how it is written: of a source, a crosswalk and a lookup. */
export const tableFields = {
  sheet: optional(
    z.union([z.string().min(1), z.int().min(1)]),
    'The sheet: its name, or number among the visible ones. Required if several have content.',
  ),
  headerRow: optional(
    z.int().min(1),
    'The row of a sheet, or line of a CSV file, with the header. Default: the first with content.',
  ),
  dataRow: optional(
    z.int().min(2),
    'The first row with data, as `headerRow`. Rows between it and the header are not read. Default: the next.',
  ),
  records: optional(
    z.string().min(1),
    'The path of records in JSON or XML: `shop.offers.offer`. A list within each, after `>`, makes a row of each object: `data.products > variants`. Default: the outermost array; the items of RSS or Atom.',
  ),
  encoding: optional(encodingSchema, 'The charset. Default: that of the byte order mark, else UTF-8.'),
  delimiter: optional(delimiterSchema, 'The delimiter or its name. Default: detected.'),
  quotes: z
    .enum(['standard', 'none'])
    .default('standard')
    .describe('`none`: a quote is an ordinary character.'),
  escape: optional(
    z.literal('backslash'),
    'In quoted cells a quote is `\\"`, a backslash `\\\\`. Default: a quote is doubled.',
  ),
  skipBlanks: optional(z.literal(true), 'Blanks may stand between delimiter and quote, as in `a, "b, c"`.'),
};

/** Which table of a file is meant, and how it is written. */
export type TableOptions = {
  readonly [Key in keyof Habits]?: Habits[Key] | undefined;
};
type Habits = z.infer<z.ZodObject<typeof tableFields>>;

/** What must be quoted, and what a reader could take for a delimiter or trim. */
const NEEDS_QUOTES = /[",;\t|\r\n\ufeff]|^\s|\s$/;

/**
 * One row as CSV text without its line end; null is a blank cell. `readCsv` gives the same cells back, unless all are
 * blank. Cells with any of the usual delimiters are quoted, so that the delimiter can be detected; so is a single blank
 * cell, because an empty line is not a row.
 */
export function formatRow(cells: readonly (string | null)[], delimiter: string): string {
  let line = '';
  for (let index = 0; index < cells.length; index += 1) {
    const cell = cells[index] ?? '';
    if (index > 0) line += delimiter;
    line += NEEDS_QUOTES.test(cell) || cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell;
  }
  return line === '' ? '""' : line;
}

/** Rows as lines of CSV with commas. */
export function csvLines(rows: readonly (readonly (string | null)[])[]): string {
  return rows.map((cells) => `${formatRow(cells, ',')}\n`).join('');
}

/** Splits text that arrives in pieces into lines, in time that is linear in its length. */
export class LineSplitter {
  /** The beginning of a line that has not ended. */
  rest = '';

  /** The lines that end in the next piece, without their line feeds. Only a line feed ends one: JSON does not escape U+2028. */
  take(piece: string): readonly string[] {
    const lines = piece.split('\n');
    // Only the new piece is searched, and the rest only appended to.
    lines[0] = `${this.rest}${lines[0]}`;
    this.rest = lines.pop() ?? '';
    return lines;
  }
}

/** The headers of a file without the white space and byte order marks around them. */
export function trimHeaders(header: readonly string[]): readonly string[] {
  return header.map((text) => text.replace(/^[\s\ufeff]+|(?<![\s\ufeff])[\s\ufeff]+$/g, ''));
}

/** Codes of ISO 4217, as the runtime knows them. */
export const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/**
 * Signs, usual abbreviations and names besides the codes, in lower case and without a final dot, with the currencies that each may
 * mean.
 */
const NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  currencyNames.names.flatMap(({ words, currencies }) =>
    words.split(' ').map((word) => [word, currencies.split(' ')] as const),
  ),
);

/** Codes that people also write in lower case. Others are words in some language: try, all, cup, top. */
const WRITTEN_LOOSELY: ReadonlySet<string> = new Set(currencyNames.writtenLoosely.split(' '));

/** The sign of a currency, but neither of its subunit (10¢ is not 10 dollars) nor the generic one (¤). */
const CURRENCY_SIGN = /^(?![¢￠₥₰¤])\p{Sc}$/u;

/**
 * The currencies that a code, a sign, or a usual abbreviation or name may mean; undefined for other words. A sign that is not listed
 * means only itself.
 */
export function currenciesNamed(text: string): readonly string[] | undefined {
  // A code that was replaced and that feeds still write.
  if (text === 'RUR') return ['RUB'];
  const code = text.toUpperCase();
  if (CURRENCIES.has(code) && (text === code || WRITTEN_LOOSELY.has(code))) return [code];
  const word = text.toLowerCase().replace(/\.$/, '');
  return NAMES.get(word) ?? (CURRENCY_SIGN.test(text) ? [text] : undefined);
}
