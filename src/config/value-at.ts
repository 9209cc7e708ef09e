/** The way from the root of a file to a value in it. */
export type Path = readonly PropertyKey[];

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object';
}

/** The value at a path; undefined if there is none. */
export function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const step of path) {
    if (!isObject(value) || !Object.hasOwn(value, step)) return undefined;
    value = value[String(step)];
  }
  return value;
}

/** Changes the value at a path in place; undefined removes the key (nothing is removed from a list). */
export function setValueAt(root: unknown, path: Path, value: unknown): void {
  const parent = valueAt(root, path.slice(0, -1));
  const key = String(path.at(-1));
  if (path.length === 0 || !isObject(parent)) return;
  if (value !== undefined) parent[key] = value;
  else if (!Array.isArray(parent)) delete parent[key];
}

/** A path as one text, for maps. */
export function pathKey(path: Path): string {
  return JSON.stringify(path.map(String));
}
