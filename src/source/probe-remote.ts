import { SourceError } from '../model/errors.ts';
import type { RemoteAddress } from '../model/remote-address.ts';
import { openRemote } from '../remote/open-remote.ts';
import { RemoteFailure } from '../remote/remote-failure.ts';

/** What is at a remote address. */
export interface RemoteProbe {
  /** The files that the address names; none when there is none of that name. */
  readonly files: readonly string[];
  /** Of the first of them; null when the server does not say. */
  readonly bytes: number | null;
}

/**
 * Reaches for the files of an address once, and reads nothing of them but that they are there. SourceError when the server
 * cannot be reached, refuses, or is not the one that it should be.
 */
export async function probeRemote(remote: RemoteAddress, signal: AbortSignal): Promise<RemoteProbe> {
  await using client = await openRemote(remote);
  try {
    const found = await client.find(signal);
    const [first] = found;
    if (first === undefined) return { files: [], bytes: null };
    const got = await client.get(first, { signal, unless: null });
    const bytes = got.kind === 'content' ? got.size : null;
    // The rest of the content is not wanted, so errors of the aborted stream are ignored.
    if (got.kind === 'content') got.content.on('error', () => {}).destroy();
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
