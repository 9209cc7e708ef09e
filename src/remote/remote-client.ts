import type { Readable } from 'node:stream';

/** A file that an address names. */
export interface FoundFile {
  /** The address for people; unique among the files of a source. */
  readonly location: string;
  /** How the client reaches it. */
  readonly path: string;
}

/** What came of asking for a file. */
export type Got =
  | {
      readonly kind: 'content';
      readonly content: Readable;
      /** Bytes to come, where the server says so. */
      readonly size: number | null;
      /** Changes when the content does; null where the server gives nothing that surely does. */
      readonly version: string | null;
    }
  /** It is still the version that was named. */
  | { readonly kind: 'unchanged' };

/** Bytes that can be sent, and sent again. */
export interface Upload {
  readonly size: number;
  open(): Readable;
}

/** A file is replaced only if it is still of this version; null: only if there is none. Undefined: in any case. */
export type WriteCondition = string | null | undefined;

/** One way to reach files. Every call is one attempt and rejects with RemoteFailure, or with the signal's reason. */
export interface RemoteClient extends AsyncDisposable {
  /** The files that the address names: one, or those its pattern matches, in the order of their names. */
  find(signal: AbortSignal): Promise<readonly FoundFile[]>;
  get(file: FoundFile, options: GetOptions): Promise<Got>;
  /** Replaces the file whole or not at all. */
  put(upload: Upload, options: PutOptions): Promise<void>;
}

export interface GetOptions {
  readonly signal: AbortSignal;
  /** Content of this version need not be sent again. */
  readonly unless: string | null;
}

export interface PutOptions {
  readonly signal: AbortSignal;
  readonly ifVersion: WriteCondition;
}
