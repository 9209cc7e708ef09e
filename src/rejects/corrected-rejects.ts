import { DELIMITER_CHARACTERS, type Dialect } from '../model/row.ts';
import { CsvError, EncodingError, SourceError } from '../model/storeferry-error.ts';
import { type ComparedRejects, compareRejects, otherFile } from './compare-rejects.ts';
import { layOut } from './corrected-layout.ts';
import {
  type CorrectedForm,
  type CorrectedRejectsOptions,
  joinRejects,
  openUntouched,
  withoutMarks,
} from './join-rejects.ts';
import { quotedCell } from './rejects-edits.ts';
import { columnKeys, LINE_COLUMN, type RejectedKey, withoutBlankSurplus } from './rejects-file.ts';

/** A corrected rejects file, ready to be read as a source. */
export interface CorrectedRejects extends Pick<ComparedRejects, 'edits' | 'refused' | 'keyless' | 'origins'> {
  readonly dialect: Dialect;
  /** The rejected keys. */
  readonly keys: readonly RejectedKey[];
  /**
   * The rows under their original headers, without our columns: CSV text for the snapshot of the retry. Each row
   * starts on the line that it has in the corrected file. Short and long rows that were not edited keep their length.
   */
  readonly files: readonly { readonly name: string; content(): AsyncIterable<string> }[];
  /** How `files` are to be read. */
  readonly readAs: { readonly encoding: 'utf-8'; readonly delimiter: string };
}

/**
 * Reads a rejects file as a spreadsheet saved it. Delimiter, charset and order of columns may differ, our columns may
 * be missing, and rows may be deleted or added. CsvError if it is broken, SourceError if it is not a rejects file of
 * this run.
 */
export async function readCorrectedRejects(options: CorrectedRejectsOptions): Promise<CorrectedRejects> {
  const found = await findReading(options);
  const { layout, dialect } = found;
  const { edits, refused, keyless, origins } = found.compared;
  const delimiter = options.index.delimiter;
  return {
    dialect,
    edits,
    refused,
    keyless,
    origins,
    keys: options.index.keys,
    files: layout.headers.map((header, index) => ({
      name: layout.headers.length === 1 ? options.name : `${options.name} (${index + 1})`,
      content: () => restored(options, found, header, index, delimiter),
    })),
    readAs: { encoding: 'utf-8', delimiter },
  };
}

/** The text of one file: the rows of one header, each on its line, with blank lines before it as needed. */
async function* restored(
  options: CorrectedRejectsOptions,
  reading: CorrectedReading,
  header: readonly string[],
  headerIndex: number,
  delimiter: string,
): AsyncGenerator<string> {
  const { formatRow } = options.csv;
  const untouched = await openUntouched(options, reading);
  let nextLine = 1;
  const put = (cells: readonly string[], line: number): string => {
    const text = `${'\n'.repeat(Math.max(0, line - nextLine))}${formatRow(cells, delimiter)}\n`;
    nextLine += text.match(/\r\n|\n|\r/g)?.length ?? 0;
    return text;
  };
  yield `\ufeff${put(header, 1)}`;
  for await (const rows of joinRejects(options, reading, untouched)) {
    let text = '';
    for (const row of rows) {
      if (row.header !== headerIndex) continue;
      text += put(withoutBlankSurplus(row.cells, header.length), row.line);
    }
    if (text !== '') yield text;
  }
}

/** One way to read the corrected file, and its result. */
interface CorrectedReading extends CorrectedForm {
  readonly dialect: Dialect;
  readonly compared: ComparedRejects;
}

/** The file in its declared encoding. If it is not in Unicode, the encoding in which it differs least from its copy. */
async function findReading(options: CorrectedRejectsOptions): Promise<CorrectedReading> {
  const reading = await tryReading(options, options.encoding).catch(async (error: unknown) => {
    if (!(error instanceof EncodingError) || options.encoding !== undefined) throw error;
    return (await closestReading(options)) ?? Promise.reject(error);
  });
  refuseOtherFile(options, reading);
  return reading;
}

/**
 * One of the encodings that can decode the file. In a wrong encoding, quotes and delimiters may become parts of
 * characters. SourceError if several encodings fit equally well and read the typed text differently.
 */
async function closestReading(options: CorrectedRejectsOptions): Promise<CorrectedReading | undefined> {
  let best: { readonly reading: CorrectedReading; readonly differing: number } | undefined;
  let rival: CorrectedReading | undefined;
  for (const encoding of options.csv.encodings) {
    const reading = await tryReading(options, encoding).catch((reason: unknown) => {
      if (reason instanceof CsvError || reason instanceof SourceError) return undefined;
      throw reason;
    });
    if (reading === undefined) continue;
    const { editedCells, restoredCells, refusedCells, addedRows } = reading.compared.edits;
    // Half a difference, so that it only decides between equal results.
    const doubt = isPlausible(reading.compared.typedStart) ? 0 : 0.5;
    const differing = editedCells + restoredCells + refusedCells + addedRows + doubt;
    if (best === undefined || differing < best.differing) {
      best = { reading, differing };
      rival = undefined;
    } else if (differing === best.differing && reading.compared.typed !== best.reading.compared.typed) {
      rival ??= reading;
    }
  }
  if (best !== undefined && rival !== undefined) throw ambiguousCharset(options, best.reading, rival);
  return best?.reading;
}

/** Words of one script with characters that people type. A wrong charset often has neither. */
function isPlausible(typed: string): boolean {
  const words = typed.match(/[\p{L}\p{M}]+/gu) ?? [];
  const isOfOneScript = words.every((word) => SCRIPTS.filter((script) => script.test(word)).length <= 1);
  return isOfOneScript && !NOT_TYPED.test(typed);
}

const SCRIPTS = ['Latin', 'Cyrillic', 'Greek', 'Hebrew', 'Arabic', 'Thai', 'Katakana', 'Han', 'Hangul'].map(
  (script) => new RegExp(`\\p{Script=${script}}`, 'u'),
);
/** Control characters, modifiers, ligatures, and signs that replace characters of another charset. */
const NOT_TYPED =
  /[\u0080-\u009f\u00a6\u00a8\u00ac\u00af\u00b4\u00b8]|\p{Lm}|\p{Co}|\p{Cn}|[\ufb00-\ufb06]|[‹›†‡ˆ∂∑∏π∫Ω√∆◊\uf8ff]/u;

function ambiguousCharset(
  { name, personal = false }: CorrectedRejectsOptions,
  ...readings: readonly [CorrectedReading, CorrectedReading]
): SourceError {
  const [one, other] = readings.map(({ encoding = '', compared }) => ({
    encoding,
    cells: compared.edits.cells,
  }));
  const at = one?.cells.findIndex((cell, index) => cell.new !== other?.cells[index]?.new) ?? -1;
  const cell = one?.cells[at];
  const shown = readings.map(({ encoding, compared }) => {
    const text = personal ? undefined : compared.edits.cells[at]?.new;
    return text === undefined ? `${encoding}` : `${quotedCell(text)} in ${encoding}`;
  });
  const where = cell === undefined ? 'cells that were added' : `line ${cell.line}, column ${cell.column}`;
  return new SourceError(
    `The charset of the corrected file is not known: it may be ${shown.join(' or ')} (${where}).`,
    {
      place: { file: name },
      hint: 'Save the file as UTF-8 ("CSV UTF-8" in a spreadsheet), and check the accented characters in it.',
    },
  );
}

async function tryReading(
  options: CorrectedRejectsOptions,
  encoding: string | undefined,
): Promise<CorrectedReading> {
  const { delimiter, header, dialect } = await openBest(options, encoding);
  const layout = layOut(header, options.index);
  const compared = await compareRejects(options, { encoding, delimiter, layout });
  return { encoding, delimiter, dialect, layout, compared, doubtful: compared.doubtful };
}

/** Tries all delimiters and takes the one that finds most of the expected columns. */
async function openBest(options: CorrectedRejectsOptions, encoding: string | undefined) {
  const { csv, index, name } = options;
  const expected = new Set([...index.headers.flatMap((header) => columnKeys(header)), `1:${LINE_COLUMN}`]);
  let best: { delimiter: string; header: readonly string[]; dialect: Dialect; known: number } | undefined;
  let failure: CsvError | undefined;
  for (const delimiter of new Set([index.delimiter, ...DELIMITER_CHARACTERS])) {
    try {
      using table = await csv.open(await options.corrected(), { name, encoding, delimiter });
      const { dialect } = table;
      const { header } = withoutMarks(table);
      const known = new Set(columnKeys(header).filter((key) => expected.has(key))).size;
      if (known > (best?.known ?? 0)) best = { delimiter, header, dialect, known };
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      // A wrong delimiter can cause broken quotes; a wrong encoding cannot.
      if (failure === undefined || error instanceof EncodingError) failure = error;
    }
  }
  const lines = best?.header.includes(LINE_COLUMN) === true;
  if (best !== undefined && (lines || best.known * 2 >= expected.size - 1)) return best;
  throw failure ?? otherFile(options, 'it has none of its columns', 'keep its header');
}

/** A file with the same columns may be any file; its rows decide. SourceError. */
function refuseOtherFile(
  options: CorrectedRejectsOptions,
  { layout, compared: { edits, alike } }: CorrectedReading,
): void {
  if (edits.rows === 0) return;
  if (!layout.hasLines && edits.addedRows > 0) {
    const what = `the column ${LINE_COLUMN} is gone, and ${edits.addedRows} of its ${edits.rows} rows do not resemble any rejected row`;
    throw otherFile(options, what, `keep the column ${LINE_COLUMN}`);
  }
  if (alike === 0) throw otherFile(options, 'none of its rows resembles a rejected row', 'keep its rows');
}
