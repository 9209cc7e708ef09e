import { createHash, hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import type { z } from 'zod';
import { type DeepReadonly, parsedJson } from '../model/json-object.ts';
import { LineSplitter } from '../model/row.ts';
import { StateError } from '../model/storeferry-error.ts';
import { releaseBuffer } from '../remote/remote-client.ts';

/** Marks a file that is still being written. */
const TEMPORARY = /^\..*\.tmp$/;
/** A job of several stores is called `JOB@STORE`. */
const FLAT_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._@-]{0,199}$/;
const CHUNK_BYTES = 256 * 1_024;

/** A file with one short line that one process rewrites often. */
export interface RewrittenFile {
  /** Resolves when the line (without a line break) survives a power failure. One write at a time. */
  write(line: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * The files of one run, such as snapshot and report, or of a folder that belongs to none (`sent`, `blocks`). Names are flat: letters,
 * digits, `.`, `-`, `_`.
 */
export interface RunFolder {
  /** For messages and `rejectsFile`: a path or an s3 address. */
  readonly location: string;
  /** Writes a file completely or not at all: temporary file, fsync, rename. Returns its size in bytes. */
  write(
    name: string,
    content: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
  ): Promise<number>;
  /** A file that this process rewrites often; absent if the storage can only write whole files. */
  rewritten?(name: string): RewrittenFile;
  /** A stream of the file's bytes; StateError if it does not exist. */
  read(name: string): Promise<Readable>;
  exists(name: string): Promise<boolean>;
  /** Names in the folder, sorted. */
  list(): Promise<readonly string[]>;
  /** Removes files; missing ones are not an error. */
  remove(names: readonly string[]): Promise<void>;
  /** Removes incomplete files, whose writers are all dead; absent if the storage keeps none. */
  removeIncomplete?(): Promise<void>;
}

/** The files of all runs, at `ARTIFACTS_URL`. */
export interface Artifacts {
  /** The folder of a run, or one that belongs to none. */
  run(id: string): RunFolder;
  /** Removes the folder of a run with all files. */
  remove(id: string): Promise<void>;
}

/** Whether this is a valid name of a file or of the folder of a run. */
export function isName(name: string): boolean {
  return FLAT_NAME.test(name);
}

/** The name, if it is valid, so that it cannot lead to another place; otherwise StateError. */
export function checkedName(name: string): string {
  if (isName(name)) return name;
  throw new StateError(
    `${JSON.stringify(name)} is not a name of a run or an artifact: it may contain only letters, digits, '.', '-', '_' and '@'.`,
  );
}

/** The name of a file until it is complete. `unique` differs for each writer. */
export function temporaryName(name: string, unique: string): string {
  return `.${name}.${unique}.tmp`;
}

/** Whether a file with this name is incomplete. */
export function isTemporary(name: string): boolean {
  return TEMPORARY.test(name);
}

/** The same bytes in pieces of about 256 KiB, so that a file of a million short lines needs few writes. */
export async function* inChunks(
  content: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const given of content) {
    const piece = typeof given === 'string' ? Buffer.from(given) : given;
    pieces.push(piece);
    bytes += piece.length;
    if (bytes >= CHUNK_BYTES) {
      yield pieces.length === 1 ? piece : Buffer.concat(pieces);
      pieces = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield Buffer.concat(pieces);
}

/** All bytes of a file that should have this size. */
export async function readWhole(folder: RunFolder, name: string, size: number): Promise<Buffer> {
  let whole = Buffer.allocUnsafeSlow(size);
  let end = 0;
  for await (const chunk of await folder.read(name)) {
    if (end + chunk.length > whole.length) whole = Buffer.concat([whole], 2 * (end + chunk.length));
    whole.set(chunk, end);
    end += chunk.length;
    releaseBuffer(chunk);
  }
  return whole.subarray(0, end);
}

/** The SHA-256 of a file. */
export async function sha256OfFile(folder: RunFolder, name: string): Promise<string> {
  return await sha256OfBytes(await folder.read(name));
}

/** The SHA-256 of content, in hexadecimal. */
export async function sha256OfBytes(content: AsyncIterable<Uint8Array>): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of content) {
    digest.update(chunk);
    releaseBuffer(chunk);
  }
  return digest.digest('hex');
}

/** The SHA-256 of bytes, or of a text as UTF-8, in hexadecimal. */
export function sha256Of(content: string | Uint8Array): string {
  return hash('sha256', content);
}

/** The member that `sealedJson` adds to an object. */
const SEAL = 'checksum';

/** An object as JSON that ends with its own checksum, for artifacts that decide what is sent. */
export function sealedJson(value: object): string {
  return `${JSON.stringify({ ...value, [SEAL]: sha256Of(JSON.stringify(value)) }, null, 2)}\n`;
}

/** The value of a text that `sealedJson` made. SyntaxError for a text that is not JSON, or was changed. */
export function openSealed(text: string): object {
  const { [SEAL]: seal, ...value }: Record<string, unknown> = { ...JSON.parse(text) };
  if (seal !== sha256Of(JSON.stringify(value))) throw new SyntaxError('the checksum differs');
  return value;
}

/** A file of folders, with a value as `sealedJson` makes it. `problem`: what is wrong with one that was changed. */
export function sealedFile<Value>(name: string, schema: z.ZodType<Value>, problem: string, hint: string) {
  const read = async (folder: RunFolder) => {
    const written = await text(await folder.read(name));
    try {
      return schema.parse(openSealed(written));
    } catch (cause) {
      throw new StateError(`${folder.location}/${name} ${problem}.`, { cause, hint });
    }
  };
  return {
    /** StateError if it is absent, or was changed. */
    read,
    /** Undefined if it is absent; StateError if it was changed. */
    find: async (folder: RunFolder) => ((await folder.exists(name)) ? await read(folder) : undefined),
    write: async (folder: RunFolder, value: DeepReadonly<Value> & object) =>
      await folder.write(name, [sealedJson(value)]),
  };
}

/** The value of a JSON file; undefined where it is absent, or not of this schema. */
export async function findJson<Value>(
  folder: RunFolder,
  name: string,
  schema: z.ZodType<Value>,
): Promise<Value | undefined> {
  if (!(await folder.exists(name))) return undefined;
  return schema.safeParse(parsedJson(await text(await folder.read(name)))).data;
}

/** The content of a sample file. */
interface SampledFile {
  readonly bytes: Buffer;
  /** Whether the file continues after it. */
  readonly cut: boolean;
}

/** A folder in memory that keeps the beginnings of files, to look at a source before there is a run. */
export class SampleFolder implements RunFolder {
  readonly location = 'memory';
  readonly #files = new Map<string, SampledFile>();
  readonly #mostBytes: number;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  async write(
    name: string,
    content: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
  ): Promise<number> {
    const chunks: Buffer[] = [];
    let size = 0;
    let cut = false;
    for await (const chunk of content) {
      if (size >= this.#mostBytes) {
        cut = true;
        break;
      }
      const bytes = Buffer.from(chunk);
      chunks.push(bytes);
      size += bytes.length;
    }
    this.#files.set(name, { bytes: Buffer.concat(chunks), cut });
    return size;
  }

  /** The kept part of a file; StateError if there is none. */
  sampled(name: string): SampledFile {
    const file = this.#files.get(name);
    if (file === undefined) throw new StateError(`The sample has no file ${name}.`);
    return file;
  }

  /** Other work of the process takes its turn between the pieces, as while a file is read from a disk. */
  async read(name: string): Promise<Readable> {
    const { bytes } = this.sampled(name);
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (let from = 0; from < bytes.length; from += CHUNK_BYTES) {
        yield bytes.subarray(from, from + CHUNK_BYTES);
        await setImmediate();
      }
    }
    return Readable.from(pieces());
  }

  async exists(name: string): Promise<boolean> {
    return this.#files.has(name);
  }

  async list(): Promise<readonly string[]> {
    return [...this.#files.keys()].sort();
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) this.#files.delete(name);
  }
}

/** The lines of an artifact with one JSON value per line, in batches; StateError if it cannot be read. */
export async function* readLines(folder: RunFolder, name: string): AsyncGenerator<readonly string[]> {
  const stream = await folder.read(name);
  const splitter = new LineSplitter();
  stream.setEncoding('utf8');
  for await (const chunk of stream) {
    const lines = splitter.take(String(chunk));
    if (lines.length > 0) yield lines;
  }
  if (splitter.rest !== '') {
    throw new StateError(`${folder.location}/${name} ends in the middle of a line.`, {
      hint: 'The file is incomplete or was edited. Run the job again.',
    });
  }
}
