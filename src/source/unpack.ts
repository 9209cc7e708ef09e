import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { fileLimitError, type InputLimits } from '../model/input-limits.ts';
import { googleSheetHint } from '../model/remote-address.ts';
import type { TableFormat } from '../model/row.ts';
import { errorCode, SourceError } from '../model/storeferry-error.ts';
import { RECOGNISED_BYTES, type Recognised, recognise } from './recognise.ts';

/** The limits on an unpacked source: they protect the disk from a damaged or hostile archive. */
export type SourceLimits = Pick<InputLimits, 'bytes' | 'ratio' | 'fileCount' | 'pathBytes'>;

/** Below this size no ratio is suspicious: small files with equal rows compress very well. */
const RATIO_FREE_BYTES = 64 * 1024 ** 2;

interface Unpacking {
  /** Its size before unpacking. */
  readonly packedBytes: number;
  readonly unpackedBytes: number;
  /** Including all files unpacked before it. */
  readonly totalBytes: number;
}

/** Refuses a file that unpacks to more than the limits allow. */
export function refuseTooMuch(file: string, unpacking: Unpacking, limits: SourceLimits): void {
  const { packedBytes, unpackedBytes, totalBytes } = unpacking;
  if (totalBytes > limits.bytes) throw fileLimitError(SourceError, limits, 'bytes', { file });
  if (unpackedBytes > RATIO_FREE_BYTES && unpackedBytes > packedBytes * limits.ratio) {
    throw fileLimitError(SourceError, limits, 'ratio', { file });
  }
}

/**
 * The content of a file, unpacked if it is gzip, and its format if it is not CSV. Close it if it is not read.
 * SourceError if it is empty, damaged or not a table.
 */
export async function unpack(
  content: AsyncIterable<Uint8Array>,
  name: string,
): Promise<{ readonly content: Closable; readonly format: TableFormat | undefined }> {
  let { beginning, whole } = await peek(content, RECOGNISED_BYTES);
  let recognised = recognise(beginning);
  if (recognised.kind === 'gzip') {
    ({ beginning, whole } = await peek(gunzip(whole, name), RECOGNISED_BYTES));
    recognised = recognise(beginning);
  }
  if (recognised.kind === 'table') return { content: whole, format: recognised.format };
  if (recognised.kind === 'text' && beginning.length > 0) return { content: whole, format: undefined };
  await whole.close();
  throw notText(recognised, name);
}

function notText(recognised: Recognised, name: string): SourceError {
  const refused = (what: string, hint: string) =>
    new SourceError(`The source ${name} is ${what}.`, { place: { file: name }, hint });
  switch (recognised.kind) {
    case 'mistaken':
      return refused(`${recognised.what}, not a CSV file`, googleSheetHint(name) ?? recognised.hint);
    case 'zip':
      return refused('packed twice: it contains another zip file', 'Compress the CSV file itself.');
    case 'gzip':
      return refused('packed twice: it contains another gzip file', 'Compress the CSV file itself.');
    case 'table':
    case 'text':
      return refused('empty: it has 0 bytes', 'Check whether the export failed.');
    default:
      return recognised satisfies never;
  }
}

/** A stream that can be closed before reading begins, which would not close the source of a plain generator. */
interface Closable extends AsyncIterable<Uint8Array> {
  close(): Promise<void>;
}

/** The first bytes of a stream, at least `length` unless it is shorter, and the whole stream again. */
export async function peek(
  chunks: AsyncIterable<Uint8Array>,
  length: number,
): Promise<{ readonly beginning: Uint8Array; readonly whole: Closable }> {
  const iterator = chunks[Symbol.asyncIterator]();
  const seen: Uint8Array[] = [];
  let size = 0;
  let ended = false;
  while (size < length && !ended) {
    const { done, value } = await iterator.next();
    if (done === true) {
      ended = true;
    } else {
      seen.push(value);
      size += value.length;
    }
  }
  const beginning = Buffer.concat(seen);

  async function* again(): AsyncGenerator<Uint8Array> {
    try {
      if (beginning.length > 0) yield beginning;
      while (!ended) {
        const { done, value } = await iterator.next();
        if (done === true) return;
        yield value;
      }
    } finally {
      await iterator.return?.();
    }
  }
  return {
    beginning,
    whole: {
      [Symbol.asyncIterator]: again,
      async close() {
        await iterator.return?.();
      },
    },
  };
}

/** The content of a gzip file, with all its members. SourceError if it is damaged or truncated. */
async function* gunzip(packed: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  const unpacking = createGunzip();
  let size = 0;
  async function* counted() {
    for await (const chunk of packed) {
      size += chunk.length;
      yield chunk;
    }
  }
  let failed: unknown;
  const feeding = pipeline(Readable.from(counted(), { objectMode: false }), unpacking).catch(
    (error: unknown) => {
      failed = error;
    },
  );
  try {
    for await (const chunk of unpacking) yield chunk;
  } catch (error) {
    throw isZlibError(error) ? damaged(name, error) : error;
  } finally {
    unpacking.destroy();
    await feeding;
  }
  if (failed !== undefined) throw failed;
  // Zlib takes a zero byte after a member for the end and ignores the rest.
  if (unpacking.bytesWritten < size) throw damaged(name, undefined);
}

function isZlibError(error: unknown): boolean {
  return errorCode(error).startsWith('Z_');
}

function damaged(name: string, cause: unknown): SourceError {
  return new SourceError(
    `The gzip file ${name} is damaged: ${cause instanceof Error ? cause.message : 'there are bytes after the end of its content'}.`,
    { cause, place: { file: name }, hint: 'It may be incomplete: download or copy it again.' },
  );
}
