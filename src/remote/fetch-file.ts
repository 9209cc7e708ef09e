import { connectionFailure } from './connection-failure.ts';
import type { FoundFile, RemoteClient } from './remote-client.ts';
import { REMOTE_DEADLINES, type RemoteDeadlines, watchPace } from './remote-deadlines.ts';
import { RemoteFailure } from './remote-failure.ts';
import { type Patience, retrying } from './retrying.ts';
import { openSpool, type Spool } from './spool.ts';

export interface FetchOptions {
  readonly signal: AbortSignal;
  /** Content of this version need not be sent again. */
  readonly unless?: string | null;
  /** The most bytes that are taken. */
  readonly limitBytes?: number;
  readonly patience?: Patience | undefined;
  readonly onProgress?: (bytes: number) => void;
  /** How slowly it may come. */
  readonly deadlines?: RemoteDeadlines;
}

/** A remote file, whole, on this machine until it is disposed of. */
export interface Fetched extends AsyncDisposable {
  readonly spool: Spool;
  readonly version: string | null;
}

/** More bytes came, or were announced, than are taken. */
export class TooLarge extends RemoteFailure {
  constructor() {
    super('final', 'it is larger');
  }
}

/**
 * Fetches a file whole: what arrives shorter or longer than announced is fetched again. Undefined when it is still
 * of the version that `unless` names. RemoteFailure.
 */
export async function fetchFile(
  client: RemoteClient,
  file: FoundFile,
  {
    signal,
    unless = null,
    limitBytes = Number.POSITIVE_INFINITY,
    patience,
    onProgress,
    deadlines = REMOTE_DEADLINES,
  }: FetchOptions,
): Promise<Fetched | undefined> {
  const spool = await openSpool();
  const attempt = async (): Promise<Fetched | undefined> => {
    const slow = new AbortController();
    const got = await client.get(file, { signal: AbortSignal.any([signal, slow.signal]), unless });
    if (got.kind === 'unchanged') return undefined;
    const { content, size, version } = got;
    using pace = watchPace(deadlines, (failure) => {
      // Only the signal ends a wait for a request over SFTP.
      slow.abort(failure);
      content.destroy(failure);
    });
    const inspect = (bytes: number) => {
      if (bytes > limitBytes || (size ?? 0) > limitBytes) throw new TooLarge();
      pace.came(bytes);
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
      throw new RemoteFailure('passing', `${spool.size} bytes arrived, ${size} were announced`);
    }
    return { spool, version, [Symbol.asyncDispose]: () => spool[Symbol.asyncDispose]() };
  };
  try {
    const fetched = await retrying(attempt, signal, patience);
    if (fetched === undefined) await spool[Symbol.asyncDispose]();
    return fetched;
  } catch (error) {
    await spool[Symbol.asyncDispose]();
    throw error;
  }
}
