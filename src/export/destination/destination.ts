import type { Readable } from 'node:stream';
import { codeOf, DestinationChangedError, DestinationError } from '../../model/storeferry-error.ts';
import { fileErrorText } from '../../state/file-access.ts';

/** The current content of a destination. */
export interface DestinationContent {
  readonly content: Readable;
  /** Changes with the content; null if the destination has no versions. */
  readonly version: string | null;
}

export interface DestinationWriteOptions {
  /** Aborted before the file is replaced: nothing has changed. */
  readonly signal: AbortSignal;
  /** Write only over this version; null: only if there is no file; omitted: always. */
  readonly ifVersion?: string | null;
}

/**
 * One destination file of an export. Every call rejects with DestinationError or the signal's reason; `write` with
 * DestinationChangedError if there is another version than requested.
 */
export interface Destination {
  /** For people. Equal for every way to name the same file, because locks use it. */
  readonly location: string;
  /** Undefined if there is no file yet. */
  read(signal: AbortSignal): Promise<DestinationContent | undefined>;
  /** Replaces the file completely, or leaves it unchanged. Returns the number of bytes written. */
  write(content: AsyncIterable<Uint8Array | string>, options: DestinationWriteOptions): Promise<number>;
}

/** Awaits a call of the file system; its error becomes a DestinationError with path, reason and advice. */
export async function asDestinationError<Value>(
  path: string,
  done: 'read' | 'written',
  asked: Promise<Value>,
): Promise<Value> {
  try {
    return await asked;
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new DestinationError(`${path} cannot be ${done}: ${fileErrorText(code)}.`, {
      hint: adviceOn(code),
      cause: error,
    });
  }
}

/** Another process wrote the destination between reading and writing it. */
export function changedMeanwhile(location: string): DestinationChangedError {
  return new DestinationChangedError(`Another process changed ${location} while Storeferry added to it.`, {
    hint: 'Run again: nothing was written.',
  });
}

function adviceOn(code: string): string {
  const unchanged = 'The previous content is unchanged.';
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return `Make room, then run again. ${unchanged}`;
    case 'EFBIG':
      return `Choose another disk. ${unchanged}`;
    case 'EIO':
      return `Check the disk. ${unchanged}`;
    case 'EACCES':
    case 'EPERM':
      return `Let this user write the file and its folder (a new file is written beside it), or change destination in the job. ${unchanged}`;
    case 'EISDIR':
      return 'Give destination the path of a file.';
    case 'ENAMETOOLONG':
      return 'Give destination a shorter path.';
    case 'EROFS':
    case 'ENOTDIR':
    case 'EEXIST':
    case 'ELOOP':
      return 'Change destination in the job.';
    default:
      return 'Change destination in the job, or check the disk.';
  }
}
