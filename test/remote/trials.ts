import { text } from 'node:stream/consumers';
import { fetchFile, openSpool } from '../../src/remote/fetch-file.ts';
import {
  type RemoteClient,
  RemoteFailure,
  retryTransient,
  type WriteCondition,
} from '../../src/remote/remote-client.ts';

const signal = new AbortController().signal;
const retryPolicy = { retries: 2, firstWaitMs: 1 };

interface Trial {
  readonly unless?: string | null;
  readonly limitBytes?: number;
}

/** What a fetched file holds. */
export interface Held {
  readonly content: string;
  readonly version: string | null;
}

/** Fetches all files that a client finds, by their location; undefined where one is unchanged. Closes the client. */
export async function fetchAll(
  opened: RemoteClient,
  options: Trial = {},
): Promise<Record<string, Held | undefined>> {
  await using client = opened;
  const contents: Record<string, Held | undefined> = {};
  for (const file of await client.find(signal)) {
    const fetched = await fetchFile(client, file, { signal, retryPolicy, ...options });
    contents[file.location] = undefined;
    if (fetched === undefined) continue;
    await using whole = fetched;
    contents[file.location] = { content: await text(whole.spool.open()), version: whole.version };
  }
  return contents;
}

/** Fetches the only file. */
export async function fetchOne(client: RemoteClient, options: Trial = {}): Promise<Held | undefined> {
  return Object.values(await fetchAll(client, options))[0];
}

/** Sends a text, and tries again what may pass. Closes the client. */
export async function put(opened: RemoteClient, content: string, ifVersion?: WriteCondition): Promise<void> {
  await using client = opened;
  await using spool = await openSpool();
  await spool.fill(
    (async function* () {
      yield content;
    })(),
  );
  await retryTransient(() => client.put(spool, { signal, ifVersion }), signal, retryPolicy);
}

/** What an action failed by. */
export async function failureOf(action: Promise<unknown>): Promise<RemoteFailure> {
  const error: unknown = await action.then(
    () => 'no failure',
    (reason: unknown) => reason,
  );
  if (!(error instanceof RemoteFailure)) throw new Error(`expected a RemoteFailure, got ${String(error)}`);
  return error;
}
