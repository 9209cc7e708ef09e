import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { RemoteAddress } from '../model/remote-address.ts';
import { errorCode, SourceError, TEMPORARY_FOLDER_HINT } from '../model/storeferry-error.ts';
import {
  connectionFailure,
  dropContent,
  type FoundFile,
  permanentFailure,
  type RemoteClient,
  RemoteFailure,
  type RetryPolicy,
  readNext,
  retryTransient,
  transientFailure,
  type Upload,
} from './remote-client.ts';
import { REMOTE_DEADLINES, type RemoteDeadlines, watchThroughput } from './remote-deadlines.ts';
import { openRemote } from './remote-kinds.ts';

export { googleSheetHint } from './google-account.ts';

interface FetchOptions {
  readonly signal: AbortSignal;
  /** Skip the download if the content still has this version. */
  readonly unless?: string | null;
  /** A longer file is refused. */
  readonly limitBytes?: number;
  readonly retryPolicy?: RetryPolicy | undefined;
  readonly onProgress?: (bytes: number) => void;
  /** How slow the download may be. */
  readonly deadlines?: RemoteDeadlines;
}

/** A complete copy of a remote file; disposing of it deletes the copy. */
export interface Fetched extends AsyncDisposable {
  readonly spool: Spool;
  readonly version: string | null;
}

/** The file is, or is announced to be, larger than `limitBytes`. */
export class TooLarge extends RemoteFailure {
  constructor() {
    super('permanent', 'it is larger');
  }
}

/**
 * Downloads a complete file; a download shorter or longer than announced is repeated, one that is too slow once. Where the server does not
 * show its end, a second one must be as long. Undefined if the file still has the version `unless`. RemoteFailure.
 */
export async function fetchFile(
  client: RemoteClient,
  file: FoundFile,
  {
    signal,
    unless = null,
    limitBytes = Number.POSITIVE_INFINITY,
    retryPolicy,
    onProgress,
    deadlines = REMOTE_DEADLINES,
  }: FetchOptions,
): Promise<Fetched | undefined> {
  const spool = await openSpool();
  let slowBefore = false;
  const fillSpool = async (known: string | null) => {
    const slow = new AbortController();
    const download = await client.get(file, {
      signal: AbortSignal.any([signal, slow.signal]),
      unless: known,
    });
    if (download.kind === 'unchanged') return undefined;
    const { content, size } = download;
    using throughput = watchThroughput({ ...deadlines, ...client.minThroughput }, (first) => {
      const failure = slowBefore ? permanentFailure(first.message, undefined, first) : first;
      slowBefore = true;
      // Over SFTP only the signal ends a pending request.
      slow.abort(failure);
      content.destroy(failure);
    });
    const inspect = (bytes: number) => {
      if (bytes > limitBytes || (size ?? 0) > limitBytes) throw new TooLarge();
      throughput.update(bytes);
      onProgress?.(bytes);
    };
    try {
      await spool.fill(content, inspect);
    } catch (error) {
      content.destroy();
      signal.throwIfAborted();
      slow.signal.throwIfAborted();
      throw connectionFailure(error);
    }
    if (size !== null && size !== spool.size) {
      throw transientFailure(`${spool.size} bytes arrived, ${size} were announced`);
    }
    return download;
  };
  const attempt = async (): Promise<Fetched | undefined> => {
    let download = await fillSpool(unless);
    if (download === undefined) return undefined;
    if (download.endsWithConnection === true) {
      const before = spool.size;
      download = (await fillSpool(null)) ?? download;
      if (spool.size !== before)
        throw transientFailure(
          `the server does not say how long it is, and has sent ${before} bytes and then ${spool.size}`,
        );
    }
    const { version } = download;
    return { spool, version, [Symbol.asyncDispose]: () => spool[Symbol.asyncDispose]() };
  };
  let fetched: Fetched | undefined;
  try {
    fetched = await retryTransient(attempt, signal, retryPolicy);
    return fetched;
  } finally {
    if (fetched === undefined) await spool[Symbol.asyncDispose]();
  }
}

/**
 * Requests the files of an address once, without reading their content; `bytes`: of the first one, null if the server does not
 * announce it. SourceError if the server cannot be reached, refuses, or has another host key.
 */
export async function probeRemote(
  remote: RemoteAddress,
  signal: AbortSignal,
): Promise<{ readonly files: readonly string[]; readonly bytes: number | null }> {
  await using client = await openRemote(remote);
  try {
    const found = await client.find(signal);
    const [first] = found;
    if (first === undefined) return { files: [], bytes: null };
    const got = await client.get(first, { signal, unless: null });
    const bytes = got.kind === 'content' ? got.size : null;
    if (got.kind === 'content') dropContent(got.content);
    return { files: found.map(({ location }) => location), bytes };
  } catch (error) {
    if (!(error instanceof RemoteFailure) || signal.aborted) throw error;
    if (error.kind === 'absent') return { files: [], bytes: null };
    throw new SourceError(`${remote.location}: ${error.message}`, {
      hint: error.hint ?? 'Correct the address, or ask the operator of the server.',
      cause: error,
    });
  }
}

/**
 * A temporary file without a name, in the system's temporary folder (`TMPDIR`): no other process can open it, and it
 * disappears with this process.
 */
interface Spool extends Upload, AsyncDisposable {
  readonly handle: FileHandle;
  /** Replaces the content. Errors of `chunks` and `inspect` are rethrown. */
  fill(chunks: AsyncIterable<Uint8Array | string>, inspect?: (size: number) => void): Promise<void>;
}

export async function openSpool(): Promise<Spool> {
  const folder = await mkdtemp(join(tmpdir(), 'storeferry-')).catch(noRoom);
  const handle = await open(join(folder, 'spool'), 'wx+', 0o600).catch(noRoom);
  await rm(folder, { recursive: true });
  let size = 0;
  return {
    handle,
    get size() {
      return size;
    },
    open: () => Readable.from(bytesOf(handle), { objectMode: false }),
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

/** All bytes of an open file. Unlike a stream of Node.js it leaves the handle open, so the file can be read again. */
export async function* bytesOf(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const bytes = await readNext(handle, position);
    if (bytes.length === 0) return;
    position += bytes.length;
    yield bytes;
  }
}

function noRoom(cause: unknown): never {
  const why = `the temporary folder ${tmpdir()} cannot be written (${errorCode(cause)})`;
  throw permanentFailure(why, TEMPORARY_FOLDER_HINT, cause);
}
