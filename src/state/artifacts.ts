import type { Readable } from 'node:stream';

/** A short line that one process writes again and again, each time to disk. */
export interface RewrittenFile {
  /** Resolves when the line, without a line break, outlives a power cut. One write at a time. */
  write(line: string): Promise<void>;
  close(): Promise<void>;
}

/** The files of one run: snapshot, plan, shards, rejects, report. Names are flat: letters, digits, `.`, `-`, `_`. */
export interface RunFolder {
  /** Where it is, for messages and for `rejectsFile`: a path or an s3 address. */
  readonly location: string;
  /** Writes a file whole or not at all: temporary file, fsync, rename. Gives its size in bytes. */
  write(
    name: string,
    content: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
  ): Promise<number>;
  /** A file of a line that this process writes again and again; left out where only whole files can be written. */
  rewritten?(name: string): RewrittenFile;
  /** A stream of the file's bytes; StateError when it is absent. */
  read(name: string): Promise<Readable>;
  exists(name: string): Promise<boolean>;
  /** Names in the folder, sorted. */
  list(): Promise<readonly string[]>;
  /** Removes files; absent ones are no error. */
  remove(names: readonly string[]): Promise<void>;
}

/** Where the files of runs live: `ARTIFACTS_URL`. */
export interface Artifacts {
  run(id: string): RunFolder;
  /** Removes a run's folder and all in it. */
  remove(id: string): Promise<void>;
}
