import { isAbsolute, relative, resolve } from 'node:path';
import type { Exported } from '../model/run.ts';

/** The path of a file of a run relative to the workspace, or its whole address if it is not in a folder. */
export function shownFile(workspaceDir: string, location: string): string {
  return isAbsolute(location) ? relative(workspaceDir, location) : location;
}

/** The files of a run, named relative to the workspace. */
export function withShownFiles<Files extends FilesOfRun>(files: Files, workspaceDir: string): Files {
  const shown = (file: string | null) => (file === null ? null : shownFile(workspaceDir, file));
  return { ...files, rejectsFile: shown(files.rejectsFile), reportFile: shown(files.reportFile) };
}

interface FilesOfRun {
  readonly rejectsFile: string | null;
  readonly reportFile: string | null;
}

/** The files of a run, with paths that open from a folder, such as the current folder of a command. */
export function withFilesFrom<Files extends FilesOfRun & { readonly exported: Exported | null }>(
  files: Files,
  workspaceDir: string,
  folder: string,
): Files {
  const shown = (file: string | null) => (file === null ? null : pathFrom(folder, file));
  const { exported } = files;
  const isLocal = exported !== null && !ADDRESS.test(exported.location);
  return {
    ...files,
    rejectsFile: shown(files.rejectsFile),
    reportFile: shown(files.reportFile),
    exported: isLocal
      ? { ...exported, location: pathFrom(folder, resolve(workspaceDir, exported.location)) }
      : exported,
  };
}

/** The target of an export that is not on a disk of this machine. */
const ADDRESS = /^[a-z0-9]+:\/\//i;

/** A path that opens from a folder: relative within it, otherwise unchanged. */
export function pathFrom(folder: string, path: string): string {
  if (!isAbsolute(path)) return path;
  const inside = relative(folder, path);
  return inside.startsWith('..') || isAbsolute(inside) ? path : inside;
}
