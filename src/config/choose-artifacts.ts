import { isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ArtifactsPlace } from '../model/remote-address.ts';
import { completeS3Place } from '../remote/s3-kind.ts';
import type { Environment } from './environment.ts';

/** What `ARTIFACTS_URL` may be. */
export const ARTIFACTS_EXPECTED = 'expected a folder or s3://bucket/prefix';

const BUCKET = '[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]';
const PREFIX = String.raw`(?:(?!\.+(?:/|$))[\w.-]+/)*(?!\.+/?$)[\w.-]+`;
const S3 = new RegExp(`^s3://(${BUCKET})(?:/(${PREFIX})?/?)?$`);

/** Whether it names a folder, as a path or `file:` address, or a bucket with or without a prefix. */
export function isArtifactsUrl(url: string): boolean {
  if (!/^[a-z][a-z0-9+.-]+:/i.test(url)) return true;
  return url.startsWith('file:') ? pathOf(url) !== undefined : S3.test(url);
}

/** The place, with the secrets that open it; or what else is wrong, each a sentence that begins with its variable. */
export type ArtifactsChoice =
  | { readonly place: ArtifactsPlace; readonly secrets: readonly string[] }
  | { readonly problems: readonly string[] };

/**
 * The place that a valid `ARTIFACTS_URL` names; paths are relative to the workspace. Buckets are reached as the `AWS_…`
 * variables say. Private networks are allowed, since only the operator of the process sets these variables.
 */
export function chooseArtifacts(
  url: string,
  dir: string,
  environment: Pick<Environment, 'get'>,
): ArtifactsChoice {
  const [, bucket, prefix = ''] = S3.exec(url) ?? [];
  if (bucket === undefined) {
    const path = (url.startsWith('file:') ? pathOf(url) : undefined) ?? url;
    return { place: { kind: 'folder', path: isAbsolute(path) ? path : resolve(dir, path) }, secrets: [] };
  }
  const completed = completeS3Place({}, (name) => environment.get(name));
  if ('problem' in completed) return { problems: [completed.problem] };
  if (completed.unset.length > 0) {
    const problems = completed.unset.map(
      (name) => `${name}: not set, and ARTIFACTS_URL needs it; set it in the environment or in .env`,
    );
    return { problems };
  }
  const { place, secrets } = completed;
  return { place: { kind: 's3', bucket, prefix, allowPrivateAddresses: true, ...place }, secrets };
}

function pathOf(url: string): string | undefined {
  try {
    return fileURLToPath(url);
  } catch {
    return undefined;
  }
}
