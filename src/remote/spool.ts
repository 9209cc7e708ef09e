import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Upload } from './remote-client.ts';
import { errorCode, RemoteFailure } from './remote-failure.ts';

/**
 * A temporary file without a name: nobody else can open it, and it is gone with the process, however that ends. Lies
 * in the system's temporary folder (`TMPDIR`).
 */
export interface Spool extends Upload, AsyncDisposable {
  readonly handle: FileHandle;
  /** Writes the file anew. Whatever `chunks` or `inspect` throws is thrown on. */
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
    open: (): Readable => handle.createReadStream({ start: 0, autoClose: false }),
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

function noRoom(cause: unknown): never {
  throw new RemoteFailure('final', `the temporary folder ${tmpdir()} takes no more (${errorCode(cause)})`, {
    cause,
    hint: 'Make room there, or name another folder in TMPDIR.',
  });
}
