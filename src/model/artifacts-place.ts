import type { S3Place } from './remote-address.ts';

/** Where the files of runs live: in a folder, or in a bucket under a prefix. */
export type ArtifactsPlace =
  | {
      readonly kind: 'folder';
      /** Absolute. */
      readonly path: string;
    }
  | (S3Place & {
      readonly kind: 's3';
      /** Without slashes at its ends; empty: the whole bucket. */
      readonly prefix: string;
    });

/** The place as people write it: a path, or `s3://bucket/prefix`. */
export function artifactsLocation(place: ArtifactsPlace): string {
  if (place.kind === 'folder') return place.path;
  return `s3://${[place.bucket, place.prefix].filter((part) => part !== '').join('/')}`;
}
