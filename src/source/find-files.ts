import { glob, readdir, stat } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { SourceError } from '../model/errors.ts';
import { nearest } from '../model/nearest.ts';

const MOST_NAMED = 8;

/**
 * The files that a path or glob names, sorted, as paths from the workspace (or as absolute as they were written).
 * SourceError when there are none, with what is there instead.
 */
export async function findFiles(path: string, workspaceDir: string): Promise<string[]> {
  const whole = resolve(workspaceDir, path);
  const found = await stat(whole).catch(() => undefined);
  if (found?.isFile() === true) return [path];
  if (found?.isDirectory() === true) {
    throw new SourceError(`The source \`${path}\` is a folder; a file or a glob was expected.`, {
      place: { file: path },
      hint: `Write \`${path.replace(/\/$/, '')}/*.csv\` to read all CSV files in it.`,
    });
  }
  if (found !== undefined) {
    throw new SourceError(`The source \`${path}\` is no regular file, and cannot be read twice.`, {
      place: { file: path },
      hint: 'Write what it gives into a file, and name that.',
    });
  }

  const matches: string[] = [];
  for await (const match of glob(path, { cwd: workspaceDir })) {
    if ((await stat(resolve(workspaceDir, match)).catch(() => undefined))?.isFile() === true)
      matches.push(match);
  }
  if (matches.length === 0) throw await nothingFound(path, workspaceDir);
  return [...new Set(matches)].sort();
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
