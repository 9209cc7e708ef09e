import type { GroupSpec } from '../spec/group-spec.ts';
import type { ProductMappingSpec } from '../spec/mapping-spec.ts';
import type { CategoriesSpec, OptionsSpec, ProductSpec, VariantsSpec } from '../spec/product-spec.ts';
import type { Condition, Value } from '../spec/value.ts';
import { slugify } from '../transforms/slug.ts';
import type { Transform } from '../transforms/transforms.ts';
import { draftPrices } from './draft-prices.ts';
import { countedShare, type Guess, meaningOf, type ReadColumn } from './guess.ts';
import { isProductWord, type ProductConcept, weightUnit } from './header-reading.ts';
import { styleOf } from './number-style.ts';
import {
  availabilityOf,
  booleanOf,
  isAddresses,
  isCode,
  isEmail,
  isGtin,
  isHtml,
  isPictureFile,
  isPictures,
  listedAddresses,
  readAmount,
  readCount,
  readWeight,
  type SampledColumn,
  saysNone,
  shareOf,
  signsOf,
  visibilityOf,
} from './sampled-column.ts';

type Column = ReadColumn<ProductConcept>;
type Products = Guess<ProductConcept>;

const MOSTLY = 0.8;
const text = (column: SampledColumn) =>
  shareOf(column, (value) => /\p{L}/u.test(value) && !isEmail(value) && !isAddresses(value)) >= MOSTLY &&
  shareOf(column, (value) => readAmount(value) === undefined) >= MOSTLY;
const nothing = () => '';

/** A mapping of products, by what the columns show; undefined while a question is open. */
export function draftProduct(guess: Products): ProductMappingSpec | undefined {
  const sku = pickSku(guess);
  const titleColumn = pickTitle(guess);
  const prices = draftPrices(guess);
  const variants = draftVariants(guess, sku, titleColumn);
  const description = pickDescription(guess);
  const images = draftImages(guess, variants !== undefined && variants.group !== undefined);
  const categories = draftCategories(guess);
  const quantity = draftQuantity(guess);
  const weight = draftWeight(guess);
  const hidden = draftHidden(guess);
  if (titleColumn === undefined || prices === undefined || variants === undefined) return undefined;
  const url = draftUrl(guess, sku, titleColumn, variants);
  if (url === undefined || guess.questions.length > 0) return undefined;

  const title = guess.use('title', titleColumn);
  const product: ProductSpec = {
    url,
    title: variants.group?.starts === undefined ? title : { value: title, from: 'any' },
    ...(description === undefined ? {} : { description: guess.use('description', description) }),
    ...(hidden === undefined ? {} : { hidden }),
    ...(images === undefined ? {} : { images }),
    ...(categories === undefined ? {} : { categories }),
  };
  const bought: VariantsSpec = {
    rows: variants.rows,
    ...(variants.inherit.length === 0 ? {} : { inherit: [...variants.inherit] }),
    ...(sku === undefined ? {} : { sku: guess.use('sku', sku) }),
    pricing: prices.pricing,
    ...(quantity === undefined ? {} : { quantity }),
    ...(weight === undefined ? {} : { weight }),
  };
  const skip = [...prices.skip, ...totalRows(guess, titleColumn)];
  return {
    import: 'products',
    columns: guess.columnSpecs(),
    required: [title, ...[...guess.used.keys()].filter((name) => name === 'price' || name === 'sku')],
    ...(skip.length === 0 ? {} : { skip: [...skip] }),
    ...(variants.group === undefined ? {} : { group: variants.group }),
    product,
    ...(variants.options === undefined ? {} : { options: variants.options }),
    variants: bought,
    tests: [],
  };
}

/** The SKU; where no column is called so, the EAN. */
function pickSku(guess: Products): Column | undefined {
  const shown = (column: SampledColumn) =>
    `${column.distinct} different of ${column.values.length} values, such as codes have`;
  const sku = guess.pick({
    field: 'sku',
    what: 'the SKU',
    concepts: ['sku'],
    fits: (column) => shareOf(column, isCode) >= MOSTLY && !isRowNumber(guess, column),
    shown,
    prefer: ({ header }) => /^(?:product |variant )?sku$/i.test(header.replaceAll('_', ' ').trim()),
  });
  if (sku !== undefined || guess.answers['column.sku'] !== undefined) return sku;
  if (guess.questions.some(({ id }) => id === 'column.sku')) return undefined;
  if (
    guess.columns.some(
      (column) => meaningOf(column, ['sku'])?.how === 'exact' && guess.isFree(column) && isCodes(column),
    )
  ) {
    return undefined;
  }
  const ean = guess.columns.filter(
    (column) => meaningOf(column, ['gtin']) !== undefined && shareOf(column, isGtin) >= MOSTLY,
  );
  const [only, second] = ean;
  if (only === undefined || second !== undefined) return undefined;
  return guess.claim(
    'sku',
    only,
    `${countedShare(only, isGtin, 'are EANs')}, and no other column holds the SKU`,
    'likely',
  );
}

/** Whether a column that is called `No.` only counts the rows. */
function isRowNumber(guess: Products, { index }: SampledColumn): boolean {
  const column = guess.columns[index];
  return column !== undefined && meaningOf(column, ['position']) !== undefined && isSequence(column);
}

function isCodes(column: Column): boolean {
  return column.values.length > 0 && !isSequence(column) && !text(column);
}

/** Whether values count the rows: 1, 2, 3. */
function isSequence({ values }: SampledColumn): boolean {
  return values.length > 1 && values.every((value, index) => Number(value) === index + Number(values[0]));
}

function pickTitle(guess: Products): Column | undefined {
  const title = guess.pick({
    field: 'title',
    what: 'the name of the product',
    concepts: ['title'],
    prefer: ({ header }) => !isProductWord(header),
    fits: text,
    shown: (column) => `${column.distinct} different of ${column.values.length} values`,
  });
  if (title !== undefined) return title;
  if (guess.questions.some(({ id }) => id === 'column.title')) return undefined;
  const texts = guess.columns.filter(
    (column) => guess.isFree(column) && column.header !== '' && text(column),
  );
  const described = texts.filter((column) => meaningOf(column, ['description', 'summary']) !== undefined);
  const [only, second] = described.filter(
    (column) => column.distinct === column.values.length && shareOf(column, isShortName) === 1,
  );
  if (only !== undefined && second === undefined && guess.answers['column.title'] === undefined) {
    return guess.claim(
      'title',
      only,
      'no column is called a name; its values are short, and all differ',
      'likely',
    );
  }
  guess.askColumn(
    'title',
    'the name of the product',
    texts,
    'no header is called the name of a product',
    false,
  );
  return undefined;
}

const LONGEST_NAME = 80;

function isShortName(value: string): boolean {
  return value.length <= LONGEST_NAME && !isHtml(value) && !/[.!?]$|\n/.test(value);
}

function pickDescription(guess: Products): Column | undefined {
  const choice = {
    field: 'description',
    what: 'the description',
    fits: (column: SampledColumn) =>
      shareOf(column, (value) => /\p{L}/u.test(value) && !isAddresses(value)) >= MOSTLY,
    shown: (column: SampledColumn) =>
      shareOf(column, isHtml) > 0 ? countedShare(column, isHtml, 'are HTML, sent as it is') : nothing(),
  };
  const long = guess.pick({ ...choice, concepts: ['description'] });
  if (long !== undefined || guess.questions.some(({ id }) => id === 'column.description')) return long;
  if (guess.answers['column.description'] !== undefined) return undefined;
  return guess.pick({ ...choice, concepts: ['summary'] });
}

/** What the rows of a file are to its products. */
interface VariantDraft {
  readonly group: GroupSpec | undefined;
  readonly rows: VariantsSpec['rows'];
  readonly options: OptionsSpec | undefined;
  readonly inherit: readonly string[];
  /** The column whose values tell products apart; the SKU or the title where each row is one. */
  readonly by: Column | undefined;
}

const ALONE: VariantDraft = { group: undefined, rows: 'all', options: undefined, inherit: [], by: undefined };

/** Finds rows that are variants of one product. Undefined while a question about them is open. */
function draftVariants(
  guess: Products,
  sku: Column | undefined,
  title: Column | undefined,
): VariantDraft | undefined {
  const parent = guess.columns.find(
    (column) =>
      guess.isFree(column) &&
      meaningOf(column, ['parent'])?.how === 'exact' &&
      column.values.length > 0 &&
      shareOf(column, isCode) >= MOSTLY,
  );
  const given = guess.answers['group'];
  const choices = guess.columns.filter(
    (column) =>
      guess.isFree(column) &&
      column.values.length > 0 &&
      meaningOf(column, ['size', 'color', 'option', 'material'])?.how === 'exact' &&
      shareOf(column, (value) => value.length <= LONGEST_CHOICE) >= MOSTLY,
  );
  if (given?.toLowerCase() === 'none') return ALONE;
  const by = given === undefined ? undefined : guess.called(given);
  const key = by ?? parent;
  if (key !== undefined && key.index !== title?.index) return byParent(guess, key, sku, title, choices);
  if (title === undefined) return undefined;
  const cells = title.cells;
  const continues = cells.some(
    (cell, row) => cell === '' && row > 0 && choices.some((column) => column.cells[row] !== ''),
  );
  if (continues && choices.length > 0) {
    guess.notes.push(`A row without '${title.header}' is a variant of the product above it.`);
    return {
      group: { starts: { [guess.use('title', title)]: 'present' } },
      rows: 'all',
      options: optionsOf(guess, choices),
      inherit: inherited(guess),
      by: title,
    };
  }
  if (title.distinct === title.values.length && by === undefined)
    return listsChoices(guess, choices) ? undefined : ALONE;
  const combination = (row: number) =>
    JSON.stringify([cells[row], ...choices.map((column) => column.cells[row])]);
  const rows = cells.flatMap((cell, row) => (cell === '' ? [] : [row]));
  const areDistinct = new Set(rows.map(combination)).size === rows.length;
  if (choices.length > 0 && areDistinct) {
    const names = choices.map(({ header }) => `'${header}'`).join(' and ');
    guess.notes.push(
      `Rows with the same '${title.header}' are variants of one product, by ${names}: ${title.distinct} products of ${rows.length} rows.`,
    );
    return {
      group: { by: guess.use('title', title), rows: 'anywhere' },
      rows: 'all',
      options: optionsOf(guess, choices),
      inherit: [],
      by: title,
    };
  }
  if (choices.length > 0 && !isKey(sku)) {
    guess.ask({
      id: 'group',
      text: 'Which rows are variants of one product?',
      reason: `${rows.length - title.distinct} names repeat, and rows with the same name do not differ in ${choices.map(({ header }) => `'${header}'`).join(' and ')}`,
      answers: [{ value: 'none', label: 'each row is a product of its own' }],
    });
    return undefined;
  }
  return ALONE;
}

const LONGEST_CHOICE = 60;

/** Asks about sizes or colours that a row lists in one cell: each needs a row of its own to be sold. */
function listsChoices(guess: Products, choices: readonly Column[]): boolean {
  const listing = choices.find(({ values }) =>
    values.some((value) => /^[^,;|/]{1,20}(?:[,;|/] ?[^,;|/]{1,20})+$/.test(value)),
  );
  if (listing === undefined) return false;
  guess.ask({
    id: 'group',
    text: 'Which rows are variants of one product?',
    reason: `'${listing.header}' lists several values in a cell, such as '${listing.values.find((value) => /[,;|/]/.test(value))}', and a variant needs a row of its own`,
    answers: [{ value: 'none', label: `send the products without '${listing.header}'` }],
  });
  return true;
}

function optionsOf(guess: Products, choices: readonly Column[]): OptionsSpec {
  const columns = choices.map((column) => {
    guess.claim(
      `option ${column.header}`,
      column,
      guess.evidence(column, ['size', 'color', 'option', 'material'], 'an option', ''),
      'certain',
    );
    return [column.header, guess.use('option', column)] as const;
  });
  return { columns: Object.fromEntries(columns), keep: 'differing' };
}

/** Columns that continuing rows leave blank where they mean the value above. */
function inherited(guess: Products): readonly string[] {
  return [...guess.used].flatMap(([name, { column }]) =>
    name !== 'title' && name !== 'sku' && column.cells.includes('') && !name.startsWith('option')
      ? [name]
      : [],
  );
}

/** Rows that name their parent, or share the name of a group. */
function byParent(
  guess: Products,
  parent: Column,
  sku: Column | undefined,
  title: Column | undefined,
  choices: readonly Column[],
): VariantDraft | undefined {
  const skus = new Set(sku?.values ?? []);
  const isOwn = (row: number) => parent.cells[row] === sku?.cells[row];
  const named = parent.cells.flatMap((cell, row) => (cell === '' ? [] : [{ cell, row }]));
  const refers = sku !== undefined && named.every(({ cell, row }) => skus.has(cell) && !isOwn(row));
  const groups = Map.groupBy(named, ({ cell }) => cell);
  const several = [...groups.values()].filter((rows) => rows.length > 1);
  if (!refers && several.length === 0) return ALONE;
  if (choices.length === 0) {
    guess.askColumn(
      'option',
      'what the variants of a product differ in',
      guess.columns.filter(
        (column) => guess.isFree(column) && column.header !== '' && column !== parent && text(column),
      ),
      `'${parent.header}' groups ${named.length} rows, and no column is called a size or colour`,
      false,
    );
    const option = guess.given('option');
    if (option === undefined || option === 'none') return undefined;
    return byParent(guess, parent, sku, title, [option]);
  }
  guess.claim(
    'group',
    parent,
    guess.evidence(parent, ['parent'], 'the parent', `${groups.size} products have ${named.length} variants`),
    'certain',
  );
  const name = guess.use('parent', parent);
  const options = optionsOf(guess, choices);
  if (refers && sku !== undefined) {
    guess.notes.push(`A row with '${parent.header}' is a variant of the row whose '${sku.header}' that is.`);
    const group = { parent: name, names: [guess.use('sku', sku)] };
    return { group, rows: 'children', options, inherit: [], by: sku };
  }
  const differs = several.filter((rows) => new Set(rows.map(({ row }) => title?.cells[row])).size > 1);
  const accepted = guess.answers['group'] !== undefined;
  if (differs.length > 0 && !accepted) {
    guess.ask({
      id: 'group',
      text: 'Which rows are variants of one product?',
      reason: `rows with the same '${parent.header}' have different names, of which only the first would be sent`,
      answers: [
        { value: parent.header, label: `rows with the same '${parent.header}', under the name of the first` },
        { value: 'none', label: 'each row is a product of its own' },
      ],
    });
    return undefined;
  }
  guess.notes.push(
    `Rows with the same '${parent.header}' are variants of one product: ${groups.size} products of ${named.length} rows.`,
  );
  const isWhole = named.length === parent.cells.length;
  const by: Value = isWhole || sku === undefined ? name : { first: [name, guess.use('sku', sku)] };
  return { group: { by, rows: 'anywhere' }, rows: 'all', options, inherit: [], by: parent };
}

function isKey(column: Column | undefined): boolean {
  return (
    column !== undefined &&
    column.values.length === column.cells.length &&
    column.distinct === column.values.length
  );
}

/** The key of a product: a handle of the file, else its SKU or its name, whichever is unique. */
function draftUrl(
  guess: Products,
  sku: Column | undefined,
  title: Column,
  { group, by }: VariantDraft,
): Value | undefined {
  const handle = guess.pick({
    field: 'url',
    what: 'the URL handle',
    concepts: ['url'],
    fits: (column) => shareOf(column, (value) => /^[\p{L}\p{N}._~-]+$/u.test(value)) === 1,
    shown: (column) => `${column.distinct} different of ${column.values.length} values`,
  });
  if (handle !== undefined) return guess.use('url', handle);
  if (group?.by !== undefined) return [group.by, 'slug'];
  const candidates = [by ?? sku, sku, title].filter((column) => column !== undefined);
  for (const column of candidates) {
    const slugs = column.values.map((value) => slugify(value));
    const keyed = group === undefined ? column.cells.length : column.values.length;
    const name = () => guess.use(column === title ? 'title' : 'sku', column);
    if (column.values.length < keyed || slugs.includes('')) continue;
    if (new Set(slugs).size === slugs.length) {
      guess.notes.push(
        `The url of a product is made of '${column.header}', which differs on every row: it is the key of the product.`,
      );
      return [name(), 'slug'];
    }
    const exact = column.values.map((value) => slugify(value, KEPT, false));
    if (new Set(exact).size === exact.length) return [name(), { slug: { keep: KEPT, case: 'keep' } }];
  }
  const unique = guess.columns.filter(
    (column) => column.header !== '' && isKey(column) && shareOf(column, isCode) === 1 && !isSequence(column),
  );
  guess.askColumn(
    'url',
    'what tells products apart (for their url)',
    unique,
    `'${title.header}' repeats${sku === undefined ? '' : `, and so does '${sku.header}'`}`,
    false,
  );
  return undefined;
}

const KEPT = '_./+#';

const IMAGE_CONCEPTS: readonly ProductConcept[] = ['image'];

/** All columns with addresses of pictures, in their order. */
function draftImages(guess: Products, isGrouped: boolean): Value | undefined {
  const given = guess.given('images');
  if (given === 'none') return undefined;
  const holds = (column: SampledColumn) => shareOf(column, isAddresses) >= MOSTLY;
  const called = guess.columns.filter(
    (column) =>
      guess.isFree(column) && meaningOf(column, IMAGE_CONCEPTS) !== undefined && column.values.length > 0,
  );
  const pictures = guess.columns.filter(
    (column) => guess.isFree(column) && column.header !== '' && shareOf(column, isPictures) >= MOSTLY,
  );
  const addressed = called.filter(holds);
  const found = given !== undefined ? [given] : addressed.length > 0 ? addressed : pictures;
  const files = called.filter((column) => shareOf(column, isPictureFile) >= MOSTLY);
  const [file] = files;
  const base =
    found.length > 0 || file === undefined
      ? undefined
      : guess.ask({
          id: 'imageBase',
          text: 'At which address do the pictures stand?',
          reason: `'${file.header}' holds names of files such as ${file.values[0]}, and no addresses`,
          answers: [],
        });
  const columns = found.length > 0 ? found : base === undefined || base === '' ? [] : files;
  const ordered = columns.toSorted(
    (a, b) => (a.reading.qualifiers.number ?? 0) - (b.reading.qualifiers.number ?? 0),
  );
  const values = ordered.map((column): Value => {
    const several = column.values.filter((value) => listedAddresses(value).length > 1);
    guess.claim(
      'images',
      column,
      guess.evidence(
        column,
        IMAGE_CONCEPTS,
        'images',
        base === undefined ? countedShare(column, isAddresses, 'are web addresses') : `below ${base}`,
      ),
      meaningOf(column, IMAGE_CONCEPTS)?.how === 'exact' ? 'certain' : 'likely',
    );
    const name = guess.use('image', column);
    if (base !== undefined) {
      return [name, { split: [',', ';', '|'] }, { template: `${base.replace(/\/?$/, '/')}{value}` }];
    }
    const [first] = several;
    if (first === undefined) return name;
    const separators = new Set(several.flatMap(separatorsOf));
    const [only = ''] = separators;
    const isPlain =
      separators.size === 1 &&
      only.trim() !== '' &&
      several.every((value) => value.split(only).every((one) => isAddresses(one.trim())));
    guess.notes.push(
      `'${column.header}' lists several images, separated by ${[...separators].map(named).join(' or ')}.`,
    );
    return isPlain
      ? [name, { split: only }]
      : [name, { replace: '[\\s,;|]+(https?://|//)', with: '\n$1' }, { split: '\n' }];
  });
  const [only, second] = values;
  if (only === undefined) return undefined;
  return second === undefined && !isGrouped ? only : { all: values };
}

function separatorsOf(value: string): readonly string[] {
  return [...value.matchAll(/([\s,;|]+)(?=(?:https?:)?\/\/)/gi)].map(
    ([, between = '']) => between.trim() || between.charAt(0),
  );
}

function named(separator: string): string {
  return separator === ' ' ? 'a blank' : separator === '\n' ? 'a line break' : `'${separator}'`;
}

function draftCategories(guess: Products): CategoriesSpec | Value | undefined {
  const choice = { fits: text, shown: (column: SampledColumn) => `${column.distinct} different values` };
  const main = guess.pick({
    ...choice,
    field: 'category',
    what: 'the category',
    concepts: ['category'],
    prefer: ({ reading }) => reading.meanings.length === 1,
  });
  const sub = guess.pick({
    ...choice,
    field: 'subcategory',
    what: 'the subcategory',
    concepts: ['subcategory'],
  });
  const column = main ?? sub;
  if (column === undefined) return undefined;
  const name = guess.use('category', column);
  if (main !== undefined && sub !== undefined) {
    guess.notes.push(
      `The category of a product is its '${sub.header}', or its '${main.header}' where that is blank.`,
    );
    return { first: [guess.use('subcategory', sub), name] };
  }
  const path = PATH_SIGNS.find((sign) => column.values.some((value) => value.includes(sign)));
  if (path !== undefined) {
    guess.notes.push(
      `'${column.header}' holds paths, separated by '${path}': the last level is the category.`,
    );
    const list = [';', '|', ',', '\n'].find((sign) =>
      column.values.some(
        (value) => value.split(sign).length > 1 && value.split(sign).every((one) => one.includes(path)),
      ),
    );
    return { value: list === undefined ? name : [name, { split: list }], path };
  }
  for (const sign of ['|', '/', ';', ',', '\n']) {
    const split = column.values.filter((value) => value.includes(sign));
    const [first] = split;
    if (first === undefined) continue;
    const isLine = sign === '\n';
    const answer = isLine
      ? 'list'
      : (listOrPath(column, sign) ?? askSeparator(guess, column, sign, split.length, first));
    if (answer === undefined) return undefined;
    if (answer === 'list') {
      guess.notes.push(`'${column.header}' lists several categories, separated by ${named(sign)}.`);
      return [name, { split: sign }];
    }
    if (answer === 'path') {
      guess.notes.push(
        `'${column.header}' holds paths, separated by '${sign}': the last level is the category.`,
      );
      return { value: name, path: sign };
    }
  }
  return name;
}

const PATH_SIGNS = ['>', '»', '→', '\\', '::'];

function askSeparator(
  guess: Products,
  { header }: Column,
  sign: string,
  count: number,
  first: string,
): string | undefined {
  return guess.ask({
    id: 'separator',
    text: `What does '${sign}' separate in '${header}'?`,
    reason: `${count} values have it, such as '${first}'`,
    answers: [
      { value: 'path', label: 'the levels of one category' },
      { value: 'list', label: 'several categories' },
      { value: 'none', label: 'nothing: it is part of the name' },
    ],
  });
}

/** What a sign separates: the levels of a path where what stands before it recurs with others behind it, and never the other way round. */
function listOrPath({ values }: SampledColumn, sign: string): 'path' | 'list' | undefined {
  const parts = values.map((value) => value.split(sign).map((part) => part.trim()));
  const pairs = parts.filter(({ length }) => length > 1);
  const alone = new Set(parts.flatMap((part) => (part.length === 1 ? part : [])));
  const behind = new Map<string, Set<string>>();
  const before = new Map<string, Set<string>>();
  for (const part of pairs) {
    for (const [index, name] of part.entries()) {
      const next = part[index + 1];
      if (next === undefined) continue;
      behind.set(name, (behind.get(name) ?? new Set()).add(next));
      before.set(next, (before.get(next) ?? new Set()).add(name));
    }
  }
  const branches = [...behind.values()].some(({ size }) => size > 1);
  const meets = [...before.values()].some(({ size }) => size > 1);
  const turns = [...behind.keys()].some(
    (name) => before.get(name) !== undefined && pairs.every(({ length }) => length === 2),
  );
  const lastAlone = [...before.keys()].some((name) => alone.has(name));
  if (turns || lastAlone || (meets && !branches)) return turns || lastAlone ? 'list' : undefined;
  return branches && !meets ? 'path' : undefined;
}

/** The stock: a number of pieces, or words that say whether there are any. */
function draftQuantity(guess: Products): Value | undefined {
  const isCount = (value: string) => readCount(value) !== undefined || saysNone(value);
  const isWord = (value: string) => availabilityOf(value) !== undefined || booleanOf(value) !== undefined;
  const count = guess.pick({
    field: 'quantity',
    what: 'the stock',
    concepts: ['quantity'],
    fits: (column) =>
      shareOf(column, isCount) >= 0.5 &&
      shareOf(column, (value) => isCount(value) || isWord(value)) >= MOSTLY,
    shown: (column) =>
      countedShare(column, (value) => readCount(value) !== undefined, 'are numbers of pieces'),
  });
  if (guess.answers['column.quantity'] === '' || guess.questions.some(({ id }) => id === 'column.quantity'))
    return undefined;
  const words =
    count ??
    guess.pick({
      field: 'availability',
      what: 'the availability',
      concepts: ['availability', 'visible'],
      fits: (column) =>
        shareOf(column, isWord) >= 0.5 &&
        column.values.some(
          (value) =>
            availabilityOf(value) !== undefined ||
            !guess.columns.some(
              (one) => one.index === column.index && meaningOf(one, ['visible']) !== undefined,
            ),
        ),
      shown: (column) => countedShare(column, isWord, 'are words for in stock or sold out'),
    });
  if (words === undefined) return undefined;
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
      `'${words.header}': of '${words.values.find((value) => readCount(value)?.isAtLeast === true)}' the number is sent.`,
    );
  const thousands = signs.either.some((value) =>
    style?.decimal === ',' ? value.includes('.') : value.includes(','),
  );
  const steps: Transform[] = [
    ...(other.length === 0
      ? []
      : [{ lookup, otherwise: counts.length > 0 ? ('keep' as const) : ('reject' as const) }]),
    ...(units.length === 0 ? [] : [{ replace: `(?i) *(${units.join('|')})\\.? *([+]?)$`, with: '$2' }]),
    ...(counts.some(({ isAtLeast }) => isAtLeast)
      ? [{ replace: '^[^0-9-]*([0-9][0-9.,]*) *[+]?$', with: '$1' }]
      : []),
    ...(style === undefined
      ? []
      : [
          {
            number: {
              decimal: style.decimal,
              ...(thousands && style.decimal !== 'auto'
                ? { thousands: style.decimal === ',' ? '.' : ',' }
                : {}),
            },
          },
        ]),
    'integer',
    { min: 0 },
  ];
  return [guess.use('quantity', words), ...steps];
}

/** What a word in the stock means; undefined while that is asked. */
function stockOf(guess: Products, { header, values }: Column, word: string): string | undefined {
  if (saysNone(word)) return 'available';
  const known = availabilityOf(word) ?? booleanOf(word);
  if (known !== undefined) return known ? 'available' : 'sold-out';
  return guess.ask({
    id: `word.${word}`,
    text: `What does '${word}' mean in '${header}'?`,
    reason: `${values.filter((value) => value === word).length} of ${values.length} values are '${word}'`,
    answers: [
      { value: 'available', label: 'the product can be bought; its stock is not tracked' },
      { value: 'sold-out', label: 'it is sold out: the stock is 0' },
      { value: 'reject', label: 'reject its products' },
    ],
  });
}

/** The weight with its unit: of the cells, else of the header; asked where neither names it. */
function draftWeight(guess: Products): VariantsSpec['weight'] {
  const isWeight = (value: string) => readWeight(value) !== undefined;
  const column = guess.pick({
    field: 'weight',
    what: 'the weight',
    concepts: ['weight'],
    fits: (one) => shareOf(one, isWeight) >= MOSTLY,
    shown: (one) => countedShare(one, isWeight, 'are weights'),
  });
  if (column === undefined) return undefined;
  const weights = column.values.flatMap((value) => readWeight(value) ?? []);
  const signs = signsOf(weights.map(({ digits }) => digits));
  const style = styleOf(guess, column.header, signs, { point: [], comma: [], either: [], count: 0 });
  const words = [...new Set(weights.flatMap(({ unitWord }) => (unitWord === '' ? [] : [unitWord])))];
  const bare = weights.filter(({ unitWord }) => unitWord === '').length;
  const unit =
    column.reading.qualifiers.unit ??
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
  const name = guess.use('weight', column);
  if (words.length === 0) {
    if (unit === undefined) return undefined;
    const format = style.decimal === '.' ? 'number' : { number: { decimal: style.decimal } };
    return { value: [name, format], unit };
  }
  const hasSigns = signs.point.length + signs.comma.length + signs.either.length > 0;
  const steps: Transform[] = [
    ...(hasSigns ? POINT_STEPS[style.decimal] : []),
    ...words.flatMap((word) => {
      const canonical = weightUnit(word) ?? word;
      return canonical === word.toLowerCase()
        ? []
        : [{ replace: `(?i) *${word}[.]?$`, with: ` ${canonical}` }];
    }),
    ...(bare === 0 || unit === undefined ? [] : [{ replace: '^([0-9.]+)$', with: `$1 ${unit}` }]),
  ];
  return { value: steps.length === 0 ? name : [name, ...steps], unit: 'cell' };
}

/** What makes decimal points: weights with their units are read so. */
const POINT_STEPS: Readonly<Record<',' | '.' | 'auto', readonly Transform[]>> = {
  ',': [{ replace: '[.]' }, { replace: ',', with: '.' }],
  '.': [{ replace: ',' }],
  auto: [{ replace: ',', with: '.' }],
};

/** Whether a product is hidden; a word that is not known is asked about, as a guess could publish what is not ready. */
function draftHidden(guess: Products): ProductSpec['hidden'] {
  const isWord = (value: string) => visibilityOf(value) !== undefined;
  const choice = {
    fits: (column: SampledColumn) => shareOf(column, isWord) >= 0.5,
    shown: (column: SampledColumn) => countedShare(column, isWord, 'are words for shown or hidden'),
  };
  const marked = guess.columns.find(
    (column) =>
      guess.isFree(column) &&
      meaningOf(column, ['visible', 'hidden'])?.how === 'exact' &&
      shareOf(column, (value) => MARKS.has(value.toLowerCase())) === 1,
  );
  if (marked !== undefined && guess.answers['column.visible'] === undefined) {
    const isVisible = meaningOf(marked, ['visible']) !== undefined;
    const field = isVisible ? 'visible' : 'hidden';
    guess.claim(
      field,
      marked,
      countedShare(marked, () => true, `are marks; a blank is ${isVisible ? 'hidden' : 'shown'}`),
      'certain',
    );
    return { [guess.use(field, marked)]: isVisible ? 'blank' : 'present' };
  }
  const visible = guess.pick({
    ...choice,
    field: 'visible',
    what: 'whether the product is shown',
    concepts: ['visible'],
  });
  const hidden =
    visible === undefined
      ? guess.pick({
          ...choice,
          field: 'hidden',
          what: 'whether the product is hidden',
          concepts: ['hidden'],
        })
      : undefined;
  const column = visible ?? hidden;
  if (column === undefined) {
    const unclear = guess.columns.filter(
      (one) =>
        guess.isFree(one) &&
        one.values.length > 0 &&
        meaningOf(one, ['visible', 'hidden'])?.how === 'exact' &&
        !isStatus(one),
    );
    const [first] = unclear;
    if (first !== undefined && guess.answers['column.visible'] === undefined) {
      guess.askColumn(
        'visible',
        'whether the product is shown',
        unclear,
        `'${first.header}' is called so, and its words are not known`,
        true,
      );
    }
    return undefined;
  }
  const meanings = [...new Set(column.values.map((value) => value.toLowerCase()))].map((word) => ({
    word,
    isShown: shownOf(guess, column, word, hidden !== undefined),
  }));
  if (meanings.some(({ isShown }) => isShown === undefined)) return undefined;
  const words = (isShown: boolean) => {
    const found = meanings
      .filter((meaning) => meaning.isShown === isShown)
      .map(({ word }) => (booleanOf(word) === undefined ? word : booleanOf(word) === true ? 'yes' : 'no'));
    const fallback = (hidden !== undefined) === isShown ? 'no' : 'yes';
    return [...new Set(found.length > 0 ? found : [fallback])];
  };
  return [
    guess.use(visible === undefined ? 'hidden' : 'visible', column),
    { boolean: { yes: words(false), no: words(true) } },
  ];
}

/** What stands in a cell that is marked, in lower case. */
const MARKS: ReadonlySet<string> = new Set(['x', '✓', '✔', '●', '*']);

/** A status may be of anything. */
function isStatus({ header }: Column): boolean {
  return STATUS_WORDS.test(header);
}

const STATUS_WORDS = /stat(?:us|ut|o)|estado|stav|durum|状态|状態|狀態|ステータス|situa|стат|product status/i;

function shownOf(
  guess: Products,
  { header, values }: Column,
  word: string,
  isHiddenColumn: boolean,
): boolean | undefined {
  const yes = booleanOf(word);
  if (yes !== undefined) return yes !== isHiddenColumn;
  const known = visibilityOf(word);
  if (known !== undefined) return known;
  const answer = guess.ask({
    id: `word.${word}`,
    text: `What does '${word}' mean in '${header}'?`,
    reason: `${values.filter((value) => value.toLowerCase() === word).length} of ${values.length} values are '${word}'`,
    answers: [
      { value: 'shown', label: 'the store shows the product' },
      { value: 'hidden', label: 'the store hides the product' },
    ],
  });
  return answer === undefined ? undefined : answer === 'shown';
}

const TOTALS: ReadonlySet<string> = new Set(
  'total|totals|sum|summe|gesamt|gesamtsumme|somme|totale|totaal|suma|razem|celkem|итого|всего|toplam|合計|总计|合计|總計|grand total'.split(
    '|',
  ),
);

/** A last row that sums up the others is no product. */
function totalRows(
  guess: Products,
  title: Column,
): readonly { readonly when: Condition; readonly reason: string }[] {
  const found = title.values.filter((value) => TOTALS.has(value.toLowerCase().replace(/:$/, '')));
  if (found.length !== 1 || title.cells.findLast((cell) => cell !== '') !== found[0]) return [];
  guess.notes.push(`The last row, '${found[0]}', sums up the others: it is left out.`);
  return [{ when: { [guess.use('title', title)]: [...found] }, reason: 'a row of totals' }];
}
