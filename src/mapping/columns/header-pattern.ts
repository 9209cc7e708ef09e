import { loosened } from '../../model/loosened.ts';

/** A header as a mapping writes it: literal text with `{n}` for a number and `{word}` for what is captured. */
export interface HeaderPattern {
  readonly written: string;
  readonly parts: readonly (string | { readonly capture: string })[];
  readonly captures: readonly string[];
}

/** What a header says where the pattern has `{…}`. */
export type Captured = ReadonlyMap<string, string>;

/** Takes a written header apart. Capture names are single words. */
export function parseHeaderPattern(written: string): HeaderPattern {
  const parts: (string | { readonly capture: string })[] = [];
  const captures: string[] = [];
  let from = 0;
  for (const { 0: whole, 1: capture = '', index } of written.matchAll(/\{(\w+)\}/g)) {
    if (index > from) parts.push(written.slice(from, index));
    parts.push({ capture });
    captures.push(capture);
    from = index + whole.length;
  }
  if (from < written.length || parts.length === 0) parts.push(written.slice(from));
  return { written, parts, captures };
}

/** What the header captures; undefined when it does not fit. Both sides loosened when `loose`. */
export function matchHeader(pattern: HeaderPattern, header: string, loose: boolean): Captured | undefined {
  const text = loose ? loosened(header) : header.trim();
  const captured = new Map<string, string>();
  return matchFrom(pattern.parts, 0, text, 0, loose, captured) ? captured : undefined;
}

function matchFrom(
  parts: HeaderPattern['parts'],
  index: number,
  text: string,
  at: number,
  loose: boolean,
  captured: Map<string, string>,
): boolean {
  const part = parts[index];
  if (part === undefined) return at === text.length;
  if (typeof part === 'string') {
    const literal = loose ? loosened(part) : part;
    return (
      text.startsWith(literal, at) && matchFrom(parts, index + 1, text, at + literal.length, loose, captured)
    );
  }
  const longest = part.capture === 'n' ? digitsAt(text, at) : text.length - at;
  for (let length = longest; length > 0; length--) {
    if (matchFrom(parts, index + 1, text, at + length, loose, captured)) {
      captured.set(part.capture, text.slice(at, at + length));
      return true;
    }
  }
  return false;
}

function digitsAt(text: string, at: number): number {
  let length = 0;
  while (length < 6 && /[0-9]/.test(text.charAt(at + length))) length++;
  return length;
}
