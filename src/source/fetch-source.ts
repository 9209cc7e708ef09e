import { hash } from 'node:crypto';
import { fileLimitError } from '../model/input-limits.ts';
import type { RemoteAddress } from '../model/remote-address.ts';
import { SourceError } from '../model/storeferry-error.ts';
import { type Fetched, fetchFile, TooLarge } from '../remote/fetch-file.ts';
import {
  CHANGING_FILE_HINT,
  type FoundFile,
  RemoteFailure,
  type RetryPolicy,
  retryTransient,
} from '../remote/remote-client.ts';
import { hasExactVersions, hostKeyOf, openRemote, remoteIdentity } from '../remote/remote-kinds.ts';
import type { SourceLimits } from './unpack.ts';

interface FetchSourceOptions {
  readonly signal: AbortSignal;
  /** Skip the source if it still has this version as a whole. */
  readonly unless: string | null;
  readonly limits: SourceLimits;
  readonly retryPolicy?: RetryPolicy | undefined;
  readonly onProgress: (file: string, bytes: number) => void;
}

/** Takes the copy of one file, which is deleted afterwards. */
type TakeFile = (name: string, fetched: Fetched) => Promise<void>;

/**
 * Downloads the files of an address one by one and passes each to `take`. Returns the version of all of them, null if
 * unknown, or undefined if nothing has changed since `unless`: then nothing was taken.
 */
export async function fetchSource(
  remote: RemoteAddress,
  options: FetchSourceOptions,
  take: TakeFile,
): Promise<string | null | undefined> {
  await using client = await openRemote(remote);
  const found = await withSourceErrors(remote.location, options, () =>
    retryTransient(() => client.find(options.signal), options.signal, options.retryPolicy),
  );
  if (found.length === 0) {
    throw new SourceError(`No file matches the source \`${remote.location}\`.`, {
      hint: 'Check whether the files are there, and whether the pattern matches their names.',
    });
  }
  const versions = versionsOf(remote, found);
  const fetch = (file: FoundFile, unless: string | null) =>
    withSourceErrors(file.location, options, () =>
      fetchFile(client, file, {
        ...options,
        limitBytes: options.limits.bytes,
        unless,
        onProgress: (bytes) => options.onProgress(file.location, bytes),
      }),
    );

  const changed = await firstChanged(found, versions.knownIn(options.unless), fetch);
  if (changed === undefined) return undefined;
  await using _ = changed.fetched;
  const seen: (string | null)[] = [];
  for (const file of found) {
    const fetched = file === changed.file ? changed.fetched : await fetch(file, null);
    if (fetched === undefined) throw new TypeError('an unconditional request returned no file');
    try {
      await take(file.location, fetched);
    } finally {
      await fetched[Symbol.asyncDispose]();
    }
    seen.push(fetched.version);
  }
  // As of files: a row may have moved to a part that was read before, or from one that was new already to the last.
  for (const [index, file] of (found.length > 1 ? found : []).entries()) {
    const version = seen[index] ?? null;
    const now = await withSourceErrors(file.location, options, () => {
      const get = () => client.get(file, { signal: options.signal, unless: version });
      return retryTransient(get, options.signal, options.retryPolicy).catch(unlessAbsent);
    });
    if (now === undefined || now.kind === 'unchanged') continue;
    // Its content is not needed, so errors of the ended stream are ignored.
    now.content.on('error', () => {}).destroy();
    if (now.version !== version) throw changedError(file.location);
  }
  return versions.together(seen);
}

/** A part that was taken away after it was read is no other version. */
function unlessAbsent(error: unknown): undefined {
  if (!(error instanceof RemoteFailure) || error.kind !== 'absent') throw error;
}

/** The error for a source of which two versions would be mixed. */
export function changedError(path: string): SourceError {
  return new SourceError(`The source ${path} changed while Storeferry read it.`, {
    place: { file: path },
    hint: CHANGING_FILE_HINT,
  });
}

type Fetch = (file: FoundFile, unless: string | null) => Promise<Fetched | undefined>;

/** The first changed file, downloaded; undefined if none has changed. */
async function firstChanged(
  found: readonly FoundFile[],
  known: readonly string[] | undefined,
  fetch: Fetch,
): Promise<{ readonly file: FoundFile; readonly fetched: Fetched } | undefined> {
  for (const [index, file] of found.entries()) {
    const fetched = await fetch(file, known?.[index] ?? null);
    if (fetched !== undefined) return { file, fetched };
  }
  return undefined;
}

/**
 * The versions of all files as one text, bound to their address: an entity tag of one address has no meaning for
 * another.
 */
function versionsOf(remote: RemoteAddress, found: readonly FoundFile[]) {
  const paths = found.map(({ path }) => path);
  const where = hash('sha256', JSON.stringify([remoteIdentity(remote), paths])).slice(0, 16);
  return {
    /** The version of each file; undefined if the text belongs to other files. */
    knownIn(text: string | null): readonly string[] | undefined {
      if (text === null || !text.startsWith(`${where} `)) return undefined;
      const versions: unknown = JSON.parse(text.slice(where.length + 1));
      return Array.isArray(versions) ? versions.map(String) : undefined;
    },
    together(versions: readonly (string | null)[]): string | null {
      const known = versions.filter((version) => version !== null);
      if (!hasExactVersions(remote) || known.length < versions.length) return null;
      return `${where} ${JSON.stringify(known)}`;
    },
  };
}

/** The key of an SSH server, as `SHA256:…`, to be confirmed by who knows it. SourceError where none answers. */
export async function fetchHostKey(server: RemoteAddress, signal: AbortSignal): Promise<string> {
  try {
    return await hostKeyOf(server, signal);
  } catch (error) {
    throw signal.aborted ? error : asSourceError(server.location, error);
  }
}

async function withSourceErrors<T>(
  location: string,
  { limits, signal }: FetchSourceOptions,
  action: () => Promise<T>,
): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof TooLarge) throw fileLimitError(SourceError, limits, 'bytes', { file: location });
    throw signal.aborted ? error : asSourceError(location, error);
  }
}

/** What a failure to read a remote file is for the run; any other error as it is. */
function asSourceError(location: string, error: unknown): unknown {
  if (!(error instanceof RemoteFailure)) return error;
  const hint = error.hint ?? hintOf(error);
  return new SourceError(`The source ${location} cannot be read: ${error.message}.`, { hint, cause: error });
}

function hintOf({ kind }: RemoteFailure): string {
  return kind === 'transient'
    ? 'Several attempts failed. Run the job again later, or ask the operator of the server.'
    : 'Ask the operator of the server, or correct the source of the job.';
}
