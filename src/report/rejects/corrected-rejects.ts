import { DELIMITER_CHARACTERS, type Dialect } from '../../model/row.ts';
import { CsvError, EncodingError, SourceError } from '../../model/storeferry-error.ts';
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

/** A corrected rejects file, read as what it is: another source. */
export interface CorrectedRejects extends Pick<ComparedRejects, 'edits' | 'refused' | 'keyless'> {
  readonly dialect: Dialect;
  /** What was rejected; undefined where an earlier version wrote the rejects. */
  readonly keys: readonly RejectedKey[] | undefined;
  /**
   * The rows under the headers they once had, without our columns: CSV text to take the snapshot of the retry from.
   * Every row starts on the line that it has in the corrected file; rows that were short or long and have not been
   * edited are so again.
   */
  readonly files: readonly { readonly name: string; content(): AsyncIterable<string> }[];
  /** How `files` are to be read. */
  readonly readAs: { readonly encoding: 'utf-8'; readonly delimiter: string };
}

/**
 * Reads a rejects file as a spreadsheet has saved it: other delimiter, charset or order of columns, our columns gone,
 * rows deleted or added. CsvError when it is broken, SourceError when it is no rejects file of this run.
 */
export async function readCorrectedRejects(options: CorrectedRejectsOptions): Promise<CorrectedRejects> {
  const found = await findReading(options);
  const { layout, dialect } = found;
  const { edits, refused, keyless } = found.compared;
  const delimiter = options.index.delimiter;
  return {
    dialect,
    ...{ edits, refused, keyless },
    keys: options.index.keys,
    files: layout.headers.map((header, index) => ({
      name: layout.headers.length === 1 ? options.name : `${options.name} (${index + 1})`,
      content: () => restored(options, found, header, index, delimiter),
    })),
    readAs: { encoding: 'utf-8', delimiter },
  };
}

/** The text of one file: the rows of one header, each on its line, which blank lines before it see to. */
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
    nextLine += lineCount(text);
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

function lineCount(text: string): number {
  return text.match(/\r\n|\n|\r/g)?.length ?? 0;
}

/** A way to read the corrected file, and its result. */
interface CorrectedReading extends CorrectedForm {
  readonly dialect: Dialect;
  readonly compared: ComparedRejects;
}

/** The file as it says it is; when it is not in Unicode, the encoding under which it differs least from its copy. */
async function findReading(options: CorrectedRejectsOptions): Promise<CorrectedReading> {
  const reading = await tryReading(options, options.encoding).catch(async (error: unknown) => {
    if (!(error instanceof EncodingError) || options.encoding !== undefined) throw error;
    return (await closestReading(options)) ?? Promise.reject(error);
  });
  refuseOtherFile(options, reading);
  return reading;
}

/**
 * Of the encodings in which the file can be read at all. In the wrong one, quotes and delimiters may be parts of characters.
 * SourceError where several fit equally and read differently what the user has typed.
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
    // Half a difference, so that it only decides between equals.
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

/** Words of one script, of characters that people type: a wrong charset often gives neither. */
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

/** Tries the delimiters, since the header to expect is known: the one that finds most of its columns. */
async function openBest(options: CorrectedRejectsOptions, encoding: string | undefined) {
  const { csv, index, name } = options;
  const expected = new Set([...index.headers.flatMap((header) => columnKeys(header)), `1:${LINE_COLUMN}`]);
  let best: { delimiter: string; header: readonly string[]; dialect: Dialect; known: number } | undefined;
  let failure: CsvError | undefined;
  for (const delimiter of new Set([index.delimiter, ...DELIMITER_CHARACTERS])) {
    try {
      using table = await csv.open(await options.corrected(), { name, encoding, delimiter });
      const { dialect } = table;
      const { header } = withoutMarks(table, index);
      const known = new Set(columnKeys(header).filter((key) => expected.has(key))).size;
      if (known > (best?.known ?? 0)) best = { delimiter, header, dialect, known };
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      // Broken quotes may come of the wrong delimiter, and a wrong encoding of none.
      if (failure === undefined || error instanceof EncodingError) failure = error;
    }
  }
  const lines = best?.header.includes(LINE_COLUMN) === true;
  if (best !== undefined && (lines || best.known * 2 >= expected.size - 1)) return best;
  throw failure ?? otherFile(options, 'it has none of its columns', 'keep its header');
}

/** A file of the same columns may be anything: its rows show what it is. SourceError. */
function refuseOtherFile(
  options: CorrectedRejectsOptions,
  { layout, compared: { edits, alike } }: CorrectedReading,
): void {
  if (edits.rows === 0) return;
  if (!layout.hasLines && edits.addedRows > 0) {
    const what = `the column ${LINE_COLUMN} is gone, and ${edits.addedRows} of its ${edits.rows} rows are not like any that was rejected`;
    throw otherFile(options, what, `keep the column ${LINE_COLUMN}`);
  }
  if (alike === 0)
    throw otherFile(options, 'none of its rows is like one that was rejected', 'keep its rows');
}
