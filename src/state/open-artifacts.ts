import type { ArtifactsPlace } from '../model/artifacts-place.ts';
import type { Artifacts } from './artifacts.ts';
import { folderArtifacts } from './artifacts-folder.ts';
import { s3Artifacts } from './artifacts-s3.ts';

/** Opens the artifacts that `ARTIFACTS_URL` names. Nothing is touched yet. */
export function openArtifacts(place: ArtifactsPlace): Artifacts {
  switch (place.kind) {
    case 'folder':
      return folderArtifacts(place.path);
    case 's3':
      return s3Artifacts(place);
    default:
      return place satisfies never;
  }
}
