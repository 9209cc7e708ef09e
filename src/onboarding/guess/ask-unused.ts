import type { Condition, Value } from '../../mapping/spec/mapping-spec.ts';
import { sumOf } from '../../model/json-object.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { truncate } from '../../text/printable.ts';
import type { Concept } from '../column-fields.ts';
import { isUnknown, isUnpublished, isWithdrawal } from './draft-hidden.ts';
import { areWrittenAlike } from './draft-prices.ts';
import { askStock } from './draft-quantity.ts';
import { partOf } from './draft-spread.ts';
import {
  type CandidateAnswer,
  type Guess,
  isCalled,
  isExactlyCalled,
  isMentioned,
  LEAVE_OUT,
} from './guess.ts';
import {
  changesPrices,
  hasPart,
  hasPhrase,
  hasWord,
  readProductHeader,
  wordsOfHeader,
} from './header-reading.ts';
import {
  areDates,
  areFlags,
  booleanOf,
  isAmount,
  isMarked,
  isMissingValue,
  isMostly,
  MAX_STATES,
  markedRows,
  readCount,
  type SampledColumn,
} from './sampled-column.ts';
import { currencyCode, isCellWord, words } from './words.ts';

/** What the mapping reads from unused columns, according to answers. */
export type AppliedColumns = ReturnType<typeof askUnused>;

/**
 * Asks about unused columns that change the price of a product, its stock or whether it is sold. To leave them out silently
 * could send wrong prices or stock, and so could using them.
 */
export function askUnused(guess: Guess) {
  const { free } = guess;
  const isTaken = (...fields: readonly string[]) => guess.fields().some((field) => fields.includes(field));
  let quantity: Value | undefined;
  const discount: { percent?: Value; amount?: Value; plus?: Value } = {};
  const during: { from?: Value; to?: Value; when?: Condition } = {};

  /** Asks about each column in which a value shows the doubt. All that is offered is to leave it out. */
  const doubt = (
    columns: readonly SampledColumn[],
    shows: (value: string) => boolean,
    why: (value: string) => string,
  ) => {
    for (const column of columns) {
      const value = [...new Set(column.values)].find(shows);
      if (value !== undefined) ask(guess, [column], why(value));
    }
  };

  const mayAdd = (column: SampledColumn) =>
    isExactlyCalled(column, 'surcharge') || (isUnknown(column) && isMentioned(column, 'surcharge'));
  for (const column of free.filter((one) => mayAdd(one) && one.values.some(isDiscount))) {
    const why = `${shown(column, isDiscount)} may be added to the price`;
    if (ask(guess, [column], why, column.values.every(mayBeSurcharge) ? ADD : []) !== undefined)
      once(discount, 'plus', [guess.useAnswered('surcharge', column), ...SURCHARGE_STEPS], column);
  }
  const withoutTax = (value: string) => `has '${value}': prices may be without tax`;
  const stated = [...free, ...guess.beside];
  for (const tax of ['gross', 'net'] as const)
    doubt(
      stated.filter(
        (one) =>
          areFlags(one) &&
          (taxOf(one.header) === tax || (tax === 'gross' && isExactlyCalled(one, 'taxIncluded'))),
      ),
      (value) => booleanOf(value) === (tax === 'net'),
      withoutTax,
    );
  for (const column of stated.filter(({ distinct }) => distinct <= MAX_STATES))
    doubt(
      [column],
      (value) =>
        taxOf(value) === 'net' || taxOf(`${column.header.replace(/^.*[.@]/s, '')} ${value}`) === 'net',
      withoutTax,
    );
  const line = guess.lines.find(changesPrices);
  if (line !== undefined)
    guess.ask({
      id: 'unused.lines',
      text: 'May the lines beside the table be left out?',
      reason: `one says '${truncate(line, MAX_LINE_SHOWN)}': prices may not be what customers pay for one piece`,
      answers: [LEAVE_OUT],
    });
  doubt(
    [...guess.freeCalled('priceUnit'), ...stated.filter((one) => isOfUnits(guess, one))],
    (value) => !isPiece(value) && !hasWord(value, 'hundredths'),
    (value) => `${suchAs(value)} may say for what the price is, if not for a piece`,
  );
  doubt(
    free.filter(
      (one) =>
        isUnnamed(one) &&
        !guess.isNamed(one.header) &&
        !isOfContent(guess, one) &&
        !isMentioned(one, 'weight') &&
        isMostly(one, (value) => isPiece(value) || isMeasure(value)),
    ),
    (value) => isMeasure(value) && !isPiece(value),
    (value) => `${suchAs(value)} prices and stock may be for that, not for a piece`,
  );
  doubt(
    free.filter((one) => isUnnamed(one) && !guess.isNamed(one.header) && one.values.some(isPieceWord)),
    (value) => /^\p{L}.{0,30} \d+$/u.test(value) && !isPiece(value),
    (value) => `has '${value}', and prices and stock may be for that, not for a piece`,
  );
  doubt(
    guess.freeCalled('currency').filter(({ distinct }) => distinct > 1),
    () => true,
    (value) => `${suchAs(value)} prices may be in several currencies`,
  );
  if (isTaxOpen(guess))
    doubt(
      guess.freeCalled('taxRate'),
      (value) => /^\d+(?:[.,]\d+)?\s?%?$/.test(value) && isDiscount(value),
      (value) => `${suchAs(value)} the prices may be without it`,
    );
  const composition = compositionIn(free);
  if (!isTaken('sale', 'was'))
    for (const column of free.filter((one) => mayBeDiscount(one) && one.values.some(isDiscount))) {
      if (composition.includes(column)) continue;
      const why = `${shown(column, isDiscount)} may be a discount on the price`;
      const answer = ask(guess, [column], why, discountAnswers(column));
      if (answer === undefined) continue;
      const share = answer.value === 'share' ? [{ times: 100 }] : [];
      const value: Value = [guess.useAnswered('discount', column), ...DISCOUNT_STEPS, ...share];
      once(discount, answer.value === 'amount' ? 'amount' : 'percent', value, column);
    }
  const hasDiscount = discount.percent !== undefined || discount.amount !== undefined;
  if (isTaken('sale', 'was') || hasDiscount)
    for (const column of free.filter((one) => mayLimitSale(guess, one))) {
      const why = `${shown(column)} may limit the sale; without it the sale is sent to all, and as already begun`;
      const answer = ask(guess, [column], why, hasDiscount ? [] : dateAnswers(column));
      if (answer === undefined) continue;
      const [begins, format = 'iso'] = [answer.value.startsWith('begins'), answer.format];
      const name = guess.useAnswered(begins ? 'saleFrom' : 'saleTo', column);
      once(during, begins ? 'from' : 'to', [name, { date: { formats: [format] } }], column);
    }
  for (const column of guess.freeCalled('onSale', 'sale').filter(areFlags)) {
    const row = column.cells.findIndex((cell, at) => !isMarked(cell) && isReduced(guess, at));
    if (row === -1) continue;
    const cell = column.cells[row];
    const why = `${cell === '' ? 'is blank' : `has '${cell}'`} for a product with a sale price`;
    if (ask(guess, [column], why, WHERE_MARKED) !== undefined)
      once(during, 'when', markedRows(guess.useAnswered('onSale', column), column), column);
  }
  for (const column of free) {
    const { header, cells, distinct, values } = column;
    const differ =
      !areDates(column) && new Set(cells).size > 1 && (distinct <= MAX_STATES || cells.includes(''));
    const isAboutPrice = isUnknown(column) && isMentioned(column, 'price') && distinct <= MAX_STATES;
    const isOfOne = cells.includes('') && wordsOfHeader(header).length === 1 && hasWord(header, 'orders');
    const isKind = distinct > 1 && (isAboutPrice || (hasWord(header, 'conditions') && !areSound(column)));
    const isLimit =
      differ &&
      (hasPart(header, 'limits') ||
        (!areFlags(column) && !isMostly(column, isAmount) && (isOfOne || isKind)));
    const texts = [...new Set(values)].slice(0, 3).join("', '");
    if (texts !== '' && !guess.isNamed(header) && (isLimit || hasPart(header, 'billing')))
      ask(guess, [column], `has '${texts}', and may limit how, where or for which time products are sold`);
  }
  const mayHide = guess.answers['column.visible'] !== '';
  doubt(
    free.filter((one) => isUnnamed(one) && one.distinct <= MAX_STATES && !guess.isNamed(one.header)),
    (value) =>
      hasPhrase(value, 'removed') || isCellWord(value, 'removedAlone') || (mayHide && isUnpublished(value)),
    (value) => `has '${value}', and may mark products that may no longer be sold`,
  );
  if (!isTaken('visible', 'hidden') && !guess.isAsked('visible'))
    doubt(
      free.filter(isWithdrawal),
      isMarked,
      (value) => `${suchAs(value)} marks products that may not be sold`,
    );
  if (isTaken('price'))
    doubt(
      stated.filter(({ distinct }) => distinct <= MAX_STATES),
      // Without the number of a list or its year: Dealer 2026.
      (value) => isCellWord(value.replace(/[ \d.:/-]{0,12}$/, ''), 'dealers'),
      (value) => `has '${value}': the prices may not be those of customers`,
    );
  if (!guess.isAsked('price'))
    doubt(
      free.filter((one) => mayBePrice(guess, one)),
      () => true,
      (value) =>
        `${suchAs(value)} may be a price; to use it, make it the sale price (sale) or the price before (was)`,
    );
  const stock = askStock(guess);
  for (const [concept, all] of spreadOver(free)) {
    const isStock = concept === 'quantity';
    if (isStock && isTaken('quantity')) continue;
    const columns = isStock ? withoutTotals(all) : all;
    const answer = ask(
      guess,
      columns,
      isStock ? 'each have a part of the stock' : 'may be variants',
      isStock && columns.every(({ values }) => values.every((value) => /^-?\d+$/.test(value))) ? SUM : [],
    );
    if (answer === undefined) continue;
    quantity = [
      { sum: columns.map((column): Value => [guess.useAnswered('stock', column), 'integer']) },
      { min: 0 },
    ];
  }
  return { discount, during, quantity, ...stock };
}

/** Whether all goods are new, used or the like, and none defect: that limits no sale. */
function areSound({ values }: SampledColumn) {
  return values.every((value) => isMissingValue(value) || isCellWord(value, 'soundness'));
}

/** The columns without those whose cells are each the sum of those of the others, unless fewer than two are left. */
function withoutTotals(columns: readonly SampledColumn[]) {
  const sums = columns[0]?.cells.map((_, row) =>
    columns.reduce((sum, { cells }) => sum + Number(cells[row]), 0),
  );
  const parts = columns.filter(({ cells }) => !cells.every((cell, row) => 2 * Number(cell) === sums?.[row]));
  return parts.length < 2 ? columns : parts;
}

/** An answer other than to leave the column out. */
interface Applying extends CandidateAnswer {
  /** How its dates are written. */
  readonly format?: string;
}

const MAX_LINE_SHOWN = 100;

const SUM: readonly Applying[] = [{ value: 'sum', label: 'each a part of the stock, which is their sum' }];

const ADD: readonly Applying[] = [{ value: 'add', label: 'an amount to add to the price' }];
const SURCHARGE_STEPS = [
  { replace: '^[+] *' },
  { number: { decimal: 'either', currency: 'strip' } },
] as const;

const WHERE_MARKED: readonly Applying[] = [
  { value: 'where-marked', label: 'only the marked products are on sale' },
];

function mayBeSurcharge(value: string) {
  return isAmount(value.replace(/^\+ ?/, ''));
}

/** Whether a value stands for one piece: 1, pc, per piece; a column of price units may also have the currency. */
function isPiece(value: string) {
  const { headerParts, cells } = words();
  const known = [headerParts.perPiece, headerParts.piece, cells.pieces];
  const parts = value.toLowerCase().replace(/\.$/, '').split(' ');
  return (
    isMissingValue(value) ||
    currencyCode(value) !== undefined ||
    parts.every((part) => /^1(?:[.,]0{1,9})?$/.test(part) || known.some((some) => some.has(part)))
  );
}

/** Whether a word says that one piece is sold: each. */
function isPieceWord(value: string) {
  return (
    /\p{L}/u.test(value) && !isMissingValue(value) && currencyCode(value) === undefined && isPiece(value)
  );
}

/** Whether a value is a unit of measure, or for what a price is: kg, ml, per case; a capital letter is a size or a mark. */
function isMeasure(value: string) {
  const { measures, perPiece } = words().headerParts;
  const [first = '', second] = value.toLowerCase().replace(/\.$/, '').split(' ');
  return second === undefined ? measures.has(first) && !/^\p{Lu}$/u.test(value) : perPiece.has(first);
}

/** Whether a column has the units of what is sold: called that, or with other words that only are about prices. */
function isOfUnits(guess: Guess, column: SampledColumn) {
  const { mentions } = column.reading;
  const isAbout = mentions.has('unit') && [...mentions].every((one) => one === 'unit' || one === 'price');
  const isCalledUnit = isExactlyCalled(column, 'unit') || isAbout;
  return isCalledUnit && !isOfContent(guess, column) && !guess.isNamed(column.header);
}

/** Whether a header or a cell says that a price is with or without tax. */
function taxOf(text: string) {
  const { meanings, qualifiers } = readProductHeader(`price ${text}`);
  return meanings.some(({ concept }) => concept === 'price') ? qualifiers.tax : undefined;
}

/** Whether a unit is that of the numbers before it, which are a size: Inhalt 250, Einheit ml. */
function isOfContent({ columns }: Guess, unit: SampledColumn) {
  const before = columns[columns.indexOf(unit) - 1];
  return before !== undefined && isCalled(before, 'option', 'size') && isMostly(before, isAmount);
}

/** Whether neither the header of the price nor another price says whether it is with tax. */
function isTaxOpen(guess: Guess) {
  const prices = guess.columns.filter((column) => isCalled(column, 'price', 'regular'));
  return prices.every(({ reading }) => reading.qualifiers.tax === undefined);
}

/** A column called a discount, or one with percentages: of a sale, or of some products below an unknown header. */
function mayBeDiscount(column: SampledColumn) {
  const isOfSome = isUnknown(column) && column.cells.includes('');
  return (
    isExactlyCalled(column, 'discount') ||
    ((isExactlyCalled(column, 'sale') || isOfSome) && arePercentages(column))
  );
}

function arePercentages(column: SampledColumn) {
  return isMostly(column, (value) => isMissingValue(value) || DISCOUNT.exec(value)?.[1] === '%');
}

/** Columns with the parts of what products are made of: percentages below unknown headers, which are 100 together in most of their rows. */
function compositionIn(columns: readonly SampledColumn[]): readonly SampledColumn[] {
  const parts = columns.filter((column) => isUnknown(column) && arePercentages(column));
  const shareAt = ({ cells }: SampledColumn, row: number) =>
    Number.parseFloat(cells[row]?.replace(',', '.') ?? '') || 0;
  return parts.filter((part) => {
    const rows = [...part.cells.keys()].filter((row) => shareAt(part, row) > 0);
    const whole = rows.filter((row) => Math.abs(sumOf(parts, (one) => shareAt(one, row)) - 100) < 1);
    return whole.length * 2 > rows.length && whole.some((row) => shareAt(part, row) < 99);
  });
}

/** Whether a row has a price during a sale that differs from its other price. */
function isReduced({ used }: Guess, row: number) {
  const cellOf = (name: string) => used.get(name)?.column.cells[row] ?? '';
  return ['sale', 'was'].some((name) => /[1-9]/.test(cellOf(name)) && cellOf(name) !== cellOf('price'));
}

/** Whether a column limits a sale: it is called so, its words are about a sale, or it is filled just where there is one. */
function mayLimitSale(guess: Guess, column: SampledColumn) {
  const { cells, values } = column;
  if (isCalled(column, 'saleDate')) return values.length > 0;
  if (guess.isNamed(column.header) || areFlags(column) || arePercentages(column)) return false;
  const isFilledAlike = () => cells.every((cell, row) => (cell !== '') === isReduced(guess, row));
  const isAbout = isCalled(column, 'sale') || isMentioned(column, 'sale', 'saleDate');
  return (
    values.length > 0 &&
    ((isAbout && !isMostly(column, isAmount)) ||
      (isUnknown(column) && values.length < cells.length && isFilledAlike()))
  );
}

/** Whether nothing is known of the header. */
function isUnnamed({ reading }: SampledColumn) {
  return reading.meanings.every(({ concept, how }) => concept === 'none' || how === 'near');
}

/** Asks how to use columns; undefined without an answer, and if they are left out. */
function ask(
  guess: Guess,
  columns: readonly SampledColumn[],
  why: string,
  offered: readonly Applying[] = [],
) {
  const answers = offered.map(({ value, label }) => ({ value, label }));
  const answer = guess.askUnused(columns, why, [LEAVE_OUT, ...answers]);
  return offered.find(({ value }) => value === answer);
}

function once<Key extends string, Applied>(
  into: Partial<Record<Key, Applied>>,
  key: Key,
  value: Applied,
  { header }: SampledColumn,
) {
  if (into[key] !== undefined)
    throw new UsageError(`--unused '${header}': another column has the same answer.`, {
      hint: 'Leave one of them out: --unused HEADER=leave-out.',
    });
  into[key] = value;
}

const DISCOUNT = /^-?\d+(?:[.,]\d{1,3})?\s*(%?)$/;
const DISCOUNT_STEPS = [{ replace: '^-|[ %]+$' }, { number: { decimal: 'either' } }] as const;

const SHARE: Applying = { value: 'share', label: 'a share to subtract: 0.2 is 20 %' };

function discountAnswers({ header, values }: SampledColumn): readonly Applying[] {
  const discounts = values.filter((value) => !isMissingValue(value)).map((value) => DISCOUNT.exec(value));
  if (discounts.includes(null)) return [];
  const percent = { value: 'percent', label: 'a percentage to subtract from the price' };
  const amount = { value: 'amount', label: 'an amount to subtract from the price' };
  const isPercent = header.includes('%') || discounts.some((found) => found?.[1] === '%');
  if (isPercent) return [percent];
  const areShares = discounts.every((found) => /^-?0(?:[.,]|$)/.test(found?.[0] ?? ''));
  return [areShares ? SHARE : percent, amount];
}

const DATES: readonly (readonly [pattern: RegExp, format: string])[] = [
  [/^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?$/, 'iso'],
  [/^\d{4}\/\d{1,2}\/\d{1,2}$/, 'yyyy/M/d'],
  [/^\d{1,2}\.\d{1,2}\.\d{4}$/, 'd.M.yyyy'],
  [/^\d{1,2}-\d{1,2}-\d{4}$/, 'd-M-yyyy'],
  [/^\d{1,2}\/\d{1,2}\/\d{4}$/, 'd/M/yyyy'],
];

/** Whether the dates begin or end the sale; if no value shows it, also whether the day or the month is first. */
function dateAnswers({ values }: SampledColumn): readonly Applying[] {
  const dates = values.filter((value) => !isMissingValue(value));
  const format = DATES.find(([pattern]) => dates.every((value) => pattern.test(value)))?.[1];
  if (format === undefined || dates.length === 0) return [];
  const both = (suffix: string, words: string, written: string) => [
    { value: `begins${suffix}`, label: `the first day of the sale${words}`, format: written },
    { value: `ends${suffix}`, label: `the last day of the sale${words}`, format: written },
  ];
  const monthFirst = format.replace(/d(.)M/, 'M$1d');
  if (monthFirst === format || format === 'd.M.yyyy') return both('', '', format);
  const has = (part: 0 | 1) => dates.some((value) => Number(value.split(/\D/)[part]) > 12);
  if (has(0) !== has(1)) return both('', '', has(0) ? format : monthFirst);
  return [
    ...both('-day-first', ', the day first', format),
    ...both('-month-first', ', the month first', monthFirst),
  ];
}

function shown({ values }: SampledColumn, matches: (value: string) => boolean = () => true) {
  return suchAs(values.find(matches));
}

function suchAs(value: string | undefined) {
  return `has values such as '${value}', and`;
}

/** Whether a header that is not understood has the word for a price, or is nearly one. */
function mayBePrice({ columns }: Guess, column: SampledColumn) {
  const names = (...concepts: readonly Concept[]) =>
    isCalled(column, ...concepts) || isMentioned(column, ...concepts);
  // Counts and sizes are called so too: Min sale qty, ground clearance.
  const mayBeSale = () => columns.some((one) => isCalled(one, 'price') && areWrittenAlike(one, column));
  return (
    isUnknown(column) &&
    (names('price', 'was', 'regular') || (names('sale') && mayBeSale())) &&
    !column.reading.qualifiers.isPerMeasure &&
    isMostly(column, mayBeSurcharge)
  );
}

function isDiscount(value: string) {
  return /[1-9]/.test(value);
}

/** Groups of columns with counts, each column for one warehouse or one variant. */
function spreadOver(columns: readonly SampledColumn[]): ReadonlyMap<Concept, readonly SampledColumn[]> {
  const groups = Map.groupBy(
    columns.filter((column) => isMostly(column, isCount)),
    (column) => partOf(column),
  );
  return new Map([...groups].flatMap(([part, group]) => (part && group.length > 1 ? [[part, group]] : [])));
}

function isCount(value: string) {
  const isPrice = /[.,]\d{2}$/.test(value) && isAmount(value);
  return (
    (readCount(value) !== undefined && !isPrice) || booleanOf(value) !== undefined || isMissingValue(value)
  );
}
