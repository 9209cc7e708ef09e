/**
 * The name of the column for a value within nested objects: their names joined by dots. A dot or backslash that is
 * part of a name is written `\.` or `\\`, an empty name `\e`, so that no two values share a column.
 */
export function columnName(parent: string | null, name: string): string {
  const escaped = name === '' ? '\\e' : name.replaceAll(/[\\.]/g, '\\$&');
  return parent === null ? escaped : `${parent}.${escaped}`;
}

/** The names that lead to the value of a column. */
export function pathOf(column: string): readonly string[] {
  const names: string[] = [];
  let name = '';
  for (let at = 0; at < column.length; at++) {
    const char = column.charAt(at);
    if (char === '.') {
      names.push(name);
      name = '';
    } else if (char === '\\') {
      at++;
      if (column.charAt(at) !== 'e') name += column.charAt(at);
    } else {
      name += char;
    }
  }
  return [...names, name];
}
