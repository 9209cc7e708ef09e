/**
 * Keys as a JSON array, which SQLite reads as a table. A lone surrogate would be kept by JSON and replaced where the
 * same text is bound to a statement.
 */
export function keysJson(keys: readonly string[]): string {
  const json = JSON.stringify(keys);
  return json.includes('\\ud') ? JSON.stringify(keys.map((key) => key.toWellFormed())) : json;
}
