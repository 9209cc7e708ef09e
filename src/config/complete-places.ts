import { dirname, join } from 'node:path';
import { z } from 'zod';
import { addProblem, type Path, pathKey, valueAt } from '../model/json-object.ts';
import { type FilePlace, isHttpUrl, type RemoteAddress, replaceUser } from '../model/remote-address.ts';
import type { ConfigurationProblem } from '../model/storeferry-error.ts';
import {
  EXTENSIONS_FILE,
  PLACES,
  REMOTE_KINDS,
  type RemoteName,
  remoteIn,
  type WrittenPlace,
} from '../remote/remote-kinds.ts';
import { decodedPercents } from '../text/printable.ts';
import { type Interpretation, interpret, whyUnset } from './interpret.ts';
import type { Environment, SecretField } from './settings.ts';
import {
  freeVariable,
  hasSecret,
  literalSecrets,
  variableOf,
  type WrittenAddress,
  writeAddress,
} from './write-address.ts';
import { parseYaml, type YamlFile } from './yaml-file.ts';
import { escapePlaceholders, parseTemplate, placeholder, type Template } from './yaml-text.ts';

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
function variablesOfQuery(template: Template) {
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

/** The address of a file on another machine, as a job writes it: with placeholders. */
type WrittenRemote =
  | { readonly url: WrittenAddress['url'] }
  | {
      readonly sftp: {
        readonly address: string;
        readonly hostKey: string;
        readonly password: string;
        readonly allowPrivateAddresses?: true;
      };
    };

/** An address that somebody typed: the file there, and how a job writes it. */
export interface TypedPlace extends Pick<WrittenAddress, 'variables'> {
  readonly place: FilePlace;
  /** For people: the address, without its secrets. */
  readonly name: string;
  readonly written: WrittenRemote;
}

/** A file on an SSH server: the key of the server and a password are asked for before a job can name it. */
export interface TypedLogin {
  readonly name: string;
  readonly host: string;
  readonly user: string;
  /** The server that shows its key. */
  readonly server: RemoteAddress;
  readonly hasPassword: boolean;
  readonly enter: (hostKey: string, password: string | undefined) => TypedPlace | Problem;
}

/** Why a job could not name an address. */
interface Problem {
  readonly problem: string;
}

/** What the owner of the machine may do, and a visitor of the dashboard may not. */
export interface TypedByOwner {
  /** Placeholders are filled. */
  readonly fillsPlaceholders?: boolean | undefined;
  /** A password that the environment has is used unasked. It may be that of another server. */
  readonly usesPassword?: boolean | undefined;
  readonly allowPrivateAddresses?: boolean | undefined;
}

/** An address that somebody typed, or why a job could not name it. */
export function typedPlace(
  typed: string,
  context: Context,
  by: TypedByOwner = {},
): TypedPlace | TypedLogin | Problem {
  return isSshAddress(typed) ? completeLogin(typed.trim(), context, by) : completeUrl(typed, context, by);
}

/** Whether a typed text is an address that `typedPlace` completes. A job may name others: of S3, of databases. */
export function isTypedAddress(text: string): boolean {
  return isHttpUrl(text.trim()) || isSshAddress(text);
}

function isSshAddress(text: string) {
  return /^sftp:\/\//i.test(text.trim());
}

function completeUrl(
  typed: string,
  context: Context,
  { fillsPlaceholders, allowPrivateAddresses }: TypedByOwner,
): TypedPlace | Problem {
  const before = fillsPlaceholders === true ? typed : undefined;
  const { variables, url } = writeAddress(typed, { isFree: freeIn(context), before });
  const fields = typeof url === 'string' ? { address: url } : url;
  const written = { url: allowPrivateAddresses === true ? { ...fields, allowPrivateAddresses } : url };
  return complete({ written, variables, name: hasSecret(typed) ? undefined : typed.trim() }, context);
}

/** The variable for the password of an SSH server. */
const SFTP_PASSWORD = 'SFTP_PASSWORD';
/** Until the key of the server is known. */
const NO_HOST_KEY = `SHA256:${'A'.repeat(43)}`;

function completeLogin(
  typed: string,
  context: Context,
  { fillsPlaceholders, usesPassword, allowPrivateAddresses }: TypedByOwner,
): TypedLogin | Problem {
  const { username = '', password = '' } = URL.canParse(typed) ? new URL(typed) : {};
  const own = decodedPercents(password) ?? password;
  const named = fillsPlaceholders === true ? variableOf(own) : undefined;
  const name = own === '' ? typed : replaceUser(typed, `${username}@`);
  const address = fillsPlaceholders === true ? name : escapePlaceholders(name);
  const known = context.environment.get(SFTP_PASSWORD);
  const isKnown = named !== undefined || (usesPassword === true && known !== undefined);
  const enter: TypedLogin['enter'] = (hostKey, asked) => {
    const typedSecret = own === '' || named !== undefined ? asked : own;
    // A visitor must not learn by the variable whether a password is that of the environment.
    const secret = fillsPlaceholders === true && typedSecret === known ? undefined : typedSecret;
    const variable =
      secret === undefined ? (named ?? SFTP_PASSWORD) : freeVariable(SFTP_PASSWORD, freeIn(context));
    const fields = { address, hostKey, password: placeholder(variable) };
    const written = { sftp: allowPrivateAddresses === true ? { ...fields, allowPrivateAddresses } : fields };
    const variables = secret === undefined ? {} : { [variable]: secret };
    return complete({ written, variables, name }, context);
  };
  const found = enter(NO_HOST_KEY, isKnown ? undefined : 'not known');
  if ('problem' in found) return found;
  const { remote: server } = found.place;
  if (server === undefined) throw new TypeError('an SSH server is another machine');
  const { hostname: host, username: encoded } = new URL(server.location);
  const user = decodedPercents(encoded) ?? encoded;
  return { name, host, user, server, hasPassword: own !== '' || isKnown, enter };
}

function freeIn({ environment }: Context): (variable: string) => boolean {
  return (variable) => environment.get(variable) === undefined;
}

/** The place of an address, as a job would read it. */
function complete(
  { written, variables, name }: Omit<TypedPlace, 'place' | 'name'> & { readonly name: string | undefined },
  context: Context,
): TypedPlace | Problem {
  const { environment } = context;
  const get = (variable: string) => variables[variable] ?? environment.get(variable);
  const typedContext = { ...context, environment: { ...environment, get } };
  const yaml = parseYaml(JSON.stringify(written), 'address');
  const { url, sftp } = REMOTE_KINDS;
  const schema = z.strictObject({ url: url.schema.exactOptional(), sftp: sftp.schema.exactOptional() });
  const read = interpret(yaml, { ...typedContext, schema, at: [], secretFields: placeSecrets(yaml, [[]]) });
  const self = (value: WrittenPlace) => value;
  const found = completePlaces(read, yaml, [[]], typedContext, self, (_, placeAt) => placeAt([]));
  const { value: place } = found;
  const [first] = [...found.problems, ...found.unset.map(whyUnset)];
  if (place === undefined || first !== undefined)
    return { problem: (first?.message ?? '').replace(/^(?:url|sftp)(?:\.address)?: /, '') };
  return { written, variables, place, name: name ?? place.remote?.location ?? '' };
}
