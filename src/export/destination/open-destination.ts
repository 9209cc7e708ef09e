import type { ExportJob } from '../../config/job/job.ts';
import type { RemoteAddress } from '../../model/remote-address.ts';
import { DestinationChangedError, DestinationError } from '../../model/storeferry-error.ts';
import { fetchFile, openSpool } from '../../remote/fetch-file.ts';
import {
  type RemoteClient,
  RemoteFailure,
  type RetryPolicy,
  retrying,
  UNKNOWN_VERSION,
} from '../../remote/remote-client.ts';
import { openRemote } from '../../remote/remote-kinds.ts';
import type { FileAccess } from '../../state/file-access.ts';
import type { Destination } from './destination.ts';
import { localDestination } from './local-destination.ts';

/** The destination of a job; nothing is written or connected yet. DestinationError if it can never be written. */
export async function openDestination(access: FileAccess, { destination }: ExportJob): Promise<Destination> {
  return destination.remote === undefined
    ? await localDestination(destination.path, access)
    : remoteDestination(destination.remote);
}

/**
 * A file on another machine. The content is first written to a temporary file, so that only complete content is sent
 * and a retry can send it again.
 */
export function remoteDestination(remote: RemoteAddress, retryPolicy?: RetryPolicy): Destination {
  const { location } = remote;
  return {
    location,
    read: (signal) =>
      withDestinationErrors(location, 'read', signal, async () => {
        await using client = await openRemote(remote);
        const fetched = await fetchIfThere(client, signal, retryPolicy);
        if (fetched === undefined) return undefined;
        const content = fetched.spool.open();
        content.once('close', () => void fetched[Symbol.asyncDispose]());
        // Never null: without a condition, adding to the file could undo the changes of another process.
        return { content, version: fetched.version ?? UNKNOWN_VERSION };
      }),
    write: (content, { signal, ifVersion }) =>
      withDestinationErrors(location, 'written', signal, async () => {
        await using spool = await openSpool();
        await spool.fill(content, () => signal.throwIfAborted());
        signal.throwIfAborted();
        await using client = await openRemote(remote);
        await retrying(() => client.put(spool, { signal, ifVersion }), signal, retryPolicy);
        return spool.size;
      }),
  };
}

async function fetchIfThere(client: RemoteClient, signal: AbortSignal, retryPolicy: RetryPolicy | undefined) {
  const [file] = await retrying(() => client.find(signal), signal, retryPolicy);
  if (file === undefined) return undefined;
  try {
    return await fetchFile(client, file, { signal, retryPolicy });
  } catch (error) {
    if (error instanceof RemoteFailure && error.kind === 'absent') return undefined;
    throw error;
  }
}

async function withDestinationErrors<T>(
  location: string,
  done: 'read' | 'written',
  signal: AbortSignal,
  action: () => Promise<T>,
): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof RemoteFailure) || signal.aborted) throw error;
    if (error.kind === 'changed') {
      throw new DestinationChangedError(`${location} cannot be written: ${error.message}.`, {
        hint: 'Run again: nothing was written.',
        cause: error,
      });
    }
    throw new DestinationError(`${location} cannot be ${done}: ${error.message}.`, {
      hint:
        error.hint ??
        'Run again later, or ask the operator of the server. The previous content is unchanged.',
      cause: error,
    });
  }
}
