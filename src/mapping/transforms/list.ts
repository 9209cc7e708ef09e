import type { Item } from '../values/cell.ts';
import type { Step } from './transform.ts';

/** What makes characters of a list ordinary. */
export interface SplitOptions {
  /** The character that makes a separator, a quote or itself ordinary; before anything else it stands for itself. */
  readonly escapedBy?: string | undefined;
  /** The character around parts that hold separators; doubled within them it stands for itself. */
  readonly quotedBy?: string | undefined;
}

/** Splits a text at separators; parts are trimmed, blank ones dropped. */
export function splitText(
  text: string,
  separators: readonly string[],
  { escapedBy, quotedBy }: SplitOptions = {},
): readonly string[] {
  const special = [escapedBy, quotedBy, ...separators].some((one) => one !== undefined && text.includes(one));
  if (!special) return text.trim() === '' ? [] : [text.trim()];
  const escapable = new Set([escapedBy, quotedBy, ...separators.map((separator) => separator.charAt(0))]);
  const parts: string[] = [];
  let part = '';
  let quoted = false;
  let at = 0;
  while (at < text.length) {
    const character = text.charAt(at);
    if (character === escapedBy && escapable.has(text.charAt(at + 1))) {
      part += text.charAt(at + 1);
      at += 2;
    } else if (character === quotedBy && (quoted || part.trim() === '')) {
      const doubled = quoted && text.charAt(at + 1) === quotedBy;
      if (doubled) part += character;
      else quoted = !quoted;
      at += doubled ? 2 : 1;
    } else {
      const separator = quoted ? undefined : separators.find((one) => text.startsWith(one, at));
      if (separator === undefined) part += character;
      else {
        parts.push(part.trim());
        part = '';
      }
      at += separator?.length ?? 1;
    }
  }
  parts.push(part.trim());
  return parts.filter((one) => one !== '');
}

/** Splits a text into a list; blank parts are left out. */
export function split(separators: readonly string[], options: SplitOptions): Step {
  return {
    takes: 'text',
    gives: () => 'text[]',
    run: (value) => {
      if (typeof value !== 'string') return value;
      const parts = splitText(value, separators, options);
      return parts.length === 0 ? undefined : parts;
    },
  };
}

/** Joins a list into a text. */
export function join(separator: string): Step {
  return {
    takes: 'text[]',
    gives: () => 'text',
    run: (value) => (Array.isArray(value) ? value.map(String).join(separator) : value),
  };
}

/** Removes repeated items from a list. */
export const unique: Step = {
  takes: 'text[]',
  gives: (taken) => taken,
  run: (value) => (isList(value) ? [...new Set(value)] : value),
};

function isList(value: unknown): value is readonly Item[] {
  return Array.isArray(value);
}
