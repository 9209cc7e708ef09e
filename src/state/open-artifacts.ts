import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StateError } from '../model/errors.ts';
import type { Artifacts } from './artifacts.ts';
import { folderArtifacts } from './artifacts-folder.ts';

/** Where artifacts live unless `ARTIFACTS_URL` says otherwise, relative to the workspace. */
const DEFAULT_FOLDER = join('.storeferry', 'artifacts');

/**
 * Opens the artifacts that `ARTIFACTS_URL` names: a path, relative to the workspace, or a `file:` address. Undefined
 * or empty: the workspace's own. StateError for any other address; it is not shown, since it may hold a secret.
 */
export function openArtifacts(url: string | undefined, workspaceDir: string): Artifacts {
  if (!url) return folderArtifacts(resolve(workspaceDir, DEFAULT_FOLDER));
  if (url.startsWith('file:')) return folderArtifacts(pathOf(url));
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(url)?.[1];
  if (scheme !== undefined && !isAbsolute(url)) {
    throw new StateError(`ARTIFACTS_URL has the scheme ${scheme}:, which this version cannot use.`, {
      hint: 'Name a folder that all machines share, by its path or as file:///path.',
    });
  }
  return folderArtifacts(resolve(workspaceDir, url));
}

function pathOf(url: string): string {
  try {
    return fileURLToPath(url);
  } catch (error) {
    throw new StateError('ARTIFACTS_URL is no address of a folder on this machine.', {
      hint: 'Write file:///path, with three slashes.',
      cause: error,
    });
  }
}
