import { dirname, join } from 'node:path';
import { z } from 'zod';
import { addProblem } from '../model/json-object.ts';
import type { FilePlace } from '../model/remote-address.ts';
import type { ConfigurationProblem } from '../model/storeferry-error.ts';
import {
  DATABASES,
  EXTENSIONS_FILE,
  PLACES,
  REMOTE_KINDS,
  type RemoteName,
  remoteIn,
  type WrittenPlace,
} from '../remote/remote-kinds.ts';
import type { Environment, SecretField } from './environment.ts';
import { type Interpretation, interpret } from './interpret.ts';
import { type Path, pathKey, valueAt } from './value-at.ts';
import { hasSecret, literalSecrets, type WrittenAddress, writeAddress } from './write-address.ts';
import { parseYaml, type YamlFile } from './yaml-file.ts';
import { parseTemplate, placeholder, type Template } from './yaml-text.ts';

/** Refuses a source, a crosswalk or a destination that names no file, or several. */
export function exactlyOnePlace(
  written: WrittenPlace,
  context: z.RefinementCtx,
  places: readonly string[] = PLACES,
  needs: 'query' | 'table' = 'query',
): void {
  const oneOfThem = `give one of ${places.slice(0, -1).join(', ')} and ${places.at(-1)}`;
  const [first, second] = places.filter((name) => valueAt(written, [name]) !== undefined);
  if (first === undefined) addProblem(context, `names no file; ${oneOfThem}`);
  else if (second !== undefined) addProblem(context, `there is ${first} already; ${oneOfThem}`, second);
  const isDatabase = first !== undefined && DATABASES.includes(first);
  if (needs === 'table') return;
  if (isDatabase && written.query === undefined)
    addProblem(context, `${first} needs \`query\`, such as SELECT sku, title, price FROM products`);
  if (!isDatabase && written.query !== undefined)
    addProblem(
      context,
      `\`query\` is for ${DATABASES.slice(0, -1).join(', ')} and ${DATABASES.at(-1)}`,
      'query',
    );
}

/** Refuses a destination that may be several files. */
export function oneFile(written: WrittenPlace, context: z.RefinementCtx): void {
  const remote = remoteIn(written);
  if (remote?.address.namesSeveral !== true) return;
  addProblem(context, 'a destination is one file; `*` and `newest` work only in sources', remote.name);
}

/** The settings for reading or writing a file, without the fields that say where it is. */
export function withoutPlace<Written extends object>(
  written: Written,
): Omit<Written, 'path' | 'sqlite' | 'custom' | 'query' | RemoteName>;
export function withoutPlace(written: object): object {
  return Object.fromEntries(
    Object.entries(written).filter(([name]) => name !== 'query' && !PLACES.includes(name)),
  );
}

/** The fields with secrets of the sources, tables and destinations at these paths. */
export function placeSecrets({ content }: YamlFile, at: readonly Path[]): SecretField[] {
  return at.flatMap((part) =>
    Object.entries(REMOTE_KINDS).flatMap(([name, { secrets }]) =>
      secrets(valueAt(content, [...part, name])).map(
        ({ path, variable }): SecretField => ({
          path: [...part, name, ...path],
          literal: 'refused',
          variable,
        }),
      ),
    ),
  );
}

interface Context {
  readonly environment: Environment;
  readonly onSecret: (value: string) => void;
}

/** Gives a part of a file its place. */
type PlaceAt = (at: Path) => FilePlace;

/** Gives a job or a mapping the places of its files, with what the environment adds to their addresses. */
export function completePlaces<Written, T>(
  read: Interpretation<Written>,
  yaml: YamlFile,
  at: readonly Path[],
  { environment, onSecret }: Context,
  placeIn: (value: Written, at: Path) => WrittenPlace | undefined,
  change: (value: Written, placeAt: PlaceAt) => T,
): Interpretation<T> {
  const addresses = new Map(at.map((part) => [pathKey(part), addressIn(yaml, part)]));
  const literal = [...addresses.values()].flatMap((address) => literalSecret(address, yaml));
  const problems = [...read.problems, ...literal];
  const unset = [...read.unset];
  const { value } = read;
  if (value === undefined || literal.length > 0) return { ...read, value: undefined, problems };
  const places = new Map<string, FilePlace>();
  for (const part of at) {
    const spec = placeIn(value, part);
    if (spec === undefined) continue;
    const remote = remoteIn(spec);
    if (remote === undefined) {
      const { path = '', sqlite, custom, watch, query } = spec;
      // The file whose run waits or works.
      if (watch !== undefined) places.set(pathKey(part), { path: join(dirname(watch), 'processing', '*') });
      else if (custom !== undefined) places.set(pathKey(part), { path: EXTENSIONS_FILE, query: custom });
      else places.set(pathKey(part), sqlite === undefined ? { path } : { path: sqlite, query: query ?? '' });
      continue;
    }
    const written = addresses.get(pathKey(part));
    const template = written === undefined ? undefined : (parseTemplate(written.text) ?? [written.text]);
    for (const name of variablesOfQuery(template ?? [])) {
      const secret = environment.get(name);
      if (secret !== undefined) onSecret(secret);
    }
    const completed = remote.address.complete({
      variable: (name) => environment.get(name),
      onSecret,
      query: spec.query,
      written: template?.map((part) => (typeof part === 'string' ? part : placeholder(part.name))).join(''),
    });
    const place = yaml.placeOf(written?.path ?? part, 'value');
    if ('problem' in completed) {
      problems.push({ place, message: completed.problem });
    } else {
      places.set(pathKey(part), { remote: completed.remote });
      unset.push(...completed.unset.map((name) => ({ name, place })));
    }
  }
  const placeAt: PlaceAt = (part) => {
    const found = places.get(pathKey(part));
    if (found === undefined) throw new TypeError(`there is no place at ${part.join('.')}`);
    return found;
  };
  const isWhole = problems.length === read.problems.length;
  return { ...read, value: isWhole ? change(value, placeAt) : undefined, problems, unset };
}

/** An address on the web that somebody typed: the file there, and how a job writes it. */
export interface WebPlace extends WrittenAddress {
  readonly place: FilePlace;
  /** For people: the address, without its secrets. */
  readonly name: string;
}

/** What the owner of the machine may type, and a visitor of the dashboard may not. */
interface TypedByOwner {
  /** Placeholders are filled. */
  readonly fillsPlaceholders?: boolean;
  readonly allowPrivateAddresses?: boolean;
}

/** The place of an address on the web that somebody typed, or its problems. */
export function completeWebAddress(
  typed: string,
  context: Context,
  { fillsPlaceholders = false, allowPrivateAddresses = false }: TypedByOwner = {},
): Interpretation<WebPlace> {
  const { environment } = context;
  const isFree = (name: string) => environment.get(name) === undefined;
  const { variables, ...bare } = writeAddress(typed, {
    isFree,
    before: fillsPlaceholders ? typed : undefined,
  });
  const fields = typeof bare.url === 'string' ? { address: bare.url } : bare.url;
  const written = {
    variables,
    url: allowPrivateAddresses ? { ...fields, allowPrivateAddresses: true as const } : bare.url,
  };
  const get = (name: string) => written.variables[name] ?? environment.get(name);
  const typedContext = { ...context, environment: { ...environment, get } };
  const yaml = parseYaml(JSON.stringify({ url: written.url }), 'address');
  const schema = z.strictObject({ url: REMOTE_KINDS.url.schema });
  const read = interpret(yaml, { ...typedContext, schema, at: [], secretFields: placeSecrets(yaml, [[]]) });
  const place = (value: { readonly url: WrittenPlace['url'] }) => value;
  return completePlaces(read, yaml, [[]], typedContext, place, (_, placeAt) => {
    const found = placeAt([]);
    const name = hasSecret(typed) ? (found.remote?.location ?? '') : typed;
    return { ...written, place: found, name };
  });
}

/**
 * Whether the value at a path is an address, and where the settings are that belong to its server: the map around it; null if it
 * has none.
 */
export function addressAt(path: Path): { readonly settings: Path | null } | undefined {
  const [parent, key] = path.slice(-2).map(String);
  const isKind = (name: string | undefined) => name !== undefined && Object.hasOwn(REMOTE_KINDS, name);
  if ((key === 'address' || key === 'endpoint') && isKind(parent)) return { settings: path.slice(0, -1) };
  return isKind(key) ? { settings: null } : undefined;
}

interface Address {
  readonly text: string;
  readonly path: Path;
}

function addressIn({ content }: YamlFile, part: Path): Address | undefined {
  const paths = Object.keys(REMOTE_KINDS).flatMap((name) => [
    [...part, name],
    [...part, name, 'address'],
  ]);
  for (const path of paths) {
    const text = valueAt(content, path);
    if (typeof text === 'string') return { text: text.trim(), path };
  }
  return undefined;
}

/** The variables in the query of an address: each of them may be a secret. */
function variablesOfQuery(template: Template): string[] {
  const query = template.findIndex((part) => typeof part === 'string' && part.includes('?'));
  return query < 0
    ? []
    : template.slice(query).flatMap((part) => (typeof part === 'string' ? [] : [part.name]));
}

/** Refuses a parameter of an address with a secret name whose value does not come from the environment. */
function literalSecret(address: Address | undefined, yaml: YamlFile): ConfigurationProblem[] {
  return secretIn(address, yaml, true, () => 'a secret must not be in a file;');
}

/** Warns of values in addresses that look like secrets. */
export function likelySecrets(yaml: YamlFile, at: readonly Path[]): ConfigurationProblem[] {
  const why = (name: string) => `the value of ${name} looks like a secret; if it is one,`;
  return at.flatMap((part) => secretIn(addressIn(yaml, part), yaml, false, why));
}

function secretIn(
  address: Address | undefined,
  yaml: YamlFile,
  certain: boolean,
  why: (name: string) => string,
): ConfigurationProblem[] {
  const found = literalSecrets(address?.text ?? '').find(({ isCertain }) => isCertain === certain);
  if (address === undefined || found === undefined) return [];
  const message = `${address.path.join('.')}: ${why(found.name)} write ?${found.name}=${placeholder('FEED_TOKEN')}, and set that in the environment or in .env`;
  return [{ place: yaml.placeOf(address.path, 'value'), message }];
}
