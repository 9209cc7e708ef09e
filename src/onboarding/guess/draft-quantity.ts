import { weightUnit } from '../../mapping/compile-mapping.ts';
import type { Value, VariantsSpec } from '../../mapping/spec/mapping-spec.ts';
import { FALLBACK, type Transform } from '../../mapping/transforms/transforms.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import { styleOf } from './draft-prices.ts';
import {
  countedShare,
  isCalled,
  isExactlyCalled,
  LEAVE_OUT,
  type ProductColumn,
  type ProductGuess,
} from './guess.ts';
import {
  availabilityOf,
  booleanOf,
  isMissingValue,
  isMostly,
  readAmount,
  readCount,
  readWeight,
  shareOf,
  signsOf,
} from './sampled-column.ts';

/** The stock: a number of pieces, or words that say whether there are any. */
export function draftQuantity(guess: ProductGuess): Value | undefined {
  const isCount = (value: string) => readCount(value) !== undefined || isMissingValue(value);
  const isWord = (value: string) => availabilityOf(value) !== undefined || booleanOf(value) !== undefined;
  const count = guess.pick('quantity', {
    fits: (column) =>
      shareOf(column, isCount) >= 0.5 && isMostly(column, (value) => isCount(value) || isWord(value)),
    shown: (column) =>
      countedShare(column, (value) => readCount(value) !== undefined, 'are numbers of pieces'),
  });
  if (guess.answers['column.quantity'] === '' || guess.isAsked('quantity')) return undefined;
  const words =
    count ??
    guess.pick('availability', {
      fits: (column) =>
        shareOf(column, isWord) >= 0.5 &&
        column.values.some(
          (value) =>
            (availabilityOf(value) !== undefined && booleanOf(value) === undefined) ||
            !guess.columns.some((one) => one.index === column.index && isCalled(one, 'visible')),
        ),
      shown: (column) => countedShare(column, isWord, 'are words for in stock or sold out'),
    });
  if (words === undefined) {
    const unclear = guess.free.filter(
      (column) =>
        (column.reading.mentions.has('quantity') || column.reading.mentions.has('availability')) &&
        isMostly(column, (value) => isCount(value) || isWord(value)),
    );
    const [only, second] = unclear;
    if (only !== undefined && second === undefined && guess.answers['column.quantity'] === undefined)
      guess.askColumn('quantity', unclear, `'${only.header}' may be the stock`);
    return undefined;
  }
  if (words === count) askSoldOut(guess, words);
  const counts = words.values.flatMap((value) => readCount(value) ?? []);
  const signs = signsOf(counts.map(({ digits }) => digits));
  const isSigned = signs.point.length + signs.comma.length + signs.either.length > 0;
  const style = isSigned
    ? styleOf(
        guess,
        words.header,
        signs,
        signsOf(
          guess.columns.flatMap(({ values }) => values.flatMap((value) => readAmount(value)?.digits ?? [])),
        ),
      )
    : undefined;
  if (isSigned && style === undefined) return undefined;
  const other = [...new Set(words.values.filter((value) => readCount(value) === undefined))];
  const meanings = other.map((value) => [value.toLowerCase(), stockOf(guess, words, value)] as const);
  if (meanings.some(([, meaning]) => meaning === undefined)) return undefined;
  const lookup = Object.fromEntries(
    meanings.flatMap(([word, meaning]) =>
      meaning === 'reject' ? [] : [[word, meaning === 'available' ? null : '0']],
    ),
  );
  const units = [...new Set(counts.flatMap(({ unit }) => (unit === '' ? [] : [unit.toLowerCase()])))];
  if (counts.some(({ isAtLeast }) => isAtLeast))
    guess.notes.push(
      `'${words.header}': the number is sent for values such as '${words.values.find((value) => readCount(value)?.isAtLeast === true)}'.`,
    );
  const thousands = signs.either.some((value) =>
    style?.decimal === ',' ? value.includes('.') : value.includes(','),
  );
  const steps: Transform[] = withoutAbsent([
    other.length !== 0 && { lookup, [FALLBACK]: counts.length > 0 ? ('keep' as const) : ('reject' as const) },
    units.length !== 0 && { replace: `(?i) *(${units.join('|')})\\.? *([+]?)$`, with: '$2' },
    counts.some(({ isAtLeast }) => isAtLeast) && { replace: '^[^0-9-]*([0-9][0-9.,]*) *[+]?$', with: '$1' },
    style !== undefined && {
      number: {
        decimal: style.decimal,
        ...(thousands && style.decimal !== 'auto' ? { thousands: style.decimal === ',' ? '.' : ',' } : {}),
      },
    },
    'integer',
    { min: 0 },
  ]);
  return [guess.use('quantity', words), ...steps];
}

/** Asks about words that say of products with stock that they are sold out: they would be sold. */
function askSoldOut(guess: ProductGuess, stock: ProductColumn): void {
  for (const column of guess.free) {
    if (column === stock || !isExactlyCalled(column, 'availability')) continue;
    const row = column.cells.findIndex(
      (cell, at) => availabilityOf(cell) === false && !/^0*$/.test(stock.cells[at] ?? ''),
    );
    if (row !== -1)
      guess.askUnused([column], `has '${column.cells[row]}' for a stock of ${stock.cells[row]}`, [LEAVE_OUT]);
  }
}

/** What a word in the stock means; undefined while that is asked. */
function stockOf(guess: ProductGuess, column: ProductColumn, word: string): string | undefined {
  if (isMissingValue(word)) return 'available';
  const known = availabilityOf(word) ?? booleanOf(word);
  if (known !== undefined) return known ? 'available' : 'sold-out';
  return guess.askWord(word, column, {
    available: 'the product can be bought; its stock is not tracked',
    'sold-out': 'it is sold out: the stock is 0',
    reject: 'reject its products',
  });
}

/** The weight with its unit: of the cells, else of the header; asked where neither names it. */
export function draftWeight(guess: ProductGuess): VariantsSpec['weight'] {
  const isWeight = (value: string) => readWeight(value) !== undefined;
  const column = guess.pick('weight', {
    fits: (one) => isMostly(one, isWeight),
    shown: (one) => countedShare(one, isWeight, 'are weights'),
  });
  if (column === undefined) return undefined;
  const weights = column.values.flatMap((value) => readWeight(value) ?? []);
  const signs = signsOf(weights.map(({ digits }) => digits));
  const style = styleOf(guess, column.header, signs, { point: [], comma: [], either: [], count: 0 });
  const words = [...new Set(weights.flatMap(({ unitWord }) => (unitWord === '' ? [] : [unitWord])))];
  const bare = weights.filter(({ unitWord }) => unitWord === '').length;
  // A path of JSON or XML for the unit: weight.unit, weight@unit.
  const beside = guess.columns.find(
    ({ header }) =>
      header !== column.header &&
      /^[.@]/.test(header.slice(column.header.length)) &&
      header.startsWith(column.header),
  );
  const stated = beside?.distinct === 1 ? weightUnit(beside.values[0] ?? '') : undefined;
  const unit =
    column.reading.qualifiers.unit ??
    stated ??
    (bare === 0
      ? undefined
      : guess.ask({
          id: 'weightIn',
          text: `In which unit is '${column.header}'?`,
          reason:
            words.length === 0
              ? 'neither the header nor the cells name it'
              : `${bare} of ${weights.length} values have no unit`,
          answers: ['kg', 'g', 'lb', 'oz'].map((value) => ({ value, label: value })),
        }));
  if (style === undefined || (bare > 0 && unit === undefined)) return undefined;
  if (words.length === 0 && unit === undefined) {
    guess.leaveOut(column, 'no row that was read has a weight, and its header names no unit');
    return undefined;
  }
  const name = guess.use('weight', column);
  if (words.length === 0 && unit !== undefined) {
    const format = style.decimal === '.' ? 'number' : { number: { decimal: style.decimal } };
    return { value: [name, format], unit };
  }
  const hasSigns = signs.point.length + signs.comma.length + signs.either.length > 0;
  const steps: Transform[] = [
    ...(hasSigns ? POINT_STEPS[style.decimal] : []),
    ...(bare === 0 || unit === undefined ? [] : [{ replace: '^([0-9.]+)$', with: `$1 ${unit}` }]),
  ];
  return { value: steps.length === 0 ? name : [name, ...steps], unit: 'cell' };
}

/** The steps that write a number with a decimal point, as weights with units need it. */
const POINT_STEPS: Readonly<Record<',' | '.' | 'auto', readonly Transform[]>> = {
  ',': [{ replace: '[.]' }, { replace: ',', with: '.' }],
  '.': [{ replace: ',' }],
  auto: [{ replace: ',', with: '.' }],
};
