import { hasUser, isHttpUrl, replaceUser } from '../model/remote-address.ts';
import { decodedPercents } from '../text/printable.ts';
import { escapePlaceholders, keepPlaceholders, parseTemplate, placeholder } from './yaml-text.ts';

/** Names of parameters whose values are secrets. */
const SECRET_PARAMETER =
  /(?:token|secret|passw(?:or)?d|signature|api_?key|access_?key|consumer_?key)$|^(?:key|sig|auth|pwd)$/i;
/** A long value in which letters and digits alternate is probably a secret. */
const RANDOM_VALUE = /^(?=[\w%+/=~-]{20,}$)(?:[^\d]*\d+[^\d]*[a-z]){3}/i;
const PARAMETER = /[?&]([^=&#?\s"']+)=([^&#\s"']+)/g;

/** The parameters of addresses in a text with values that are secrets, or look like them, and stand in the text itself. */
export function literalSecrets(text: string) {
  return [...text.matchAll(PARAMETER)].flatMap(([, name = '', value = '']) => {
    if (value.includes('${')) return [];
    const isCertain = SECRET_PARAMETER.test(name);
    return isCertain || RANDOM_VALUE.test(value) ? [{ name, value, isCertain }] : [];
  });
}

/** Whether an address has a user, or a secret in it, or what looks like one: then it is not shown. */
export function hasSecret(address: string): boolean {
  return hasUser(address) || literalSecrets(address).length > 0;
}

/** An address as a report shows it: with `***` for its user and for what is a secret in it, or looks like one. */
export function hideSecrets(address: string): string {
  const bare = replaceUser(address, '***@');
  return literalSecrets(bare).reduce((text, { value }) => text.replaceAll(`=${value}`, '=***'), bare);
}

/** An address on the web as a file of the workspace writes it: its secrets are in variables. */
export interface WrittenAddress {
  /** With placeholders. */
  readonly url:
    | string
    | {
        readonly address: string;
        readonly auth?: { readonly user: string; readonly password: string };
        readonly allowPrivateAddresses?: true;
      };
  /** The secrets, for `.env`. */
  readonly variables: Readonly<Record<string, string>>;
}

interface AddressContext {
  /** Whether a variable has no value. */
  readonly isFree: (name: string) => boolean;
  /** The address that is replaced, on the same server: its placeholders stay. */
  readonly before?: unknown;
  /** Whether a variable of the address before may get another value. */
  readonly mayReplace?: (name: string) => boolean;
}

const FEED_VARIABLES = { token: 'FEED_TOKEN', password: 'FEED_PASSWORD' } as const;

/**
 * Writes an address that somebody typed or pasted: what is a secret in it, or looks like one, goes into variables. Other placeholders
 * than those of the address before are plain text.
 */
export function writeAddress(
  typed: string,
  { isFree, before, mayReplace = () => false }: AddressContext,
): WrittenAddress {
  const variables: Record<string, string> = {};
  const isUnused = (name: string) => !Object.hasOwn(variables, name);
  const take = (value: string, base: string, known?: string) => {
    const isReplaced = known !== undefined && isUnused(known) && mayReplace(known);
    const name = isReplaced ? known : freeVariable(base, (one) => isUnused(one) && isFree(one));
    variables[name] = value;
    return placeholder(name);
  };
  const text = typed.trim();
  const auth = isHttpUrl(text) ? userOf(new URL(text)) : undefined;
  const bare = auth === undefined ? text : replaceUser(text, '');
  const secrets = new Set(literalSecrets(text).map(({ value }) => value));
  const address = keepPlaceholders(bare, before).replaceAll(PARAMETER, (part, name, value) =>
    secrets.has(value)
      ? part.slice(0, -value.length) + take(value, FEED_VARIABLES.token, variableOfParameter(before, name))
      : part,
  );
  if (auth === undefined) return { url: address, variables };
  const { user, password } = auth;
  const kept = keepPlaceholders(password, before);
  const own = {
    user: escapePlaceholders(user),
    password: variableOf(kept) === undefined ? take(password, FEED_VARIABLES.password) : kept,
  };
  return { url: { address, auth: own }, variables };
}

/** The user and the password of an address without their percent signs; undefined without both, or if one of them is written wrongly. */
function userOf({ username, password }: URL) {
  const [user = '', secret = ''] = [username, password].map(decodedPercents);
  return user === '' || secret === '' ? undefined : { user, password: secret };
}

/** The variable that alone is the value of a parameter. */
function variableOfParameter(address: unknown, parameter: string) {
  const values = typeof address === 'string' ? [...address.matchAll(PARAMETER)] : [];
  return variableOf(values.find(([, name]) => name === parameter)?.[2]);
}

/** The variable of a value that is one placeholder and nothing else. */
export function variableOf(written: unknown): string | undefined {
  const [part, ...rest] = typeof written === 'string' ? (parseTemplate(written.trim()) ?? []) : [];
  return typeof part === 'object' && rest.length === 0 ? part.name : undefined;
}

/** The first of `NAME`, `NAME_2`, `NAME_3` … that is free. */
export function freeVariable(base: string, isFree: (name: string) => boolean): string {
  let name = base;
  for (let number = 2; !isFree(name); number++) name = `${base}_${number}`;
  return name;
}
