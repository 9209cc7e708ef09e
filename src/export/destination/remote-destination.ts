import { DestinationChangedError, DestinationError } from '../../model/errors.ts';
import type { RemoteAddress } from '../../model/remote-address.ts';
import { fetchFile } from '../../remote/fetch-file.ts';
import { UNTOLD_VERSION } from '../../remote/http-version.ts';
import { openRemote } from '../../remote/open-remote.ts';
import type { RemoteClient } from '../../remote/remote-client.ts';
import { RemoteFailure } from '../../remote/remote-failure.ts';
import { type Patience, retrying } from '../../remote/retrying.ts';
import { openSpool } from '../../remote/spool.ts';
import type { Destination } from './destination.ts';

/**
 * A file somewhere else. What is written is first gathered in a temporary file, since only what is whole is sent, and
 * since it may have to be sent again.
 */
export function remoteDestination(remote: RemoteAddress, patience?: Patience): Destination {
  const { location } = remote;
  return {
    location,
    read: (signal) =>
      telling(location, 'read', signal, async () => {
        await using client = await openRemote(remote);
        const fetched = await fetchIfThere(client, signal, patience);
        if (fetched === undefined) return undefined;
        const content = fetched.spool.open();
        content.once('close', () => void fetched[Symbol.asyncDispose]());
        // Never null: without a condition, adding to it could undo what somebody else has added.
        return { content, version: fetched.version ?? UNTOLD_VERSION };
      }),
    write: (content, { signal, ifVersion }) =>
      telling(location, 'written', signal, async () => {
        await using spool = await openSpool();
        await spool.fill(content, () => signal.throwIfAborted());
        signal.throwIfAborted();
        await using client = await openRemote(remote);
        await retrying(() => client.put(spool, { signal, ifVersion }), signal, patience);
        return spool.size;
      }),
  };
}

async function fetchIfThere(client: RemoteClient, signal: AbortSignal, patience: Patience | undefined) {
  const [file] = await retrying(() => client.find(signal), signal, patience);
  if (file === undefined) return undefined;
  try {
    return await fetchFile(client, file, { signal, patience });
  } catch (error) {
    if (error instanceof RemoteFailure && error.kind === 'absent') return undefined;
    throw error;
  }
}

async function telling<T>(
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
        hint: 'Run again: what is there was not touched.',
        cause: error,
      });
    }
    throw new DestinationError(`${location} cannot be ${done}: ${error.message}.`, {
      hint:
        error.hint ?? 'Run again later, or ask whoever runs the server. What was there before is unchanged.',
      cause: error,
    });
  }
}
