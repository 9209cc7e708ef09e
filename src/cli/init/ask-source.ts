import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { freeName } from '../../config/edit-file.ts';
import { availableMappings } from '../../config/workspace.ts';
import { delimiterName, delimiterSchema, encodingSchema, tableFields } from '../../model/row.ts';
import {
  CsvError,
  explainError,
  SourceError,
  type StoreferryError,
  UsageError,
} from '../../model/storeferry-error.ts';
import { charsetsOf } from '../../onboarding/guess/propose-mapping.ts';
import { candidateOf } from '../../onboarding/guess-mapping.ts';
import type { NewSource } from '../../onboarding/new-workspace.ts';
import {
  describeLook,
  examineIsolated,
  fileToGuess,
  lookAtSource,
  lookForNewJob,
  type ReadingQuestion,
  readingQuestion,
  type SourceLook,
} from '../../onboarding/preview-source.ts';
import { didYouMean } from '../../text/nearest.ts';
import { counted } from '../../text/printable.ts';
import type { Asking } from './asking.ts';

type Written = Extract<NewSource, { readonly path: string }>;

/** The file that the job reads. */
export interface SourceAnswer {
  /** As the job writes it. */
  readonly written: Written;
  /** The file to copy to the path in the workspace; undefined if it is read at its present place. */
  readonly copyOf: string | undefined;
  readonly look: SourceLook;
}

/** Asks for the source, reads it like an import, and decides whether it is copied into the workspace. */
export async function askSource(asking: Asking): Promise<SourceAnswer> {
  const { options, prompter, say } = asking;
  for (;;) {
    const file = await askPath(
      asking,
      options.source,
      'The file to import (CSV, a workbook, JSON or XML; gzip and zip files are unpacked):',
    );
    try {
      const { look, ...reading } = await lookUntilClear(asking, file);
      say(describeLook(look, basename(file)));
      const { path, copyOf } = await askPlace(asking, file);
      return { written: { path, ...reading }, copyOf, look };
    } catch (error) {
      const mayAskAgain = prompter !== null && options.source === undefined;
      if (!mayAskAgain || !(error instanceof CsvError || error instanceof SourceError)) throw error;
      say(`This file cannot be imported. ${explainError(error)}`);
    }
  }
}

/** An existing file: from its option, otherwise asked until one exists. */
export async function askPath(
  { prompter }: Asking,
  given: string | undefined,
  message: string,
): Promise<string> {
  const text = given ?? (await prompter?.text(message, { check: whyNoFile })) ?? '';
  const wrong = await whyNoFile(text);
  if (wrong !== undefined) throw new UsageError(`${wrong[0]?.toUpperCase()}${wrong.slice(1)}.`);
  return typedPath(text);
}

async function whyNoFile(text: string): Promise<string | undefined> {
  const scheme = /^(https?|s3|sftp):\/\//i.exec(text.trim())?.[1]?.toLowerCase();
  if (scheme !== undefined) return whyNoAddress(scheme);
  const path = typedPath(text);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() === true) return undefined;
  if (found !== undefined) return `${path} is ${found.isDirectory() ? 'a folder' : 'not a regular file'}`;
  const there = await readdir(dirname(path)).catch(() => undefined);
  if (there === undefined) return `there is no folder ${dirname(path)}`;
  return `there is no file ${path}${didYouMean(basename(path), there)}`;
}

/** Only files of this machine: the header is read, and the rows are planned immediately. */
function whyNoAddress(scheme: string): string {
  const key = scheme.startsWith('http') ? 'url' : scheme;
  return `an address was given where a file of this machine is expected: download it once and give that file, then replace its path in the job by \`source: { ${key}: … }\` (docs/sources.md)`;
}

type Reading = Omit<Written, 'path'>;

/** Reads the file. If it can be read in several ways, the user decides. */
async function lookUntilClear(
  asking: Asking,
  file: string,
): Promise<Reading & { readonly look: SourceLook }> {
  const { options, signal } = asking;
  let reading: Reading = {
    sheet: dialect('--sheet', tableFields.sheet, options.sheet)?.toString(),
    records: dialect('--records', tableFields.records, options.records),
    headerRow: dialect('--header-row', tableFields.headerRow, rowNumber(options.headerRow)),
    encoding: dialect('--encoding', encodingSchema, options.encoding),
    delimiter: dialect('--delimiter', delimiterSchema, options.delimiter),
    quotes: quotesOf(options.quotes),
  };
  for (;;) {
    try {
      const look = await lookForNewJob(file, { ...reading, signal });
      const { delimiter } = reading;
      return { look, ...reading, delimiter: delimiter && (delimiterName(delimiter) ?? delimiter) };
    } catch (error) {
      const decided =
        (await decide(asking, error, reading, file)) ?? (await unquoted(asking, error, reading, file));
      if (decided === undefined) throw error;
      reading = { ...reading, ...decided };
    }
  }
}

/** `quotes: none` for a file with faulty quotes in which no cell begins with one: they are inches. */
async function unquoted(
  { say, signal }: Asking,
  error: unknown,
  known: Reading,
  file: string,
): Promise<Reading | undefined> {
  if (!(error instanceof CsvError) || known.quotes !== undefined) return undefined;
  const look = await lookAtSource(file, { ...known, quotes: 'none', signal }).catch(() => undefined);
  if (look === undefined || look.rowCount !== look.rows.length) return undefined;
  const { header } = look;
  const rows = look.rows.map(({ cells }) => cells);
  // A delimiter at the end of each row leaves a blank cell beyond the header.
  const width = rows[0]?.length ?? header.length;
  const isWhole = width === header.length || width === header.length + 1;
  const isClear = [header, ...rows].every(
    (cells) =>
      isWhole &&
      (cells === header || cells.length === width) &&
      (cells[header.length] ?? '').trim() === '' &&
      !cells.some((cell) => cell.trimStart().startsWith('"')),
  );
  if (!isClear) return undefined;
  say(`${error.message} No cell begins with a quote, so the file never quotes cells. Taken: quotes: none.`);
  return { quotes: 'none' };
}

/** What makes an unclear file clear; undefined where a person cannot say that, or has said it. */
async function decide(
  asking: Asking,
  error: unknown,
  known: Reading,
  file: string,
): Promise<Reading | undefined> {
  const question = readingQuestion(error);
  if (question === undefined || known[question.key] !== undefined) return undefined;
  const { key, text, choices } = question;
  const likely =
    key === 'encoding'
      ? await likelyEncoding(
          asking,
          choices.map(({ value }) => value),
          known,
          file,
        )
      : key === 'sheet'
        ? await likelySheet(asking, question, known, file)
        : question.likely;
  const flag = key === 'headerRow' ? '--header-row' : `--${key}`;
  const chosen = await choose(asking, question.error, flag, text, { choices, likely });
  return key === 'headerRow' ? { headerRow: Number(chosen) } : { [key]: chosen };
}

/** Usual names of the sheets that programs write products and contacts to, among sheets of other things. */
const SHEET_NAME = /^(?:products?|items?|catalog(?:ue)?|contacts?|customers?|subscribers?)$/i;

/** The only sheet that has a usual name and the columns of a known format. */
async function likelySheet(
  { dir, say, signal }: Asking,
  { choices, likely }: ReadingQuestion,
  known: Reading,
  file: string,
): Promise<string | undefined> {
  const mappings = availableMappings(dir, process.env).map(candidateOf);
  const fitting: string[] = [];
  for (const { value: sheet } of choices.filter(({ value }) => SHEET_NAME.test(value))) {
    const look = await lookAtSource(file, { ...known, sheet, signal }).catch(() => undefined);
    if (look === undefined) continue;
    const { best } = await examineIsolated(look, signal, 'recognise', fileToGuess(look), mappings);
    if (best !== undefined) fitting.push(sheet);
  }
  const [only, second] = fitting;
  if (only === undefined || second !== undefined) return likely;
  say(`The sheet ${only} alone has the columns of a known format.`);
  return only;
}

/** The charset in which most headers are words of a language that is written in it; undefined where two do alike. */
async function likelyEncoding(
  { options, say, signal }: Asking,
  candidates: readonly string[],
  known: Reading,
  file: string,
): Promise<string | undefined> {
  if (!options.yes) return undefined;
  const scores: { readonly encoding: string; readonly score: number; readonly text: string }[] = [];
  for (const encoding of candidates) {
    const look = await lookAtSource(file, { ...known, encoding, signal }).catch(() => undefined);
    if (look === undefined) continue;
    const fitting = charsetsOf(look.header).filter((charsets) => charsets.has(encoding));
    scores.push({ encoding, score: fitting.length, text: JSON.stringify([look.header, look.rows]) });
  }
  const most = Math.max(0, ...scores.map(({ score }) => score));
  const fitting = scores.filter(({ score }) => score === most && most > 0);
  const fewest = Math.min(...fitting.map(({ text }) => strangeCharacters(text)));
  const [best, ...others] = fitting.filter(({ text }) => strangeCharacters(text) === fewest);
  if (best === undefined || others.some(({ text }) => text !== best.text)) return undefined;
  say(
    `Its charset is ${best.encoding}: ${counted(most, 'header')} with accents or of another script ${most === 1 ? 'is a word' : 'are words'} then.`,
  );
  return best.encoding;
}

/** How many characters are neither letters nor usual signs: a wrong charset has them within words. */
function strangeCharacters(text: string): number {
  return (
    text.match(/[^\p{ASCII}\p{L}\p{M}\p{Sc}\u00a0°–—…„“”‘’‚«»×·•™®²³、。（）「」・！？：；，]/gu)?.length ?? 0
  );
}

/** One of several values for an option: the likely one with `--yes`, else as a person says. */
async function choose(
  { options, prompter, say }: Asking,
  { message, place }: StoreferryError,
  flag: string,
  question: string,
  { choices, likely }: Pick<ReadingQuestion, 'choices' | 'likely'>,
): Promise<string> {
  if (options.yes && likely !== undefined) {
    say(`${message} Taken: ${flag} ${/[ >]/.test(likely) ? `'${likely}'` : likely}.`);
    return likely;
  }
  if (prompter === null) {
    throw new UsageError(message, {
      place,
      hint: `Give ${flag} with one of: ${choices.map(({ name }) => name.replace(/^row /, '')).join(', ')}.`,
    });
  }
  say(message);
  return await prompter.choose(
    question,
    choices.map(({ value, name, note }) => ({
      value,
      name: note === undefined ? name : `${name} (${note})`,
    })),
    likely,
  );
}

function rowNumber(given: string | undefined): number | undefined {
  return given === undefined ? undefined : Number(given);
}

function quotesOf(given: string | undefined): 'none' | undefined {
  if (given === undefined || given === 'none') return given;
  throw new UsageError('--quotes: expected none.');
}

interface Schema<Value> {
  safeParse(given: unknown):
    | { readonly success: true; readonly data: Value }
    | {
        readonly success: false;
        readonly error: { readonly issues: readonly { readonly message: string }[] };
      };
}

/** A flag read by the schema of the key that it is for. */
function dialect<Value>(flag: string, schema: Schema<Value>, given: unknown): Value | undefined {
  if (given === undefined) return undefined;
  const read = schema.safeParse(given);
  if (read.success) return read.data;
  throw new UsageError(`${flag}: ${read.error.issues[0]?.message ?? 'not valid'}.`);
}

/** Where the job finds the file: in the workspace by a relative path, elsewhere by an absolute one, or as a copy. */
async function askPlace({ options, prompter, dir }: Asking, file: string) {
  const inside = relative(dir, file);
  if (!inside.startsWith('..') && !isAbsolute(inside)) {
    return { path: inside.split(sep).join('/'), copyOf: undefined };
  }
  const copy =
    options.copy ||
    (!options.yes &&
      (await prompter?.choose('Where does the job read the file?', [
        {
          value: 'place',
          name: `Where it is: ${file}`,
          description: 'A new version of the file there is imported by the next run.',
        },
        { value: 'copy', name: 'From a copy in the workspace' },
      ])) === 'copy');
  return copy
    ? { path: freeName(dir, basename(file)), copyOf: file }
    : { path: file.split(sep).join('/'), copyOf: undefined };
}

/**
 * A path as people type it or drop it onto a terminal. Quotes and backslashes before blanks belong to the shell, `~`
 * is the home folder, and the path is relative to the current folder.
 */
export function typedPath(
  text: string,
  { cwd = process.cwd(), home = homedir(), windows = process.platform === 'win32' } = {},
): string {
  const trimmed = text.trim();
  const quoted = /^(['"])(.+)\1$/s.exec(trimmed)?.[2];
  const plain = quoted ?? (windows ? trimmed : trimmed.replaceAll(/\\([^\w/])/g, '$1'));
  const whole = /^~(?=$|[/\\])/.test(plain) && quoted === undefined ? home + plain.slice(1) : plain;
  return resolve(cwd, whole);
}
