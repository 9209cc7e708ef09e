import type { ConfigurationProblem } from '../../model/errors.ts';
import type { Environment } from '../environment.ts';
import type { Interpretation } from '../interpret.ts';
import { placeholder } from '../placeholder.ts';
import { looksSecret, type SecretField } from '../secret-field.ts';
import { valueAt } from '../value-at.ts';
import type { YamlFile } from '../yaml/yaml-file.ts';
import type { Path } from '../yaml/yaml-place.ts';
import { completeRemote } from './complete-remote.ts';
import type { FilePlace } from './file-place.ts';
import type { RemoteSpec } from './remote-spec.ts';
import { literalSecretIn } from './web-address-schema.ts';

interface Context {
  readonly environment: Environment;
  readonly onSecret: (value: string) => void;
}

/** A part of a job that names a file. */
export type PlacePart = 'source' | 'destination';

/** The fields of a source or destination whose values are secrets; a header by what its name says. */
export function placeSecrets({ content }: YamlFile, part: PlacePart): SecretField[] {
  const headers = valueAt(content, [part, 'url', 'headers']);
  const names = typeof headers === 'object' && headers !== null ? Object.keys(headers) : [];
  const refused = (path: Path, variable: string): SecretField => ({
    path: [part, ...path],
    literal: 'refused',
    variable,
  });
  return [
    refused(['url', 'auth', 'password'], 'FEED_PASSWORD'),
    refused(['url', 'auth', 'bearer'], 'FEED_TOKEN'),
    // A header of another name may say anything: to redact its value everywhere would make logs unreadable.
    ...names
      .filter((name) => looksSecret(name) || /auth|cookie/i.test(name))
      .map((name) => refused(['url', 'headers', name], 'FEED_TOKEN')),
    refused(['s3', 'secretAccessKey'], 'S3_SECRET'),
    refused(['s3', 'sessionToken'], 'S3_SESSION'),
    refused(['sftp', 'password'], 'SFTP_PASSWORD'),
    refused(['sftp', 'privateKey'], 'SFTP_KEY'),
    refused(['sftp', 'passphrase'], 'SFTP_PASSPHRASE'),
  ];
}

/** Gives a job the place of its file, with what the environment adds to an address. */
export function completePlace<Written, T>(
  read: Interpretation<Written>,
  yaml: YamlFile,
  part: PlacePart,
  context: Context,
  change: (value: Written, place: FilePlace) => T,
  specOf: (value: Written) => RemoteSpec & { readonly path?: string | undefined },
): Interpretation<T> {
  const written = addressIn(yaml, part);
  const literal = [...literalSecret(written, yaml)];
  const problems = [...read.problems, ...literal];
  if (read.value === undefined || literal.length > 0) return { ...read, value: undefined, problems };
  const spec = specOf(read.value);
  const completed = completeRemote(spec, { ...context, written: written?.text });
  if (completed === undefined) return { ...read, value: change(read.value, { path: spec.path ?? '' }) };
  const place = yaml.placeOf(written?.path ?? [part], 'value');
  if ('problem' in completed) {
    return { ...read, value: undefined, problems: [...problems, { place, message: completed.problem }] };
  }
  return {
    ...read,
    value: change(read.value, { remote: completed.remote }),
    unset: [...read.unset, ...completed.unset.map((name) => ({ name, place }))],
  };
}

interface Address {
  readonly text: string;
  readonly path: Path;
}

/** The address as it stands in the file. */
function addressIn({ content }: YamlFile, part: PlacePart): Address | undefined {
  const paths = ['url', 's3', 'sftp'].flatMap((kind) => [
    [part, kind],
    [part, kind, 'address'],
  ]);
  for (const path of paths) {
    const text = valueAt(content, path);
    if (typeof text === 'string') return { text: text.trim(), path };
  }
  return undefined;
}

function literalSecret(address: Address | undefined, yaml: YamlFile): ConfigurationProblem[] {
  const name = address === undefined ? undefined : literalSecretIn(address.text);
  if (address === undefined || name === undefined) return [];
  const message = `${address.path.join('.')}: a secret must not stand in a file; write ?${name}=${placeholder('FEED_TOKEN')}, and set that in the environment or in .env`;
  return [{ place: yaml.placeOf(address.path, 'value'), message }];
}
