import { glob, readdir, stat } from 'node:fs/promises';
import { dirname, relative, resolve, sep } from 'node:path';
import { SourceError } from '../model/errors.ts';
import { nearest } from '../model/nearest.ts';
import { allowedPath, type FileAccess } from '../state/allowed-path.ts';

const MOST_NAMED = 8;

/** A file that a source names. */
export interface FoundFile {
  /** From the workspace, or as absolute as it was written. */
  readonly path: string;
  /** With all links followed. */
  readonly real: string;
}

/**
 * The files that a path or glob names, sorted by path. A glob matches no hidden files. SourceError when there are none,
 * with what is there instead, and when one leads to where jobs may not read.
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
    throw new SourceError(`The source \`${path}\` is not a regular file, and cannot be read twice.`, {
      place: { file: path },
      hint: 'Write its output to a file, and name that file.',
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
  if (matches.size === 0) throw await nothingFound(path, workspaceDir);
  return await Promise.all([...matches].sort().map((match) => allowed(match, path, access)));
}

/** `match` is what `written` has found; SourceError where jobs may not read it. */
async function allowed(match: string, written: string, access: FileAccess): Promise<FoundFile> {
  const found = await allowedPath(match, access, written);
  if ('real' in found) return { path: match, real: found.real };
  throw new SourceError(`The source ${match} ${found.refused}.`, {
    place: { file: match },
    hint: found.hint,
  });
}

async function nothingFound(path: string, workspaceDir: string): Promise<SourceError> {
  let folder = dirname(resolve(workspaceDir, path));
  let names = await readdir(folder).catch(() => undefined);
  while (names === undefined && folder !== dirname(folder)) {
    folder = dirname(folder);
    names = await readdir(folder).catch(() => undefined);
  }
  const there = (names ?? []).filter((name) => !name.startsWith('.')).sort();
  const wanted = path.slice(path.lastIndexOf('/') + 1);
  const meant = nearest(wanted, there);
  const shown =
    there.slice(0, MOST_NAMED).join(', ') + (there.length > MOST_NAMED ? `, … (${there.length})` : '');
  return new SourceError(
    `No file matches the source \`${path}\`. In ${folder === resolve(workspaceDir) ? 'the workspace' : relative(workspaceDir, folder)} there ${
      there.length === 0 ? 'is nothing' : `are: ${shown}`
    }.`,
    {
      place: { file: path },
      hint: meant === undefined ? 'Correct `path` in the source of the job.' : `Did you mean \`${meant}\`?`,
    },
  );
}
