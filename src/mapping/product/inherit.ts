import type { SourceRow } from '../rows.ts';
import { type Named, type Path, resolveName, type Scope, unknownName } from '../scope.ts';
import { cleanCell } from '../values/cell.ts';

/** Variant rows with the head row's cells where their own are blank, or hold a word that means so. */
export type Inherit = (rows: readonly SourceRow[], head: SourceRow) => readonly SourceRow[];

interface Inherited {
  readonly named: Exclude<Named, { readonly kind: 'param' }>;
  /** The words that mean "as the head row has it"; undefined for a blank cell. */
  readonly words: ReadonlySet<string> | undefined;
}

type InheritSpec = readonly (string | Readonly<Record<string, string | readonly string[]>>)[];

/** Compiles which columns a variant takes from the head row. */
export function inheriting(scope: Scope, path: Path, spec: InheritSpec): Inherit {
  const inherited = spec.flatMap((one, index): Inherited[] => {
    const entries: [string, ReadonlySet<string> | undefined][] =
      typeof one === 'string'
        ? [[one, undefined]]
        : Object.entries(one).map(([name, words]) => [
            name,
            new Set((typeof words === 'string' ? [words] : words).map((word) => word.toLowerCase())),
          ]);
    return entries.flatMap(([name, words]) => {
      const named = resolveName(scope, name);
      if (named === undefined) unknownName(scope, [...path, index], name);
      return named === undefined || named.kind === 'param' ? [] : [{ named, words }];
    });
  });
  if (inherited.length === 0) return (rows) => rows;
  return (rows, head) => rows.map((row) => (row === head ? row : withInherited(row, head, inherited)));
}

function withInherited(row: SourceRow, head: SourceRow, inherited: readonly Inherited[]): SourceRow {
  const cells = [...row.cells];
  for (const { named, words } of inherited) {
    const slots = named.kind === 'column' ? [named.slot] : named.family.slots.values();
    for (const slot of slots) {
      const own = cleanCell(cells[slot]);
      if (words === undefined ? own === undefined : own !== undefined && words.has(own.toLowerCase())) {
        cells[slot] = head.cells[slot];
      }
    }
  }
  return { ...row, cells };
}
