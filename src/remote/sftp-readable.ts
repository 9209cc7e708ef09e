import { Readable } from 'node:stream';
import type { Attributes } from 'ssh2';
import { RemoteFailure } from './remote-failure.ts';
import type { SftpCalls } from './sftp-calls.ts';
import { sftpFailure } from './sftp-failure.ts';

const READ_BYTES = 32 * 1024;
const IN_FLIGHT = 16;

interface Reading {
  readonly calls: SftpCalls;
  readonly path: string;
  readonly before: Attributes;
}

/**
 * The content of a file, with several pieces on their way at once. Ends in a RemoteFailure that may pass when the file
 * was changed while it was read.
 */
export function sftpReadable(reading: Reading): Readable {
  return Readable.from(contentOf(reading), { objectMode: false });
}

async function* contentOf({ calls, path, before }: Reading): AsyncGenerator<Buffer> {
  try {
    const handle = await calls.open(path);
    try {
      yield* pieces(calls, handle, before.size);
    } finally {
      await calls.close(handle).catch(() => undefined);
    }
    const after = await calls.stat(path);
    if (after.size !== before.size || after.mtime !== before.mtime) {
      throw new RemoteFailure('passing', 'it changed while it was read', {
        hint: 'Let the job start later, or have the file written under another name and renamed when it is whole.',
      });
    }
  } catch (error) {
    throw sftpFailure(error);
  }
}

async function* pieces(calls: SftpCalls, handle: Buffer, size: number): AsyncGenerator<Buffer> {
  const flying: Promise<Buffer>[] = [];
  let asked = 0;
  for (;;) {
    while (asked < size && flying.length < IN_FLIGHT) {
      const piece = readWhole(calls, handle, asked, Math.min(READ_BYTES, size - asked));
      piece.catch(() => undefined);
      flying.push(piece);
      asked += READ_BYTES;
    }
    const next = flying.shift();
    if (next === undefined) return;
    const bytes = await next;
    if (bytes.length === 0) return;
    yield bytes;
  }
}

/** A server may answer with less than was asked for. */
async function readWhole(calls: SftpCalls, handle: Buffer, from: number, length: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let got = 0;
  while (got < length) {
    const part = await calls.read(handle, from + got, length - got);
    if (part.length === 0) break;
    parts.push(part);
    got += part.length;
  }
  return parts.length === 1 ? (parts[0] ?? Buffer.alloc(0)) : Buffer.concat(parts);
}
