import { isAbsolute, relative, resolve } from 'node:path';
import type { Exported } from '../model/run.ts';

/** Where a file of a run is: relative to the workspace, or its whole address where it is in no folder at all. */
export function shownFile(workspaceDir: string, location: string): string {
  return isAbsolute(location) ? relative(workspaceDir, location) : location;
}

/** The files of a run, each as a person in the workspace would name it. */
export function withShownFiles<Files extends FilesOfRun>(files: Files, workspaceDir: string): Files {
  const shown = (file: string | null) => (file === null ? null : shownFile(workspaceDir, file));
  return { ...files, rejectsFile: shown(files.rejectsFile), reportFile: shown(files.reportFile) };
}

interface FilesOfRun {
  readonly rejectsFile: string | null;
  readonly reportFile: string | null;
}

/** The files of a run, each by a path that opens from a folder, such as the one that a command was typed in. */
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

/** What an export wrote to, where that is on no disk of this machine. */
const ADDRESS = /^[a-z0-9]+:\/\//i;

/** A path that opens from a folder: relative within it, else as it is. */
export function pathFrom(folder: string, path: string): string {
  if (!isAbsolute(path)) return path;
  const inside = relative(folder, path);
  return inside.startsWith('..') || isAbsolute(inside) ? path : inside;
}
