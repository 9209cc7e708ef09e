import { isAbsolute, normalize, sep } from 'node:path';
import { z } from 'zod';

/** The most paths that braces in one path may stand for: `{a,b}` twenty times would be a million. */
export const MAX_BRACE_ALTERNATIVES = 1_000;
/** The longest path that Linux takes. */
const MAX_PATH_CHARACTERS = 4_096;

/** Whether a written path stays inside its base folder; an absolute path is the owner's own choice. */
function staysInside(path: string): boolean {
  const paths = expandBraces(path) ?? [];
  return paths.every((one) => isAbsolute(one) || !normalize(one).split(sep).includes('..'));
}

/** A path as written in a job: relative to the workspace and inside it, or absolute. */
export const workspacePathSchema = z
  .string('expected a path')
  .trim()
  .min(1, 'expected a path')
  .max(MAX_PATH_CHARACTERS, `expected a path of at most ${MAX_PATH_CHARACTERS} characters`)
  .refine((path) => !/^[a-z][\w+.-]*:\/\//i.test(path), {
    error: 'expected a path, not an address: an address has a key of its own, such as `url` or `s3`',
    abort: true,
  })
  .refine((path) => expandBraces(path) !== undefined, {
    error: `expected a path whose braces stand for at most ${MAX_BRACE_ALTERNATIVES} paths`,
    abort: true,
  })
  .refine(staysInside, 'expected a path inside the workspace (outside it, give the absolute path)');

/** The paths that `{a,b}` and `{1..12}` in a path stand for; undefined if they are more than `MAX_BRACE_ALTERNATIVES`. */
export function expandBraces(pattern: string): readonly string[] | undefined {
  let expanded: readonly string[] = [''];
  for (let at = 0; at < pattern.length; ) {
    const group = pattern[at] === '{' ? parseBraceGroup(pattern, at) : undefined;
    const [text = ''] = /\{|(?:[^{\\]|\\.)+|\\/sy.exec(pattern.slice(at)) ?? [];
    const alternatives = group === undefined ? [text] : expandGroup(group.parts);
    if (alternatives === undefined || expanded.length * alternatives.length > MAX_BRACE_ALTERNATIVES)
      return undefined;
    expanded = expanded.flatMap((start) => alternatives.map((end) => start + end));
    at += group?.length ?? text.length;
  }
  return expanded;
}

/** Whether Excel keeps this file beside a workbook while somebody has it open, such as `~$prices.xlsx`: no pattern matches it. */
export function isOwnerFile(name: string): boolean {
  return name.startsWith('~$');
}

interface BraceGroup {
  /** With both braces. */
  readonly length: number;
  readonly parts: readonly string[];
}

/** The group that begins at a brace; undefined if the brace is never closed. */
function parseBraceGroup(pattern: string, start: number): BraceGroup | undefined {
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

/** A placeholder in the name of a file, filled in when the file is written. */
const NAME_PLACEHOLDER = /(?<!\$)\{(?:date|time|run|number)\}/g;

/** The placeholders in the name of a file, such as `{date}`. */
export function namePlaceholders(name: string): readonly string[] {
  return name.match(NAME_PLACEHOLDER) ?? [];
}
