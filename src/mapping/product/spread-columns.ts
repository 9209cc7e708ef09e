import type { Family } from '../columns/columns.ts';
import type { BoundTable, SourceRow } from '../record-rows.ts';
import { type Path, resolveName, type Scope, unknownName } from '../scope.ts';
import type { OptionsSpec } from '../spec/product-spec.ts';
import { cleanCell, refuse } from '../values/cell.ts';
import type { OptionReader } from './option-table.ts';

/** Rows that have a column for each value of an option, as one row for each value. */
export interface SpreadColumns {
  /** For the fields of variants: the name of a family is the cell of the variant. */
  readonly scope: Scope;
  /** A row for each value for which any of its columns has a cell. Refuses rows without any. */
  readonly expand: (rows: readonly SourceRow[]) => readonly SourceRow[];
  /** The reader with the option of the columns as the last one. */
  readonly withOption: (reader: OptionReader) => OptionReader;
}

/** Compiles `options.fromColumns`: each family gets a slot of its own, into which each variant takes the cell of its value. */
export function compileSpread(
  outer: Scope,
  path: Path,
  { name, columns }: NonNullable<OptionsSpec['fromColumns']>,
): SpreadColumns {
  const scope = { ...outer, field: 'options' };
  const families = [columns].flat().flatMap((column): { family: Family; slot: number }[] => {
    const named = resolveName(scope, column);
    if (named === undefined) unknownName(scope, [...path, 'columns'], column);
    else if (named.kind === 'family' && scope.columns.declared.get(column)?.occurrence === 'all')
      return [{ family: named.family, slot: scope.columns.addSlot() }];
    else
      scope.problems.add(
        [...path, 'columns'],
        `${column} is not a family of headers: expected a column with \`occurrence: all\``,
      );
    return [];
  });
  const labelSlot = scope.columns.addSlot();
  const tables = new Map<string, BoundTable>();
  /** The value of the option, and the column of each family that has it. */
  const membersOf = (row: SourceRow) => {
    const labels = new Set(families.flatMap(({ family }) => [...family.labels.values()]));
    return [...labels].map((label) => ({
      label,
      cells: families.map(({ family, slot }) => {
        const [number = -1] = [...family.labels].find(([, text]) => text === label) ?? [];
        const from = family.slots.get(number) ?? -1;
        return { slot, from, text: row.cells[from] };
      }),
    }));
  };
  const tableOf = (table: BoundTable, { label, cells }: ReturnType<typeof membersOf>[number]): BoundTable => {
    const key = `${table.file} ${table.digest} ${label}`;
    const known = tables.get(key);
    if (known !== undefined) return known;
    const headers = [...table.headers];
    for (const { slot, from } of cells) headers[slot] = table.headers[from];
    const made = { ...table, headers };
    tables.set(key, made);
    return made;
  };
  return {
    scope: {
      ...outer,
      spread: new Map(families.map(({ family, slot }) => [family.name, slot])),
    },
    expand: (rows) =>
      rows.flatMap((row) => {
        const members = membersOf(row).filter(({ cells }) =>
          cells.some(({ text }) => cleanCell(text) !== undefined),
        );
        if (members.length === 0)
          return refuse(
            'no-value-in-columns',
            `all columns of ${name} are blank, so there is no variant`,
            row.line,
          );
        return members.map((member, index): SourceRow => {
          const cells = [...row.cells];
          for (const { slot, text } of member.cells) cells[slot] = text;
          cells[labelSlot] = member.label;
          // Between the positions of its row and the next one.
          const seq = row.seq + index / members.length;
          const made = { ...row, table: tableOf(row.table, member), cells, seq };
          return outer.trace?.inherited(made, made, made) ?? made;
        });
      }),
    withOption: (reader) => (rows, variants) => {
      const table = reader(rows, variants);
      const chosen = variants.map((row) => row.cells[labelSlot]);
      const labels = new Set(families.flatMap(({ family }) => [...family.labels.values()]));
      return {
        ...table,
        names: [...table.names, name],
        choices: table.choices.map((choices, index) => [...choices, chosen[index]]),
        listed: [...table.listed, [...labels].filter((label) => chosen.includes(label))],
      };
    },
  };
}
