import { Readable } from 'node:stream';
import { type ArtifactsPlace, artifactsLocation, parseRedisUrl } from '../model/remote-address.ts';
import { StateError, StateUnavailableError } from '../model/storeferry-error.ts';
import { RemoteFailure } from '../remote/remote-client.ts';
import type { Bucket } from '../remote/remote-kinds.ts';
import { type Artifacts, checkedName, inChunks, isName, type RunFolder } from './artifacts.ts';
import { folderArtifacts } from './folder-artifacts.ts';
import type { StateCheck } from './sqlite/open-state-database.ts';
import type { State, StateOptions } from './state.ts';

/** Opens the embedded or the shared state. StateError if it cannot be used; close it by `await using`. */
export async function openState(options: StateOptions): Promise<State> {
  const { redisUrl, dir, prefix } = options;
  // Only one of them is loaded: the client of Redis alone takes as long as a plan of a hundred rows.
  if (!redisUrl) {
    const { openSqliteState } = await import('./sqlite/open-sqlite-state.ts');
    return openSqliteState(dir, options);
  }
  return (await import('./redis/open-redis-state.ts')).openRedisState({
    ...options,
    url: redisUrl,
    prefix: prefix ?? parseRedisUrl(redisUrl)?.prefix ?? '',
  });
}

/**
 * Reads the whole embedded state of a folder (`.storeferry`) once, which blocks this thread. StateError if it is
 * damaged or cannot be used.
 */
export async function checkEmbeddedState(dir: string): Promise<StateCheck> {
  return await (await import('./sqlite/open-state-database.ts')).checkStateDatabase(dir);
}

/** Opens the artifacts at `ARTIFACTS_URL`. Nothing is read or written yet. */
export function openArtifacts(place: ArtifactsPlace): Artifacts {
  switch (place.kind) {
    case 'folder':
      return folderArtifacts(place.path);
    case 's3':
      return s3Artifacts(place);
    default:
      return place satisfies never;
  }
}

type S3Artifacts = Extract<ArtifactsPlace, { kind: 's3' }>;

/** Artifacts in a bucket, which any number of machines share. The client is loaded and connected when first needed. */
export function s3Artifacts(place: S3Artifacts, attempts?: number): Artifacts {
  const keyOf = (id: string) => [place.prefix, checkedName(id)].filter((part) => part !== '').join('/');
  const locationOf = (id: string) => `${artifactsLocation(place)}/${checkedName(id)}`;
  let opening: Promise<Bucket> | undefined;
  const objects = () => {
    opening ??= import('../remote/remote-kinds.ts').then(({ openBucket }) => openBucket(place, attempts));
    return opening;
  };
  return {
    run: (id) => runFolder(locationOf(id), `${keyOf(id)}/`, objects),
    async remove(id) {
      const prefix = `${keyOf(id)}/`;
      const store = await objects();
      await asStateError(locationOf(id), 'removed', store.list(prefix).then(store.remove));
    },
  };
}

function runFolder(location: string, prefix: string, objects: () => Promise<Bucket>): RunFolder {
  const addressOf = (name: string) => `${location}/${name}`;
  const keyOf = (name: string) => prefix + checkedName(name);
  return {
    location,
    async write(name, content) {
      const key = keyOf(name);
      let size = 0;
      const counted = async function* () {
        for await (const chunk of inChunks(content)) {
          size += chunk.length;
          yield chunk;
        }
      };
      await asStateError(addressOf(name), 'written', (await objects()).put(key, counted()));
      return size;
    },
    async read(name) {
      const key = keyOf(name);
      const content = await asStateError(addressOf(name), 'read', (await objects()).get(key));
      return Readable.from(withStateErrors(addressOf(name), content), {
        objectMode: false,
        highWaterMark: 256 * 1_024,
      });
    },
    async exists(name) {
      const key = keyOf(name);
      return await asStateError(addressOf(name), 'read', (await objects()).has(key));
    },
    async list() {
      const keys = await asStateError(location, 'read', (await objects()).list(prefix));
      return keys
        .map((key) => key.slice(prefix.length))
        .filter(isName)
        .sort();
    },
    async remove(names) {
      const keys = names.map(keyOf);
      await asStateError(location, 'removed', (await objects()).remove(keys));
    },
  };
}

async function* withStateErrors(
  address: string,
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } catch (error) {
    throw stateErrorOf(address, 'read', error);
  }
}

/** Awaits an answer of the bucket; its error becomes a StateError with address, reason and advice. */
async function asStateError<Value>(address: string, action: string, result: Promise<Value>) {
  try {
    return await result;
  } catch (error) {
    throw stateErrorOf(address, action, error);
  }
}

function stateErrorOf(address: string, action: string, error: unknown) {
  if (!(error instanceof RemoteFailure)) return error;
  const why = error.kind === 'absent' ? 'it does not exist' : error.message;
  const kind = error.kind === 'transient' ? StateUnavailableError : StateError;
  return new kind(`The artifact ${address} cannot be ${action}: ${why}.`, {
    hint: adviceOn(error),
    cause: error,
  });
}

function adviceOn({ kind, status }: RemoteFailure): string {
  if (kind === 'absent') {
    return 'Check that ARTIFACTS_URL names the same place on every machine and that nothing deletes files there.';
  }
  switch (status) {
    case 401:
    case 403:
      return 'Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: the key must be allowed to list the bucket and to read, write and delete in it.';
    case 404:
      return 'Create the bucket that ARTIFACTS_URL names, or correct its name.';
    case 301:
    case 307:
    case 308:
    case 400:
      return 'Check AWS_REGION and AWS_ENDPOINT_URL: a bucket answers only in its own region.';
    default:
      return 'Check ARTIFACTS_URL, AWS_ENDPOINT_URL and that this machine reaches them, then run again to continue.';
  }
}
