import type { SQLOutputValue } from 'node:sqlite';

/**
 * A value that no version of Storeferry writes: the file is damaged, though SQLite has not noticed. It checks the
 * structure of its pages, not the bytes of the rows in them.
 */
export class DamagedValue extends Error {
  constructor(what: string) {
    super(`unexpected value: ${what}`);
    this.name = 'DamagedValue';
  }
}

type Stored = SQLOutputValue | undefined;

/** A text; DamagedValue for anything else, as `textOrNull`, `integer` and `integerOrNull` for what they do not expect. */
export function text(value: Stored, what: string): string {
  if (typeof value === 'string') return value;
  throw new DamagedValue(what);
}

export function textOrNull(value: Stored, what: string): string | null {
  return value === null ? null : text(value, what);
}

export function integer(value: Stored, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new DamagedValue(what);
}

export function integerOrNull(value: Stored, what: string): number | null {
  return value === null ? null : integer(value, what);
}

/** The object of a JSON text; what its members are is for the caller to check. */
export function jsonObject(value: Stored, what: string): object {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text(value, what));
  } catch {
    throw new DamagedValue(what);
  }
  if (typeof parsed !== 'object' || parsed === null) throw new DamagedValue(what);
  return parsed;
}

/**
 * Keys as a JSON array, which SQLite reads as a table. A lone surrogate would be kept by JSON and replaced where the
 * same text is bound to a statement.
 */
export function keysJson(keys: readonly string[]): string {
  const json = JSON.stringify(keys);
  return json.includes('\\ud') ? JSON.stringify(keys.map((key) => key.toWellFormed())) : json;
}

/** Refuses keys that do not rise from `after` on, byte by byte: to go on behind such a page might never end. */
export function refuseDisorder(after: string | null, keys: readonly string[], what: string): void {
  let last = after === null ? null : Buffer.from(after);
  for (const key of keys) {
    const bytes = Buffer.from(key);
    if (last !== null && last.compare(bytes) >= 0) throw new DamagedValue(`order of ${what}`);
    last = bytes;
  }
}
