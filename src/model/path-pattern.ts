/** The most paths that braces in one path may stand for: `{a,b}` twenty times would be a million. */
export const MAX_BRACE_ALTERNATIVES = 1_000;
/** The longest path that Linux takes. */
export const MAX_PATH_CHARACTERS = 4_096;

/** The paths that `{a,b}` and `{1..12}` in a path stand for; undefined if they are more than `MAX_BRACE_ALTERNATIVES`. */
export function expandBraces(pattern: string): readonly string[] | undefined {
  let expanded: readonly string[] = [''];
  for (let at = 0; at < pattern.length; ) {
    const group = pattern[at] === '{' ? groupAt(pattern, at) : undefined;
    const [text = ''] = /\{|(?:[^{\\]|\\.)+|\\/sy.exec(pattern.slice(at)) ?? [];
    const alternatives = group === undefined ? [text] : expandGroup(group.parts);
    if (alternatives === undefined || expanded.length * alternatives.length > MAX_BRACE_ALTERNATIVES)
      return undefined;
    expanded = expanded.flatMap((start) => alternatives.map((end) => start + end));
    at += group?.length ?? text.length;
  }
  return expanded;
}

interface BraceGroup {
  /** With both braces. */
  readonly length: number;
  readonly parts: readonly string[];
}

/** The group that begins at a brace; undefined if the brace is never closed. */
function groupAt(pattern: string, start: number): BraceGroup | undefined {
  const parts: string[] = [];
  let depth = 0;
  let from = start + 1;
  for (let at = start; at < pattern.length; at++) {
    const sign = pattern[at];
    if (sign === '\\') at++;
    else if (sign === '{') depth++;
    else if (sign === ',' && depth === 1) {
      parts.push(pattern.slice(from, at));
      from = at + 1;
    } else if (sign === '}' && --depth === 0) {
      return { length: at + 1 - start, parts: [...parts, pattern.slice(from, at)] };
    }
  }
  return undefined;
}

function expandGroup(parts: readonly string[]): readonly string[] | undefined {
  const [only = ''] = parts;
  if (parts.length === 1) {
    const [, first = '', last = ''] = /^(-?\d{1,9})\.\.(-?\d{1,9})$/.exec(only) ?? [];
    // Without a comma, braces are part of the name.
    return first === '' ? expandBraces(only)?.map((text) => `{${text}}`) : numbersBetween(first, last);
  }
  const expanded: string[] = [];
  for (const part of parts) {
    const more = expandBraces(part);
    if (more === undefined || expanded.length + more.length > MAX_BRACE_ALTERNATIVES) return undefined;
    expanded.push(...more);
  }
  return expanded;
}

/** `1..3`, and `01..12` with as many digits. */
function numbersBetween(first: string, last: string): readonly string[] | undefined {
  const [from, to] = [Number(first), Number(last)];
  const count = Math.abs(to - from) + 1;
  if (count > MAX_BRACE_ALTERNATIVES) return undefined;
  const isPadded = [first, last].some((text) => /^-?0\d/.test(text));
  const width = isPadded ? Math.max(first.length, last.length) : 0;
  return Array.from({ length: count }, (_, index) => {
    const number = to < from ? from - index : from + index;
    return number < 0 ? `-${String(-number).padStart(width - 1, '0')}` : String(number).padStart(width, '0');
  });
}

/** A part of a path, between slashes, that matches names: `*`, `?`, `[a-z]`, `[!a]`; a backslash makes the next sign plain. */
export interface NamePattern {
  /** The name, if it is the only one that matches. */
  readonly literal: string | undefined;
  /** Takes at most as many steps as the name and the pattern have signs, multiplied. */
  matches(name: string): boolean;
}

/** A plain sign, a test of one sign, or null for `*`: any signs, perhaps none. */
type Token = string | ((sign: string) => boolean) | null;

const TOKEN = /\\(?<escaped>.)|\[(?<not>[!^]?)(?<set>\][^\]]*|[^\]]+)\]|(?<any>[*?])|(?<plain>.)/gsu;

/** Reads a part of a path. */
export function namePattern(part: string): NamePattern {
  const tokens = [...part.matchAll(TOKEN)].map(({ groups = {} }): Token => {
    const { escaped, not, set, any, plain = '' } = groups;
    if (set !== undefined) return isInSet(set, not !== '');
    return any === '*' ? null : any === '?' ? () => true : (escaped ?? plain);
  });
  const isLiteral = tokens.every((token) => typeof token === 'string');
  return { literal: isLiteral ? tokens.join('') : undefined, matches: (name) => matches([...name], tokens) };
}

function isInSet(set: string, isNegated: boolean): (sign: string) => boolean {
  const ranges = [...set.matchAll(/(.)-(.)|(.)/gsu)].map(([, from, to, one = '']) => [
    from ?? one,
    to ?? one,
  ]);
  return (sign) => ranges.some(([from = '', to = '']) => from <= sign && sign <= to) !== isNegated;
}

/** After a mismatch only the last `*` takes one more sign: earlier ones need no other choice. */
function matches(name: readonly string[], tokens: readonly Token[]): boolean {
  let [at, next, star, retry] = [0, 0, -1, 0];
  while (at < name.length) {
    const token = tokens[next];
    const sign = name[at] ?? '';
    if (token === null) {
      [star, retry] = [next, at];
      next++;
    } else if (typeof token === 'function' ? token(sign) : token === sign) {
      at++;
      next++;
    } else if (star >= 0) {
      retry++;
      [at, next] = [retry, star + 1];
    } else return false;
  }
  return tokens.slice(next).every((token) => token === null);
}
