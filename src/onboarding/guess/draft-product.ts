import { compilePattern, slugify } from '../../mapping/compile-mapping.ts';
import type {
  PricingSpec,
  ProductMappingSpec,
  ProductSpec,
  Transform,
  Value,
  VariantsSpec,
} from '../../mapping/spec/mapping-spec.ts';
import { withoutAbsent, withoutUndefined } from '../../model/json-object.ts';
import { type AppliedColumns, askUnused } from './ask-unused.ts';
import { draftCategories, draftType } from './draft-categories.ts';
import { askDates, draftHidden, isUnpublished } from './draft-hidden.ts';
import { draftImages } from './draft-images.ts';
import { draftPrices, type PriceDraft } from './draft-prices.ts';
import { draftQuantity, draftWeight, stockOf } from './draft-quantity.ts';
import { draftSpread } from './draft-spread.ts';
import { draftVariants, isKey, type VariantDraft } from './draft-variants.ts';
import {
  countedShare,
  type Guess,
  isCalled,
  isExactlyCalled,
  isMentioned,
  isOfList,
  LEAVE_OUT,
  readBy,
} from './guess.ts';
import { hasPhrase, isProductWord } from './header-reading.ts';
import {
  availabilityOf,
  isAddresses,
  isCode,
  isGtin,
  isHtml,
  isMarkup,
  isMostly,
  isText,
  missingSteps,
  type SampledColumn,
  shareOf,
} from './sampled-column.ts';
import { isCellWord } from './words.ts';

/** A mapping of products, by what the columns show; undefined while a question is open. */
export function draftProduct(
  guess: Guess,
  headings: ReadonlySet<readonly string[]>,
): ProductMappingSpec | undefined {
  const sku = pickSku(guess);
  const titleColumn = pickTitle(guess, sku);
  if (titleColumn === 'none') return sku && draftUpdate(guess, sku);
  // Whether the file must have a price depends on the answer.
  if (guess.isAsked('title') && mayUpdate(guess, sku)) return undefined;
  const asked = guess.questions.length;
  const spread = draftSpread(guess);
  const prices = guess.questions.length > asked ? undefined : draftPrices(guess, spread?.price);
  const variants = draftVariants(guess, sku, titleColumn);
  const description = pickDescription(guess);
  const images = draftImages(guess, variants !== undefined && variants.group !== undefined);
  const categories = draftCategories(guess);
  const quantity = spread?.quantity ?? draftQuantity(guess, spread !== undefined);
  const weight = draftWeight(guess);
  const hidden = draftHidden(guess, titleColumn, variants?.group !== undefined);
  const type = draftType(guess);
  const applied = askUnused(guess);
  const stock = stockOf(applied, quantity ?? applied.quantity);
  if (titleColumn === undefined || prices === undefined || variants === undefined) return undefined;
  const url = draftUrl(guess, sku, titleColumn, variants);
  const isShared =
    sku !== undefined &&
    (spread !== undefined || (variants.group !== undefined && sku.distinct < sku.values.length));
  if (isShared) guess.notes.push(`'${sku.header}' is not sent as the SKU: variants have it in common.`);
  const totals = totalsIn(guess, titleColumn, sku);
  const unsold = [...askUnsold(guess, titleColumn, sku), ...askMarked(guess, titleColumn, sku)];
  if (url === undefined || guess.questions.length > 0) return undefined;

  const title = guess.use('title', titleColumn);
  const titleText = readBy(title, [
    ...missingSteps(titleColumn),
    ...(titleColumn.values.some(isMarkup) ? [{ html: 'strip' } as const] : []),
  ]);
  const product: ProductSpec = withoutUndefined({
    url,
    title: variants.group?.starts === undefined ? titleText : { value: titleText, from: 'any' },
    description: description && descriptionOf(guess, description),
    hidden,
    images,
    categories,
    type,
  });
  const { rows, inherit, group, options } = variants;
  const variantsSpec: VariantsSpec = withoutUndefined({
    rows,
    inherit: inherit.length === 0 ? undefined : [...inherit],
    sku: sku === undefined || isShared ? undefined : skuValue(guess, sku),
    pricing: pricingOf(prices, applied),
    quantity: stock,
    weight,
  });
  const skip = [...prices.skip, ...unsold];
  if (totals.length > 0) {
    guess.notes.push(`Rows with the totals of others, such as '${totals[0]}', are left out.`);
    skip.push({ when: { [title]: totals }, reason: 'a row of totals' });
  }
  const [heading] = headings;
  if (heading !== undefined) {
    const text = heading.find((cell) => cell.trim() !== '');
    guess.notes.push(`Rows with one text only, such as '${text}', are headings: they are left out.`);
  }
  return withoutUndefined({
    import: 'products',
    columns: guess.columnSpecs(),
    required: [title, ...requiredOf(guess)],
    skip: skip.length === 0 ? undefined : skip,
    headings: heading && 'skip',
    group,
    product,
    options: options && spread ? { ...options, ...spread.options } : (options ?? spread?.options),
    variants: variantsSpec,
    tests: [],
  });
}

/** The SKU; if no header means that, the EAN. */
function pickSku(guess: Guess) {
  const shown = (column: SampledColumn) =>
    `${column.distinct} of ${column.values.length} values are different, as codes are`;
  const isPadded = (value: string) =>
    /^(?:\d+\.0|\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./](?:19|20)\d{2}|\d{1,2}[. -](?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)|\d{1,3}(?:,\d{3})+|\d(?:[.,]\d+)?E\+\d+)$/i.test(
      value,
    );
  const padded = guess.freeCalled('sku').filter(({ values }) => values.some(isPadded));
  const [first] = padded;
  if (first !== undefined && guess.given('sku') === undefined) {
    const reason = `'${first.header}' has numbers such as '${first.values.find(isPadded)}', which a program may have changed`;
    guess.askColumn('sku', padded, reason);
    return undefined;
  }
  const sku = guess.pick('sku', {
    fits: (column) =>
      (isMostly(column, (value) => isCode(unquoted(value))) || isOnlySku(column)) &&
      !(isCalled(column, 'position') && isSequence(column)),
    shown,
    prefer: (column) =>
      isOfList(column) ||
      (!guess.freeCalled('sku').some(isOfList) &&
        /^(?:product |variant )?sku$/i.test(column.header.replaceAll('_', ' ').trim())),
  });
  if (sku !== undefined || guess.answers['column.sku'] !== undefined) return sku;
  if (guess.isAsked('sku')) return undefined;
  if (guess.freeCalled('sku').some(isCodes)) return undefined;
  const ean = guess.columns.filter((column) => isCalled(column, 'gtin') && isMostly(column, isGtin));
  const [only, second] = ean;
  if (only === undefined || second !== undefined) return undefined;
  const unclear = guess.free.filter((column) => isMentioned(column, 'sku') && isMostly(column, isCode));
  if (unclear.length > 0) {
    guess.askColumn('sku', [...unclear, only], `'${unclear[0]?.header}' may be the SKU`);
    return undefined;
  }
  const evidence = `${countedShare(only, isGtin, 'are EANs')}, and no other column has the SKU`;
  return guess.claim('sku', only, evidence, 'likely');
}

/** A code without the signs that keep a spreadsheet from reading a number: '00123, ="00123". */
function unquoted(value: string) {
  return value.replace(/^(?:'|=")/, '').replace(/"$/, '');
}

/** Whether a column that can only be the SKU has other values than codes, each once: mug-blue, or below the word SKU also Mug - Blue. */
function isOnlySku({ header, values, distinct, reading }: SampledColumn) {
  const mayHaveBlanks = /(?:^|[ _])sku$/i.test(header);
  const areShort = values.every(
    (value) => value.length <= 40 && (mayHaveBlanks || /^[\p{L}\p{N}._/+-]+$/u.test(value)),
  );
  return reading.meanings.length === 1 && areShort && distinct === values.length;
}

function skuValue(guess: Guess, sku: SampledColumn) {
  const isQuoted = sku.values.some((value) => unquoted(value) !== value);
  return readBy(guess.use('sku', sku), [...missingSteps(sku), ...(isQuoted ? (['unquote'] as const) : [])]);
}

function isCodes(column: SampledColumn) {
  return column.values.length > 0 && !isSequence(column) && !isText(column);
}

/** Whether values count the rows: 1, 2, 3. */
function isSequence({ values }: SampledColumn) {
  return values.length > 1 && values.every((value, index) => Number(value) === index + Number(values[0]));
}

/** Columns without which a file must not be read; `stock` and `offered` are families. */
const REQUIRED: readonly string[] = ['price', 'sku', 'stock', 'offered'];

function requiredOf({ used }: Guess, ...more: readonly string[]) {
  return [...used.keys()].filter((name) => REQUIRED.includes(name) || more.includes(name));
}

/** Prices with what unused columns say of them. The dates of a sale go with a sale price. */
function pricingOf({ pricing }: PriceDraft, { during, discount }: AppliedColumns): PricingSpec {
  const { price, was, ...rest } = pricing;
  return Object.keys(during).length === 0 || price === undefined || was === undefined
    ? { ...pricing, ...during, ...discount }
    : { ...rest, regular: { first: [was, price] }, sale: price, ...during, ...discount };
}

/** Whether a file without names of products may change the prices or the stock of products that the store has. */
function mayUpdate({ columns }: Guess, sku: SampledColumn | 'none' | undefined) {
  const changes = columns.some(
    (column) =>
      column.values.length > 0 && (isMentioned(column, ...CHANGING) || isCalled(column, ...CHANGING)),
  );
  return sku !== undefined && changes;
}

const CHANGING = ['price', 'regular', 'quantity', 'availability'] as const;

/** The name of the product; `none` if the file has none, because it changes known products. Undefined while that is asked. */
function pickTitle(guess: Guess, sku: SampledColumn | undefined) {
  const mayBeNone = mayUpdate(guess, sku);
  const given = guess.given('title');
  if (given === 'none' && mayBeNone) return given;
  const called = guess.freeCalled('title').filter(isText);
  const [products = [], names = []] = [true, false].map((is) =>
    called.filter(({ header }) => isProductWord(header) === is),
  );
  const mayHaveVariants = guess.columns.some((column) =>
    isExactlyCalled(column, 'size', 'color', 'option', 'material', 'parent'),
  );
  // Beside a column Product, that of names that repeat may have the brands.
  const areRepeated =
    !mayHaveVariants && products.some((one) => names.every(({ distinct }) => distinct < one.distinct));
  const title = guess.pick('title', {
    isRequired: true,
    prefer: (column) => !isProductWord(column.header) && !areRepeated && !isOfList(column),
    fits: isText,
    shown: (column) => `${column.distinct} of ${column.values.length} values are different`,
  });
  if (title !== undefined) return title;
  if (guess.isAsked('title')) return undefined;
  const texts = guess.free.filter(
    (column) =>
      isText(column) &&
      (column.reading.meanings.length === 0 || isCalled(column, 'title', 'description', 'summary')),
  );
  const [only, second] = texts.filter(
    (column) =>
      !isMostly(column, isCode) &&
      column.distinct === column.values.length &&
      shareOf(column, isShortName) === 1,
  );
  const isFirst = second === undefined || only?.reading.meanings.length === 1;
  if (only !== undefined && isFirst && given === undefined) {
    const evidence = 'no column is called a name; its values are short, and all differ';
    return guess.claim('title', only, evidence, 'likely');
  }
  if (texts.length === 0 && mayBeNone) return 'none';
  guess.askColumn(
    'title',
    texts,
    `no header is called the name of a product${sku === undefined && mayUpdate(guess, 'none') ? `; for a file that changes products which the store has, choose the column of their SKU (sku)` : ''}`,
    mayBeNone ? 'none: the file changes products that the store has' : null,
  );
  return undefined;
}

/** A mapping for a file that changes the prices or the stock of known products, found by their SKUs. */
function draftUpdate(guess: Guess, sku: SampledColumn): ProductMappingSpec | undefined {
  const hasPrices = guess.columns.some((column) => isCalled(column, 'price', 'regular'));
  const prices = hasPrices || guess.given('price') !== undefined ? draftPrices(guess, undefined) : undefined;
  const quantity = draftQuantity(guess);
  const weight = draftWeight(guess);
  askDates(guess, () => true);
  const applied = askUnused(guess);
  const skip = [...(prices?.skip ?? []), ...askMarked(guess, undefined, sku)];
  const stock = stockOf(applied, quantity ?? applied.quantity);
  if (prices === undefined && stock === undefined && weight === undefined && guess.questions.length === 0)
    draftPrices(guess, undefined);
  if (guess.questions.length > 0) return undefined;
  guess.notes.push(
    `The file has no names of products: it changes products that the store has, found by their SKU in '${sku.header}'.`,
  );
  const variants: VariantsSpec = withoutUndefined({
    rows: 'all',
    sku: skuValue(guess, sku),
    pricing: prices && pricingOf(prices, applied),
    quantity: stock,
    weight,
  });
  return withoutUndefined({
    import: 'products',
    columns: guess.columnSpecs(),
    required: requiredOf(guess, 'quantity'),
    skip: skip.length === 0 ? undefined : skip,
    product: {},
    variants,
    tests: [],
  });
}

const MAX_NAME_LENGTH = 80;

function isShortName(value: string) {
  return value.length <= MAX_NAME_LENGTH && !isHtml(value) && !/[.!?]$|\n/.test(value);
}

function pickDescription(guess: Guess) {
  const choice = {
    fits: (column: SampledColumn) => isMostly(column, (value) => /\p{L}/u.test(value) && !isAddresses(value)),
    shown: (column: SampledColumn) =>
      shareOf(column, isHtml) > 0 ? countedShare(column, isHtml, 'are HTML, sent as it is') : '',
  };
  const long = guess.pick('description', choice);
  if (long !== undefined || guess.isAsked('description')) return long;
  if (guess.answers['column.description'] !== undefined) return undefined;
  return guess.pick('description', { ...choice, concepts: ['summary'] });
}

/** The description; HTML that is written with entities (&lt;p&gt;) is decoded. */
function descriptionOf(guess: Guess, column: SampledColumn) {
  const name = guess.use('description', column);
  const isEncoded = !column.values.some(isHtml) && column.values.some((value) => /&lt;\/?[a-z]/i.test(value));
  return readBy(name, [...missingSteps(column), ...(isEncoded ? [{ html: 'decode' } as const] : [])]);
}

/** The key of a product: a handle of the file, else its SKU or its name, whichever is unique. */
function draftUrl(
  guess: Guess,
  sku: SampledColumn | undefined,
  title: SampledColumn,
  { group, by }: VariantDraft,
): Value | undefined {
  const candidates = withoutAbsent([by ?? sku, sku, title]);
  const key = candidates.flatMap((column) => keyOf(column, group) ?? [])[0];
  const handle = guess.pick('url', {
    isRequired: group?.by === undefined && key === undefined,
    fits: (column) => shareOf(column, isHandle) === 1 || hasPages(column),
    shown: (column) => `${column.distinct} of ${column.values.length} values are different`,
  });
  if (handle !== undefined) {
    const name = guess.use('url', handle);
    if (handle.values.some(isAddresses)) {
      guess.notes.push(`The url of a product is the end of its address in '${handle.header}'.`);
      return [name, ...PAGE_STEPS];
    }
    return shareOf(handle, isHandle) === 1 ? name : [name, 'slug'];
  }
  if (guess.isAsked('url')) return undefined;
  if (group?.by !== undefined) return [group.by, 'slug'];
  if (key !== undefined) {
    const { column, step } = key;
    if (step === 'slug')
      guess.notes.push(
        `The url of a product is made of '${column.header}', which differs on every row: it is the key of the product.`,
      );
    return [guess.use(column === title ? 'title' : 'sku', column), step];
  }
  const unique = guess.columns.filter(
    (column) =>
      column.header !== '' &&
      (guess.isFree(column) || candidates.includes(column)) &&
      isKey(column) &&
      shareOf(column, isCode) === 1 &&
      !isSequence(column),
  );
  guess.askColumn(
    'url',
    unique.length > 0 ? unique : [...new Set(candidates)],
    `'${title.header}' has repeated values${sku === undefined ? '' : `, and so has '${sku.header}'`}`,
    null,
    'what identifies a product (for its url)',
  );
  return undefined;
}

/** A column whose values identify products, with the step that makes handles of them; undefined where they do not. */
function keyOf(
  column: SampledColumn,
  group: VariantDraft['group'],
): { readonly column: SampledColumn; readonly step: Transform } | undefined {
  const keyed = group === undefined ? column.cells.length : column.values.length;
  const slugs = column.values.map((value) => slugify(value));
  if (column.values.length < keyed || slugs.includes('')) return undefined;
  if (new Set(slugs).size === slugs.length) return { column, step: 'slug' };
  const exact = column.values.map((value) => slugify(value, KEPT, false));
  const isExact = new Set(exact).size === exact.length;
  return isExact ? { column, step: { slug: { keep: KEPT, case: 'keep' } } } : undefined;
}

/** The handle of a page address: its last segment, without the extension of a page. */
const PAGE_STEPS = [
  { replace: '[?#].*$' },
  { replace: '/+$' },
  { replace: '^.*/' },
  { replace: '\\.(html?|php|aspx?|jsp)$' },
] as const;

/** Whether addresses are those of product pages, by a different last segment each. */
function hasPages(column: SampledColumn) {
  const isPage = (value: string) => isAddresses(value) && /^(?:https?:)?\/\/[^/]+\/[^?#]*[^/?#]/i.test(value);
  if (shareOf(column, isPage) < 1) return false;
  // By the engine that will run the steps.
  const patterns = PAGE_STEPS.map(({ replace }) => compilePattern(replace, replace.length, () => {}));
  const handles = column.values.map((value) =>
    patterns.reduce((text, pattern) => pattern?.matcher(text).replaceAll('') ?? text, value),
  );
  return handles.every(isHandle) && new Set(handles).size === column.distinct;
}

const KEPT = '_./+#';

function isHandle(value: string) {
  return /^[\p{L}\p{N}._~-]+$/u.test(value);
}

/** The names of rows with totals, which are no products: of the last row, or of those that alone lack a SKU. Others are asked. */
function totalsIn(guess: Guess, title: SampledColumn, sku: SampledColumn | undefined) {
  const last = title.cells.findLastIndex((cell) => cell !== '');
  const isTotal = (text: string) => isCellWord(text.replace(/:$/, ''), 'totals');
  const begins = (text: string) => isTotal(text) || isTotal(text.split(/[\s:]/, 1)[0] ?? '');
  const lacksSku = (row: number) => sku?.cells[row] === '';
  const lacking = [...title.cells.keys()].filter((row) => title.cells[row] !== '' && lacksSku(row));
  const sums = sumsIn(guess, title, lacking);
  const mayBeTotal = (text: string) => begins(text) || sums.has(text);
  const areKeyed = lacking.every((row) => mayBeTotal(title.cells[row] ?? ''));
  return [...new Set(title.values.filter(mayBeTotal))].filter((text) => {
    const rows = [...title.cells.keys()].filter((row) => title.cells[row] === text);
    const isLast = rows.length === 1 && rows[0] === last;
    const mayBeProduct = !rows.every(lacksSku);
    if (mayBeProduct && !isTotal(text)) return false;
    if (mayBeProduct ? isLast : areKeyed && (isLast || isTotal(text))) return true;
    const labels = { totals: 'the totals of other rows: it is left out', product: 'the name of a product' };
    return guess.askWord(text, title, labels) === 'totals';
  });
}

/** Asks about rows whose name or SKU says that they are tests, or sold no more; what leaves them out, if an answer does. */
function askUnsold(guess: Guess, title: SampledColumn, sku: SampledColumn | undefined): PriceDraft['skip'] {
  const inBrackets = /(?<=[([])[^()[\]]+(?=[)\]])/g;
  const isUnsold = (text: string) =>
    isCellWord(text.replace(/[^\p{L}]+$/u, ''), 'testsAlone') ||
    hasPhrase(text, 'tests') ||
    hasPhrase(text, 'removed') ||
    (text.match(inBrackets) ?? []).some((part) => isUnpublished(part) || availabilityOf(part) === false);
  const found = Object.entries({ title, sku }).flatMap(([name, column]) => {
    const texts = new Set(column?.values.filter(isUnsold));
    return column === undefined || texts.size === 0 || texts.size * 2 > column.distinct
      ? []
      : [{ name, column, texts: [...texts] }];
  });
  const [first] = found;
  if (first === undefined) return [];
  const [text = ''] = first.texts;
  const answer = guess.ask({
    id: `word.${text}`,
    text: `Is '${text}' in '${first.column.header}' a product that is sold?`,
    reason: `${found.map(({ texts, column }) => `${texts.length} of ${column.distinct} values in '${column.header}'`).join(' and ')} may say that it is not`,
    answers: [{ value: 'product', label: 'yes' }, LEAVE_OUT],
  });
  const reason = 'a test, or sold no more';
  return answer !== 'leave-out'
    ? []
    : found.map(({ name, column, texts }) => ({ when: { [guess.use(name, column)]: texts }, reason }));
}

/** More names of rows are too many for a mapping. */
const MAX_ROWS_NAMED = 200;

/** Asks about rows that a sheet hides or strikes out; what leaves them out by their SKU or name, if an answer does. */
function askMarked(
  guess: Guess,
  title: SampledColumn | undefined,
  sku: SampledColumn | undefined,
): PriceDraft['skip'] {
  const marks = { hidden: 'is hidden', struck: 'is struck out' };
  return Object.entries(marks).flatMap(([mark, reason]) => {
    const rows = [...guess.marked.keys()].filter((row) => guess.marked[row] === mark);
    if (rows.length === 0) return [];
    const named = Object.entries({ sku, title }).flatMap(([name, column]) => {
      const texts = new Set(rows.map((row) => column?.cells[row] ?? ''));
      const isOwn = column?.cells.every((cell, row) => guess.marked[row] === mark || !texts.has(cell));
      return column && isOwn === true && !texts.has('') && texts.size <= MAX_ROWS_NAMED
        ? [{ name, column, texts: [...texts] }]
        : [];
    });
    const [key] = named;
    const answer = guess.ask({
      id: `unused.${mark} rows`,
      text: `Are products sold whose row ${reason}?`,
      reason: `${rows.length} of ${guess.marked.length} rows of the sheet are, such as '${(title ?? sku)?.cells[rows[0] ?? 0]}'`,
      answers: withoutAbsent([
        { value: 'send', label: 'yes' },
        key && { value: LEAVE_OUT.value, label: `no: these are left out, by '${key.column.header}'` },
      ]),
    });
    return answer !== LEAVE_OUT.value || key === undefined
      ? []
      : [{ when: { [guess.use(key.name, key.column)]: key.texts }, reason: `the row ${reason}` }];
  });
}

/** The names of rows, of some, whose price and stock are the sums of those above: of all, or of those below the one before. */
function sumsIn({ used }: Guess, title: SampledColumn, rows: readonly number[]): ReadonlySet<string> {
  const counted = withoutAbsent(['price', 'quantity'].map((name) => used.get(name)?.column));
  const found = new Set<string>();
  const whole = { count: 0, sums: counted.map(() => 0) };
  let part = { count: 0, sums: counted.map(() => 0) };
  const mayBeSum = new Set(counted.length === 2 ? rows : []);
  for (const [row, name] of title.cells.entries()) {
    const numbers = counted.map(({ cells }) => Number(cells[row]?.replaceAll(/\D/g, '')));
    const isSum = ({ count, sums }: typeof part) =>
      count > 1 && sums.every((sum, index) => sum > 0 && sum === numbers[index]);
    if (!mayBeSum.has(row)) {
      for (const one of [whole, part]) {
        one.count++;
        one.sums = one.sums.map((sum, index) => sum + (numbers[index] ?? 0));
      }
      continue;
    }
    if (isSum(whole) || isSum(part)) found.add(name);
    part = { count: 0, sums: counted.map(() => 0) };
  }
  return found;
}
