import { hash } from 'node:crypto';

/** JSON with sorted keys in every object, so that equal values give equal text. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

/** A digest of any JSON value; equal if and only if the values are equal. */
export function digestOf(value: unknown): string {
  return hash('sha256', canonicalJson(value));
}
