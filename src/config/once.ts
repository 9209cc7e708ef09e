/** Remembers what was made for each name, so that a file is read once and all see the same. */
export function once<T>(make: (name: string) => T): (name: string) => T {
  const known = new Map<string, { readonly value: T }>();
  return (name) => {
    const entry = known.get(name) ?? { value: make(name) };
    known.set(name, entry);
    return entry.value;
  };
}
