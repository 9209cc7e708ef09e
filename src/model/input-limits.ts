import { namesOf } from './json-object.ts';
import type { Place } from './storeferry-error.ts';

const KIB = 1024;
const MIB = KIB * KIB;

/** The limits on the input of an import, if the job sets none; their names are those in the job. */
export const DEFAULT_LIMITS = {
  rowBytes: 32 * MIB,
  cellBytes: 16 * MIB,
  rows: 50_000_000,
  columns: 16_384,
  mergedCells: 5_000_000,
  headerBytes: 8 * KIB,
  bytes: 10 * KIB * MIB,
  ratio: 200,
  fileCount: 1_000,
  pathBytes: KIB,
  crosswalkRows: 10_000_000,
  lookupRows: 500_000,
  patternLength: 1_000,
  recordRows: 20_000,
  combinations: 200,
  mergedCopies: 1_000,
} as const satisfies Readonly<Record<string, number>>;

/** The name of a limit. */
export type LimitName = keyof typeof DEFAULT_LIMITS;
/** All names. */
export const LIMIT_NAMES: readonly LimitName[] = namesOf(DEFAULT_LIMITS);
/** A value for each limit. */
export type InputLimits = Readonly<Record<LimitName, number>>;

/** The limits that apply to a mapping. */
export type MappingLimits = Pick<InputLimits, 'patternLength' | 'recordRows' | 'combinations'>;

/** How a limit is explained. */
interface LimitWords {
  /** What is counted, for the reference. */
  readonly counts: string;
  /** What a message says was found; `{…}` is a placeholder. */
  readonly found: string;
}

/**
 * Every limit in words. Limits protect memory and disk of the process from a damaged or hostile file. Schema, messages and reference
 * derive from this table.
 */
export const LIMIT_WORDS = {
  rowBytes: {
    counts: 'Most bytes (outside CSV: characters) of one row, line breaks included.',
    found: 'the row that begins here is longer; perhaps a quote is not closed, or this is not a CSV file',
  },
  cellBytes: {
    counts: 'Most bytes (outside CSV: characters) of one cell.',
    found: 'cell {cell} of the row is longer; perhaps its quote is not closed',
  },
  rows: {
    counts: 'Most rows of one file.',
    found: 'the file has more rows',
  },
  columns: {
    counts: 'Most cells of one row.',
    found: 'the row has {cells} cells',
  },
  mergedCells: {
    counts:
      'Most cells of a sheet that get their value from merged cells; columns after the last one with a value do not count.',
    found: 'merged cells cover more cells of the sheet',
  },
  headerBytes: {
    counts: 'Most bytes of the name of a CSV column.',
    found: 'the name of column {column} has {bytes} bytes; is this line the header?',
  },
  bytes: {
    counts: 'Most bytes of all files of the source together, or of another file, unpacked.',
    found: 'the unpacked file is larger',
  },
  ratio: {
    counts: 'How many times larger than its archive the content may be; judged from 64 MiB on.',
    found:
      'the unpacked content is larger than this ratio allows, as in an archive that is made to fill disks',
  },
  fileCount: {
    counts: 'Most files; each file in a zip counts.',
    found: 'there are more files',
  },
  pathBytes: {
    counts: 'Most bytes of the path of a file within a zip.',
    found: 'the path of entry {entry} has {bytes} bytes',
  },
  crosswalkRows: {
    counts: 'Most rows of a crosswalk, which is kept in a temporary file.',
    found: 'the crosswalk has more rows',
  },
  lookupRows: {
    counts: 'Most rows of the file of a lookup, which is kept in memory.',
    found: 'the lookup has more rows',
  },
  patternLength: {
    counts: 'Most characters of a pattern in the mapping.',
    found: 'the pattern has {characters} characters',
  },
  recordRows: {
    counts: 'Most rows of one record; one with more is rejected.',
    found: 'the record has more rows; is this the column that identifies records?',
  },
  combinations: {
    counts: 'Most variants that a product gets by combining options; one with more is rejected.',
    found: 'the listed options combine to {variants} variants',
  },
  mergedCopies: {
    counts: 'Most copies of a contact that `duplicates: merge` merges; more are rejected.',
    found: 'the same id occurs {copies} times; is the mapping of the id right?',
  },
} as const satisfies Readonly<Record<LimitName, LimitWords>>;

/** The code of the reason of a record with more rows than `recordRows`. Its pieces have one key, and keep this reason instead of that of copies. */
export const TOO_MANY_ROWS = 'too-many-rows';

/** The end of a sentence on what is beyond a limit, with its name and value; `found` fills the `{…}` of its words. */
export function beyondLimit(
  limit: LimitName,
  most: number,
  found: Readonly<Record<string, number>> = {},
  words: string = LIMIT_WORDS[limit].found,
): string {
  const filled = words.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(found[name] ?? '…'));
  return `beyond the limit ${limit} (${most}): ${filled}${filled.endsWith('?') ? '' : '.'}`;
}

/** Advice if a limit is too low for correct input. */
export function raiseLimit(limit: LimitName): string {
  return `If this is correct, set a higher \`limits: { ${limit}: … }\` in the job.`;
}

/** The error for a file that exceeds a limit, with advice; `found` fills the message. */
export function fileLimitError<Failure, Limit extends LimitName>(
  Failure: new (message: string, details: { readonly place: Place; readonly hint: string }) => Failure,
  limits: Readonly<Record<Limit, number>>,
  limit: Limit,
  place: Place,
  found?: Readonly<Record<string, number>>,
): Failure {
  return new Failure(`The file is ${beyondLimit(limit, limits[limit], found)}`, {
    place,
    hint: raiseLimit(limit),
  });
}
