/** Where a path ends as a folder and begins as a name. */
export interface SplitPath {
  /** With the slash at its end; empty when there is none. */
  readonly folder: string;
  readonly name: string;
}

export function splitPath(path: string): SplitPath {
  const slash = path.lastIndexOf('/') + 1;
  return { folder: path.slice(0, slash), name: path.slice(slash) };
}

/** Whether the last part of a path is a pattern: `*` stands for any text. */
export function isPattern(path: string): boolean {
  return splitPath(path).name.includes('*');
}

/** Whether a name fits a pattern whose `*` stand for any text; takes no longer than the two are long together, times the stars. */
export function matchesPattern(name: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return name === pattern;
  const last = rest.pop() ?? '';
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length)
    return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

/** A file met while listing, with the moment it was last written (milliseconds since the epoch). */
export interface Listed {
  readonly path: string;
  readonly writtenAt: number;
}

/** In the order of their names; with `newest` only the one written last, by name where two were written at once. */
export function chosen(listed: readonly Listed[], newest: boolean): readonly Listed[] {
  const sorted = listed.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  if (!newest) return sorted;
  const [last] = sorted.toSorted((a, b) => b.writtenAt - a.writtenAt || (a.path < b.path ? 1 : -1));
  return last === undefined ? [] : [last];
}
