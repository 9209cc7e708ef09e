import { beyondLimit, raiseLimit } from '../../model/input-limits.ts';
import type { ProductOption } from '../../model/mapped-record.ts';
import { refuse } from '../values/cell.ts';
import type { OptionTable } from './option-table.ts';

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
export function combine(table: OptionTable, { mostCombinations }: OptionRules): Chosen {
  const kept = table.names.flatMap((_, option) => ((table.listed[option]?.length ?? 0) > 0 ? [option] : []));
  const lists = kept.map((option) => [...new Set(table.listed[option] ?? [])]);
  const count = lists.reduce((product, list) => product * list.length, 1);
  if (count > mostCombinations) refuseTooMany(count, mostCombinations, table.rows[0]?.line);
  const choices = combinations(lists).map((values) => ({ row: 0, values }));
  return { options: optionsOf(table, kept, choices), choices };
}

function refuseTooMany(variants: number, most: number, line: number | undefined): never {
  return refuse(
    'too-many-combinations',
    `${beyondLimit('combinations', most, { variants })} ${raiseLimit('combinations')}`,
    line,
  );
}

function combinations(lists: readonly (readonly string[])[]): readonly (readonly string[])[] {
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

function meansNone(table: OptionTable, option: number, { none }: OptionRules): boolean {
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
    const count = lists.reduce((product, list) => product * list.length, 1);
    if (choices.length + count > mostCombinations) {
      refuseTooMany(choices.length + count, mostCombinations, table.rows[row]?.line);
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

function tupleKey(values: readonly string[]): string {
  return values.length === 1 ? (values[0] ?? '') : JSON.stringify(values);
}

function refuseRepeated(table: OptionTable, choices: readonly Choice[]): void {
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
function asSeen(value: string): string {
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
