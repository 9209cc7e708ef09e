import type { z } from 'zod';
import type { FilePlace } from '../model/remote-address.ts';
import type { ConfigurationProblem } from '../model/storeferry-error.ts';
import { REMOTE_KINDS } from '../remote/remote-kinds.ts';
import type { Environment, SecretField } from './environment.ts';
import type { Interpretation } from './interpret.ts';
import { parseTemplate, placeholder, type Template } from './placeholder.ts';
import { type Path, valueAt } from './value-at.ts';
import type { YamlFile } from './yaml-file.ts';

/** A part of a job that names a file. */
export type PlacePart = 'source' | 'destination';

type RemoteName = keyof typeof REMOTE_KINDS;
type WrittenAddress = z.infer<(typeof REMOTE_KINDS)[RemoteName]['schema']>;
type PlaceName = 'path' | RemoteName;

/** The fields of a source or destination that name its file, one of which is given. */
type WrittenPlace = { readonly path?: string | undefined } & {
  readonly [Name in RemoteName]?: WrittenAddress | undefined;
};

const PLACES = ['path', ...Object.keys(REMOTE_KINDS)];
const ONE_OF_THEM = `give one of ${PLACES.slice(0, -1).join(', ')} and ${PLACES.at(-1)}`;

type RemoteField = z.ZodExactOptional<z.ZodType<WrittenAddress>>;

/** The fields of a source or destination for files on other machines. */
export function remoteFields(part: PlacePart): Readonly<Record<RemoteName, RemoteField>>;
export function remoteFields(part: PlacePart): Readonly<Record<string, RemoteField>> {
  return Object.fromEntries(
    Object.entries(REMOTE_KINDS).map(([name, { schema, description }]) => [
      name,
      schema.exactOptional().describe(description[part]),
    ]),
  );
}

/** Refuses a source or destination that names no file, or several. */
export function exactlyOnePlace(written: WrittenPlace, context: z.RefinementCtx): void {
  const [first, second] = PLACES.filter((name) => valueAt(written, [name]) !== undefined);
  if (first === undefined) {
    context.addIssue({ code: 'custom', message: `names no file; ${ONE_OF_THEM}` });
  } else if (second !== undefined) {
    context.addIssue({
      code: 'custom',
      path: [second],
      message: `there is ${first} already; ${ONE_OF_THEM}`,
    });
  }
}

/** Refuses a destination that may be several files. */
export function oneFile(written: WrittenPlace, context: z.RefinementCtx): void {
  for (const [name, address] of remotesIn(written)) {
    if (!address.namesSeveral) continue;
    const message = 'a destination is one file: `*` and `newest` are for sources';
    context.addIssue({ code: 'custom', path: [name], message });
  }
}

/** A source or destination without the fields that name its file. */
export function withoutPlace<Written extends object>(written: Written): Omit<Written, PlaceName>;
export function withoutPlace(written: object): object {
  return Object.fromEntries(Object.entries(written).filter(([name]) => !PLACES.includes(name)));
}

/** The fields of a source or destination whose values are secrets. */
export function placeSecrets({ content }: YamlFile, part: PlacePart): SecretField[] {
  return Object.entries(REMOTE_KINDS).flatMap(([name, { secrets }]) =>
    secrets(valueAt(content, [part, name])).map(
      ({ path, variable }): SecretField => ({ path: [part, name, ...path], literal: 'refused', variable }),
    ),
  );
}

interface Context {
  readonly environment: Environment;
  readonly onSecret: (value: string) => void;
}

/** Gives a job the place of its file, with what the environment adds to an address. */
export function completePlace<Written, T>(
  read: Interpretation<Written>,
  yaml: YamlFile,
  part: PlacePart,
  { environment, onSecret }: Context,
  change: (value: Written, place: FilePlace) => T,
  placeIn: (value: Written) => WrittenPlace,
): Interpretation<T> {
  const written = addressIn(yaml, part);
  const literal = [...literalSecret(written, yaml)];
  const problems = [...read.problems, ...literal];
  if (read.value === undefined || literal.length > 0) return { ...read, value: undefined, problems };
  const spec = placeIn(read.value);
  const [remote] = remotesIn(spec);
  if (remote === undefined) return { ...read, value: change(read.value, { path: spec.path ?? '' }) };
  const template = written === undefined ? undefined : (parseTemplate(written.text) ?? [written.text]);
  for (const name of variablesOfQuery(template ?? [])) {
    const value = environment.get(name);
    if (value !== undefined) onSecret(value);
  }
  const completed = remote[1].complete({
    variable: (name) => environment.get(name),
    onSecret,
    written: template?.map((part) => (typeof part === 'string' ? part : placeholder(part.name))).join(''),
  });
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

function remotesIn(written: WrittenPlace): [name: string, address: WrittenAddress][] {
  const { path: _, ...remotes } = written;
  return Object.entries<WrittenAddress | undefined>(remotes).flatMap(([name, address]) =>
    name in REMOTE_KINDS && address !== undefined ? [[name, address]] : [],
  );
}

interface Address {
  readonly text: string;
  readonly path: Path;
}

/** The address as it stands in the file. */
function addressIn({ content }: YamlFile, part: PlacePart): Address | undefined {
  const paths = Object.keys(REMOTE_KINDS).flatMap((name) => [
    [part, name],
    [part, name, 'address'],
  ]);
  for (const path of paths) {
    const text = valueAt(content, path);
    if (typeof text === 'string') return { text: text.trim(), path };
  }
  return undefined;
}

/** The variables that fill the query of an address: each of them may be a secret. */
function variablesOfQuery(template: Template): string[] {
  const query = template.findIndex((part) => typeof part === 'string' && part.includes('?'));
  return query < 0
    ? []
    : template.slice(query).flatMap((part) => (typeof part === 'string' ? [] : [part.name]));
}

/** Names of parameters whose values are secrets. */
const SECRET_PARAMETER =
  /[?&]([^=&#]*(?:token|secret|passw(?:or)?d|signature|api_?key|access_?key|consumer_?key)|key|sig|auth|pwd)=([^&#]*)/gi;

/** Refuses a parameter of an address whose name says secret and whose value does not come from the environment. */
function literalSecret(address: Address | undefined, yaml: YamlFile): ConfigurationProblem[] {
  for (const [, name, value = ''] of address?.text.matchAll(SECRET_PARAMETER) ?? []) {
    if (address === undefined || value === '' || value.includes('${')) continue;
    const message = `${address.path.join('.')}: a secret must not stand in a file; write ?${name}=${placeholder('FEED_TOKEN')}, and set that in the environment or in .env`;
    return [{ place: yaml.placeOf(address.path, 'value'), message }];
  }
  return [];
}
