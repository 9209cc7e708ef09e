import { type Guess, meaningOf, type ReadColumn } from './guess.ts';
import { readProductHeader } from './header-reading.ts';
import type { ProductConcept } from './header-words.ts';
import { booleanOf, readAmount, readCount, type SampledColumn, saysNone, shareOf } from './sampled-column.ts';

type Column = ReadColumn<ProductConcept>;
type Products = Guess<ProductConcept>;

const MOSTLY = 0.8;

/**
 * Asks about columns that no field takes although they change what a product costs, how many there are or whether it
 * is sold: to leave them out silently would send wrong prices or stock.
 */
export function askUnused(guess: Products): void {
  const free = guess.columns.filter((column) => column.header !== '' && guess.isFree(column));
  const called = (concept: ProductConcept) =>
    free.filter((column) => meaningOf(column, [concept])?.how === 'exact');
  const isTaken = (...fields: readonly string[]) => guess.fields().some((field) => fields.includes(field));

  if (!isTaken('sale', 'was'))
    for (const column of called('discount').filter(({ values }) => values.some(isDiscount)))
      ask(
        guess,
        column,
        `${shown(column, isDiscount)} may have to be taken off the price; init does not do that, 'percent' in the mapping does`,
      );
  if (isTaken('sale', 'was'))
    for (const column of called('saleDate').filter(({ values }) => values.length > 0))
      ask(guess, column, `${shown(column)} limits the sale, which is sent as one that has begun`);
  if (!isTaken('visible', 'hidden'))
    for (const column of called('discontinued').filter(({ values }) => values.some(isMarked)))
      ask(guess, column, `${shown(column, isMarked)} marks products that may no longer be sold`);
  for (const [concept, columns] of spreadOver(free)) {
    const [first] = columns;
    if (first === undefined || (concept === 'quantity' && isTaken('quantity'))) continue;
    const what = columns.map(({ header }) => `'${header}'`).join(', ');
    ask(
      guess,
      first,
      concept === 'quantity'
        ? `${what} each have a part of the stock; init does not add them up, 'sum' in the mapping does`
        : `${what} are variants in columns, and each variant needs a row of its own`,
    );
  }
}

function shown({ header, values }: Column, tells: (value: string) => boolean = () => true): string {
  return `'${header}', such as '${values.find(tells)}',`;
}

function isDiscount(value: string): boolean {
  return /[1-9]/.test(value);
}

function isMarked(value: string): boolean {
  return !saysNone(value) && booleanOf(value) !== false;
}

function ask(guess: Products, { header }: Column, reason: string): void {
  guess.ask({
    id: `unused.${header}`,
    text: `May '${header}' be left out?`,
    reason,
    answers: [{ value: 'leave-out', label: 'leave it out; the mapping can still be changed to read it' }],
  });
}

const SIZE = /^(?:\d?x{0,3}[sl]|m|x{2,4}[sl]|\d{2}(?:[.,/]\d{1,2})?)$/i;

/** Groups of columns with numbers of pieces, of one warehouse or one variant each. */
function spreadOver(columns: readonly Column[]): ReadonlyMap<ProductConcept, readonly Column[]> {
  const groups = Map.groupBy(
    columns.filter((column) => shareOf(column, isCount) >= MOSTLY),
    (column) => partOf(column),
  );
  return new Map([...groups].flatMap(([part, group]) => (part && group.length > 1 ? [[part, group]] : [])));
}

function isCount(value: string): boolean {
  const isPrice = /[.,]\d{2}$/.test(value) && readAmount(value) !== undefined;
  return (readCount(value) !== undefined && !isPrice) || booleanOf(value) !== undefined || saysNone(value);
}

/** What a column has a part of: `Stock Berlin`, `Size S`, or `XL`. */
function partOf({ header }: SampledColumn): ProductConcept | undefined {
  if (SIZE.test(header)) return 'size';
  const words = header.split(/[\s_:|/()[\].-]+/).filter((word) => word !== '');
  if (words.length < 2) return undefined;
  return [words[0], words.at(-1)]
    .flatMap((word) => readProductHeader(word ?? '').meanings)
    .find(({ concept, how }) => how === 'exact' && ['quantity', 'size', 'color'].includes(concept))?.concept;
}
