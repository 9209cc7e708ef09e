import { FALLBACK } from '../../mapping/compile-mapping.ts';
import type { Condition, PricingSpec, Transform, Value } from '../../mapping/spec/mapping-spec.ts';
import { recordOf, withoutAbsent, withoutUndefined } from '../../model/json-object.ts';
import { currenciesNamed } from '../../model/row.ts';
import { counted, truncate } from '../../text/printable.ts';
import type { Concept } from '../column-fields.ts';
import {
  amountReader,
  askShown,
  type DecimalSign,
  digitsOf,
  findDecimal,
  outliersOf,
  WHOLE_CURRENCIES,
} from './amount-reader.ts';
import {
  countedShare,
  type Guess,
  isCalled,
  isExactlyCalled,
  meaningOf,
  quotedHeaders,
  sampleOf,
} from './guess.ts';
import { hasWord } from './header-reading.ts';
import {
  areFlags,
  isAmount,
  isMissingValue,
  isMostly,
  missingSteps,
  type NumberSigns,
  readAmount,
  type SampledColumn,
  shareOf,
  signsOf,
  wordsIn,
} from './sampled-column.ts';
import { currencyCode } from './words.ts';

/** The findings about the prices of a file. */
export interface PriceDraft {
  readonly pricing: PricingSpec;
  /** Rows that are left out on purpose: in another currency than the one that was answered. */
  readonly skip: { when: Condition; reason: string }[];
}

const mayBeAmount = (value: string) => isAmount(value) || isMissingValue(value);
const fits = (column: SampledColumn) => shareOf(column, isAmount) > 0 && isMostly(column, mayBeAmount);
const shown = (column: SampledColumn) => countedShare(column, isAmount, 'are amounts');

/**
 * Finds the prices, and how they are written. Undefined while a question about them is open. `known`: the price, where each
 * variant has it in a column of its own.
 */
export function draftPrices(guess: Guess, known: SampledColumn | undefined): PriceDraft | undefined {
  const price = known ?? pickPrice(guess);
  if (price === undefined) return undefined;
  const others = pickSale(guess, price);
  const columns = withoutAbsent([price, others.was, others.sale]);
  const sameKind = signsOf(guess.columns.filter(fits).flatMap(digitsOf));
  const fromPrices = askFromPrices(guess, columns);
  for (const column of columns)
    askShown(
      guess,
      column,
      (text, beside) =>
        (isAmount(text) && readAmount(text)?.from === undefined) || currenciesNamed(beside) !== undefined,
    );
  const asBlanks = askPlaceholders(guess, price);
  const { skip, ...currency } = draftCurrency(guess, price, columns);
  const areHundredths = askHundredths(guess, price, columns, sameKind) === 'hundredths';
  const read = (name: string, column: SampledColumn | undefined): Value | undefined => {
    if (column === undefined) return undefined;
    const signs = signsOf(digitsOf(column));
    const decimal = findDecimal(guess, column.header, signs, sameKind, currencyOf(column));
    const blanks = column === price ? asBlanks : [];
    return (
      decimal && [
        guess.use(name, column),
        ...blanks,
        ...amountSteps(column, decimal, fromPrices === 'send', areHundredths),
      ]
    );
  };
  const main = read('price', price);
  const was = read('was', others.was);
  const sale = read('sale', others.sale);
  if (main === undefined || guess.questions.length > 0) return undefined;
  const prices: PricingSpec =
    sale === undefined ? withoutUndefined({ price: main, was }) : { regular: main, sale };
  return { pricing: { ...prices, ...currency }, skip };
}

/** The only currency that a column names. */
function currencyOf(column: SampledColumn) {
  const inCells = currenciesInCells(column);
  const words = inCells.length === 0 ? currencyWords(column) : inCells;
  const [only, second] = new Set(words.map(currencyCode));
  return second === undefined ? only : undefined;
}

/** The column of the price: never one that is called net, cost, old or per kg without an answer that says so. */
function pickPrice(guess: Guess) {
  const settled = guess.settled('price', fits);
  if (settled !== undefined && settled !== 'none') return settled;
  const called = (concept: Concept, how: 'exact' | 'near') =>
    guess.free.filter((column) => {
      const { qualifiers } = column.reading;
      const { isPerMeasure, number, unit } = qualifiers;
      // In Cena (gr) the unit is one of money.
      const isPlain = !isPerMeasure && number === undefined && unit === undefined;
      return isPlain && meaningOf(column, [concept])?.how === how && fits(column);
    });
  const take = (column: SampledColumn, why: string) =>
    guess.claim(
      'price',
      column,
      `${guess.evidence(column, ['price', 'regular'], 'the price', shown(column))}${why}`,
      isExactlyCalled(column, 'price', 'regular') ? 'certain' : 'likely',
    );
  const exact = inWantedCurrency(guess, called('price', 'exact'));
  const prices = exact.length > 0 ? exact : called('price', 'near');
  const plain = prices.filter(({ reading }) => reading.qualifiers.tax === undefined);
  const gross = prices.filter(({ reading }) => reading.qualifiers.tax === 'gross');
  const net = prices.filter(({ reading }) => reading.qualifiers.tax === 'net');
  const [only, second] = [...plain, ...gross];
  if (only !== undefined && second === undefined) {
    if (net.length === 0) return take(only, '');
    const [netPrice] = net;
    const isPlain = plain.length === 1 && net.length === 1 && netPrice !== undefined;
    if (isPlain && isTaxAbove(only, netPrice))
      return take(only, `; it is '${netPrice.header}' with tax, which is not sent`);
  }
  if (prices.length > 0) {
    const names = quotedHeaders(prices, ' and ');
    const reason =
      prices.length > 1
        ? `${names} may all be the price that customers pay`
        : `${names} is called a net price, and no other column has the price`;
    guess.askColumn('price', [...prices, ...called('regular', 'exact')], reason, null);
    return undefined;
  }
  const regular = [...called('regular', 'exact'), ...called('regular', 'near')];
  const [base, another] = regular;
  if (base !== undefined && another === undefined && base.reading.qualifiers.tax !== 'net')
    return take(base, '');
  const [before, older] = called('was', 'exact');
  const isComplete = before?.values.length === before?.cells.length && called('sale', 'exact').length > 0;
  if (before !== undefined && older === undefined && regular.length === 0 && isComplete)
    return guess.claim(
      'price',
      before,
      `${guess.evidence(before, ['was'], 'the price before a sale', shown(before))}; no other column has the price`,
      'likely',
    );
  const amounts = guess.free.filter(fits);
  const priced = guess.columns.filter((column) => isCalled(column, 'price'));
  const [misfit] = priced;
  const damaged = priced.filter((column) => !fits(column) && shareOf(column, isAmount) > 0);
  guess.askColumn(
    'price',
    [...new Set([...damaged, ...regular, ...amounts.filter(mayBePrice)])],
    misfit === undefined || misfit.values.length === 0 || fits(misfit)
      ? 'no header is called a price that customers pay'
      : `'${misfit.header}' is called a price, but ${shown(misfit)} (the first is '${sampleOf(misfit)}')`,
    null,
  );
  return undefined;
}

/** Whether a column of amounts may have prices: its header names nothing else, and its values are neither codes nor row numbers. */
function mayBePrice({ header, reading, values }: SampledColumn) {
  const { meanings, mentions } = reading;
  if (meanings.some(({ concept }) => NO_PRICES.includes(concept))) return false;
  const namesPrice = [...PRICES].some((concept) => mentions.has(concept));
  if (!namesPrice && NO_PRICES.some((concept) => mentions.has(concept))) return false;
  if (!namesPrice && /(?:^|[^\p{L}])(?:id|code|nr|no|number|count|year)$|(?:\p{Ll})I[Dd]$/u.test(header))
    return false;
  return !values.every((value) => /^\d{8,}$/.test(value));
}

const PRICES: readonly Concept[] = ['price', 'regular', 'was', 'sale', 'cost', 'otherAmount', 'taxRate'];
const NO_PRICES: readonly Concept[] = [
  'sku',
  'gtin',
  'id',
  'position',
  'parent',
  'mpn',
  'quantity',
  'weight',
  'image',
  'taxRate',
  'unit',
  'none',
];

/** Of prices in several currencies, those in the one that an answer names. */
function inWantedCurrency(guess: Guess, prices: readonly SampledColumn[]) {
  const wanted = guess.answers['currency']?.toUpperCase();
  const fitting = prices.filter(
    ({ reading }) => currencyCode(reading.qualifiers.currencyWord ?? '') === wanted,
  );
  return wanted === undefined || fitting.length === 0 ? prices : fitting;
}

/** Whether a price is another with the same taxes added, on nearly every row. */
function isTaxAbove(price: SampledColumn, net: SampledColumn) {
  const amounts = (column: SampledColumn) =>
    column.cells.map((cell) => Number.parseFloat((readAmount(cell)?.digits ?? '').replaceAll(/[^\d]/g, '')));
  const nets = amounts(net);
  const ratios = amounts(price).flatMap((amount, row) => {
    const below = nets[row] ?? Number.NaN;
    return amount > 0 && below > 0 ? [amount / below] : [];
  });
  return ratios.length >= 2 && ratios.every((ratio) => ratio > 1.02 && ratio < 1.3);
}

/** The price before a sale or during it, where the file has one. */
function pickSale(guess: Guess, price: SampledColumn) {
  const { tax } = price.reading.qualifiers;
  const currencies = commonCurrencies(currencyWords(price));
  // A net price next to a gross price is not a sale price.
  const isLike = (column: SampledColumn) => {
    const { qualifiers } = column.reading;
    const own = commonCurrencies(currencyWords(column));
    const isMixed = [own, currencies].some((common) => common?.length === 0);
    return (
      (qualifiers.tax ?? tax ?? 'gross') === (tax ?? 'gross') &&
      (isMixed || own?.some((code) => currencies?.includes(code) ?? true) !== false) &&
      !qualifiers.isPerMeasure &&
      !column.header.includes('%')
    );
  };
  const pick = (field: 'was' | 'sale') =>
    guess.pick(field, { fits: (column) => fits(column) && isLike(column), shown });
  const [doubtfulSale] =
    guess.given('sale') === undefined ? doubtfulSales(guess.free.filter(isLike), price) : [];
  if (doubtfulSale !== undefined) guess.askColumn('sale', [doubtfulSale.column], doubtfulSale.reason);
  const sale = doubtfulSale === undefined ? pick('sale') : undefined;
  const hasWas = guess.freeCalled('was', 'regular').some((column) => fits(column) && isLike(column));
  if (sale !== undefined && hasWas && guess.given('was') === undefined) {
    const candidates = guess.free.filter((column) => isCalled(column, 'was', 'regular') && fits(column));
    guess.askColumn(
      'was',
      candidates,
      `'${sale.header}' is a price during a sale of '${price.header}'; with one of these, '${price.header}' is the price during the sale`,
    );
    return { was: undefined, sale };
  }
  const isOpen = sale === undefined && guess.given('was') === undefined;
  const [doubtful] = isOpen ? doubtfulWas(guess.free.filter(isLike), price) : [];
  if (doubtful !== undefined) guess.askColumn('was', [doubtful.column], doubtful.reason);
  const was = doubtful === undefined ? pick('was') : undefined;
  if (was !== undefined) askDealers(guess, price, was);
  for (const cost of guess.freeCalled('cost').filter(fits)) {
    const { pairs, reason } = compare(price, cost);
    if (guess.given('price') === undefined && pairs.length > 1 && areMost(pairs, ([now, paid]) => paid > now))
      guess.askColumn('price', [price, cost], reason, null);
  }
  const isReplaced = was !== undefined && sale !== undefined;
  if (isReplaced)
    guess.notes.push(`'${sale.header}' is not sent: '${was.header}' is the price before the sale.`);
  noteUnsent(guess, isLike);
  return { was, sale: isReplaced ? undefined : sale };
}

/** Asks for the price where most prices before a sale are more than twice as high: it may be the one that dealers pay. */
function askDealers(guess: Guess, price: SampledColumn, was: SampledColumn) {
  const { pairs } = compare(price, was);
  const high = pairs.filter(([now, before]) => before > 2 * now).length;
  if (guess.given('price') !== undefined || high < 2 || high * 2 <= pairs.length) return;
  const reason = `'${was.header}' is more than twice '${price.header}' on ${high} of ${pairs.length} rows`;
  guess.askColumn('price', [price, was], reason, null);
}

/** Columns that may have the price before a sale, where only the header or only the values show it. */
function doubtfulWas(columns: readonly SampledColumn[], price: SampledColumn) {
  const amounts = columns.filter((column) => shareOf(column, isAmount) > 0);
  const called = amounts.filter((column) => isCalled(column, 'was', 'regular'));
  if (called.length > 1) return [];
  const unnamed = called.length > 0 ? [] : amounts.filter((column) => namesNoPrice(column) && fits(column));
  return [...called, ...unnamed].flatMap((column) => {
    const { pairs, above, below, reason } = compare(price, column);
    if (called.length === 0) {
      const isLikely =
        above > 1 && areMost(pairs, ([now, before]) => before >= now && before <= now * MAX_MARKUP);
      return isLikely && areWrittenAlike(price, column)
        ? [{ column, reason: `${reason}; its header is not known` }]
        : [];
    }
    if (!fits(column)) return [misfit(column, column.values.find((value) => !isAmount(value)) ?? '')];
    return below > above ? [{ column, reason }] : [];
  });
}

/**
 * A column called the price during a sale whose values are above the price, or no amounts, or may be discounts; percentages are
 * discounts. Without one, a column of an unknown header with amounts below the price of some products.
 */
function doubtfulSales(columns: readonly SampledColumn[], price: SampledColumn) {
  const [column, another] = columns.filter((one) => isExactlyCalled(one, 'sale'));
  if (another !== undefined) return [];
  if (column === undefined)
    return columns.flatMap((one) => {
      const isOfSome = namesNoPrice(one) && one.cells.includes('') && fits(one) && isMostly(one, hasCents);
      const { pairs, below, reason } = compare(price, one);
      const isLikely =
        below > 0 &&
        areMost(pairs, ([now, other]) => other < now && other * MAX_MARKUP >= now) &&
        growsWith(pairs);
      return isOfSome && isLikely ? [{ column: one, reason: `${reason}; its header is not known` }] : [];
    });
  if (!fits(column)) {
    const hasAmounts = shareOf(column, isAmount) > 0;
    const other = column.values.find((value) => !mayBeAmount(value) && (hasAmounts || /[1-9]/.test(value)));
    return other === undefined || areFlags(column) || column.values.some((value) => value.endsWith('%'))
      ? []
      : [misfit(column, other)];
  }
  const { above, below, reason } = compare(price, column);
  return above > below || isCalled(column, 'discount') ? [{ column, reason }] : [];
}

/** Whether nearly all pairs meet a test: a misprint in one row does not hide what the others say. */
function areMost(
  pairs: ReturnType<typeof compare>['pairs'],
  test: (pair: readonly [number, number]) => boolean,
) {
  return pairs.filter(test).length >= pairs.length * 0.9;
}

/** Whether the amounts of a column grow with the price, as those of a sale do; sizes and contents, such as alcohol, hardly do. */
function growsWith(pairs: ReturnType<typeof compare>['pairs']) {
  const means = [0, 1].map(
    (at) => pairs.reduce((sum, pair) => sum + Math.log(pair[at] ?? 1), 0) / pairs.length,
  );
  const [price = 0, other = 0] = means;
  const distances = pairs.map(([now, one]) => [Math.log(now) - price, Math.log(one) - other] as const);
  const shared = distances.reduce((sum, [now, one]) => sum + now * one, 0);
  return shared >= 0.5 * distances.reduce((sum, [now]) => sum + now * now, 0);
}

/** Whether nothing is known of a header, nor has it a word for a price. */
function namesNoPrice({ reading }: SampledColumn) {
  const { meanings, mentions } = reading;
  return meanings.length === 0 && ![...PRICES, 'surcharge' as const].some((concept) => mentions.has(concept));
}

function misfit(column: SampledColumn, other: string) {
  return { column, reason: `'${column.header}' is called that, but ${shown(column)}; another is '${other}'` };
}

/** Prices before a sale are rarely higher by this factor. */
const MAX_MARKUP = 4;

/** The amounts of two columns on the rows that have both, and on how many of them the other is above or below the price. */
function compare(price: SampledColumn, other: SampledColumn) {
  const read = amountReader(price, other);
  const pairs = price.cells.flatMap((cell, row) => {
    const pair = [read(cell), read(other.cells[row])] as const;
    return pair.every((amount) => amount > 0) ? [pair] : [];
  });
  const above = pairs.filter(([one, another]) => another > one).length;
  const below = pairs.filter(([one, another]) => another < one).length;
  const reason = `'${other.header}' is above '${price.header}' on ${above} of ${pairs.length} rows and below it on ${below}`;
  return { pairs, above, below, reason };
}

/** Whether the amounts of a column have cents where prices have them. */
export function areWrittenAlike(price: SampledColumn, column: SampledColumn): boolean {
  return shareOf(price, hasCents) < 0.5 || isMostly(column, hasCents);
}

function hasCents(value: string) {
  return /[.,]\d{2}$/.test(readAmount(value)?.digits ?? '');
}

/** Names columns that are called a price before or during a sale and are left out. */
function noteUnsent(guess: Guess, isLike: (column: SampledColumn) => boolean) {
  if (guess.isAsked('was') || guess.isAsked('sale')) return;
  for (const column of guess.free) {
    if (!isCalled(column, 'was', 'regular', 'sale') || shareOf(column, isAmount) === 0) continue;
    const why = isLike(column) ? '' : ': its currency, tax or measure is not that of the price';
    guess.notes.push(`'${column.header}' is not sent${why}.`);
  }
}

function areWhole(values: readonly string[]) {
  return values.every((value) => /^\d+$/.test(readAmount(value)?.digits ?? '0'));
}

/** Whether amounts are cents: the file says so, or they are whole numbers in JSON as an API gives them. */
function askHundredths(
  guess: Guess,
  price: SampledColumn,
  columns: readonly SampledColumn[],
  sameKind: NumberSigns,
) {
  const { header, values } = price;
  const [first = ''] = values;
  if (hasWord(header, 'hundredths') || !columns.every((column) => areWhole(column.values))) return undefined;
  const read = amountReader(price);
  const mayBe = isMostly(price, (value) => read(value) >= 100 || !(read(value) > 0));
  const stated = guess.used.get('currency')?.column.values[0] ?? currencyBeside(guess) ?? '';
  const isWhole = WHOLE_CURRENCIES.has(currencyOf(price) ?? currencyCode(stated) ?? '');
  const saying = [...guess.freeCalled('unit', 'priceUnit', 'currency'), ...guess.beside].flatMap((column) =>
    column.values
      .filter((value) => hasWord(value, 'hundredths') || hasWord(column.header, 'hundredths'))
      .map((value) => `${column.header}: ${value}`),
  );
  const [said] = [...saying, ...guess.lines.filter((line) => hasWord(line, 'hundredths'))];
  if (said === undefined && (!guess.isJson || !mayBe || isWhole || sameKind.hasAny)) return undefined;
  return guess.ask({
    id: `word.${first}`,
    text: `Which price is '${first}' in '${header}'?`,
    reason:
      said === undefined
        ? 'all amounts are whole numbers, and may be cents'
        : `the file says '${truncate(said, MAX_REMARK_SHOWN)}'`,
    answers: [
      { value: 'hundredths', label: `${read(first) / 100}: the amounts are cents` },
      { value: 'whole', label: first },
    ],
  });
}

const MAX_REMARK_SHOWN = 100;

/** Whether lowest prices (ab 9,90) are sent as they are. */
function askFromPrices(guess: Guess, columns: readonly SampledColumn[]) {
  const found = columns.flatMap(({ values }) =>
    values.filter((value) => readAmount(value)?.from !== undefined),
  );
  const [first] = found;
  if (first === undefined) return undefined;
  return guess.ask({
    id: 'fromPrices',
    text: 'What is sent for lowest prices?',
    reason: `lowest prices in ${counted(found.length, 'value')}, such as '${first}'`,
    answers: [
      { value: 'send', label: 'the lowest price, as the price' },
      { value: 'reject', label: 'nothing: these products are rejected' },
    ],
  });
}

/** The steps that make blanks of prices that may stand for none, if an answer says so: 0, which customers would pay, 99999, 0.01. */
function askPlaceholders(guess: Guess, price: SampledColumn): readonly Transform[] {
  const { header, cells, values } = price;
  const isParent = parentRows(guess);
  const zeros = cells.filter(
    (cell, row) => readAmount(cell) !== undefined && !/[1-9]/.test(cell) && !isParent(row),
  );
  const outliers = outliersOf(price, true);
  const found = [...zeros, ...outliers];
  if (found.length === 0) return [];
  const kept =
    zeros.length > 0
      ? { value: 'free', label: '0: such products are free' }
      : { value: 'send', label: 'they are prices' };
  const answer = guess.ask({
    id: `unused.${header}`,
    text: `What is sent for prices of ${zeros.length > 0 ? 0 : outliers[0]} in '${header}'?`,
    reason: `${found.length} of ${values.length} values are '${[...new Set(found)].slice(0, 3).join("', '")}'`,
    answers: [{ value: 'skip', label: 'nothing: such products have no price, and are left out' }, kept],
  });
  if (answer !== 'skip') return [];
  return withoutAbsent([
    zeros.length > 0 && ZERO_AS_BLANK,
    outliers.length > 0 && {
      lookup: recordOf(wordsIn({ values: outliers }), () => null),
      [FALLBACK]: 'keep' as const,
    },
  ]);
}

/** Which rows name no parent and are that of others: of these, the variants have the prices. */
function parentRows(guess: Guess): (row: number) => boolean {
  const [parent] = guess.freeCalled('parent');
  const named = new Set(parent?.values);
  return (row) => parent?.cells[row] === '' && guess.columns.some(({ cells }) => named.has(cells[row] ?? ''));
}

const ZERO_AS_BLANK = { replace: '^[^0-9]*0[0., ]*[^0-9]*$', with: '' } as const;

/**
 * Where the currency of the prices stands, if it stands anywhere but beside the digits. Of several currencies the store has one: rows
 * in the others are left out once it is answered.
 */
function draftCurrency(
  guess: Guess,
  price: SampledColumn,
  columns: readonly SampledColumn[],
): Pick<PriceDraft, 'skip'> & Pick<PricingSpec, 'currency'> {
  const inCells = new Set(columns.flatMap(currenciesInCells));
  const inHeader =
    columns.flatMap(({ reading }) => reading.qualifiers.currencyWord ?? [])[0] ?? currencyBeside(guess);
  const column = guess.pick('currency', {
    fits: (one) => isMostly(one, (value) => /^(?:\p{L}{2,3}|\p{Sc}|\p{L}+\.?)$/u.test(value)),
    shown: (one) => countedShare(one, () => true, `are ${[...new Set(one.values)].slice(0, 3).join(', ')}`),
  });
  const inColumn = [...new Set(column?.values ?? [])];
  const stands: Pick<PricingSpec, 'currency'> =
    column !== undefined
      ? { currency: guess.use('currency', column) }
      : inHeader === undefined
        ? {}
        : { currency: { const: printedWord(inHeader) } };
  const words = withoutAbsent([...inColumn, inHeader !== undefined && inHeader, ...inCells]);
  // $ beside C$ is another dollar.
  const isMixed = new Set([...inCells].map((word) => currencyCode(word) ?? word)).size > 1;
  const shared = isMixed ? [] : commonCurrencies(words);
  const [only, another] = shared ?? [];
  const whole = { skip: [], ...stands };
  if (shared === undefined) return whole;
  if (only !== undefined) {
    const named = another === undefined ? only : [...new Set(words)].join(', ');
    guess.notes.push(`Prices are in ${named}; amounts are sent as they are.`);
    return whole;
  }
  const codes = [...new Set(words.map((word) => currencyCode(word) ?? word))];
  const wanted = guess.ask({
    id: 'currency',
    text: 'In which currency does the store sell?',
    reason: `the prices are in ${codes.join(', ')}, and rows in another currency are left out`,
    answers: codes.map((value) => ({ value, label: value })),
  });
  if (wanted === undefined) return whole;
  const isWanted = (word: string) => meantBy(word).includes(wanted.toUpperCase());
  const reason = `the price is not in ${wanted}`;
  const fitting = inColumn.filter(isWanted);
  if (column !== undefined && fitting.length > 0 && fitting.length < inColumn.length)
    return { skip: [{ when: { not: { [guess.use('currency', column)]: fitting } }, reason }], ...stands };
  const others = [...inCells].filter((word) => !isWanted(word));
  // Where no price is in it, leaving all out would hide that: they are rejected.
  if (others.length === 0 || others.length === inCells.size) return whole;
  return { skip: [{ when: { [guess.use('price', price)]: { contains: others } }, reason }], ...stands };
}

/** The currency that a value beside the records names. */
function currencyBeside({ beside }: Guess) {
  const words = beside.flatMap((one) => (isExactlyCalled(one, 'currency') ? one.values : []));
  return words.find((word) => currencyCode(word) !== undefined);
}

/** The currencies that all words may mean; undefined without words. */
function commonCurrencies(words: readonly string[]) {
  return words
    .map(meantBy)
    .reduce<readonly string[] | undefined>(
      (all, meant) => all?.filter((code) => meant.includes(code)) ?? meant,
      undefined,
    );
}

/** The codes and signs of currencies in the cells and the header of a column. */
function currencyWords(column: SampledColumn): readonly string[] {
  return withoutAbsent([column.reading.qualifiers.currencyWord, ...currenciesInCells(column)]);
}

function currenciesInCells({ values }: SampledColumn): readonly string[] {
  return values.flatMap((value) => readAmount(value)?.currencyWord ?? []);
}

/** The currencies that a word may mean. */
function meantBy(word: string) {
  return currenciesNamed(word) ?? [currencyCode(word) ?? word];
}

/** A code as it is usually written: headers are read in lower case. */
function printedWord(word: string) {
  const [only, second] = meantBy(word);
  return only !== undefined && second === undefined ? only : word;
}

/** The transforms between a cell and its amount. */
function amountSteps(
  { header, values }: SampledColumn,
  decimal: DecimalSign,
  sendsFrom: boolean,
  areHundredths: boolean,
): readonly Transform[] {
  const amounts = values.flatMap((value) => readAmount(value) ?? []);
  const from = [...new Set(amounts.flatMap((amount) => amount.from?.toLowerCase() ?? []))];
  const suffixes = [...new Set(amounts.flatMap(({ suffix }) => suffix?.toLowerCase() ?? []))];
  return withoutAbsent([
    ...missingSteps({ values }, isMissingValue),
    ...(sendsFrom && from.length > 0
      ? [{ replace: `(?i)(^(${from.join('|')}) +| *(${from.join('|')})$)`, with: '' }]
      : []),
    amounts.some(({ hasFootnote }) => hasFootnote) && { replace: ' *[*]+$', with: '' },
    suffixes.length > 0 && { replace: `(?i) *(${suffixes.join('|').replaceAll('.', '[.]')})$`, with: '' },
    amounts.some(({ hasDashes }) => hasDashes) && { replace: '[.,] ?[-–—]+', with: '' },
    ...numberSteps(
      decimal,
      amounts.map(({ digits }) => digits),
    ),
    (areHundredths || (hasWord(header, 'hundredths') && areWhole(values))) && { times: 0.01 },
  ]);
}

/** The transforms that read amounts of money: with currencies, and with thousands signs where these are certain. */
function numberSteps(decimal: DecimalSign, numbers: readonly string[]): readonly Transform[] {
  // If no sign is given, blanks and apostrophes may group digits, and a single point or comma is refused.
  const isSpaced = numbers.some((text) => /\d[\s'’]\d/.test(text));
  if (decimal === 'auto' || isSpaced) return [{ number: { decimal, currency: 'strip' } }];
  return [{ number: { decimal, thousands: decimal === ',' ? '.' : ',', currency: 'strip' } }];
}
