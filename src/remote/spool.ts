import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Upload } from './remote-client.ts';
import { errorCode, RemoteFailure } from './remote-failure.ts';

/**
 * A temporary file without a name, in the system's temporary folder (`TMPDIR`): no other process can open it, and it
 * disappears with this process.
 */
export interface Spool extends Upload, AsyncDisposable {
  readonly handle: FileHandle;
  /** Replaces the content. What `chunks` or `inspect` throws is thrown on. */
  fill(chunks: AsyncIterable<Uint8Array | string>, inspect?: (size: number) => void): Promise<void>;
}

export async function openSpool(): Promise<Spool> {
  const folder = await mkdtemp(join(tmpdir(), 'storeferry-'));
  const handle = await open(join(folder, 'spool'), 'wx+', 0o600);
  await rm(folder, { recursive: true });
  let size = 0;
  return {
    handle,
    get size() {
      return size;
    },
    open: () => Readable.from(contentOf(handle), { objectMode: false }),
    async fill(chunks, inspect = () => undefined) {
      size = 0;
      await handle.truncate(0);
      for await (const chunk of chunks) {
        const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
        inspect(size + bytes.length);
        for (let from = 0; from < bytes.length; ) {
          const written = await handle.write(bytes, from, bytes.length - from, size + from).catch(noRoom);
          from += written.bytesWritten;
        }
        size += bytes.length;
      }
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

const READ_BYTES = 256 * 1024;

/** A stream of Node.js on the handle would close it when it is destroyed, and what failed is to be sent again. */
async function* contentOf(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

function noRoom(cause: unknown): never {
  throw new RemoteFailure(
    'final',
    `the temporary folder ${tmpdir()} cannot be written (${errorCode(cause)})`,
    {
      cause,
      hint: 'Make room there, or name another folder in TMPDIR.',
    },
  );
}
