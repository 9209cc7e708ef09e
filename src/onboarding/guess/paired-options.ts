import type { OptionsSpec } from '../../mapping/spec/mapping-spec.ts';
import { withoutUndefined } from '../../model/json-object.ts';
import type { Guess } from './guess.ts';
import { wordsOfHeader } from './header-reading.ts';
import type { SampledColumn } from './sampled-column.ts';
import { words } from './words.ts';

/** What a numbered column has of an option or attribute. */
interface OptionPart {
  readonly part: 'name' | 'value' | 'other';
  /** The words for the option, the same for its name and its value. */
  readonly of: string;
}

/** Reads the header of a numbered column with a part of an option: Attribute 1 value(s); undefined for another one. */
export function readOptionPart(header: string): OptionPart | undefined {
  const { links, options, optionNames, optionValues } = words().headerParts;
  const all = wordsOfHeader(header).filter((word) => !links.has(word) && !/^\p{Script=Latin}$/u.test(word));
  const isOption = all.some((word) => options.has(word)) && /^\D*\d{1,3}\D*$/.test(header);
  if (!isOption) return undefined;
  const has = (some: ReadonlySet<string>) => all.some((word) => some.has(word));
  const part = has(optionValues) ? 'value' : has(optionNames) ? 'name' : 'other';
  const others = all.filter((word) => !/\d/.test(word) && !optionNames.has(word) && !optionValues.has(word));
  return { part, of: others.join(' ') };
}

/** Options whose names and values are in columns of their own: Attribute 1 name, Attribute 1 value(s). */
export interface PairedOptions {
  readonly names: readonly SampledColumn[];
  readonly values: readonly SampledColumn[];
}

/** The families of columns that have them; undefined if there are none, or none has a value. */
export function pairedOptions(guess: Guess): PairedOptions | undefined {
  const read = guess.free.flatMap((column) => {
    const part = readOptionPart(column.header);
    return part === undefined ? [] : [{ ...part, column }];
  });
  const families = (part: 'name' | 'value', of?: string) =>
    Map.groupBy(
      read.filter((one) => one.part === part && (of === undefined || one.of === of)),
      ({ column }) => familyOf(column),
    );
  const [names] = families('name').values();
  const [values] = families('value', names?.[0]?.of).values();
  if (names === undefined || values === undefined) return undefined;
  const columns = (family: typeof names) => family.map(({ column }) => column);
  const isFilled = values.some(({ column }) => column.values.length > 0);
  return isFilled ? { names: columns(names), values: columns(values) } : undefined;
}

function familyOf({ header }: SampledColumn): string {
  return header.replace(/\d+/, '{n}');
}

/** The name of the values in the mapping. */
export const OPTION_VALUE = 'optionValue{n}';

/**
 * The options as the mapping reads them. `listed`: that the row of a product lists the values of its variants; `all`: also
 * those of products without further rows, which have all of them.
 */
export function pairedSpec(
  guess: Guess,
  { names, values }: PairedOptions,
  listed: 'all' | 'parents' | undefined,
): OptionsSpec {
  const use = (name: string, columns: readonly SampledColumn[]) => {
    for (const column of columns)
      guess.claim(`option ${column.header}`, column, 'the name or the value of an option', 'certain');
    return guess.useFamily(name, columns, columns[0] && familyOf(columns[0]));
  };
  const name = use('option{n}', names);
  const value = use(OPTION_VALUE, values);
  const separator = ['|', ';', ', '].find((sign) =>
    values.some((one) => one.values.some((cell) => cell.includes(sign))),
  );
  return withoutUndefined({
    names: name,
    values: value,
    listed: listed && [value, { split: separator ?? ',' }],
    blank: listed && 'any',
    combine: listed === 'all' ? true : undefined,
    // Shopify's word for a product without options.
    none: values.some((one) => one.values.includes('Default Title')) ? { Title: 'Default Title' } : undefined,
  });
}
