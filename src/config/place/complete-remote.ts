import type { HttpAddress, RemoteAddress, S3Address, SftpAddress } from '../../model/remote-address.ts';
import type { Environment } from '../environment.ts';
import { parseTemplate, placeholder } from '../placeholder.ts';
import { completeS3Place } from './complete-s3-place.ts';
import type { RemoteSpec } from './remote-spec.ts';
import { readSftpAddress } from './sftp-address-schema.ts';

/** What an address is completed with. */
export interface Surroundings {
  readonly environment: Environment;
  readonly onSecret: (value: string) => void;
  /** The address as it stands in the file, placeholders not filled in; undefined when it is no text. */
  readonly written: string | undefined;
}

/** An address, with the variables that it needs and that are not set: with some, it is good for checks only. */
export type Completed =
  | { readonly remote: RemoteAddress; readonly unset: readonly string[] }
  | { readonly problem: string };

/** The address that a source or destination names, with what comes from the environment; undefined for a path. */
export function completeRemote(spec: RemoteSpec, around: Surroundings): Completed | undefined {
  if (spec.url !== undefined) return { remote: http(spec.url, around), unset: [] };
  if (spec.s3 !== undefined) return s3(spec.s3, around);
  if (spec.sftp !== undefined) return sftp(spec.sftp);
  return undefined;
}

function http(
  { address, headers, auth, allowPrivateAddresses }: NonNullable<RemoteSpec['url']>,
  { written, environment, onSecret }: Surroundings,
): HttpAddress {
  const query = written?.slice(written.indexOf('?') + 1) ?? '';
  for (const part of written?.includes('?') ? (parseTemplate(query) ?? []) : []) {
    const value = typeof part === 'string' ? undefined : environment.get(part.name);
    if (value !== undefined) onSecret(value);
  }
  return {
    kind: 'http',
    location: locationOf(written ?? address, new URL(address)),
    address,
    headers,
    auth:
      auth === undefined
        ? null
        : 'bearer' in auth
          ? { kind: 'bearer', token: auth.bearer }
          : { kind: 'basic', ...auth },
    allowPrivateAddresses,
  };
}

/** As written, so that nothing of the environment shows; without the query. */
function locationOf(written: string, { origin }: URL): string {
  const named = (parseTemplate(written) ?? [written])
    .map((part) => (typeof part === 'string' ? part : placeholder(part.name)))
    .join('');
  const shown = named.replace(/\?.*$/s, '');
  return shown.startsWith('${') ? `${shown} (${origin})` : shown;
}

function s3(spec: NonNullable<RemoteSpec['s3']>, { environment, onSecret }: Surroundings): Completed {
  const completed = completeS3Place(spec, environment);
  if ('problem' in completed) return completed;
  for (const secret of completed.secrets) onSecret(secret);
  const [, bucket = '', key = ''] = /^s3:\/\/([^/]+)\/(.*)$/.exec(spec.address) ?? [];
  return {
    remote: {
      kind: 's3',
      location: spec.address,
      bucket,
      key,
      ...completed.place,
      newest: spec.newest,
      allowPrivateAddresses: spec.allowPrivateAddresses,
    } satisfies S3Address,
    unset: completed.unset,
  };
}

function sftp({ address, hostKey, ...rest }: NonNullable<RemoteSpec['sftp']>): Completed {
  const read = readSftpAddress(address);
  if ('why' in read) return { problem: read.why };
  const key = rest.privateKey;
  return {
    remote: {
      kind: 'sftp',
      location: address,
      ...read,
      hostKeys: typeof hostKey === 'string' ? [hostKey] : hostKey,
      password: rest.password ?? null,
      // Some ways to set a variable know no line breaks.
      privateKey: key === undefined ? null : key.includes('\n') ? key : key.replaceAll('\\n', '\n'),
      passphrase: rest.passphrase ?? null,
      newest: rest.newest,
      allowPrivateAddresses: rest.allowPrivateAddresses,
    } satisfies SftpAddress,
    unset: [],
  };
}
