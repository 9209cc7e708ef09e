import type { PropertiesSpec } from '../../config/mapping/mapping-contact.ts';
import type { ContactProperty } from '../../model/contact.ts';
import type { RecordRows } from '../rows.ts';
import { resolveName, type Scope, unknownName } from '../scope.ts';
import { cleanCell, Unreadable } from '../values/cell.ts';
import { compileField } from '../values/field.ts';
import { filledText } from './filled.ts';

/**
 * Compiles the custom properties of a contact: named ones, pairs of columns, and the columns used nowhere else. Blank
 * ones are left out; of two with the same name, the second value follows the first.
 */
export function compileProperties(
  scope: Scope,
  spec: PropertiesSpec | undefined,
): (rows: RecordRows) => readonly ContactProperty[] | Unreadable {
  const fields = Object.entries(spec?.fields ?? {}).map(([name, value]) => ({
    name,
    read: compileField(scope, ['contact', 'properties', 'fields', name], value, {
      wanted: 'text',
      blank: 'leave-out',
    }),
  }));
  const names = compileFamily(scope, 'names', spec?.names);
  const values = compileFamily(scope, 'values', spec?.values);
  if ((names === undefined) !== (values === undefined)) {
    scope.problems.add(['contact', 'properties'], 'names and values go together');
  }
  return (rows) => {
    const found = new Map<string, string>();
    const add = (name: string | undefined, value: string | undefined) => {
      if (name === undefined || value === undefined) return;
      const known = found.get(name);
      found.set(name, known === undefined || known === value ? value : `${known}, ${value}`);
    };
    for (const { name, read } of fields) {
      const value = read(rows);
      if (value instanceof Unreadable) return value;
      add(name, filledText(value));
    }
    const cells = rows.head?.cells ?? [];
    for (const [number, slot] of names?.slots ?? []) {
      add(cleanCell(cells[slot]), cleanCell(cells[values?.slots.get(number) ?? -1]));
    }
    for (const [header, slot] of scope.columns.rest) add(header, cleanCell(cells[slot]));
    return Array.from(found, ([name, value]) => ({ name, value }));
  };
}

function compileFamily(scope: Scope, key: 'names' | 'values', name: string | undefined) {
  if (name === undefined) return undefined;
  const named = resolveName(scope, name);
  if (named?.kind === 'family') return named.family;
  if (named === undefined) {
    unknownName(scope, ['contact', 'properties', key], name);
  } else {
    scope.problems.add(['contact', 'properties', key], `${name} is not a family: expected {n} in its name`);
  }
  return undefined;
}
