import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import {
  type FileHandle,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readlink,
  realpath,
  rm,
  stat,
  utimes,
} from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import {
  expandBraces,
  isOwnerFile,
  MAX_BRACE_ALTERNATIVES,
  matchesSigns,
  type PatternSign,
} from '../model/remote-address.ts';
import {
  errorCode,
  NoFileError,
  SourceError,
  StateError,
  TEMPORARY_FOLDER_HINT,
} from '../model/storeferry-error.ts';
import { nearestName } from '../text/printable.ts';

/** A temporary file without a change for this long has no writer any more, on any machine. */
const ABANDONED_AFTER_MS = 60 * 60 * 1_000;

/** The files of this machine that jobs may read and write. */
export interface FileAccess {
  /** Base of relative paths. Absolute. */
  readonly workspaceDir: string;
  /** Additional folders that links may lead into (`STOREFERRY_ALLOW`). Absolute. */
  readonly allowedFolders?: readonly string[] | undefined;
  /** For paths that a visitor of the dashboard may have chosen: neither absolute paths nor links lead out of the workspace. */
  readonly workspaceOnly?: boolean;
}

/** Why a path or a file is not used. */
type Refused = Readonly<Record<'refused' | 'hint', string>>;

/** The real path, or the reason why jobs may not use it. */
export type AllowedPath = { readonly real: string } | Refused;

/**
 * Follows all links of a path, also for a file that does not exist yet. `written` is the path in the job, which may
 * be a pattern that matched this path. The path must lead into the workspace, into an allowed folder, or, if the job
 * has an absolute path, into the folder of that path. Files and folders whose names begin with a dot are refused
 * unless an allowed folder is the hidden one, because `.env` and `.storeferry` contain secrets, as `~/.ssh` does.
 * Rejects with errors of the file system other than ENOENT.
 */
export async function allowedPath(
  path: string,
  { workspaceDir, allowedFolders = [], workspaceOnly = false }: FileAccess,
  written = path,
): Promise<AllowedPath> {
  const whole = resolve(workspaceDir, path);
  const workspace = await realPath(workspaceDir);
  const allowed = await Promise.all((workspaceOnly ? [] : allowedFolders).map((folder) => realPath(folder)));
  const named = isAbsolute(written) && !workspaceOnly ? [await realPath(fixedFolder(written))] : [];
  const real = await realPath(whole);
  // The innermost one: files in a workspace or an allowed folder that is itself hidden are not hidden.
  const root = [workspace, ...named, ...allowed]
    .filter((folder) => isInside(folder, real))
    .reduce<string | null>((inner, folder) => (folder.length > (inner?.length ?? 0) ? folder : inner), null);
  if (root === null) {
    return {
      refused: 'leads outside the workspace',
      hint: workspaceOnly
        ? 'In the dashboard only files inside the workspace count: put the file there. Another path is written into the file of the job by hand.'
        : 'Put the file itself into the workspace, use its absolute path, or allow its folder: STOREFERRY_ALLOW=/its/folder.',
    };
  }
  const isHidden = allowed.includes(root)
    ? hasHiddenPart(relative(root, real))
    : isInside(workspace, real)
      ? hasHiddenPart(relative(workspace, real)) || hasHiddenPart(relative(workspaceDir, whole))
      : hasHiddenPart(real) || hasHiddenPart(whole);
  if (isHidden) {
    return {
      refused: 'is hidden: its name, or the name of a parent folder, begins with a dot',
      hint: `Put the file into a folder that is not hidden${workspaceOnly ? '' : ', or allow that folder: STOREFERRY_ALLOW=/its/folder'}.`,
    };
  }
  return { real };
}

/** An open file, or the reason why it is not read. */
type OpenedFile = { readonly file: FileHandle } | Refused;

/**
 * Opens a regular file for reading, at a path from `allowedPath`. Refuses a pipe without waiting for it, and a path
 * of which a part was replaced meanwhile. Rejects with errors of the file system.
 */
export async function openAllowed(real: string): Promise<OpenedFile> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const status = await file.stat();
    const refused = !status.isFile()
      ? {
          refused: `is ${status.isDirectory() ? 'a folder' : 'not a regular file'}`,
          hint: 'Give the path of a regular file.',
        }
      : await refusedPlace(file, real);
    if (refused === null) return { file };
    await file.close();
    return refused;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Why an open file is not the one at a path without links: the file or a parent folder was replaced. Null if it is
 * that file.
 */
export async function refusedPlace(file: FileHandle, real: string): Promise<Refused | null> {
  // Linux shows the path of an open file. Elsewhere the path is followed again.
  const place = await readlink(`/proc/self/fd/${file.fd}`).catch(() => undefined);
  if (place === real) return null;
  if (place === undefined && (await found(realpath(real))) === real) {
    const [opened, there] = await Promise.all([file.stat({ bigint: true }), lstat(real, { bigint: true })]);
    if (opened.dev === there.dev && opened.ino === there.ino) return null;
  }
  return {
    refused: 'was moved or replaced while Storeferry opened it',
    hint: 'Run again when nobody is changing it or its parent folders.',
  };
}

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
    throw refusedSource(
      path,
      `\`${path}\` is a folder; a file or a glob was expected`,
      `Write \`${path.replace(/\/$/, '')}/*.csv\` to read all CSV files in it.`,
    );
  }
  if (found !== undefined) {
    throw refusedSource(
      path,
      `\`${path}\` is not a regular file, so it cannot be read twice`,
      'Write its output to a file, and name that file in the job.',
    );
  }

  const matches = await findMatches(path, workspaceDir);
  if (matches.length === 0) throw await nothingFound(path, access);
  return await Promise.all(matches.sort().map((match) => allowed(match, path, access)));
}

/** The most names that a glob looks at. */
const MAX_GLOB_NAMES = 200_000;

/**
 * The regular files that a glob matches, as Node's own glob, whose braces and stars have no bound. A link to a folder, and
 * a name that begins with a dot or is an owner file, is matched only where the glob has the name exactly so.
 */
async function findMatches(glob: string, workspaceDir: string) {
  const refuse = (problem: string, hint: string) => refusedSource(glob, `\`${glob}\` ${problem}`, hint);
  const paths = expandBraces(glob);
  if (paths === undefined) {
    throw refuse(
      `stands for more than ${MAX_BRACE_ALTERNATIVES} paths, by its braces`,
      'Use fewer braces, or `*` instead.',
    );
  }
  const matches = new Set<string>();
  const seen = new Set<string>();
  let names = 0;
  const list = async (folder: string) => {
    const found = await readdir(resolve(workspaceDir, folder), { withFileTypes: true }).catch(() => []);
    names += found.length;
    if (names > MAX_GLOB_NAMES) {
      throw refuse(
        `would look at more than ${MAX_GLOB_NAMES} files`,
        'Name the folder of the files, without `**`.',
      );
    }
    return found.filter(({ name }) => !isPassedOver(name));
  };
  const walk = async (folder: string, parts: readonly string[]) => {
    const key = `${folder}\0${parts.join('/')}`;
    if (seen.has(key)) return;
    seen.add(key);
    const [part, ...rest] = parts;
    if (part === undefined) {
      const status = await stat(resolve(workspaceDir, folder)).catch(() => undefined);
      if (status?.isFile() === true) matches.add(folder);
    } else if (part === '**') {
      await walk(folder, rest.length === 0 ? ['*'] : rest);
      for (const entry of await list(folder))
        if (entry.isDirectory()) await walk(join(folder, entry.name), parts);
    } else {
      const pattern = namePattern(part);
      if (pattern.literal !== undefined) return await walk(join(folder, pattern.literal), rest);
      for (const entry of await list(folder))
        if ((rest.length === 0 || entry.isDirectory()) && pattern.matches(entry.name))
          await walk(join(folder, entry.name), rest);
    }
  };
  for (const path of paths) {
    const parts = path.split(sep).filter((part) => part !== '' && part !== '.');
    await walk(isAbsolute(path) ? sep : '', parts);
  }
  return [...matches];
}

/** A part of a path, between slashes, that matches names: `*`, `?`, `[a-z]`, `[!a]`; a backslash makes the next sign plain. */
interface NamePattern {
  /** The name, if it is the only one that matches. */
  readonly literal: string | undefined;
  /** Takes at most as many steps as the name and the pattern have signs, multiplied. */
  matches(name: string): boolean;
}

const TOKEN =
  /\\(?<escaped>.)|\[(?<not>[!^]?)(?<set>\][^\]]{0,99}|[^\]]{1,99})\]|(?<any>[*?])|(?<plain>.)/gsu;

/** Reads a part of a path. */
function namePattern(part: string): NamePattern {
  const tokens = [...part.matchAll(TOKEN)].map(({ groups = {} }): PatternSign => {
    const { escaped, not, set, any, plain = '' } = groups;
    if (set !== undefined) return isInSet(set, not !== '');
    return any === '*' ? null : any === '?' ? () => true : (escaped ?? plain);
  });
  const isLiteral = tokens.every((token) => typeof token === 'string');
  return { literal: isLiteral ? tokens.join('') : undefined, matches: (name) => matchesSigns(name, tokens) };
}

function isInSet(set: string, isNegated: boolean): (sign: string) => boolean {
  const ranges = [...set.matchAll(/(.)-(.)|(.)/gsu)].map(([, from, to, one = '']) => [
    from ?? one,
    to ?? one,
  ]);
  return (sign) => ranges.some(([from = '', to = '']) => from <= sign && sign <= to) !== isNegated;
}

/** Opens the file at its resolved path; a file that has replaced it since is refused. */
export async function openFound({ path, real }: FoundFile): Promise<FileHandle> {
  const opened = await openAllowed(real).catch((cause: unknown) => {
    const hint = 'Check that it is still there, and that this user may read it.';
    throw refusedSource(path, `${path} cannot be opened (${errorCode(cause)})`, hint, cause);
  });
  if ('file' in opened) return opened.file;
  throw refusedSource(path, `${path} ${opened.refused}`, opened.hint);
}

function refusedSource(file: string, problem: string, hint: string, cause?: unknown) {
  return new SourceError(`The source ${problem}.`, { place: { file }, hint, cause });
}

/** Resolves `match`, which `written` has found; SourceError if jobs may not read it. */
async function allowed(match: string, written: string, access: FileAccess): Promise<FoundFile> {
  const found = await allowedPath(match, access, written);
  if ('real' in found) return { path: match, real: found.real };
  throw refusedSource(match, `${match} ${found.refused}`, found.hint);
}

const MAX_NAMES_SHOWN = 8;

/** Names existing alternatives, unless jobs may not read that folder. */
async function nothingFound(path: string, access: FileAccess) {
  const workspaceDir = resolve(access.workspaceDir);
  let folder = dirname(resolve(workspaceDir, path));
  while (!(await isFolder(folder)) && folder !== dirname(folder)) folder = dirname(folder);
  const names = await namesIn(folder, path, access);
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (folder === dirname(resolve(workspaceDir, path)) && names?.includes(name) === true) {
    return refusedSource(
      path,
      `${path} is a link to a file that is not there`,
      'Correct the link, or `path` in the source of the job.',
    );
  }
  const meant = nearestName(name, names ?? []);
  const where = folder === workspaceDir ? 'the workspace' : relative(workspaceDir, folder);
  const more = (names?.length ?? 0) > MAX_NAMES_SHOWN ? `, … (${names?.length})` : '';
  const shown = `${names?.slice(0, MAX_NAMES_SHOWN).join(', ')}${more}`;
  const instead = names?.length === 0 ? 'is nothing' : `are: ${shown}`;
  return new NoFileError(
    `No file matches the source \`${path}\`.${names === undefined ? '' : ` In ${where} there ${instead}.`}`,
    {
      place: { file: path },
      hint: meant === undefined ? 'Correct `path` in the source of the job.' : `Did you mean \`${meant}\`?`,
    },
  );
}

async function isFolder(path: string) {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

/** The names in a parent folder of `written`; undefined if jobs may not read it. */
async function namesIn(folder: string, written: string, access: FileAccess) {
  const allowed = await allowedPath(folder, access, written).catch(() => ({ refused: '' }));
  if ('refused' in allowed) return undefined;
  const names = await readdir(allowed.real).catch(() => undefined);
  return names?.filter((name) => !isPassedOver(name)).sort();
}

/** Whether only a pattern that has the name exactly so finds it. */
function isPassedOver(name: string) {
  return name.startsWith('.') || isOwnerFile(name);
}

/** The folder of a path before its first wildcard. */
function fixedFolder(path: string) {
  const parts = path.split(sep);
  const wild = parts.findIndex((part) => /[*?[\]{}()!]/.test(part));
  return wild < 0 ? dirname(path) : parts.slice(0, wild).join(sep) || sep;
}

function isInside(folder: string, path: string) {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function hasHiddenPart(path: string) {
  return path.split(sep).some((part) => part.startsWith('.') && part !== '.' && part !== '..');
}

/** The path with all links followed, also dangling ones, as far as it exists. */
async function realPath(path: string, links = 0): Promise<string> {
  const real = await found(realpath(path));
  if (real !== undefined || dirname(path) === path) return real ?? path;
  const status = await found(lstat(path));
  if (status?.isSymbolicLink() === true) {
    if (links > 40) throw Object.assign(new Error('too many links'), { code: 'ELOOP' });
    return await realPath(resolve(dirname(path), await readlink(path)), links + 1);
  }
  return join(await realPath(dirname(path), links), path.slice(path.lastIndexOf(sep) + 1));
}

/** Writes all bytes at the given position or after the last write: the system may accept fewer at a time. */
export async function writeAll(file: FileHandle, bytes: Uint8Array, position?: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const at = position === undefined ? null : position + written;
    written += (await file.write(bytes, written, bytes.length - written, at)).bytesWritten;
  }
}

/** Makes a new name in the folder survive a power failure, if the file system supports it. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY);
  try {
    await folder.sync().catch((error: unknown) => {
      if (!['EINVAL', 'EISDIR', 'ENOTSUP', 'EPERM'].includes(errorCode(error))) throw error;
    });
  } finally {
    await folder.close();
  }
}

/** Whether a temporary file has no writer any more; false if it no longer exists. */
export async function isAbandoned(path: string): Promise<boolean> {
  const modified = (await stat(path).catch(() => undefined))?.mtimeMs ?? Date.now();
  return Date.now() - modified > ABANDONED_AFTER_MS;
}

/** This machine, in the names of temporary files. */
export function hostTag(): string {
  return (
    hostname()
      .replaceAll(/[^A-Za-z0-9]/g, '_')
      .slice(0, 32) || 'host'
  );
}

/**
 * Whether a process with this number is running on this machine. Our own number belonged to a dead process, unless this process
 * knows the file.
 */
export function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** Far more often than a folder needs to be touched so that it is not abandoned. */
const TOUCH_INTERVAL_MS = ABANDONED_AFTER_MS / 6;

/** A folder for files that only this process needs. */
interface ProcessFolder extends AsyncDisposable {
  /** An absolute path; the folder is created when it is first asked for, for its owner only. */
  path(): Promise<string>;
}

/**
 * Opens a folder of this process within `parent`, and removes those of processes that have ended without removing theirs: killed
 * ones. A folder of a process that runs, on this or another machine, is touched often enough to stay.
 */
export async function openProcessFolder(parent: string): Promise<ProcessFolder> {
  for (const name of await readdir(parent).catch(() => [])) {
    const [, host, pid] = /^([^-]+)-(\d+)-[0-9a-f]{8}$/.exec(name) ?? [];
    if (host === undefined) continue;
    const folder = join(parent, name);
    const isDead = host === hostTag() && !isAlive(Number(pid));
    if (isDead || (await isAbandoned(folder))) await rm(folder, { recursive: true, force: true });
  }
  const own = join(parent, `${hostTag()}-${process.pid}-${randomUUID().slice(0, 8)}`);
  let made: Promise<void> | undefined;
  let touching: NodeJS.Timeout | undefined;
  const touch = async () => {
    const now = new Date();
    await utimes(own, now, now).catch(() => {});
  };
  return {
    async path() {
      made ??= makeFolders(own, 0o700);
      await made;
      touching ??= setInterval(touch, TOUCH_INTERVAL_MS).unref();
      return own;
    },
    async [Symbol.asyncDispose]() {
      clearInterval(touching);
      if (made !== undefined) await rm(own, { recursive: true, force: true });
    },
  };
}

/** Awaits a call of the file system; undefined if there is no such file or folder. */
export async function found<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

const FILE_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  EFBIG: 'the file would exceed the size limit of this disk or user',
  EIO: 'the disk or the shared folder reports an error',
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EROFS: 'the disk is read-only',
  ENOTDIR: 'a part of its path is a file, not a folder',
  EEXIST: 'a part of its path is a file, not a folder',
  EISDIR: 'it is a folder',
  ELOOP: 'a symbolic link leads to itself or is not followed',
  ENAMETOOLONG: 'its name is too long',
};

/** The meaning of a file system error for a message; its code if unknown. */
export function fileErrorText(code: string): string {
  return FILE_ERRORS[code] ?? code;
}

/**
 * Creates the folder and its missing parents, each with `mode`. The recursive mkdir of Node never ends if the system
 * answers ENOENT although the parent exists, as in /proc.
 */
export async function makeFolders(path: string, mode?: number): Promise<void> {
  if (await madeOrExists(path, mode)) return;
  const above = dirname(path);
  if (above !== path) await makeFolders(above, mode);
  if (await madeOrExists(path, mode)) return;
  await mkdir(path, mode);
}

/** False if a parent folder is missing. */
async function madeOrExists(path: string, mode?: number) {
  try {
    await mkdir(path, mode);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    if (errorCode(error) === 'EEXIST' && (await stat(path)).isDirectory()) return true;
    throw error;
  }
}

/** Makes a temporary folder whose name begins so. StateError where the folder for them cannot be written. */
export async function makeTemporaryFolder(beginning = 'storeferry-'): Promise<string> {
  const folder = tmpdir();
  return await mkdtemp(join(folder, beginning)).catch((cause: unknown) => {
    throw new StateError(`The temporary folder ${folder} cannot be written (${errorCode(cause)}).`, {
      cause,
      hint: TEMPORARY_FOLDER_HINT,
    });
  });
}
