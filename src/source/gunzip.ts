import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { SourceError } from '../model/errors.ts';

/** The content of a gzip file, all its members one after the other. SourceError when it is damaged or cut off. */
export async function* gunzip(packed: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
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
  // Zlib treats a zero byte after a member as the end, and ignores the bytes after it.
  if (unpacking.bytesWritten < size) throw damaged(name, undefined);
}

function isZlibError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
}

function damaged(name: string, cause: unknown): SourceError {
  return new SourceError(
    `The gzip file ${name} is damaged: ${cause instanceof Error ? cause.message : 'bytes follow the end of its content'}.`,
    { cause, place: { file: name }, hint: 'It may have been cut off while it was copied: fetch it again.' },
  );
}
