import { isDeepStrictEqual } from 'node:util';

/** One place where a value is not what was expected of it. */
export interface Difference {
  /** Within the value that was expected; of something unexpected, where it would stand. */
  readonly path: readonly (string | number)[];
  /** `variants[1].price: expected 12, found 14`. */
  readonly message: string;
}

/** Of a record that is altogether another one, the first tell enough. */
const MOST = 10;
const LONGEST = 200;

/**
 * Where a JSON value differs from what was expected, member by member; empty when it does not. `partial`: members of
 * objects that nobody expects are no difference; those of lists are.
 */
export function differences(
  found: unknown,
  wanted: unknown,
  { partial }: { readonly partial: boolean },
): Difference[] {
  const all: Difference[] = [];
  collect(found, wanted, [], partial, all);
  if (all.length <= MOST) return all;
  return [...all.slice(0, MOST), { path: [], message: `and ${all.length - MOST} more differences` }];
}

function collect(
  found: unknown,
  wanted: unknown,
  path: Difference['path'],
  partial: boolean,
  all: Difference[],
): void {
  if (isDeepStrictEqual(found, wanted)) return;
  if (Array.isArray(found) && Array.isArray(wanted)) {
    for (let index = 0; index < Math.max(found.length, wanted.length); index++) {
      collect(found[index], wanted[index], [...path, index], false, all);
    }
  } else if (isObject(found) && isObject(wanted)) {
    const [has, wants] = [new Map(Object.entries(found)), new Map(Object.entries(wanted))];
    for (const name of new Set([...wants.keys(), ...(partial ? [] : has.keys())])) {
      collect(has.get(name), wants.get(name), [...path, name], partial, all);
    }
  } else {
    const place = placeWords(path);
    all.push({
      path,
      message: `${place === '' ? '' : `${place}: `}expected ${shown(wanted)}, found ${shown(found)}`,
    });
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `variants[1].price`. */
function placeWords(path: Difference['path']): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${part}`))
    .join('');
}

function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST).toWellFormed()}…`;
}
