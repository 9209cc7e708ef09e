import type { Family } from '../columns/columns.ts';
import type { BoundTable, RecordRows, SourceRow } from '../record-rows.ts';
import { familyAt, given, type Path, type Scope } from '../scope.ts';
import type { OptionsSpec } from '../spec/product-spec.ts';
import { type Cell, cleanCell, type Expression, isList, isPresent, refuse } from '../values/cell.ts';
import { compileAs } from '../values/compile-value.ts';

/** The choices of the variant rows, before the options of the product are known. */
export interface OptionTable {
  readonly names: readonly string[];
  /** For each variant row its value of each option; undefined if it has none. */
  readonly choices: readonly (readonly (string | undefined)[])[];
  /** For each option the values that the head row lists, in display order; empty if it lists none. */
  readonly listed: readonly (readonly string[])[];
  readonly rows: readonly SourceRow[];
}

/** Reads the choices of the variant rows, and the lists of the head row. */
export type OptionReader = (rows: RecordRows, variants: readonly SourceRow[]) => OptionTable;

/** Products without options. */
export const noOptions: OptionReader = (_rows, variants) => ({
  names: [],
  choices: variants.map(() => []),
  listed: [],
  rows: variants,
});

/** Compiles where options are. `byName`: columns are numbered differently from row to row, and names decide. */
export function compileOptionReader(
  scope: Scope,
  path: Path,
  spec: OptionsSpec,
  byName: boolean,
): OptionReader {
  if (typeof spec.columns === 'string') return headerReader(scope, path, spec, spec.columns);
  if (spec.columns !== undefined) return columnReader(scope, [...path, 'columns'], spec.columns);
  if (spec.names === undefined) {
    scope.problems.add(path, 'expected names (a family of columns, or a list) or columns');
    return noOptions;
  }
  if (typeof spec.names !== 'string') return listReader(scope, path, spec, spec.names);
  const family = familyAt(scope, [...path, 'names'], spec.names);
  if (family === undefined) return noOptions;
  const each = { ...scope, eachMember: true };
  const values = given(spec.values, (value) => compileAs(each, [...path, 'values'], value, 'text').read);
  const listed = given(spec.listed, (value) => compileAs(each, [...path, 'listed'], value, 'text[]').read);
  if (values === undefined && listed === undefined) {
    scope.problems.add(path, 'expected values (of variant rows), listed (by the head row), or both');
  }
  return byName ? nameReader(family, values, listed) : positionReader(family, values, listed);
}

/** The headers of a family have the names of the options; the cells of a variant, or `values`, what it chooses. */
function headerReader(
  scope: Scope,
  path: Path,
  { values, listed }: OptionsSpec,
  columns: string,
): OptionReader {
  const family = familyAt(scope, [...path, 'columns'], columns, true);
  if (listed !== undefined) scope.problems.add([...path, 'listed'], 'listed goes with a family of names');
  if (family === undefined) return noOptions;
  const { read } = compileAs({ ...scope, eachMember: true }, [...path, 'values'], values ?? columns, 'text');
  return (_rows, variants) => {
    const numbers = family.numbers.filter((number) => variants.some((row) => isPresent(read, row, number)));
    return {
      names: numbers.map((number) => family.labels.get(number) ?? ''),
      choices: variants.map((row) => numbers.map((number) => textOf(read(row, number)))),
      listed: [],
      rows: variants,
    };
  };
}

function columnReader(
  scope: Scope,
  path: Path,
  columns: Exclude<NonNullable<OptionsSpec['columns']>, string>,
): OptionReader {
  const names = Object.keys(columns);
  const reads = Object.entries(columns).map(
    ([name, value]) => compileAs(scope, [...path, name], value, 'text').read,
  );
  return (_rows, variants) => ({
    names,
    choices: variants.map((row) => reads.map((read) => textOf(read(row, 0)))),
    listed: [],
    rows: variants,
  });
}

/** Every row lists its own options in a cell, and their values in the same order. */
function listReader(
  scope: Scope,
  path: Path,
  { values, listed }: OptionsSpec,
  names: NonNullable<OptionsSpec['names']>,
): OptionReader {
  if (values === undefined || listed !== undefined) {
    scope.problems.add(path, 'a list of names goes with a list of values, and not with listed');
    return noOptions;
  }
  const readNames = compileAs(scope, [...path, 'names'], names, 'text[]').read;
  const readValues = compileAs(scope, [...path, 'values'], values, 'text[]').read;
  return (_rows, variants) => {
    const chosen = variants.map((row) => {
      const own = listOf(readNames(row, 0));
      const items = listOf(readValues(row, 0));
      if (own.length !== items.length) {
        const message = `the variant has ${own.length} names of options and ${items.length} values: expected as many values as names`;
        return refuse('option-lists-differ', message, row.line);
      }
      if (new Set(own).size < own.length) {
        return refuse('option-repeated', 'the variant has two values for one option', row.line);
      }
      return new Map(own.map((name, index) => [name, items[index]]));
    });
    return tableOf(chosen, variants);
  };
}

function tableOf(
  chosen: readonly (ReadonlyMap<string, string | undefined> | undefined)[],
  variants: readonly SourceRow[],
): OptionTable {
  const names = [...new Set(chosen.flatMap((own) => [...(own?.keys() ?? [])]))];
  return {
    names,
    choices: variants.map((_, index) => names.map((name) => chosen[index]?.get(name))),
    listed: [],
    rows: variants,
  };
}

/** The head row has the names; other rows that repeat them must agree. */
function positionReader(
  family: Family,
  values: Expression | undefined,
  listed: Expression | undefined,
): OptionReader {
  return ({ head }, variants) => {
    const numbers: number[] = [];
    const names: string[] = [];
    const lists: (readonly string[])[] = [];
    for (const number of family.numbers) {
      const slot = family.slots.get(number) ?? -1;
      if (isMissing(slot, head, variants)) continue;
      const name = firstName(slot, head, variants);
      const list = head === undefined ? [] : listOf(listed?.(head, number));
      if (name === undefined) {
        const stray =
          values === undefined ? undefined : variants.find((row) => isPresent(values, row, number));
        if (stray !== undefined) {
          const message = `the variant has a value for option ${number}, which has no name`;
          return refuseAt(stray, slot, 'option-name-missing', message);
        }
        if (list.length > 0) {
          const message = `the product lists values for option ${number}, which has no name`;
          return refuseAt(head, slot, 'option-name-missing', message);
        }
        continue;
      }
      const differing = variants.find((row) => (cleanCell(row.cells[slot]) ?? name) !== name);
      if (differing !== undefined) {
        const message = `option ${number} has the name ${name} in one row of the product and another name in another row`;
        return refuseAt(differing, slot, 'option-names-differ', message);
      }
      if (names.includes(name)) {
        return refuse('option-repeated', `the product has two options called ${name}`, head?.line);
      }
      if (listed !== undefined && list.length === 0 && !isChosen(values, variants, number)) {
        const message = `option ${number} has a name and no values: is the name under its header?`;
        return refuseAt(head, slot, 'option-without-values', message);
      }
      numbers.push(number);
      names.push(name);
      lists.push(list);
    }
    const choices = variants.map((row) => numbers.map((number) => textOf(values?.(row, number))));
    return { names, choices, listed: lists, rows: variants };
  };
}

function refuseAt(row: SourceRow | undefined, slot: number, code: string, message: string): never {
  return refuse(code, message, row?.line, row?.table.headers[slot]);
}

function isChosen(values: Expression | undefined, variants: readonly SourceRow[], number: number): boolean {
  return values !== undefined && variants.some((row) => isPresent(values, row, number));
}

/** Whether only other files have this member of the family: their content says nothing about these rows. */
function isMissing(slot: number, head: SourceRow | undefined, variants: readonly SourceRow[]): boolean {
  return head?.cells[slot] === undefined && variants.every((row) => row.cells[slot] === undefined);
}

function firstName(
  slot: number,
  head: SourceRow | undefined,
  variants: readonly SourceRow[],
): string | undefined {
  const own = cleanCell(head?.cells[slot]);
  if (own !== undefined) return own;
  for (const row of variants) {
    const name = cleanCell(row.cells[slot]);
    if (name !== undefined) return name;
  }
  return undefined;
}

/**
 * Every row names its own options, in any column number; the head row determines their order. If the head row names
 * options, a variant may have no others, because no buyer could choose them.
 */
function nameReader(
  family: Family,
  values: Expression | undefined,
  listed: Expression | undefined,
): OptionReader {
  return ({ head }, variants) => {
    const lists = new Map<string, readonly string[]>();
    if (head !== undefined) {
      for (const number of family.numbers) {
        const name = cleanCell(head.cells[family.slots.get(number) ?? -1]);
        const list = name === undefined ? [] : listOf(listed?.(head, number));
        if (name !== undefined) lists.set(name, list);
      }
    }
    const chosen: Map<string, string | undefined>[] = [];
    const used = new Set<string>();
    for (const row of variants) {
      const own = new Map<string, string | undefined>();
      for (const number of family.numbers) {
        const slot = family.slots.get(number) ?? -1;
        if (row.cells[slot] === undefined) continue;
        const name = cleanCell(row.cells[slot]);
        const value = values?.(row, number);
        if (name === undefined && value !== undefined) {
          const message = `the variant has a value for attribute ${number}, which has no name`;
          return refuseAt(row, slot, 'option-name-missing', message);
        }
        if (name !== undefined) {
          if (own.has(name)) {
            return refuse('option-repeated', `the variant has two values for ${name}`, row.line);
          }
          if (lists.size > 0 && !lists.has(name)) {
            if (textOf(value) === undefined) continue;
            const message = `the variant has a value for ${name}, which its product does not have: it has ${[...lists.keys()].join(', ')}`;
            return refuseAt(row, slot, 'option-unknown', message);
          }
          own.set(name, textOf(value));
          used.add(name);
        }
      }
      chosen.push(own);
    }
    const names = [...lists.keys()].filter((name) => used.has(name));
    for (const name of used) {
      if (!lists.has(name)) names.push(name);
    }
    return {
      names,
      choices: chosen.map((own) => names.map((name) => own.get(name))),
      listed: names.map((name) => lists.get(name) ?? []),
      rows: variants,
    };
  };
}

/** Option values in the references to the children. */
export const childOptionReader: OptionReader = ({ childOptions = [] }, variants) =>
  tableOf(childOptions, variants);

function textOf(value: Cell): string | undefined {
  return value === undefined || isList(value) ? undefined : String(value);
}

function listOf(value: Cell): readonly string[] {
  return isList(value) ? value.map(String) : [];
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
  const families = [columns].flat().flatMap((column): { family: Family; slot: number }[] => {
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
        listed: [...table.listed, [...labels].filter((label) => chosen.includes(label))],
      };
    },
  };
}
