import { DELIMITER_CHARACTERS, type Dialect } from '../../model/dialect.ts';
import { CsvError, EncodingError, SourceError } from '../../model/errors.ts';
import { quotedCell } from './cell-words.ts';
import { type ComparedRejects, compareRejects } from './compare-rejects.ts';
import { layOut } from './corrected-layout.ts';
import { type CorrectedForm, type CorrectedRejectsOptions, withoutMarks } from './join-rejects.ts';
import { columnKeys, LINE_COLUMN } from './rejects-columns.ts';

/** A way to read the corrected file, and what comes of it. */
export interface CorrectedReading extends CorrectedForm {
  readonly dialect: Dialect;
  readonly compared: ComparedRejects;
}

/** The file as it says it is; when it is not in Unicode, the encoding under which it differs least from its copy. */
export async function findReading(options: CorrectedRejectsOptions): Promise<CorrectedReading> {
  const reading = await tryReading(options, options.encoding).catch(async (error: unknown) => {
    if (!(error instanceof EncodingError) || options.encoding !== undefined) throw error;
    return (await closestReading(options)) ?? Promise.reject(error);
  });
  refuseOtherFile(options, reading);
  return reading;
}

/**
 * Of the encodings in which the file can be read at all. In the wrong one, quotes and delimiters may be parts of letters.
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

/** Words of one script, of letters that people type: what another charset makes of them often is neither. */
function isPlausible(typed: string): boolean {
  const words = typed.match(/[\p{L}\p{M}]+/gu) ?? [];
  const isOfOneScript = words.every((word) => SCRIPTS.filter((script) => script.test(word)).length <= 1);
  return isOfOneScript && !NOT_TYPED.test(typed);
}

const SCRIPTS = ['Latin', 'Cyrillic', 'Greek', 'Hebrew', 'Arabic', 'Thai', 'Katakana', 'Han', 'Hangul'].map(
  (script) => new RegExp(`\\p{Script=${script}}`, 'u'),
);
/** Control characters, modifiers, ligatures, and signs that stand for letters of another charset. */
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
      hint: 'Save the file as UTF-8 ("CSV UTF-8" in a spreadsheet), and check the letters in it.',
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

function otherFile({ name }: CorrectedRejectsOptions, what: string, keep: string): SourceError {
  return new SourceError(`This is no rejects file of this run: ${what}.`, {
    place: { file: name, line: 1 },
    hint: `Correct the rejects file of the run itself, and ${keep}.`,
  });
}
