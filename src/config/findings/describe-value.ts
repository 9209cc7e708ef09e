const MOST_CHARACTERS = 60;

/** A value as a message quotes it: short, on one line, without a password in an address. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') {
    const keys = Object.keys(value);
    return keys.length === 0 ? 'an empty map' : `a map (${keys.slice(0, 3).join(', ')})`;
  }
  if (typeof value !== 'string') return String(value);
  const harmless = value.replaceAll(/\/\/[^/\s]*@/g, '//…@').replaceAll(/\s+/g, ' ');
  return `'${harmless.length > MOST_CHARACTERS ? `${harmless.slice(0, MOST_CHARACTERS)}…` : harmless}'`;
}
