import { beyondLimit, raiseLimit } from '../../model/input-limits.ts';
import type { ProductOption } from '../../model/mapped-record.ts';
import type { Family } from '../columns/columns.ts';
import type { RecordRows, SourceRow } from '../record-rows.ts';
import { familyAt, mapDefined, type Path, type Scope } from '../scope.ts';
import type { OptionsSpec } from '../spec/product-spec.ts';
import { type Cell, cleanCell, type Expression, isList, isPresent, refuse } from '../values/cell.ts';
import { compileAs } from '../values/compile-value.ts';

/** The choices of the variant rows, before the options of the product are known. */
export type OptionTable = ReturnType<typeof tableOf>;

/** Reads the choices of the variant rows, and the lists of the head row. */
export type OptionReader = (rows: RecordRows, variants: readonly SourceRow[]) => OptionTable;

/** Products without options. */
export const noOptions: OptionReader = (_rows, variants) => tableOf([], variants);

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
  const values = mapDefined(spec.values, (value) => compileAs(each, [...path, 'values'], value, 'text').read);
  const listed = mapDefined(
    spec.listed,
    (value) => compileAs(each, [...path, 'listed'], value, 'text[]').read,
  );
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
  const inPlaces = {
    ...scope,
    keepsPlaces: true,
    // Blank lines at the beginning and the end count.
    clean: (cell: string | undefined) =>
      /^\n|\n$/.test(cell ?? '') && scope.clean(cell) ? cell : scope.clean(cell),
  };
  const readNames = compileAs(inPlaces, [...path, 'names'], names, 'text[]').read;
  const readValues = compileAs(inPlaces, [...path, 'values'], values, 'text[]').read;
  return (_rows, variants) => {
    const chosen = variants.map((row) => {
      const all = [listOf(readNames(row, 0)), listOf(readValues(row, 0))] as const;
      const [own, items] = all[0].length === all[1].length ? all : [withoutEnd(all[0]), withoutEnd(all[1])];
      if (own.length !== items.length) {
        const message = `the variant has ${own.length} names of options and ${items.length} values: expected as many values as names`;
        return refuse('option-lists-differ', message, row.line);
      }
      const pairs = own.map((name, index) => [name, items[index] ?? ''] as const);
      if (pairs.some(([name, value]) => name === '' && value !== ''))
        return refuse(
          'option-name-missing',
          'the variant has a value for an option without a name',
          row.line,
        );
      const filled = pairs.filter(([, value]) => value !== '');
      if (new Set(filled.map(([name]) => name)).size < filled.length) {
        return refuse('option-repeated', 'the variant has two values for one option', row.line);
      }
      return new Map(filled);
    });
    return tableOf(chosen, variants);
  };
}

/** `lists`: what the head row lists, whose names come first. */
function tableOf(
  chosen: readonly (ReadonlyMap<string, string | undefined> | undefined)[],
  variants: readonly SourceRow[],
  lists: ReadonlyMap<string, readonly string[]> = new Map(),
) {
  const used = new Set(chosen.flatMap((own) => [...(own?.keys() ?? [])]));
  const names = [...new Set([...lists.keys(), ...used])].filter((name) => used.has(name));
  return {
    names,
    /** For each variant row its value of each option; undefined if it has none. */
    choices: variants.map((_, index) => names.map((name) => chosen[index]?.get(name))),
    /** For each option the values that the head row lists, in display order; empty if it lists none. */
    listed: names.map((name) => lists.get(name) ?? []),
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
    const rows = head === undefined ? variants : [head, ...variants];
    const numbers: number[] = [];
    const names: string[] = [];
    const lists: (readonly string[])[] = [];
    for (const number of family.numbers) {
      const slot = family.slots.get(number) ?? -1;
      // Only other files have this member of the family: their content says nothing about these rows.
      if (rows.every((row) => row.cells[slot] === undefined)) continue;
      const name = cleanCell(rows.find((row) => cleanCell(row.cells[slot]) !== undefined)?.cells[slot]);
      const list = head === undefined ? [] : listOf(listed?.(head, number));
      const findChooser = () => values && variants.find((row) => isPresent(values, row, number));
      if (name === undefined) {
        const stray = findChooser();
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
      if (listed !== undefined && list.length === 0 && findChooser() === undefined) {
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
        }
      }
      chosen.push(own);
    }
    return tableOf(chosen, variants, lists);
  };
}

/** Option values in the references to the children. */
export const childOptionReader: OptionReader = ({ childOptions = [] }, variants) =>
  tableOf(childOptions, variants);

function textOf(value: Cell) {
  return value === undefined || isList(value) ? undefined : String(value);
}

/** A list without blank places at its end. */
function withoutEnd(list: readonly string[]) {
  return list.slice(0, list.findLastIndex((item) => item !== '') + 1);
}

function listOf(value: Cell): readonly string[] {
  return isList(value) ? value.map(String) : [];
}

/** A variant with its values in option order; `row` is the index of its row. */
interface Choice {
  readonly row: number;
  readonly values: readonly string[];
}

/** The mapping's settings for options. */
export interface OptionRules {
  readonly keep: 'used' | 'differing';
  readonly blank: 'reject' | 'any';
  /** Lower-cased name and value of the option that means "no options". */
  readonly none: { readonly name: string; readonly value: string } | undefined;
  /** The most variants from combinations. */
  readonly mostCombinations: number;
}

/** An option, before it is known whether the variants differ. */
type ChosenOption = Pick<ProductOption, 'name' | 'values'>;

/** The options of a product and its variants, each with one value per option. */
interface Chosen {
  readonly options: readonly ChosenOption[];
  readonly choices: readonly Choice[];
}

/**
 * Aligns the options: each variant gets exactly one value for each option, and no two variants have the same values.
 */
export function chooseVariants(table: OptionTable, rules: OptionRules): Chosen {
  const kept = keptOptions(table, rules);
  const [only, second] = kept;
  if (only !== undefined && second === undefined && meansNone(table, only, rules)) {
    return { options: [], choices: [{ row: 0, values: [] }] };
  }
  const rows = table.choices.map((choice) => kept.map((option) => choice[option]));
  const choices =
    rules.blank === 'any' ? expandBlanks(table, kept, rows, rules) : complete(table, kept, rows);
  refuseRepeated(table, choices);
  return { options: optionsOf(table, kept, choices), choices };
}

/** Combines each listed value of each option with each of the others, all from one row. */
export function combine(table: OptionTable, rules: OptionRules): Chosen {
  const kept = table.names.flatMap((_, option) => ((table.listed[option]?.length ?? 0) > 0 ? [option] : []));
  const openRow = kept.map(() => undefined);
  const choices = expandBlanks({ ...table, choices: [] }, kept, [openRow], rules);
  return { options: optionsOf(table, kept, choices), choices };
}

function combinations(lists: readonly (readonly string[])[]) {
  return lists.reduce<readonly (readonly string[])[]>(
    (made, list) => made.flatMap((values) => list.map((value) => [...values, value])),
    [[]],
  );
}

function keptOptions(table: OptionTable, rules: OptionRules): readonly number[] {
  return table.names.flatMap((_, option) => {
    const first = table.choices[0]?.[option];
    const differ = table.choices.some((choice) => choice[option] !== first);
    if (rules.keep === 'differing') return differ ? [option] : [];
    // An option that every variant leaves open is a choice if its values are listed.
    const open = rules.blank === 'any' && (table.listed[option]?.length ?? 0) > 0;
    return open || differ || table.choices.length === 0 || first !== undefined ? [option] : [];
  });
}

function meansNone(table: OptionTable, option: number, { none }: OptionRules) {
  return (
    none !== undefined &&
    table.choices.length === 1 &&
    table.names[option]?.toLowerCase() === none.name &&
    table.choices[0]?.[option]?.toLowerCase() === none.value
  );
}

function complete(
  table: OptionTable,
  kept: readonly number[],
  rows: readonly (readonly (string | undefined)[])[],
): readonly Choice[] {
  return rows.map((values, row) => {
    if (isComplete(values)) return { row, values };
    const option = table.names[kept[values.indexOf(undefined)] ?? 0];
    const message = `the variant has no value for the option ${option}, which others have`;
    return refuse('option-value-missing', message, table.rows[row]?.line);
  });
}

/**
 * A blank means every value of its option. Variants with explicit values have priority: a combination that one of
 * them names belongs to it. The order of the rows is kept.
 */
function expandBlanks(
  table: OptionTable,
  kept: readonly number[],
  rows: readonly (readonly (string | undefined)[])[],
  { mostCombinations }: OptionRules,
): readonly Choice[] {
  const named = rows.filter(isComplete);
  if (named.length === rows.length) return named.map((values, row) => ({ row, values }));
  const values = kept.map((option) => valuesOf(table, option));
  const taken = new Set(named.map(tupleKey));
  const choices: Choice[] = [];
  for (const [row, chosen] of rows.entries()) {
    if (isComplete(chosen)) {
      choices.push({ row, values: chosen });
      continue;
    }
    const lists = chosen.map((value, index) => (value === undefined ? (values[index] ?? []) : [value]));
    const variants = choices.length + lists.reduce((product, list) => product * list.length, 1);
    if (variants > mostCombinations) {
      const beyond = beyondLimit('combinations', mostCombinations, { variants });
      refuse('too-many-combinations', `${beyond} ${raiseLimit('combinations')}`, table.rows[row]?.line);
    }
    for (const one of combinations(lists)) {
      if (!taken.has(tupleKey(one))) {
        taken.add(tupleKey(one));
        choices.push({ row, values: one });
      }
    }
  }
  return choices;
}

function isComplete(values: readonly (string | undefined)[]): values is readonly string[] {
  return !values.includes(undefined);
}

function tupleKey(values: readonly string[]) {
  return values.length === 1 ? (values[0] ?? '') : JSON.stringify(values);
}

function refuseRepeated(table: OptionTable, choices: readonly Choice[]) {
  if (choices.length < 2) return;
  const seen = new Map<string, number>();
  for (const { row, values } of choices) {
    const key = tupleKey(values.map(asSeen));
    const first = seen.get(key);
    if (first !== undefined) {
      const what =
        values.length === 0 ? 'without any option that distinguishes them' : `of ${values.join(', ')}`;
      refuse(
        'repeated-combination',
        `two variants ${what}, in lines ${table.rows[first]?.line} and ${table.rows[row]?.line}`,
        table.rows[row]?.line,
      );
    }
    seen.set(key, row);
  }
}

/**
 * A value as a buyer sees it: no-break spaces become spaces, invisible characters are removed, accents are composed.
 */
function asSeen(value: string) {
  return /^[\x20-\x7e]*$/.test(value)
    ? value
    : value
        .normalize('NFC')
        .replaceAll(/[\u00a0\u2007\u202f]/g, ' ')
        .replaceAll(/[\u00ad\u200b\u2060\ufeff]/g, '');
}

/** All values of an option, listed ones first. */
function valuesOf(table: OptionTable, option: number): readonly string[] {
  const values = new Set(table.listed[option] ?? []);
  for (const choice of table.choices) {
    const value = choice[option];
    if (value !== undefined) values.add(value);
  }
  return [...values];
}

/**
 * Options with the values that variants use: in listed order if the source lists them, otherwise in order of
 * appearance.
 */
function optionsOf(
  table: OptionTable,
  kept: readonly number[],
  choices: readonly Choice[],
): readonly ChosenOption[] {
  return kept.map((option, index) => {
    const used = new Set<string>();
    for (const { values } of choices) used.add(values[index] ?? '');
    const listed = (table.listed[option] ?? []).filter((value) => used.has(value));
    return {
      name: table.names[option] ?? '',
      values: listed.length === 0 ? [...used] : [...new Set([...listed, ...used])],
    };
  });
}
