/** The fields that have a value: what is left out keeps its default where the object is spread over defaults. */
export function definedOnly<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const given: { [K in keyof T]?: Exclude<T[K], undefined> } = {};
  for (const key in fields) {
    const value = fields[key];
    if (value !== undefined) Object.assign(given, { [key]: value });
  }
  return given;
}
