import { z } from 'zod';
import { type Path, pathKey, valueAt } from '../model/json-object.ts';
import { didYouMean, quote } from '../text/printable.ts';

/** The problem at a path, in words. */
export interface Finding {
  readonly path: Path;
  readonly part: 'key' | 'value';
  /** Begins with `expected` if the found value must still be added. */
  readonly message: string;
  /** Advice to append to the message. */
  readonly hint?: string;
  /** The value has a wrong type or word, so it may be read in another way. */
  readonly wrongKind?: boolean;
}

/** Turns zod's issues, whose messages are from `expectation`, into findings; `root` is the parsed value. */
export function explainIssues(
  issues: readonly z.core.$ZodIssue[],
  root: unknown,
  base: Path = [],
): Finding[] {
  return issues
    .filter((issue) => !isBesideUnknownKey(issue, issues))
    .flatMap((issue) => explainIssue(issue, root, [...base, ...issue.path]));
}

/** A relation between fields cannot be checked while one of the fields has a wrong name. */
function isBesideUnknownKey({ code, path }: z.core.$ZodIssue, issues: readonly z.core.$ZodIssue[]) {
  const here = JSON.stringify(path);
  return (
    code === 'custom' &&
    issues.some((other) => other.code === 'unrecognized_keys' && JSON.stringify(other.path) === here)
  );
}

function explainIssue(issue: z.core.$ZodIssue, root: unknown, path: Path): Finding[] {
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownKey([...path, key], key, issue.message.split(' ')));
    case 'invalid_union':
      return explainUnion(issue, root, path);
    case 'invalid_key': {
      const why = issue.issues[0]?.message ?? 'it is not valid';
      const message = `'${String(path.at(-1))}' cannot be a name: ${why}`;
      return [{ path, part: 'key', message }];
    }
    default: {
      const wrongKind = issue.code === 'invalid_type' || issue.code === 'invalid_value';
      return [refusal(issue.message, choicesOf(issue), root, path, wrongKind)];
    }
  }
}

function explainUnion(issue: z.core.$ZodIssueInvalidUnion, root: unknown, path: Path): Finding[] {
  if (issue.errors.length === 0) return [refusal(issue.message, choicesOf(issue), root, path, true)];
  const choice = chooseBranch(issue.errors);
  switch (choice.kind) {
    case 'branch':
      return explainIssues(choice.issues, root, path);
    case 'unknown-keys':
      return choice.keys.map((key) => unknownKey([...path, key], key, choice.known));
    case 'wrong-kind':
      return [refusal(`expected ${oneOf(choice.phrases)}`, choice.words, root, path, true)];
    default:
      return choice satisfies never;
  }
}

function refusal(
  message: string,
  words: readonly string[],
  root: unknown,
  path: Path,
  wrongKind: boolean,
): Finding {
  const found = valueAt(root, path);
  const hint = typeof found === 'string' ? didYouMean(found, words) : '';
  return { path, part: 'value', message, hint, wrongKind };
}

/** `known` are the keys of the map, with those of maps within it as `outer.inner`. */
function unknownKey(path: Path, key: string, known: readonly string[]): Finding {
  const here = known.filter((name) => name !== '' && !name.includes('.'));
  const elsewhere = known.find((name) => name.endsWith(`.${key}`));
  const meant =
    elsewhere === undefined ? didYouMean(key, here) : `; it belongs under '${elsewhere.split('.')[0]}'`;
  const list = here.length === 0 ? '' : ` (known: ${here.join(', ')})`;
  return { path, part: 'key', message: `unknown key '${key}'`, hint: meant + list };
}

type Issue = z.core.$ZodIssue;

type Branch = readonly Issue[];

/** The finding for a value that fits no branch of a union. */
type BranchChoice =
  | { readonly kind: 'branch'; readonly issues: Branch }
  | { readonly kind: 'unknown-keys'; readonly keys: readonly string[]; readonly known: readonly string[] }
  | { readonly kind: 'wrong-kind'; readonly phrases: readonly string[]; readonly words: readonly string[] };

/** Finds the most probable branch for a value, or that no branch accepts such values or its keys. */
function chooseBranch(branches: readonly Branch[]): BranchChoice {
  const flat = branches.flatMap(withoutNesting);
  const near = flat.filter((branch) => !branch.some(isWrongKind));
  if (near.length === 0) {
    const issues = flat.flatMap((branch) => branch.filter(isWrongKind));
    const phrases = new Set(issues.map(({ message }) => message.replace(/^expected /, '')));
    return { kind: 'wrong-kind', phrases: [...phrases], words: issues.flatMap(choicesOf) };
  }
  const keys = keysUnknownToAll(near);
  if (keys.length > 0) {
    const lists = near.flatMap((branch) => branch.filter(isUnknownKeys).map(({ message }) => message));
    return { kind: 'unknown-keys', keys, known: [...new Set(lists.flatMap((list) => list.split(' ')))] };
  }
  const [best = []] = near.toSorted((a, b) => strangeness(a) - strangeness(b));
  return { kind: 'branch', issues: best };
}

/** The branches of a nested union are added to the outer one. */
function withoutNesting(branch: Branch): readonly Branch[] {
  const [first] = branch;
  const nested =
    branch.length === 1 && first?.code === 'invalid_union' && first.path.length === 0 ? first.errors : [];
  return nested.length === 0 ? [branch] : nested.flatMap(withoutNesting);
}

function isWrongKind({ code, path }: Issue) {
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_value');
}

function isUnknownKeys(issue: Issue): issue is z.core.$ZodIssueUnrecognizedKeys {
  return issue.code === 'unrecognized_keys' && issue.path.length === 0;
}

function keysUnknownToAll(branches: readonly Branch[]) {
  const unknown = branches.map((branch) => branch.filter(isUnknownKeys).flatMap(({ keys }) => keys));
  const [first = [], ...others] = unknown;
  return first.filter((key) => others.every((keys) => keys.includes(key)));
}

/**
 * The distance between a value and a branch: unknown keys count most, then keys that are missing or of another type.
 */
function strangeness(branch: Branch) {
  return branch.reduce((sum, issue) => {
    if (isUnknownKeys(issue)) return sum + 10 * issue.keys.length;
    return sum + (issue.path.length === 1 && issue.code === 'invalid_type' ? 2 : 1);
  }, 0);
}

/** What a finding is about. */
interface Subject {
  /** The parsed value, and its place in the file. */
  readonly root: unknown;
  readonly at: Path;
  /** Values from the environment, and values that must not be quoted; both by the keys of the paths. */
  readonly placeholders: ReadonlyMap<string, string>;
  readonly secret: ReadonlySet<string>;
}

/**
 * The message for people: place, expectation, found value, advice. It quotes nothing from the environment and nothing
 * of a secret field.
 */
export function wordFinding({ path, part, message, hint = '' }: Finding, subject: Subject): string {
  const name = [...subject.at, ...path].map(String).join('.');
  const label = part === 'key' || name === '' ? '' : `${name}: `;
  if (!message.startsWith('expected ')) return label + message + hint;
  const found = valueAt(subject.root, path);
  const key = pathKey(path);
  const placeholders = subject.placeholders.get(key);
  if (placeholders !== undefined) {
    return `${label}${message}, found ${found === undefined ? 'no value in' : 'the value of'} ${placeholders}`;
  }
  if (name === '' && found === null) return `the file is empty; ${message}`;
  if (found === undefined) return `'${name}' is missing; ${message}`;
  const isText = typeof found === 'string' && /^expected a (map|list)/.test(message);
  return isText || (found !== null && subject.secret.has(key))
    ? `${label}${message}, found something else`
    : `${label}${message}, found ${describeValue(found)}${hint}`;
}

/** A value as a message quotes it: short, on one line, without a password in an address. */
function describeValue(value: unknown) {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') {
    const keys = Object.keys(value);
    return keys.length === 0 ? 'an empty map' : `a map (${keys.slice(0, 3).join(', ')})`;
  }
  if (typeof value !== 'string') return String(value);
  return quote(value.replaceAll(/\/\/[^/\s]*@/g, '//…@'));
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  object: 'a map',
  record: 'a map',
  null: 'nothing',
};

function sizeOf(origin: string, bound: string, limit: number | bigint) {
  switch (origin) {
    case 'string':
      return limit === 1n || limit === 1
        ? 'text that is not empty'
        : `text of ${bound} ${limit} character${Number(limit) === 1 ? '' : 's'}`;
    case 'array':
      return `a list of ${bound} ${limit}`;
    case 'int':
      return `a whole number of ${bound} ${limit}`;
    default:
      return `a number of ${bound} ${limit}`;
  }
}

function innermost(schema: unknown) {
  let inner = schema;
  while (
    inner instanceof z.ZodOptional ||
    inner instanceof z.ZodExactOptional ||
    inner instanceof z.ZodDefault ||
    inner instanceof z.ZodPrefault
  ) {
    inner = inner.unwrap();
  }
  return inner;
}

function isOffered(schema: unknown) {
  return !(innermost(schema) instanceof z.ZodNever);
}

/** The keys of a schema, with those of maps within it as `outer.inner`. */
function knownKeys(schema: unknown) {
  if (!(schema instanceof z.ZodObject)) return [];
  const entries = Object.entries(schema.shape).filter(([, field]) => isOffered(field));
  return entries.flatMap(([key, field]) => {
    const inner = innermost(field);
    const within = inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
    return [key, ...within.map((innerKey) => `${key}.${innerKey}`)];
  });
}

/** Several choices in a sentence: `a, b or c`. */
function oneOf(choices: readonly unknown[]) {
  const others = choices.slice(0, -1).map(String);
  const last = String(choices.at(-1) ?? '');
  return others.length === 0 ? last : `${others.join(', ')} or ${last}`;
}

/** The allowed words of a value, if the issue has them; `params.choices` of our own issues. */
function choicesOf(issue: z.core.$ZodIssue): readonly string[] {
  switch (issue.code) {
    case 'invalid_value':
      return issue.values.map(String);
    case 'invalid_union':
      return ('options' in issue ? (issue.options ?? []) : []).map(String);
    case 'custom': {
      const { choices } = issue.params ?? {};
      return Array.isArray(choices) ? choices.map(String) : [];
    }
    default:
      return [];
  }
}

/**
 * The expectation of a schema, for zod's `error` parameter. Messages begin with `expected`; the caller adds the place
 * and the value found. For unknown keys it returns the known ones, separated by blanks.
 */
export function expectation(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `expected ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `expected ${oneOf(issue.values)}`;
    case 'too_small':
      return `expected ${sizeOf(issue.origin, issue.exact ? 'exactly' : 'at least', issue.minimum)}`;
    case 'too_big':
      return `expected ${sizeOf(issue.origin, issue.exact ? 'exactly' : 'at most', issue.maximum)}`;
    case 'unrecognized_keys':
      return knownKeys(issue.inst).join(' ');
    case 'invalid_union': {
      const { options } = issue;
      return `expected ${Array.isArray(options) ? oneOf(options) : 'something else'}`;
    }
    case 'invalid_format':
      return `expected text in the form ${issue.format}`;
    default:
      return issue.message ?? 'is not valid';
  }
}
