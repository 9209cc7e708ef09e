import type { BoundTable, RecordRows, SourceRow } from '../record-rows.ts';
import { familyAt, type Named, namedAt, type Path, type Scope } from '../scope.ts';
import type { ProductMappingSpec } from '../spec/mapping-spec.ts';
import type { OptionsSpec } from '../spec/product-spec.ts';
import { cleanCell, type Expression, refuse } from '../values/cell.ts';
import { compileCondition } from '../values/compile-condition.ts';
import type { OptionReader } from './option-table.ts';

/** Reads the rows that a product is bought as, with what they inherit; `alone`: the head row is the only one. */
export function compileVariantRows(
  scope: Scope,
  spec: ProductMappingSpec,
  spread: SpreadColumns | undefined,
): (
  rows: RecordRows,
  choosesNone: boolean,
) => {
  readonly priced: readonly SourceRow[];
  readonly alone: boolean;
  readonly sharing: ReadonlySet<SourceRow>;
} {
  const rowsOf = compileChosenRows(scope, spec);
  const path = ['variants', 'inherit'];
  const quantity = JSON.stringify(spec.variants.quantity ?? null);
  const isStock = (column: string) => quantity.includes(JSON.stringify(column));
  const inherit = inheriting({ ...scope, field: 'inherit' }, path, spec.variants.inherit ?? [], isStock);
  return (rows, choosesNone) => {
    const own = choosesNone ? [] : rowsOf(rows);
    const alone = own.length === 0;
    const taken = alone ? (rows.head === undefined ? [] : [rows.head]) : own;
    const { rows: priced, sharing } =
      rows.head === undefined ? { rows: taken, sharing: NONE_SHARING } : inherit(taken, rows.head);
    return spread === undefined
      ? { priced, alone, sharing }
      : { priced: spread.expand(priced), alone: false, sharing };
  };
}

function compileChosenRows(
  scope: Scope,
  spec: ProductMappingSpec,
): (rows: RecordRows) => readonly SourceRow[] {
  const { rows } = spec.variants;
  const kept = compileExcept(scope, spec);
  if (rows === 'all') return (record) => kept(record.rows);
  if (rows === 'children') {
    if (spec.group?.parent === undefined && spec.group?.children === undefined) {
      scope.problems.add(['variants', 'rows'], 'children needs a group by parent or by children');
    }
    return (record) => kept(record.children);
  }
  const test: Expression<boolean> = compileCondition(scope, ['variants', 'rows'], rows);
  return (record) => kept(record.rows.filter((row) => test(row, 0)));
}

/** Leaves out the rows that the mapping excludes, and notes it. */
function compileExcept(
  scope: Scope,
  spec: ProductMappingSpec,
): (rows: readonly SourceRow[]) => readonly SourceRow[] {
  if (spec.variants.except === undefined) return (rows) => rows;
  const test = compileCondition(scope, ['variants', 'except'], spec.variants.except);
  return (rows) => {
    const kept = rows.filter((row) => !test(row, 0));
    for (let left = rows.length - kept.length; left > 0; left--) {
      scope.notes.push('variants: not for sale, left out');
    }
    return kept;
  };
}

/**
 * Variant rows with the head row's cells where their own are blank, or have a word with that meaning. `sharing`: the rows that
 * together have the stock of the head row, by such a word.
 */
type Inherit = (
  rows: readonly SourceRow[],
  head: SourceRow,
) => { readonly rows: readonly SourceRow[]; readonly sharing: ReadonlySet<SourceRow> };

const NONE_SHARING: ReadonlySet<SourceRow> = new Set();

interface Inherited {
  readonly named: Exclude<Named, { readonly kind: 'param' }>;
  /** The words that mean "as in the head row"; undefined for a blank cell. */
  readonly words: ReadonlySet<string> | undefined;
  readonly isStock: boolean;
}

type InheritSpec = readonly (string | Readonly<Record<string, string | readonly string[]>>)[];

/** Compiles which columns a variant takes from the head row. */
function inheriting(
  scope: Scope,
  path: Path,
  spec: InheritSpec,
  isStock: (column: string) => boolean,
): Inherit {
  const inherited = spec.flatMap((one, index): Inherited[] => {
    const entries: [string, ReadonlySet<string> | undefined][] =
      typeof one === 'string'
        ? [[one, undefined]]
        : Object.entries(one).map(([name, words]) => [
            name,
            new Set((typeof words === 'string' ? [words] : words).map((word) => word.toLowerCase())),
          ]);
    return entries.flatMap(([name, words]) => {
      const named = namedAt(scope, [...path, index], name);
      return named === undefined || named.kind === 'param' ? [] : [{ named, words, isStock: isStock(name) }];
    });
  });
  if (inherited.length === 0) return (rows) => ({ rows, sharing: NONE_SHARING });
  const { trace } = scope;
  return (rows, head) => {
    const sharing = new Set<SourceRow>();
    const complete = rows.map((row) => {
      if (row === head) return row;
      const { made, sharesStock } = withInherited(row, head, inherited);
      const traced = trace?.inherited(made, row, head) ?? made;
      if (sharesStock) sharing.add(traced);
      return traced;
    });
    return { rows: complete, sharing: sharing.size > 1 ? sharing : NONE_SHARING };
  };
}

function withInherited(row: SourceRow, head: SourceRow, inherited: readonly Inherited[]) {
  const cells = [...row.cells];
  let { currencies } = row;
  let sharesStock = false;
  for (const { named, words, isStock } of inherited) {
    const slots = named.kind === 'column' ? [named.slot] : named.family.slots.values();
    for (const slot of slots) {
      const own = cleanCell(cells[slot]);
      if (words === undefined ? own === undefined : own !== undefined && words.has(own.toLowerCase())) {
        cells[slot] = head.cells[slot];
        if (currencies !== head.currencies) currencies = { ...currencies, [slot]: head.currencies?.[slot] };
        sharesStock ||= isStock && words !== undefined;
      }
    }
  }
  return { made: { ...row, cells, currencies }, sharesStock };
}

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
  const families = [columns].flat().flatMap((column) => {
    const family = familyAt(scope, [...path, 'columns'], column, true);
    return family === undefined ? [] : [{ family, slot: scope.columns.addSlot() }];
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
  const tableOf = (table: BoundTable, { label, cells }: ReturnType<typeof membersOf>[number]) => {
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
          const moved = member.cells.map(({ slot, from }) => [slot, row.currencies?.[from]] as const);
          const currencies = row.currencies && { ...row.currencies, ...Object.fromEntries(moved) };
          cells[labelSlot] = member.label;
          // Between the positions of its row and the next one.
          const seq = row.seq + index / members.length;
          const made = { ...row, table: tableOf(row.table, member), cells, currencies, seq };
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
        listed: [
          ...table.names.map((_, option) => table.listed[option] ?? []),
          [...labels].filter((label) => chosen.includes(label)),
        ],
      };
    },
  };
}
