import { connectionFailure } from './connection-failure.ts';
import type { FoundFile, RemoteClient } from './remote-client.ts';
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
  { signal, unless = null, limitBytes = Number.POSITIVE_INFINITY, patience, onProgress }: FetchOptions,
): Promise<Fetched | undefined> {
  const spool = await openSpool();
  const attempt = async (): Promise<Fetched | undefined> => {
    const got = await client.get(file, { signal, unless });
    if (got.kind === 'unchanged') return undefined;
    const { content, size, version } = got;
    const inspect = (bytes: number) => {
      if (bytes > limitBytes || (size ?? 0) > limitBytes) throw new TooLarge();
      onProgress?.(bytes);
    };
    try {
      await spool.fill(content, inspect);
    } catch (error) {
      content.destroy();
      signal.throwIfAborted();
      throw connectionFailure(error);
    }
    if (size !== null && size !== spool.size) {
      throw new RemoteFailure('passing', `${spool.size} bytes of it came where ${size} were announced`);
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
