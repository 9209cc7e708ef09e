import type { Readable } from 'node:stream';

/** The current content of a destination. */
export interface DestinationContent {
  readonly content: Readable;
  /** Changes with the content; null where the destination has no versions. */
  readonly version: string | null;
}

export interface DestinationWriteOptions {
  /** Aborted before the content stands: nothing has changed. */
  readonly signal: AbortSignal;
  /** Write only over this version; null: only where nothing is yet; left out: over whatever there is. */
  readonly ifVersion?: string | null;
}

/**
 * One file that an export writes, wherever it is. Everything rejects with DestinationError, or the signal's reason;
 * `write` with DestinationChangedError when there is another version than was asked for.
 */
export interface Destination {
  /** For people, and the same for every way to name the same file: locks go by it. */
  readonly location: string;
  /** Undefined when there is nothing yet. */
  read(signal: AbortSignal): Promise<DestinationContent | undefined>;
  /** Replaces the file whole, or leaves what was there as it was. Gives the bytes written. */
  write(content: AsyncIterable<Uint8Array | string>, options: DestinationWriteOptions): Promise<number>;
}
