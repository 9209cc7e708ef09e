import { isAbsolute, relative } from 'node:path';
import type { Destination } from '../../export/destination/destination.ts';

/** Where a destination is, as a person in the workspace would name it. */
export function shownLocation(workspaceDir: string, { location }: Destination): string {
  if (!isAbsolute(location)) return location;
  const inside = relative(workspaceDir, location);
  return inside.startsWith('..') || isAbsolute(inside) ? location : inside;
}

/** The files of a run, each as a person in the workspace would name it. */
export function withShownFiles<
  Files extends { readonly rejectsFile: string | null; readonly reportFile: string | null },
>(files: Files, workspaceDir: string): Files {
  const shown = (file: string | null) => (file === null ? null : shownFile(workspaceDir, file));
  return { ...files, rejectsFile: shown(files.rejectsFile), reportFile: shown(files.reportFile) };
}

/** Where a file of a run is: relative to the workspace, or its whole address where it is in no folder at all. */
export function shownFile(workspaceDir: string, location: string): string {
  return isAbsolute(location) ? relative(workspaceDir, location) : location;
}
