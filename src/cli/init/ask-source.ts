import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { didYouMean } from '../../model/nearest.ts';
import { delimiterName, delimiterSchema, encodingSchema } from '../../model/row.ts';
import {
  CsvError,
  DelimiterError,
  EncodingError,
  explainError,
  SourceError,
  UsageError,
} from '../../model/storeferry-error.ts';
import { counted } from '../../report/printable.ts';
import { lookAtSource, type SourceLook } from '../../run/look-at-source.ts';
import type { Asking } from './asking.ts';
import { freeName } from './free-name.ts';

/** The file that the job reads. */
export interface SourceAnswer {
  /** As the job writes it. */
  readonly path: string;
  /** The file to copy to `path` in the workspace; undefined if it is read at its present place. */
  readonly copyOf: string | undefined;
  readonly encoding: string | undefined;
  readonly delimiter: string | undefined;
  readonly look: SourceLook;
}

/** Asks for the source, reads it like an import, and decides whether it is copied into the workspace. */
export async function askSource(asking: Asking): Promise<SourceAnswer> {
  const { options, prompter, say } = asking;
  for (;;) {
    const file = await askPath(asking, options.source, 'The file to import (CSV; gzip and zip are opened):');
    try {
      const read = await lookUntilClear(asking, file);
      say(describeLook(read.look, basename(file)));
      return { ...read, ...(await askPlace(asking, file)) };
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

/** Reads the file. If its charset or delimiter cannot be detected, the user decides. */
async function lookUntilClear({ options, prompter, say }: Asking, file: string) {
  let encoding = dialect('--encoding', encodingSchema, options.encoding);
  let delimiter = dialect('--delimiter', delimiterSchema, options.delimiter);
  for (;;) {
    try {
      const look = await lookAtSource(file, { encoding, delimiter });
      return { look, encoding, delimiter: delimiter && (delimiterName(delimiter) ?? delimiter) };
    } catch (error) {
      if (error instanceof EncodingError && encoding === undefined && error.candidates.length > 0) {
        encoding = await decide('encoding', error, 'Which charset is it in?');
      } else if (error instanceof DelimiterError && delimiter === undefined) {
        delimiter = await decide('delimiter', error, 'What separates the columns?');
      } else {
        throw error;
      }
    }
  }

  async function decide(
    flag: string,
    doubt: EncodingError | DelimiterError,
    question: string,
  ): Promise<string> {
    const { message, candidates, place } = doubt;
    const words = doubt instanceof EncodingError ? doubt.words : new Map<string, string>();
    const names = candidates.map((value) => ({ value, name: delimiterName(value) ?? value }));
    if (prompter === null) {
      throw new UsageError(message, {
        place,
        hint: `Give --${flag} with one of: ${names.map(({ name }) => name).join(', ')}.`,
      });
    }
    say(message);
    return await prompter.choose(
      question,
      names.map(({ value, name }) => {
        const word = words.get(value);
        return { value, name: word === undefined ? name : `${name} (a word in it: ${word})` };
      }),
    );
  }
}

/** A flag that is validated with the schema of its key. */
function dialect(
  flag: string,
  schema: typeof encodingSchema | typeof delimiterSchema,
  given: string | undefined,
): string | undefined {
  if (given === undefined) return undefined;
  const read = schema.safeParse(given);
  if (read.success) return read.data;
  throw new UsageError(`${flag}: ${read.error.issues[0]?.message ?? 'not valid'}.`);
}

/** `1,234 rows, 47 columns, comma, utf-8`. */
export function describeLook(
  { files, header, dialect: { delimiter, encoding, bom }, rowCount }: SourceLook,
  name: string,
) {
  const parts = [
    rowCount === null ? 'many rows' : counted(rowCount, 'row'),
    counted(header.length, 'column'),
    `separated by ${delimiterName(delimiter) ?? delimiter}`,
    `${encoding}${bom ? ' with byte order mark' : ''}`,
  ];
  return `${name} reads as CSV: ${parts.join(', ')}${files.length > 1 ? ` (the first of ${files.length} files in it)` : ''}.`;
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
