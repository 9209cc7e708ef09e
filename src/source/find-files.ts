import { type FileHandle, glob, readdir, stat } from 'node:fs/promises';
import { dirname, relative, resolve, sep } from 'node:path';
import { nearest } from '../model/nearest.ts';
import type { RemoteAddress } from '../model/remote-address.ts';
import { errorCode, SourceError } from '../model/storeferry-error.ts';
import { RemoteFailure } from '../remote/remote-client.ts';
import { openRemote } from '../remote/remote-kinds.ts';
import { allowedPath, type FileAccess, openAllowed } from '../state/file-access.ts';

const MOST_NAMED = 8;

/** A file that a source names. */
export interface FoundFile {
  /** Relative to the workspace, or absolute if written so. */
  readonly path: string;
  /** The path with all links resolved. */
  readonly real: string;
}

/**
 * The files of a path or glob, sorted by path. A glob matches no hidden files. SourceError, with existing
 * alternatives, if there are none, and if one of them resolves to a place that jobs may not read.
 */
export async function findFiles(path: string, access: FileAccess): Promise<FoundFile[]> {
  const { workspaceDir } = access;
  const whole = resolve(workspaceDir, path);
  const found = await stat(whole).catch(() => undefined);
  if (found?.isFile() === true) return [await allowed(path, path, access)];
  if (found?.isDirectory() === true) {
    throw new SourceError(`The source \`${path}\` is a folder; a file or a glob was expected.`, {
      place: { file: path },
      hint: `Write \`${path.replace(/\/$/, '')}/*.csv\` to read all CSV files in it.`,
    });
  }
  if (found !== undefined) {
    throw new SourceError(`The source \`${path}\` is not a regular file, so it cannot be read twice.`, {
      place: { file: path },
      hint: 'Write its output to a file, and name that file in the job.',
    });
  }

  const matches = new Set<string>();
  const named = new Set(path.split(sep));
  const isHidden = (name: string) => name.startsWith('.') && !named.has(name);
  for await (const match of glob(path, { cwd: workspaceDir })) {
    if (match.split(sep).some(isHidden)) continue;
    if ((await stat(resolve(workspaceDir, match)).catch(() => undefined))?.isFile() === true)
      matches.add(match);
  }
  if (matches.size === 0) throw await nothingFound(path, access);
  return await Promise.all([...matches].sort().map((match) => allowed(match, path, access)));
}

/** Opens the file at its resolved path; a file that has replaced it since is refused. */
export async function openFound({ path, real }: FoundFile): Promise<FileHandle> {
  const opened = await openAllowed(real).catch((cause: unknown) => {
    throw new SourceError(`The source ${path} cannot be opened (${errorCode(cause)}).`, {
      cause,
      place: { file: path },
      hint: 'Check that it is still there, and that this user may read it.',
    });
  });
  if ('file' in opened) return opened.file;
  throw new SourceError(`The source ${path} ${opened.refused}.`, {
    place: { file: path },
    hint: opened.hint,
  });
}

/** Resolves `match`, which `written` has found; SourceError if jobs may not read it. */
async function allowed(match: string, written: string, access: FileAccess): Promise<FoundFile> {
  const found = await allowedPath(match, access, written);
  if ('real' in found) return { path: match, real: found.real };
  throw new SourceError(`The source ${match} ${found.refused}.`, {
    place: { file: match },
    hint: found.hint,
  });
}

/** Names existing alternatives, unless jobs may not read that folder. */
async function nothingFound(path: string, access: FileAccess): Promise<SourceError> {
  const workspaceDir = resolve(access.workspaceDir);
  let folder = dirname(resolve(workspaceDir, path));
  while (!(await isFolder(folder)) && folder !== dirname(folder)) folder = dirname(folder);
  const names = await namesIn(folder, path, access);
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (names?.includes(name) === true) {
    return new SourceError(`The source ${path} is a link to a file that is not there.`, {
      place: { file: path },
      hint: 'Correct the link, or `path` in the source of the job.',
    });
  }
  const meant = nearest(name, names ?? []);
  const where = folder === workspaceDir ? 'the workspace' : relative(workspaceDir, folder);
  const more = (names?.length ?? 0) > MOST_NAMED ? `, … (${names?.length})` : '';
  const shown = `${names?.slice(0, MOST_NAMED).join(', ')}${more}`;
  const instead = names?.length === 0 ? 'is nothing' : `are: ${shown}`;
  return new SourceError(
    `No file matches the source \`${path}\`.${names === undefined ? '' : ` In ${where} there ${instead}.`}`,
    {
      place: { file: path },
      hint: meant === undefined ? 'Correct `path` in the source of the job.' : `Did you mean \`${meant}\`?`,
    },
  );
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

/** The names in a parent folder of `written`; undefined if jobs may not read it. */
async function namesIn(folder: string, written: string, access: FileAccess): Promise<string[] | undefined> {
  const allowed = await allowedPath(folder, access, written).catch(() => ({ refused: '' }));
  if ('refused' in allowed) return undefined;
  const names = await readdir(allowed.real).catch(() => undefined);
  return names?.filter((name) => !name.startsWith('.')).sort();
}

/** What is at a remote address. */
interface RemoteProbe {
  /** The files of the address; empty when there are none. */
  readonly files: readonly string[];
  /** Size of the first file; null if the server does not announce it. */
  readonly bytes: number | null;
}

/**
 * Requests the files of an address once, without reading their content. SourceError if the server cannot be reached,
 * refuses, or has another host key.
 */
export async function probeRemote(remote: RemoteAddress, signal: AbortSignal): Promise<RemoteProbe> {
  await using client = await openRemote(remote);
  try {
    const found = await client.find(signal);
    const [first] = found;
    if (first === undefined) return { files: [], bytes: null };
    const got = await client.get(first, { signal, unless: null });
    const bytes = got.kind === 'content' ? got.size : null;
    // The content is not needed, so errors of the aborted stream are ignored.
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
