import { delimiterName, isSheet } from '../model/row.ts';
import {
  CsvError,
  DelimiterError,
  EncodingError,
  HeaderRowError,
  type StoreferryError,
  TableChoiceError,
} from '../model/storeferry-error.ts';
import { variantsWithin } from '../tables/open-table.ts';
import { listed } from '../text/printable.ts';
import { charsetsOf, headerBelow } from './guess/propose-mapping.ts';
import type { Inquiry, JobChoice } from './inquiry.ts';
import type { Reading } from './job-text.ts';
import { fileToGuess, type SourceLook } from './preview-source.ts';

/** Looks at a file in one way of reading it. */
type LookByReading = (reading: Reading) => Promise<SourceLook>;

/**
 * TableChoiceError if the records of a file have lists of variants, unless `records` names them: their values would share cells.
 * HeaderRowError where a later row has more words that headers are known to have.
 */
function refuseUnclear(look: SourceLook, reading: Reading) {
  const { header, rows, files, places } = look;
  const isTable = places === undefined || isSheet(places);
  if (!isTable && reading.records === undefined) refuseVariants(look);
  if (!isTable || reading.headerRow !== undefined) return;
  const below = headerBelow(header, fileToGuess(look).rows);
  const row = below === undefined ? undefined : rows[below];
  if (row === undefined) return;
  throw new HeaderRowError(
    `The first row does not look like a header, and row ${row.line} does: ${listed(row.cells.filter((cell) => cell.trim() !== '').map((cell) => `'${cell}'`))}.`,
    row.line,
    { place: { file: files[0] ?? '', line: 1 } },
  );
}

function refuseVariants({ header, rows, files, places }: SourceLook) {
  const list = variantsWithin(
    header,
    rows.map(({ cells }) => cells),
  );
  if (list === undefined || places === undefined) return;
  const { format, title } = places;
  const likely = `${title} > ${list}`.trim();
  // Each line of JSON Lines is a record, whatever the path.
  const whole = format === 'jsonl' ? [] : [{ value: title === '' ? '[]' : title, records: null }];
  throw new TableChoiceError(`The records have several \`${list}\` each, whose values would share a cell.`, {
    key: 'records',
    place: { file: files[0] ?? '' },
    hint: `Set \`records: '${likely}'\` in the source of the job to make a row of each.`,
    candidates: [{ value: likely, records: null }, ...whole],
    likely,
  });
}

/** What a person must say before a file can be read. */
interface ReadingQuestion {
  /** The key of a source that says it. */
  readonly key: 'sheet' | 'records' | 'headerRow' | 'encoding' | 'delimiter';
  readonly text: string;
  readonly error: StoreferryError;
  readonly choices: readonly JobChoice[];
  /** The choice that is meant most probably; undefined where none stands out. */
  readonly likely?: string | undefined;
}

/** The question whose answer resolves an error of a look; undefined for errors that no answer resolves. */
function readingQuestion(error: unknown): ReadingQuestion | undefined {
  if (error instanceof EncodingError && error.candidates.length > 0) {
    const { words } = error;
    const choices = error.candidates.map((value) => {
      const sample = words.get(value);
      return { value, name: sample ? `${value} (a word in it: ${sample})` : value, sample };
    });
    return { key: 'encoding', text: 'Which charset is it in?', error, choices };
  }
  if (error instanceof DelimiterError) {
    const choices = error.candidates.map((value) => ({ value, name: delimiterName(value) ?? value }));
    return { key: 'delimiter', text: 'What separates the columns?', error, choices };
  }
  if (error instanceof TableChoiceError && error.candidates.length > 0) {
    const { key, candidates, likely } = error;
    const text = key === 'sheet' ? 'Which sheet?' : 'Where in the file are the products or contacts?';
    const choices = candidates.map(({ value, records }) => ({
      value,
      name: records === null ? value : `${value} (${records} times)`,
    }));
    return { key, text, error, choices, likely };
  }
  if (error instanceof HeaderRowError) {
    const likely = String(error.headerRow);
    const first = String(error.place?.line ?? 1);
    const choices = [likely, first].map((value) => ({ value, name: `row ${value}` }));
    return { key: 'headerRow', text: 'Which row is the header?', error, choices, likely };
  }
  return undefined;
}

/** Asks it; the first of the charsets is one that a person may confirm by the words that it makes. */
function askReading(inquiry: Inquiry, question: ReadingQuestion, likely: string | undefined) {
  const { key, text, error, choices } = question;
  return inquiry.ask({
    id: key,
    text,
    reason: error.message,
    place: error.place,
    defaultAnswer: likely ?? (key === 'encoding' ? choices[0]?.value : undefined),
    reliance: likely === undefined ? 'confirm' : 'guess',
    choices,
  });
}

/**
 * Reads a file, and asks what it leaves open. Undefined while a question is open; throws the error that no answer resolves.
 * `isKnown`: whether a file has the columns of a known format. `notes` gets sentences about what was found out.
 */
export async function readUntilClear(
  inquiry: Inquiry,
  lookBy: LookByReading,
  given: Reading,
  isKnown: (look: SourceLook) => Promise<boolean>,
  notes: string[],
) {
  let reading = given;
  for (;;) {
    try {
      const look = await lookBy(reading);
      refuseUnclear(look, reading);
      return { look, reading };
    } catch (error) {
      const question = readingQuestion(error);
      if (question === undefined || reading[question.key] !== undefined) {
        if (!(error instanceof CsvError) || !(await isUnquoted(lookBy, reading))) throw error;
        notes.push(
          `${error.message} No cell begins with a quote, so the file never quotes cells. Taken: quotes: none.`,
        );
        reading = { ...reading, quotes: 'none' };
        continue;
      }
      const { key } = question;
      const found = await likelyChoice(question, (more) => lookBy({ ...reading, ...more }), isKnown);
      if (found?.why !== undefined) notes.push(found.why);
      const answer = askReading(inquiry, question, found?.value);
      if (answer === undefined) return undefined;
      reading = { ...reading, [key]: key === 'headerRow' ? Number(answer) : answer };
    }
  }
}

/** Whether a file with faulty quotes can be read without quotes, and none of its cells begins with one: they are inches. */
async function isUnquoted(lookBy: LookByReading, known: Reading) {
  if (known.quotes !== undefined) return false;
  const look = await lookBy({ ...known, quotes: 'none' }).catch(() => undefined);
  if (look === undefined || look.rowCount !== look.rows.length) return false;
  const { header } = look;
  const rows = look.rows.map(({ cells }) => cells);
  // A delimiter at the end of each row leaves a blank cell beyond the header.
  const width = rows[0]?.length ?? header.length;
  const isWhole = width === header.length || width === header.length + 1;
  return [header, ...rows].every(
    (cells) =>
      isWhole &&
      (cells === header || cells.length === width) &&
      (cells[header.length] ?? '').trim() === '' &&
      !cells.some((cell) => cell.trimStart().startsWith('"')),
  );
}

/** A choice that is meant most probably, and the sentence that says why. */
interface LikelyChoice {
  readonly value: string | undefined;
  readonly why?: string;
}

async function likelyChoice(
  { key, choices, likely }: ReadingQuestion,
  lookBy: LookByReading,
  isKnown: (look: SourceLook) => Promise<boolean>,
): Promise<LikelyChoice | undefined> {
  const values = choices.map(({ value }) => value);
  if (key === 'encoding') return await likelyEncoding(values, lookBy);
  return (key === 'sheet' ? await likelySheet(values, lookBy, isKnown) : undefined) ?? { value: likely };
}

/** Usual names of the sheets that programs write products and contacts to, among sheets of other things. */
const SHEET_NAME = /^(?:products?|items?|catalog(?:ue)?|contacts?|customers?|subscribers?)$/i;

/** The only sheet that has a usual name and the columns of a known format. */
async function likelySheet(
  sheets: readonly string[],
  lookBy: LookByReading,
  isKnown: (look: SourceLook) => Promise<boolean>,
): Promise<LikelyChoice | undefined> {
  const fitting: string[] = [];
  for (const sheet of sheets.filter((name) => SHEET_NAME.test(name))) {
    const look = await lookBy({ sheet }).catch(() => undefined);
    if (look !== undefined && (await isKnown(look))) fitting.push(sheet);
  }
  const [only, second] = fitting;
  if (only === undefined || second !== undefined) return undefined;
  return { value: only, why: `The sheet ${only} alone has the columns of a known format.` };
}

/** A page waits for the comparison of charsets: of larger files a part is compared. */
const MAX_ROWS_COMPARED = 200;
const MAX_CELLS_COMPARED = 200;

/** The charset in which most headers are words of a language that is written in it; undefined where two do alike. */
async function likelyEncoding(
  candidates: readonly string[],
  lookBy: LookByReading,
): Promise<LikelyChoice | undefined> {
  const scores: { readonly encoding: string; readonly score: number; readonly text: string }[] = [];
  let isWhole = true;
  for (const encoding of candidates) {
    const look = await lookBy({ encoding }).catch(() => undefined);
    if (look === undefined) continue;
    const fitting = charsetsOf(look.header).filter((charsets) => charsets.has(encoding));
    const rows = look.rows.slice(0, MAX_ROWS_COMPARED).map(({ cells }) => cells.slice(0, MAX_CELLS_COMPARED));
    const text = JSON.stringify([look.header.slice(0, MAX_CELLS_COMPARED), rows]);
    isWhole &&= look.rows.length <= MAX_ROWS_COMPARED && look.header.length <= MAX_CELLS_COMPARED;
    scores.push({ encoding, score: fitting.length, text });
  }
  const most = Math.max(0, ...scores.map(({ score }) => score));
  const fitting = scores.filter(({ score }) => score === most && most > 0);
  const fewest = Math.min(...fitting.map(({ text }) => countStrangeCharacters(text)));
  const [best, ...others] = fitting.filter(({ text }) => countStrangeCharacters(text) === fewest);
  if (best === undefined || others.some(({ text }) => !isWhole || text !== best.text)) return undefined;
  return {
    value: best.encoding,
    why: `Its charset is probably ${best.encoding}: there its headers are words.`,
  };
}

/** How many characters are neither letters nor usual signs: a wrong charset has them within words. */
function countStrangeCharacters(text: string) {
  return (
    text.match(/[^\p{ASCII}\p{L}\p{M}\p{Sc}\u00a0°–—…„“”‘’‚«»×·•™®²³、。（）「」・！？：；，]/gu)?.length ?? 0
  );
}
