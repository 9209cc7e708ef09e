import type { Item } from '../cell.ts';
import type { Step } from './transform.ts';

/** Splits a text at separators; parts are trimmed, blank ones dropped. After `escapedBy`, a character is ordinary. */
export function splitText(
  text: string,
  separators: readonly string[],
  escapedBy: string | undefined,
): readonly string[] {
  if (separators.every((separator) => !text.includes(separator))) {
    const only = (escapedBy === undefined ? text : unescaped(text, escapedBy)).trim();
    return only === '' ? [] : [only];
  }
  const parts: string[] = [];
  let part = '';
  let at = 0;
  while (at < text.length) {
    if (text.charAt(at) === escapedBy && at + 1 < text.length) {
      part += text.charAt(at + 1);
      at += 2;
      continue;
    }
    const separator = separators.find((one) => text.startsWith(one, at));
    if (separator === undefined) {
      part += text.charAt(at);
      at++;
    } else {
      parts.push(part.trim());
      part = '';
      at += separator.length;
    }
  }
  parts.push(part.trim());
  return parts.filter((one) => one !== '');
}

function unescaped(text: string, escapedBy: string): string {
  let result = '';
  for (let at = 0; at < text.length; at++) {
    const next = text.charAt(at) === escapedBy && at + 1 < text.length ? ++at : at;
    result += text.charAt(next);
  }
  return result;
}

export function split(separators: readonly string[], escapedBy: string | undefined): Step {
  return {
    takes: 'text',
    gives: () => 'text[]',
    run: (value) => (typeof value === 'string' ? splitText(value, separators, escapedBy) : value),
  };
}

export function join(separator: string): Step {
  return {
    takes: 'text[]',
    gives: () => 'text',
    run: (value) => (Array.isArray(value) ? value.map(String).join(separator) : value),
  };
}

export const unique: Step = {
  takes: 'text[]',
  gives: (taken) => taken,
  run: (value) => (isList(value) ? [...new Set(value)] : value),
};

function isList(value: unknown): value is readonly Item[] {
  return Array.isArray(value);
}
