import { FALLBACK, weightUnit } from '../../mapping/compile-mapping.ts';
import type { Condition, Transform, Value, VariantsSpec } from '../../mapping/spec/mapping-spec.ts';
import { recordOf, withoutAbsent } from '../../model/json-object.ts';
import { askShown, type DecimalSign, findDecimal, outliersOf } from './amount-reader.ts';
import { isUnknown } from './draft-hidden.ts';
import { partOf } from './draft-spread.ts';
import {
  countedShare,
  type Guess,
  isCalled,
  isExactlyCalled,
  isMentioned,
  LEAVE_OUT,
  readBy,
} from './guess.ts';
import { hasWord, readContactHeader, wordsOfHeader } from './header-reading.ts';
import {
  areDates,
  areFlags,
  availabilityOf,
  booleanOf,
  isMarked,
  isMissingValue,
  isMostly,
  MAX_STATES,
  markedRows,
  type NumberSigns,
  otherWords,
  readAmount,
  readCount,
  readWeight,
  type SampledColumn,
  shareOf,
  signsOf,
  wordsIn,
} from './sampled-column.ts';
import { isCellWord, words } from './words.ts';

/** The stock: a number of pieces, or words that say whether there are any. */
export function draftQuantity(guess: Guess, isSpread = false): Value | undefined {
  const counted = guess
    .freeCalled('quantity')
    .filter(({ values }) => values.some((value) => /[1-9]/.test(value)));
  const [order, second] = guess.free.filter(isOfOrders).filter(({ values }) => values.length > 0);
  if (isSpread)
    guess.askUnclear(
      'quantity',
      counted,
      `each variant of a row would have the stock of '${counted[0]?.header}'`,
    );
  if (order !== undefined && (second !== undefined || order.distinct < order.values.length))
    guess.askUnclear(
      'quantity',
      counted,
      `'${order.header}' may be that of orders, and '${counted[0]?.header}' what was ordered`,
    );
  // Stock US is in no language beside Stock EU: it is asked about as a part of the stock.
  const parts = guess.free.filter((one) => partOf(one) === 'quantity');
  if (
    counted.length === 1 &&
    parts.length > 1 &&
    parts.some((one) => counted.includes(one)) &&
    guess.given('quantity') === undefined
  )
    return undefined;
  if (guess.isAsked('quantity')) return undefined;
  const isCount = (value: string) => readCount(value) !== undefined || isMissingValue(value);
  const isWord = (value: string) => availabilityOf(value) !== undefined || booleanOf(value) !== undefined;
  const count = guess.pick('quantity', {
    fits: (column) =>
      !/[+±Δ]/.test(column.header) &&
      shareOf(column, isCount) >= 0.5 &&
      isMostly(column, (value) => isCount(value) || isWord(value)),
    shown: (column) =>
      countedShare(column, (value) => readCount(value) !== undefined, 'are numbers of pieces'),
    prefer: ({ values }) => !values.every((value) => /^[01]$/.test(value)),
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
            !isCalled(column, 'visible'),
        ),
      shown: (column) => countedShare(column, isWord, 'are words for in stock or sold out'),
    });
  if (words === undefined) {
    const unclear = guess.free.filter(
      (column) =>
        isMentioned(column, 'quantity', 'availability') &&
        isMostly(column, (value) => isCount(value) || isWord(value)),
    );
    const unread = guess
      .freeCalled('quantity', 'availability')
      .filter(
        (column) =>
          !isCalled(column, 'visible', 'soldOut') &&
          column.values.length > 0 &&
          column.distinct <= MAX_STATES,
      );
    const asked = unread.length > 0 || unclear.length > 1 ? unread : unclear;
    guess.askUnclear('quantity', asked, `'${asked[0]?.header}' may be the stock`);
    return undefined;
  }
  askShown(
    guess,
    words,
    (value, beside) => readCount(value) !== undefined || isCellWord(beside, 'available'),
  );
  const hasFlags = isFlag(guess, words);
  if (hasFlags === undefined) return undefined;
  const unlimited = hasFlags ? [] : outliersOf(words);
  const countOf = (value: string) => (hasFlags || unlimited.includes(value) ? undefined : readCount(value));
  const counts = words.values.flatMap((value) => countOf(value) ?? []);
  const signs = signsOf(counts.map(({ digits }) => digits));
  const all = guess.columns.flatMap(({ values }) =>
    values.flatMap((value) => readAmount(value)?.digits ?? []),
  );
  const decimal = signs.hasAny ? findDecimal(guess, words.header, signs, signsOf(all)) : undefined;
  if (signs.hasAny && decimal === undefined) return undefined;
  const other = [...new Set(words.values.filter((value) => countOf(value) === undefined))];
  const meanings = other.map((value) => [value.toLowerCase(), meaningIn(guess, words, value)] as const);
  if (meanings.some(([, meaning]) => meaning === undefined)) return undefined;
  const lookup = Object.fromEntries(
    meanings.flatMap(([word, meaning]) =>
      meaning === 'reject' || meaning === 'count' ? [] : [[word, meaning === 'available' ? null : '0']],
    ),
  );
  const units = [...new Set(counts.flatMap(({ unit }) => (unit === '' ? [] : [unit.toLowerCase()])))];
  if (counts.some(({ isAtLeast }) => isAtLeast))
    guess.notes.push(
      `'${words.header}': the number is sent for values such as '${words.values.find((value) => readCount(value)?.isAtLeast === true)}'.`,
    );
  const steps: Transform[] = withoutAbsent([
    other.length !== 0 && { lookup, [FALLBACK]: counts.length > 0 ? ('keep' as const) : ('reject' as const) },
    units.length !== 0 && { replace: `(?i) *(${units.join('|')})\\.? *([+]?)$`, with: '$2' },
    counts.some(({ isAtLeast }) => isAtLeast) && { replace: '^[^0-9-]*([0-9][0-9.,]*) *[+]?$', with: '$1' },
    decimal !== undefined && { number: writtenBy(decimal, signs) },
    'integer',
    { min: 0 },
  ]);
  return [guess.use('quantity', words), ...steps];
}

/** Whether a column names an order or its customer, by number, name, address or date: no Customer rating. */
function isOfOrders(column: SampledColumn) {
  const { headerParts, crosswalk } = words();
  const others = wordsOfHeader(column.header).filter((word) => !headerParts.orders.has(word));
  const isOfContact = readContactHeader(others.join(' ')).meanings.some(
    ({ concept, how }) => how === 'exact' && concept !== 'tags' && concept !== 'confirmed',
  );
  return (
    isUnknown(column) &&
    hasWord(column.header, 'orders') &&
    (isOfContact || areDates(column) || others.every((word) => crosswalk.number.has(word)))
  );
}

/** Asks about columns that have a part of the stock, or mark what is sold out: what they take from it, according to answers. */
export function askStock(guess: Guess) {
  const stock = guess.used.get('quantity')?.column;
  const isTaking = (value: string) => readCount(value) !== undefined && /[1-9]/.test(value);
  /** What the stock is reduced by. */
  let reserved: Value | undefined;
  /** 0 for rows that are sold out, whatever the stock is. */
  const soldOut: Value[] = [];
  /** Which rows can be bought whatever the stock is. */
  let untracked: Condition | undefined;
  for (const column of guess.free) {
    const value = column.values.find(isTaking);
    const isReserving = isExactlyCalled(column, 'reserved') || isMentioned(column, 'reserved');
    if (stock === undefined || !isReserving || value === undefined) continue;
    const isPlain = column.values.every((one) => /^\d+$/.test(one));
    const why = `has values such as '${value}', and may be a part of the stock that can be sold no more`;
    if (guess.askUnused([column], why, isPlain ? [LEAVE_OUT, SUBTRACT] : [LEAVE_OUT]) === 'subtract')
      reserved = [guess.useAnswered('reserved', column), 'integer', { times: -1 }];
  }
  const isSold = (cell = '1') =>
    !/^(?:0+|-\d.*)$/.test(cell) && availabilityOf(cell) !== false && booleanOf(cell) !== false;
  for (const column of guess.freeCalled('soldOut', 'availability')) {
    const areMarks = isCalled(column, 'soldOut');
    // The warehouse is called so too, as a number of pieces is.
    const mayBePlace = isCalled(column, 'quantity') && !areFlags(column);
    if (areMarks ? !areFlags(column) : stock === undefined || mayBePlace) continue;
    const isOut = areMarks ? isMarked : mayBeSoldOut;
    const row = column.cells.findIndex((cell, at) => isOut(cell) && isSold(stock?.cells[at]));
    if (row === -1) continue;
    const amount = stock?.cells[row];
    const word = column.cells[row]?.toLowerCase() ?? '';
    const isUnread = (one: string) => availabilityOf(one) === undefined && booleanOf(one) === undefined;
    const out = wordsIn(column).filter(isOut);
    const more = areMarks ? [] : out.filter((one) => one !== word && isUnread(one)).slice(0, MAX_STATES);
    const why = `has '${column.cells[row]}' for a product that ${amount ? `has a stock of ${amount}` : 'can be bought without it'}${otherWords(more)}`;
    const offered = [LEAVE_OUT, areMarks ? SOLD_OUT : OTHERS_SOLD_OUT];
    if (guess.askUnused([column], why, offered) !== 'sold-out') continue;
    const name = guess.useAnswered('soldOut', column);
    // A word that the question does not name rejects its product.
    const named = out.filter((one) => one === word || more.includes(one) || !isUnread(one));
    soldOut.push(
      areMarks
        ? { value: { const: 0 }, when: markedRows(name, column, isOut) }
        : {
            value: [name, { lookup: recordOf(named, () => 0), [FALLBACK]: 'reject' }],
            unless: sayingBuyable(name, column),
          },
    );
  }
  for (const column of guess.freeCalled('tracked', 'backorder')) {
    const isTracking = isCalled(column, 'tracked');
    const areMarks = areFlags(column);
    const isBuyable = (cell: string) => {
      if (isTracking) return cell === '' || booleanOf(cell) === false;
      return areMarks ? isMarked(cell) : isCellWord(cell, 'backorders');
    };
    const row = column.cells.findIndex((cell, at) => isBuyable(cell) && !isSold(stock?.cells[at]));
    if (row === -1) continue;
    const cell = column.cells[row];
    const shown = cell === '' ? 'is blank' : `has '${cell}'`;
    const why = `${shown} for a stock of ${stock?.cells[row]}, which is sent as sold out`;
    if (guess.askUnused([column], why, [LEAVE_OUT, BUYABLE]) === 'buyable') {
      const name = guess.useAnswered('untracked', column);
      untracked = isTracking ? { [name]: ['blank', 'no'] } : markedRows(name, column, isBuyable);
    }
  }
  return { reserved, soldOut, untracked };
}

const SUBTRACT = { value: 'subtract', label: 'a part of the stock, which is subtracted' };
const BUYABLE = { value: 'buyable', label: 'such products can be bought: their stock is not sent' };
const SOLD_OUT = { value: 'sold-out', label: 'the marked products are sold out: their stock is 0' };

const OTHERS_SOLD_OUT = {
  ...SOLD_OUT,
  label: 'whatever it does not say can be bought is sold out: its stock is 0',
};

/** The condition for cells beside a stock that say that a product can be bought. */
function sayingBuyable(name: string, column: SampledColumn): Condition {
  const words = { [name]: ['yes', ...wordsIn(column).filter((word) => !mayBeSoldOut(word))] };
  const hasCounts = column.values.some((value) => readCount(value) !== undefined);
  return hasCounts ? { any: [words, { [name]: { matches: '.*[0-9].*' } }] } : words;
}

/** Whether a word beside a stock does not say that the product can be bought. */
function mayBeSoldOut(word: string) {
  const known = availabilityOf(word) ?? booleanOf(word);
  const isOther = word === '' || isMissingValue(word) || isCellWord(word, 'backorders');
  return known === false || (known === undefined && !isOther && readCount(word) === undefined);
}

/** The stock, less what is reserved; 0 of what is sold out. */
export function stockOf(
  { reserved, soldOut, untracked }: ReturnType<typeof askStock>,
  stock: Value | undefined,
): Value | undefined {
  const whole: Value | undefined =
    stock === undefined || reserved === undefined ? stock : [{ sum: [stock, reserved] }, { min: 0 }];
  const free = whole === undefined || untracked === undefined ? whole : { value: whole, unless: untracked };
  const values = withoutAbsent([...soldOut, free]);
  return values.length > 1 ? { first: values } : values[0];
}

/** Whether 0 and 1 say that a product is sold out or available; undefined while it is asked whether they are numbers of pieces. */
function isFlag(guess: Guess, column: SampledColumn) {
  const isBinary = column.values.length > 0 && column.values.every((value) => /^[01]$/.test(value));
  if (!isBinary || !isExactlyCalled(column, 'availability') || guess.given('quantity') !== undefined)
    return false;
  if (!isCalled(column, 'quantity') || guess.given('availability') !== undefined) return true;
  const answer = guess.askUnused([column], 'has only 0 and 1', [
    { value: 'pieces', label: 'the number of pieces' },
    { value: 'available', label: '1: it can be bought, and its stock is not tracked; 0: it is sold out' },
  ]);
  return answer === undefined ? undefined : answer === 'available';
}

/** What a word in the stock means; undefined while that is asked. */
function meaningIn(guess: Guess, column: SampledColumn, word: string) {
  if (isMissingValue(word)) return 'available';
  const known = availabilityOf(word) ?? booleanOf(word);
  if (known !== undefined) return known ? 'available' : 'sold-out';
  return guess.askWord(word, column, {
    ...(readCount(word) !== undefined && { count: `there are ${word} pieces` }),
    available: 'the product can be bought; its stock is not tracked',
    'sold-out': 'it is sold out: the stock is 0',
    reject: 'reject its products',
  });
}

/** The weight with its unit: of the cells, else of the header; asked where neither names it. */
export function draftWeight(guess: Guess): VariantsSpec['weight'] {
  const isWeight = (value: string) => readWeight(value) !== undefined;
  const column = guess.pick('weight', {
    fits: (one) => one.reading.qualifiers.isPerMeasure !== true && isMostly(one, isWeight),
    shown: (one) => countedShare(one, isWeight, 'are weights'),
  });
  if (column === undefined) return undefined;
  const weights = column.values.flatMap((value) => readWeight(value) ?? []);
  const signs = signsOf(weights.map(({ digits }) => digits));
  const decimal = findDecimal(guess, column.header, signs, signsOf([]));
  const words = [...new Set(weights.flatMap(({ unitWord }) => (unitWord === '' ? [] : [unitWord])))];
  const bare = weights.filter(({ unitWord }) => unitWord === '').length;
  const beside = words.length === 0 ? unitBeside(guess, column) : undefined;
  const inHeader = column.reading.qualifiers.unit;
  const other = beside?.values.find((value) => inHeader !== undefined && weightUnit(value) !== inHeader);
  const named = other === undefined ? inHeader : undefined;
  const isStated = beside !== undefined && other === undefined && isOfWeight(beside, column);
  const missing =
    words.length === 0
      ? 'neither the header nor the cells name it'
      : `${bare} of ${weights.length} values have no unit`;
  const unit =
    named !== undefined || bare === 0 || isStated
      ? named
      : guess.ask({
          id: 'weightIn',
          text: `In which unit is '${column.header}'?`,
          reason: other === undefined ? missing : `'${beside?.header}' has '${other}'`,
          answers: [
            ...['kg', 'g', 'lb', 'oz'].map((value) => ({ value, label: value })),
            ...(beside === undefined ? [] : [{ value: beside.header, label: `as '${beside.header}' says` }]),
          ],
        });
  if (decimal === undefined || (bare > 0 && unit === undefined && !isStated)) return undefined;
  const format: Transform = decimal === '.' ? 'number' : { number: { decimal } };
  if (beside !== undefined && (isStated || unit === beside.header)) {
    guess.claim('weightUnit', beside, countedShare(beside, isWeightUnit, 'are units of weight'), 'certain');
    return { value: [guess.use('weight', column), format], unit: guess.use('weightUnit', beside) };
  }
  if (words.length === 0 && unit === undefined) {
    guess.leaveOut(column, 'no row that was read has a weight, and its header names no unit');
    return undefined;
  }
  const name = guess.use('weight', column);
  if (words.length === 0 && unit !== undefined) {
    return { value: [name, format], unit };
  }
  const steps = bare === 0 || unit === undefined ? [] : [{ replace: '^([0-9.,]+)$', with: `$1 ${unit}` }];
  return { value: readBy(name, steps), unit: 'cell', number: writtenBy(decimal, signs) };
}

function isWeightUnit(value: string) {
  return weightUnit(value) !== undefined;
}

/** A column with the units of a weight: called that, a path such as weight.unit, or called a unit. */
function unitBeside(guess: Guess, weight: SampledColumn) {
  const found = guess.free.filter((column) => column !== weight && shareOf(column, isWeightUnit) >= 0.5);
  return found.find((column) => isOfWeight(column, weight)) ?? (found.length === 1 ? found[0] : undefined);
}

/** Whether the header of a column says that it has the units of a weight. */
function isOfWeight(column: SampledColumn, { header }: SampledColumn) {
  const isPath = column.header.startsWith(header) && /^[.@]/.test(column.header.slice(header.length));
  return isPath || isExactlyCalled(column, 'weightUnit');
}

/** How numbers are written; with a thousands sign if some have it, as then three decimals are refused. */
function writtenBy(decimal: DecimalSign, { either }: NumberSigns) {
  const thousands = decimal === ',' ? '.' : ',';
  const isGrouped = decimal !== 'auto' && either.some((value) => value.includes(thousands));
  return { decimal, ...(isGrouped && { thousands }) };
}
