import type { z } from 'zod';

/** An object of a parsed request body; its members are looked at one by one. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a parsed value is an object, and not a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** JSON with sorted keys in every object, so that equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    isJsonObject(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}

/** The value of a JSON text; undefined for any other text. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A text as it is, any other value as JSON; empty for none. */
export function plainText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** An own member, so that a body without `constructor` has none. */
export function member(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** The objects of a list that is a member of a parsed body; none if it has no such list. */
export function objectsIn(body: unknown, name: string): readonly JsonObject[] {
  const list = isJsonObject(body) ? member(body, name) : undefined;
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

/** The names of both, those of the first object first. */
export function memberNames(first: JsonObject, second: JsonObject): Set<string> {
  return new Set([...Object.keys(first), ...Object.keys(second)]);
}

/** A value that is immutable at every depth. */
export type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/** The same while it is made: its members may be set. */
export type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The same functions, answered by promises. */
export type Promised<Calls extends Readonly<Record<keyof Calls, (...args: never) => unknown>>> = {
  readonly [Name in keyof Calls]: (...args: Parameters<Calls[Name]>) => Promise<ReturnType<Calls[Name]>>;
};

/** What is read of a stored value with this schema: immutable, and without the fields of newer versions, which a loose schema keeps. */
export type Stored<Schema extends z.ZodType> = DeepReadonly<WithoutUnknown<z.infer<Schema>>>;

type WithoutUnknown<T> = T extends readonly unknown[]
  ? { [K in keyof T]: WithoutUnknown<T[K]> }
  : T extends object
    ? { [K in keyof T as string extends K ? (unknown extends T[K] ? never : K) : K]: WithoutUnknown<T[K]> }
    : T;

/** The texts of a JSON value, at every depth. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

/** Members of which those that may be left out may also be undefined. */
type MaybeUndefined<T> = { [K in keyof T]: T[K] | (object extends Pick<T, K> ? undefined : never) };

/** The same object without the members that are undefined, as the type of the place where it goes. */
export function withoutUndefined<T extends object>(members: MaybeUndefined<NoInfer<T>>): T;
export function withoutUndefined(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** A field of a file that may be left out, and what its documentation says. */
export function optional<Schema extends z.ZodType>(
  schema: Schema,
  about: string,
): z.ZodExactOptional<Schema> {
  return schema.exactOptional().describe(about);
}

/** Adds a problem of a field, or of the whole value, to those that a schema has found. */
export function addProblem(context: z.RefinementCtx, message: string, ...path: readonly PropertyKey[]): void {
  context.addIssue({ code: 'custom', path: [...path], message });
}

/** The only one of these keys that a written value has; none or several are a problem. */
export function onlyKey<Key extends string>(
  written: object,
  keys: readonly Key[],
  context: z.RefinementCtx,
): Key | undefined {
  const [only, ...others] = keys.filter((key) => key in written);
  if (only !== undefined && others.length === 0) return only;
  const several = only === undefined ? '' : `, not ${[only, ...others].join(' and ')} together`;
  addProblem(context, `expected one of ${keys.join(', ')}${several}`);
  return undefined;
}

/** The names of the members of an object, as its type has them. */
export function namesOf<Name extends string>(object: Readonly<Record<Name, unknown>>): Name[] {
  const names: Name[] = [];
  for (const name in object) names.push(name);
  return names;
}

/** An object with a value for each of these names. */
export function recordOf<Name extends string, Value>(
  names: readonly Name[],
  give: (name: Name) => Value,
): Record<Name, Value>;
export function recordOf(names: readonly string[], give: (name: string) => unknown): object {
  return Object.fromEntries(names.map((name) => [name, give(name)]));
}

/** The items of a list that are there: none of them is false, null or undefined. */
export function withoutAbsent<T>(items: readonly (T | false | null | undefined)[]): T[] {
  return items.filter((item): item is T => item !== false && item !== null && item !== undefined);
}

/** The sum of numbers, or of a figure of each item. */
export function sumOf<T>(items: Iterable<T>, figureOf: (item: T) => number = Number): number {
  let sum = 0;
  for (const item of items) sum += figureOf(item);
  return sum;
}

/** Counts one more under a name. */
export function countUnder<Name>(counts: Map<Name, number>, name: Name): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** The way from the root of a file to a value in it. */
export type Path = readonly PropertyKey[];

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object';
}

/** The value at a path; undefined if there is none. */
export function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const step of path) {
    if (!isObject(value) || !Object.hasOwn(value, step)) return undefined;
    value = value[String(step)];
  }
  return value;
}

/** Changes the value at a path in place; undefined removes the key (nothing is removed from a list). */
export function setValueAt(root: unknown, path: Path, value: unknown): void {
  const parent = valueAt(root, path.slice(0, -1));
  const key = String(path.at(-1));
  if (path.length === 0 || !isObject(parent)) return;
  if (value !== undefined) parent[key] = value;
  else if (!Array.isArray(parent)) delete parent[key];
}

/** A path as one text, for maps. */
export function pathKey(path: Path): string {
  return JSON.stringify(path.map(String));
}
