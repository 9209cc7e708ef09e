import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from '../model/errors.ts';
import type { Artifacts } from './artifacts.ts';
import { artifactsFolder } from './artifacts-folder.ts';

/** Opens `ARTIFACTS_URL`: a path (relative to the workspace) or a file address. UsageError for anything else. */
export function openArtifacts(url: string, workspaceDir: string): Artifacts {
  if (url.startsWith('file:')) return artifactsFolder(fileURLToPath(url));
  if (/^[a-z][a-z0-9+.-]+:/i.test(url)) {
    throw new UsageError('ARTIFACTS_URL: this version keeps artifacts in a folder that all workers share.', {
      hint: 'Set it to a path, such as /srv/storeferry/artifacts.',
    });
  }
  return artifactsFolder(resolve(workspaceDir, url));
}
