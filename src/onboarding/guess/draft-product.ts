import type {
  PricingSpec,
  ProductMappingSpec,
  ProductSpec,
  Value,
  VariantsSpec,
} from '../../mapping/spec/mapping-spec.ts';
import { compilePattern, slugify, type Transform } from '../../mapping/transforms/transforms.ts';
import { withoutAbsent, withoutUndefined } from '../../model/json-object.ts';
import { type AppliedColumns, askUnused, isWithdrawal } from './ask-unused.ts';
import { draftCategories, draftType } from './draft-categories.ts';
import { draftImages } from './draft-images.ts';
import { draftPrices, type PriceDraft } from './draft-prices.ts';
import { draftQuantity, draftWeight, stockOf } from './draft-quantity.ts';
import { draftSpread } from './draft-spread.ts';
import { draftVariants, isKey, type VariantDraft } from './draft-variants.ts';
import {
  countedShare,
  isCalled,
  isExactlyCalled,
  isMentioned,
  isOfList,
  LEAVE_OUT,
  type ProductColumn,
  type ProductGuess,
} from './guess.ts';
import { isProductWord } from './header-reading.ts';
import { readOptionPart } from './paired-options.ts';
import {
  booleanOf,
  DAY_MS,
  isAddresses,
  isCode,
  isGtin,
  isHtml,
  isMark,
  isMarkup,
  isMissingValue,
  isMostly,
  isText,
  MAX_STATES,
  momentsOf,
  readerOfFlags,
  type SampledColumn,
  shareOf,
  visibilityOf,
} from './sampled-column.ts';
import { words } from './words.ts';

/** A mapping of products, by what the columns show; undefined while a question is open. */
export function draftProduct(
  guess: ProductGuess,
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
  const quantity = spread?.quantity ?? draftQuantity(guess);
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
  if (url === undefined || guess.questions.length > 0) return undefined;

  const title = guess.use('title', titleColumn);
  const titleText: Value = titleColumn.values.some(isMarkup) ? [title, { html: 'strip' }] : title;
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
  const skip = [...prices.skip, ...totalRows(guess, titleColumn, sku)];
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

/** Columns without which a file must not be read; `stock` and `offered` are families. */
const REQUIRED: readonly string[] = ['price', 'sku', 'stock', 'offered'];

function requiredOf({ used }: ProductGuess, ...more: readonly string[]): string[] {
  return [...used.keys()].filter((name) => REQUIRED.includes(name) || more.includes(name));
}

/** Prices with what unused columns say of them. The dates of a sale go with a sale price. */
function pricingOf({ pricing }: PriceDraft, { during, discount }: AppliedColumns): PricingSpec {
  const { price, was, ...rest } = pricing;
  return Object.keys(during).length === 0 || price === undefined || was === undefined
    ? { ...pricing, ...during, ...discount }
    : { ...rest, regular: { first: [was, price] }, sale: price, ...during, ...discount };
}

/** The SKU; if no header means that, the EAN. */
function pickSku(guess: ProductGuess): ProductColumn | undefined {
  const shown = (column: SampledColumn) =>
    `${column.distinct} of ${column.values.length} values are different, as codes are`;
  const isPadded = (value: string) =>
    /^(?:\d+\.0|\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./](?:19|20)\d{2}|\d{1,2}[. -](?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)|\d{1,3}(?:,\d{3})+|\d(?:[.,]\d+)?E\+\d+)$/i.test(
      value,
    );
  const padded = guess.free.filter(
    (column) => isExactlyCalled(column, 'sku') && column.values.some(isPadded),
  );
  const [first] = padded;
  if (first !== undefined && guess.given('sku') === undefined) {
    const reason = `'${first.header}' has numbers such as '${first.values.find(isPadded)}', which a program may have changed`;
    guess.askColumn('sku', padded, reason);
    return undefined;
  }
  const sku = guess.pick('sku', {
    fits: (column) =>
      (isMostly(column, (value) => isCode(unquoted(value))) || isOnlySku(guess, column)) &&
      !isRowNumber(guess, column),
    shown,
    prefer: (column) =>
      isOfList(column) ||
      (!guess.free.some((other) => isOfList(other) && isExactlyCalled(other, 'sku')) &&
        /^(?:product |variant )?sku$/i.test(column.header.replaceAll('_', ' ').trim())),
  });
  if (sku !== undefined || guess.answers['column.sku'] !== undefined) return sku;
  if (guess.isAsked('sku')) return undefined;
  if (guess.free.some((column) => isExactlyCalled(column, 'sku') && isCodes(column))) return undefined;
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
function unquoted(value: string): string {
  return value.replace(/^(?:'|=")/, '').replace(/"$/, '');
}

/** Whether a column that can only be the SKU has other values than codes, each once: mug-blue, or below the word SKU also Mug - Blue. */
function isOnlySku(guess: ProductGuess, { index, header, values, distinct }: SampledColumn): boolean {
  const meanings = guess.columns[index]?.reading.meanings ?? [];
  const mayHaveBlanks = /(?:^|[ _])sku$/i.test(header);
  const areShort = values.every(
    (value) => value.length <= 40 && (mayHaveBlanks || /^[\p{L}\p{N}._/+-]+$/u.test(value)),
  );
  return meanings.length === 1 && areShort && distinct === values.length;
}

function skuValue(guess: ProductGuess, sku: ProductColumn): Value {
  const name = guess.use('sku', sku);
  return sku.values.some((value) => unquoted(value) !== value) ? [name, 'unquote'] : name;
}

/** Whether a column `No.` only has row numbers. */
function isRowNumber(guess: ProductGuess, { index }: SampledColumn): boolean {
  const column = guess.columns[index];
  return column !== undefined && isCalled(column, 'position') && isSequence(column);
}

function isCodes(column: ProductColumn): boolean {
  return column.values.length > 0 && !isSequence(column) && !isText(column);
}

/** Whether values count the rows: 1, 2, 3. */
function isSequence({ values }: SampledColumn): boolean {
  return values.length > 1 && values.every((value, index) => Number(value) === index + Number(values[0]));
}

/** Whether a file without names of products may change the prices or the stock of products that the store has. */
function mayUpdate({ columns }: ProductGuess, sku: ProductColumn | 'none' | undefined): boolean {
  const changes = columns.filter(
    ({ reading, values }) =>
      values.length > 0 &&
      CHANGING.some(
        (concept) =>
          reading.mentions.has(concept) || reading.meanings.some((meaning) => meaning.concept === concept),
      ),
  );
  return sku !== undefined && changes.length > 0;
}

const CHANGING = ['price', 'regular', 'quantity', 'availability'] as const;

/** The name of the product; `none` if the file has none, because it changes known products. Undefined while that is asked. */
function pickTitle(guess: ProductGuess, sku: ProductColumn | undefined): ProductColumn | 'none' | undefined {
  const mayBeNone = mayUpdate(guess, sku);
  const given = guess.given('title');
  if (given === 'none' && mayBeNone) return given;
  const called = guess.free.filter((column) => isExactlyCalled(column, 'title') && isText(column));
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
function draftUpdate(guess: ProductGuess, sku: ProductColumn): ProductMappingSpec | undefined {
  const hasPrices = guess.columns.some((column) => isCalled(column, 'price', 'regular'));
  const prices = hasPrices || guess.given('price') !== undefined ? draftPrices(guess, undefined) : undefined;
  const quantity = draftQuantity(guess);
  const weight = draftWeight(guess);
  askDates(guess, () => true);
  const applied = askUnused(guess);
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
    skip: prices?.skip.length === 0 ? undefined : prices?.skip,
    product: {},
    variants,
    tests: [],
  });
}

const MAX_NAME_LENGTH = 80;

function isShortName(value: string): boolean {
  return value.length <= MAX_NAME_LENGTH && !isHtml(value) && !/[.!?]$|\n/.test(value);
}

function pickDescription(guess: ProductGuess): ProductColumn | undefined {
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
function descriptionOf(guess: ProductGuess, column: ProductColumn): Value {
  const name = guess.use('description', column);
  const isEncoded = !column.values.some(isHtml) && column.values.some((value) => /&lt;\/?[a-z]/i.test(value));
  return isEncoded ? [name, { html: 'decode' }] : name;
}

/** The key of a product: a handle of the file, else its SKU or its name, whichever is unique. */
function draftUrl(
  guess: ProductGuess,
  sku: ProductColumn | undefined,
  title: ProductColumn,
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
  column: ProductColumn,
  group: VariantDraft['group'],
): { readonly column: ProductColumn; readonly step: Transform } | undefined {
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
function hasPages(column: SampledColumn): boolean {
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

function isHandle(value: string): boolean {
  return /^[\p{L}\p{N}._~-]+$/u.test(value);
}

/** Whether a product is hidden; unknown words are asked about, because a wrong guess could publish a product that is not ready. */
function draftHidden(
  guess: ProductGuess,
  title: ProductColumn | undefined,
  isGrouped: boolean,
): ProductSpec['hidden'] {
  const isWord = (value: string) => visibilityOf(value) !== undefined;
  const isBlank = (cell: string, row: number) => cell === '' && title?.cells[row] !== '';
  const marked = guess.free.find(
    (column) =>
      isExactlyCalled(column, 'visible', 'hidden') &&
      column.values.length > 0 &&
      (column.values.every(isMark) ||
        (column.cells.some(isBlank) &&
          column.values.every((value) => saysShown(column, value, false) === true))),
  );
  if (marked !== undefined && guess.answers['column.visible'] === undefined) {
    const isVisible = isCalled(marked, 'visible');
    const field = isVisible ? 'visible' : 'hidden';
    guess.claim(
      field,
      marked,
      countedShare(marked, () => true, `are marks; a blank means ${isVisible ? 'hidden' : 'shown'}`),
      'certain',
    );
    askHiding(guess, marked, (cell) => (cell !== '') === isVisible);
    askDates(guess, (row) => (marked.cells[row] !== '') === isVisible);
    return { [guess.use(field, marked)]: isVisible ? 'blank' : 'present' };
  }
  const choice = {
    fits: (column: SampledColumn) => shareOf(column, isWord) >= 0.5,
    shown: (column: SampledColumn) => countedShare(column, isWord, 'are words for shown or hidden'),
  };
  const visible = guess.pick('visible', choice);
  const hidden = visible === undefined ? guess.pick('hidden', choice) : undefined;
  const column = visible ?? hidden;
  if (column === undefined) {
    askDates(guess, () => true);
    const unclear = guess.free.filter(
      (one) =>
        one.values.length > 0 &&
        ((isExactlyCalled(one, 'visible', 'hidden') && (!isStatus(one) || mayHide(one))) ||
          ((one.reading.mentions.has('visible') || one.reading.mentions.has('hidden')) &&
            readOptionPart(one.header) === undefined &&
            (isMostly(one, isWord) || one.values.some(isUnpublished)))),
    );
    const [first] = unclear;
    if (first !== undefined && guess.answers['column.visible'] === undefined)
      guess.askColumn('visible', unclear, `'${first.header}' may say it`);
    return undefined;
  }
  const isNegative = hidden !== undefined;
  const meanings = [...new Set(column.values.map((value) => value.toLowerCase()))].map((word) => ({
    word,
    isShown: shownOf(guess, column, word, isNegative),
  }));
  if (meanings.some(({ isShown }) => isShown === undefined)) return undefined;
  const shownWords = new Set(meanings.flatMap(({ word, isShown }) => (isShown === true ? [word] : [])));
  const hiddenWords = new Set(meanings.flatMap(({ word, isShown }) => (isShown === false ? [word] : [])));
  askHiding(guess, column, (cell) => shownWords.has(cell.toLowerCase()));
  askDates(guess, (row) => !hiddenWords.has(column.cells[row]?.toLowerCase() ?? ''));
  const isCoded = meanings.some(({ word }) => readerOfFlags(column)(word) !== booleanOf(word));
  const found = (isShown: boolean) =>
    meanings
      .filter((one) => one.isShown === isShown)
      .map(({ word }) => {
        const yes = isCoded ? undefined : booleanOf(word);
        return yes === undefined ? word : yes ? 'yes' : 'no';
      });
  const meaning = (isShown: boolean) => {
    const own = found(isShown);
    const general = (isNegative === isShown) !== found(!isShown).includes('no') ? 'no' : 'yes';
    return [...new Set(own.length > 0 ? own : [isCoded ? (isShown ? 'shown' : 'hidden') : general])];
  };
  const blanks = isGrouped ? 0 : column.cells.filter(isBlank).length;
  const isMixed = blanks > 0 && shownWords.size > 0 && shownWords.size < meanings.length;
  const blank = isMixed ? askBlank(guess, column, blanks) : undefined;
  if (isMixed && blank === undefined) return undefined;
  return [
    guess.use(visible === undefined ? 'hidden' : 'visible', column),
    ...(blank === undefined ? [] : [{ default: meaning(blank === 'shown')[0] ?? '' }]),
    { boolean: { yes: meaning(false), no: meaning(true) } },
  ];
}

/** What a blank means beside words for shown and for hidden; undefined while that is asked. */
function askBlank(guess: ProductGuess, { header, values }: ProductColumn, count: number): string | undefined {
  const answer = guess.ask({
    id: `unused.${header}`,
    text: `What does a blank mean in '${header}'?`,
    reason: `${count} products have one, beside '${[...new Set(values)].slice(0, 3).join("', '")}'`,
    answers: [
      { value: 'shown', label: 'the store shows the product' },
      { value: 'hidden', label: 'the store hides the product' },
    ],
  });
  return answer?.toLowerCase();
}

/** Asks about other columns that say of products which a column shows that they are hidden, or no longer sold. */
function askHiding(guess: ProductGuess, column: ProductColumn, isShown: (cell: string) => boolean): void {
  const shownRows = column.cells.map(isShown);
  for (const other of guess.free) {
    if (other === column || !(isExactlyCalled(other, 'visible', 'hidden') || isWithdrawal(other))) continue;
    if (isStatus(other) && !other.values.some(isUnpublished)) continue;
    const isNegative = !isCalled(other, 'visible');
    const hiding = other.cells.find(
      (cell, row) =>
        shownRows[row] === true &&
        cell !== '' &&
        !isMissingValue(cell) &&
        saysShown(other, cell, isNegative) !== true,
    );
    if (hiding !== undefined)
      guess.askUnused([other], `has '${hiding}' for a product that '${column.header}' shows`, [LEAVE_OUT]);
  }
}

/** Asks about dates from which on products are offered, or until which, where the store would offer them now. */
function askDates(guess: ProductGuess, isShown: (row: number) => boolean): void {
  const { now } = guess;
  if (now === undefined) return;
  for (const column of guess.free) {
    if (guess.fields().includes('sale') && isCalled(column, 'saleDate')) continue;
    const begins = isExactlyCalled(column, 'begins');
    if (!begins && !isExactlyCalled(column, 'ends')) continue;
    const isOutside = (moment: number) => (begins ? moment > now : moment < now - DAY_MS);
    const found = column.cells.find((cell, row) => isShown(row) && momentsOf(cell).some(isOutside));
    if (found !== undefined)
      guess.askUnused([column], `has '${found}', and the store would offer the product now`, [LEAVE_OUT]);
  }
}

/** Whether a word says that a product is not ready: it must not be published. */
function isUnpublished(value: string): boolean {
  const isRemoved = words().cells.removed.has(value.toLowerCase());
  return booleanOf(value) === undefined && (visibilityOf(value) === false || isRemoved);
}

/** Whether a status may say which products are shown: in words for that, or in codes such as A and I. */
function mayHide({ values, distinct }: SampledColumn): boolean {
  const areCodes = distinct > 1 && distinct <= MAX_STATES && values.every(({ length }) => length <= 2);
  return areCodes || values.some(isUnpublished);
}

/** A status can belong to anything, such as an order. */
function isStatus({ header }: ProductColumn): boolean {
  const text = header.toLowerCase();
  return [...words().headerParts.status].some((word) => text.includes(word));
}

/** Whether a word says that a product is shown, in a column that says this or the opposite; undefined for other words. */
function saysShown(column: ProductColumn, word: string, isNegative: boolean): boolean | undefined {
  const yes = readerOfFlags(column)(word);
  if (yes !== undefined) return yes !== isNegative;
  return booleanOf(word) === undefined ? visibilityOf(word) : undefined;
}

function shownOf(
  guess: ProductGuess,
  column: ProductColumn,
  word: string,
  isHiddenColumn: boolean,
): boolean | undefined {
  const { meanings, mentions } = column.reading;
  // Not published, invisible: what yes says there is not known.
  const isUnclear = meanings.length === 0 && (mentions.has('visible') || mentions.has('hidden'));
  const known = isUnclear ? undefined : saysShown(column, word, isHiddenColumn);
  if (known !== undefined) return known;
  const answer = guess.askWord(word, column, {
    shown: 'the store shows the product',
    hidden: 'the store hides the product',
  });
  return answer === undefined ? undefined : answer === 'shown';
}

/** A last row with totals is not a product: it is called that, or begins so and alone lacks a SKU. */
function totalRows(guess: ProductGuess, title: ProductColumn, sku: ProductColumn | undefined) {
  const row = title.cells.findLastIndex((cell) => cell !== '');
  const last = title.cells[row] ?? '';
  const isTotal = (text: string) => words().cells.totals.has(text.toLowerCase().replace(/:$/, ''));
  const lacksSku = sku?.cells.every((cell, at) => (cell === '') === (at === row)) === true;
  const isLast = isTotal(last) || (lacksSku && isTotal(last.split(/[\s:]/, 1)[0] ?? ''));
  if (!isLast || title.values.filter((value) => value === last || isTotal(value)).length > 1) return [];
  guess.notes.push(`The last row, '${last}', has the totals of the others: it is left out.`);
  return [{ when: { [guess.use('title', title)]: [last] }, reason: 'a row of totals' }];
}
