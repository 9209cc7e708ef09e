import type { OptionsSpec } from '../../mapping/spec/mapping-spec.ts';
import { withoutUndefined } from '../../model/json-object.ts';
import type { ProductColumn, ProductGuess } from './guess.ts';
import { readOptionPart } from './header-reading.ts';

/** Options whose names and values are in columns of their own: Attribute 1 name, Attribute 1 value(s). */
export interface PairedOptions {
  readonly names: readonly ProductColumn[];
  readonly values: readonly ProductColumn[];
}

/** The families of columns that have them; undefined if there are none, or none has a value. */
export function pairedOptions(guess: ProductGuess): PairedOptions | undefined {
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

function familyOf({ header }: ProductColumn): string {
  return header.replace(/\d+/, '{n}');
}

/** The name of the values in the mapping. */
export const OPTION_VALUE = 'optionValue{n}';

/** The options as the mapping reads them. `isListed`: whether the row of a product lists the values of its variants. */
export function pairedSpec(
  guess: ProductGuess,
  { names, values }: PairedOptions,
  isListed: boolean,
): OptionsSpec {
  const use = (name: string, columns: readonly ProductColumn[]) => {
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
    listed: isListed ? [value, { split: separator ?? ',' }] : undefined,
    blank: isListed ? 'any' : undefined,
    // Shopify's word for a product without options.
    none: values.some((one) => one.values.includes('Default Title')) ? { Title: 'Default Title' } : undefined,
    keep: 'differing',
  });
}
