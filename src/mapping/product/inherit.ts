import { type Path } from '../problems.ts';
import { isBlank } from '../read-row.ts';
import { resolveName, type Scope, unknownName } from '../scope.ts';
import type { SourceRow } from '../source-row.ts';

/** Variant rows with the head row's cells where their own are blank. */
export type Inherit = (rows: readonly SourceRow[], head: SourceRow) => readonly SourceRow[];

/** Compiles which columns a variant takes from the head row. */
export function inheriting(scope: Scope, path: Path, names: readonly string[]): Inherit {
  const named = names.flatMap((name, index) => {
    const found = resolveName(scope, name);
    if (found === undefined) {
      unknownName(scope, [...path, index], name);
    }
    return found === undefined || found.kind === 'param' ? [] : [found];
  });
  if (named.length === 0) {
    return (rows) => rows;
  }
  return (rows, head) => {
    const slots = named.flatMap((one) => (one.kind === 'column' ? [one.slot] : [...one.family.slots.values()]));
    return rows.map((row) => {
      if (row === head) {
        return row;
      }
      const cells = [...row.cells];
      for (const slot of slots) {
        if (isBlank(cells[slot])) {
          cells[slot] = head.cells[slot];
        }
      }
      return { ...row, cells };
    });
  };
}
