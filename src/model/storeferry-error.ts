/** The place of a finding in a file; lines and columns count from 1. */
export interface Place {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
}

interface ErrorDetails extends ErrorOptions {
  readonly place?: Place | undefined;
  /** The next command to type, or what to change. */
  readonly hint?: string | undefined;
  /** The message without quoted words of the store, which may name people. Absent if it quotes none. */
  readonly unquoted?: string;
}

/** `file:line:column`, as editors make clickable. */
export function formatPlace(place: Place): string {
  return [place.file, place.line, place.column].filter((part) => part !== undefined).join(':');
}

/**
 * The base of every error that Storeferry raises on purpose. Any other error is a bug in our code and is never
 * retried. The message says what was expected, what was found and what to do; it contains no secret.
 */
export abstract class StoreferryError extends Error {
  /** Stable, for programs. */
  abstract readonly code: string;
  /** Exit code of a command that ends with this error (design: 1 failed, 2 usage or configuration, 4 stopped). */
  readonly exitCode: 1 | 2 | 4 | 130 = 1;
  readonly place: Place | undefined;
  readonly hint: string | undefined;
  /** The message without the words of a store. */
  readonly unquoted: string;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.place = details.place;
    this.hint = details.hint;
    this.unquoted = details.unquoted ?? message;
  }
}

/** The whole text of an error for people: place, problem and advice. */
export function explainError({
  place,
  message,
  hint,
}: Pick<StoreferryError, 'place' | 'message' | 'hint'>): string {
  const where = place === undefined ? '' : `${formatPlace(place)}: `;
  if (hint === undefined) return `${where}${message}`;
  return `${where}${message}${/[.!?:…]$/.test(message) ? '' : '.'} ${hint}`;
}

/** The whole text of an error of Storeferry; other errors are thrown. */
export function sentenceOf(error: unknown): string {
  if (error instanceof StoreferryError) return explainError(error);
  throw error;
}

/** A wrong command line, or an action that the present state does not allow. */
export class UsageError extends StoreferryError {
  readonly code = 'usage';
  override readonly exitCode = 2;
}

/** Records that were named for a sample are not in the source: the run does not begin. */
export class UnknownKeysError extends UsageError {}

/** One thing wrong in a configuration file. */
export interface ConfigurationProblem {
  readonly place: Place;
  readonly message: string;
}

/** An unusable configuration; lists every problem with its place. */
export class ConfigurationError extends StoreferryError {
  readonly code = 'configuration';
  override readonly exitCode = 2;
  readonly problems: readonly ConfigurationProblem[];

  constructor(problems: readonly ConfigurationProblem[], details: ErrorDetails = {}) {
    super(problems.map(({ place, message }) => `${formatPlace(place)}: ${message}`).join('\n'), details);
    this.problems = problems;
  }
}

/** The source cannot be read: absent, wrong number of files, unreadable archive. */
export class SourceError extends StoreferryError {
  readonly code = 'source';
}

/** A path or a glob finds no file. */
export class NoFileError extends SourceError {}

/** Which table of a file is meant is unclear, and must not be guessed. */
export class TableChoiceError extends SourceError {
  /** The key of a source that names it. */
  readonly key: 'sheet' | 'records';
  /** What may be meant, likeliest first. */
  readonly candidates: readonly TableCandidate[];
  /** The one that is meant most probably; undefined where none stands out. */
  readonly likely: string | undefined;

  constructor(
    message: string,
    {
      key,
      candidates,
      likely,
      ...details
    }: ErrorDetails & Pick<TableChoiceError, 'key' | 'candidates' | 'likely'>,
  ) {
    super(message, details);
    this.key = key;
    this.candidates = candidates;
    this.likely = likely;
  }
}

/** A table of a file. */
export interface TableCandidate {
  readonly value: string;
  /** How many records it has; null where that is not known. */
  readonly records: number | null;
}

/** The structure of the source is broken or a limit is exceeded: the run stops before anything is sent. */
export class CsvError extends StoreferryError {
  readonly code = 'csv';
}

/** Bytes that are not valid in their encoding. */
export class EncodingError extends CsvError {
  /** Canonical labels of the encodings that fit the bytes, likeliest first. */
  readonly candidates: readonly string[];
  /** How the same word of the file reads in each of them. */
  readonly words: ReadonlyMap<string, string>;

  constructor(message: string, candidates: readonly EncodingCandidate[], details: ErrorDetails = {}) {
    super(message, details);
    this.candidates = candidates.map(({ encoding }) => encoding);
    this.words = new Map(candidates.map(({ encoding, word }) => [encoding, word]));
  }
}

/** An encoding that fits some bytes. */
export interface EncodingCandidate {
  readonly encoding: string;
  /** How a word of the file reads in it. */
  readonly word: string;
}

/** The delimiter is ambiguous and must not be guessed. */
export class DelimiterError extends CsvError {
  /** The characters that might, likeliest first. */
  readonly candidates: readonly string[];

  constructor(message: string, candidates: readonly string[], details: ErrorDetails = {}) {
    super(message, details);
    this.candidates = candidates;
  }
}

/** The first row is no header, and a row below it seems to be. */
export class HeaderRowError extends CsvError {
  /** The row that seems to be the header. */
  readonly headerRow: number;

  constructor(message: string, headerRow: number, details: ErrorDetails = {}) {
    super(message, details);
    this.headerRow = headerRow;
  }
}

/** The mapping cannot be applied to this file: a required column is missing or ambiguous. */
export class MappingError extends StoreferryError {
  readonly code = 'mapping';
}

/** The store said 401 or 403: the key is wrong (storefront-api.md, section 5). Ends the run at once. */
export class UnauthorizedError extends StoreferryError {
  readonly code = 'unauthorized';
}

/** The store refuses a read request (a 4xx, or an answer of another shape), however often it is repeated. */
export class StoreRefusedError extends StoreferryError {
  readonly code = 'store-refused';
}

/** The store has been failing for longer than a run waits. */
export class StoreUnavailableError extends StoreferryError {
  readonly code = 'store-unavailable';
}

/** Another process holds a lock that this run needs. */
export class LockedError extends StoreferryError {
  readonly code = 'locked';
}

/** This process no longer holds the lock; another one may hold it now. */
export function lockLostError(name: string, detail = 'nothing more is sent or recorded.'): LockedError {
  return new LockedError(`The lock ${name} was lost: ${detail}`, {
    hint: 'Another process may have taken the lock. Run the job again to continue.',
  });
}

/** State (SQLite, Redis) or artifacts cannot be read or written. */
export class StateError extends StoreferryError {
  readonly code = 'state';
}

/** It cannot be read or written now: a full disk, a lock, Redis away. The same may succeed later, without another configuration. */
export class StateUnavailableError extends StateError {}

/** The destination of an export cannot be read or written, or nothing can be added to its content. */
export class DestinationError extends StoreferryError {
  readonly code: string = 'destination';
}

/** Another process wrote the destination in the meantime: nothing was written. */
export class DestinationChangedError extends DestinationError {
  override readonly code = 'destination-changed';
}

/** A safety limit was exceeded. */
export class SafetyLimitError extends StoreferryError {
  readonly code = 'safety-limit';
  override readonly exitCode = 4;
}

/** The process got a signal to stop (SIGINT, SIGTERM, SIGHUP). */
export class InterruptedError extends StoreferryError {
  readonly code = 'interrupted';
  override readonly exitCode = 130;
}

/** The end of the run was requested from another process: all its processes stop. */
export class InterruptedOnRequestError extends InterruptedError {
  constructor() {
    super('Interrupted on request.');
  }
}

/** The first failure, if closing a resource has failed as well. */
export function firstError(error: unknown): unknown {
  let first = error;
  while (first instanceof SuppressedError) first = first.suppressed;
  return first;
}

/** What to do about a temporary folder that cannot be written. */
export const TEMPORARY_FOLDER_HINT =
  'Make room there, give this user the right to write there (in a systemd unit: PrivateTmp=yes), or name another folder in TMPDIR.';

/** The stable code of an error of Node.js or a library, else its name; their messages may quote secrets. */
export function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return codeOf(error) ?? error.name;
}

/** The code of a system error, such as ENOSPC; undefined for errors without one. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Any thrown value, as a sentence for people. */
export function explainFailure(given: unknown): string {
  const failure = firstError(given);
  if (failure instanceof StoreferryError) return explainError(failure);
  return `A bug in Storeferry: ${messageOf(failure)}`;
}
