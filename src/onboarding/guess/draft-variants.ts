import type { MappingSpec, OptionsSpec, Value, VariantsSpec } from '../../mapping/spec/mapping-spec.ts';
import { withoutAbsent, withoutUndefined } from '../../model/json-object.ts';
import type { Concept } from '../column-fields.ts';
import {
  type Guess,
  isExactlyCalled,
  isOfList,
  type MappingQuestion,
  nameOf,
  quotedHeaders,
  readBy,
} from './guess.ts';
import { wordsOfHeader } from './header-reading.ts';
import { isCode, isMostly, isText, MAX_STATES, missingSteps, type SampledColumn } from './sampled-column.ts';
import { isCellWord, words } from './words.ts';

/** How the rows of a file belong to products. */
export interface VariantDraft {
  readonly group: MappingSpec['group'];
  readonly rows: VariantsSpec['rows'];
  readonly options: OptionsSpec | undefined;
  readonly inherit: readonly string[];
  /** The column whose values identify products; the SKU or the title if each row is one product. */
  readonly by: SampledColumn | undefined;
}

const ALONE: VariantDraft = { group: undefined, rows: 'all', options: undefined, inherit: [], by: undefined };

/** Finds rows that are variants of one product. Undefined while a question about them is open. */
export function draftVariants(
  guess: Guess,
  sku: SampledColumn | undefined,
  title: SampledColumn | undefined,
): VariantDraft | undefined {
  const skus = new Set(sku?.values);
  const parent = guess
    .freeCalled('parent')
    .find(
      (column) =>
        column.values.length > 0 &&
        (isMostly(column, isCode) || column.values.every((value) => skus.has(value))),
    );
  const given = guess.answers['group'];
  const option = guess.given('option');
  const called = guess
    .freeCalled('size', 'color', 'option', 'material')
    .filter((column) => isMostly(column, (value) => value.length <= MAX_CHOICE_LENGTH));
  if (given?.toLowerCase() === 'none' || option === 'none') return ALONE;
  const paired = option === undefined ? pairedOptions(guess) : undefined;
  const choices = paired?.values ?? (option === undefined ? called : [option]);
  const optionsOf: Choices['optionsOf'] = (listed) =>
    paired === undefined ? chosenOptions(guess, choices) : pairedSpec(guess, paired, listed);
  const by = given === undefined ? undefined : guess.called(given);
  const key = by ?? parent;
  if (key !== undefined && key.index !== title?.index)
    return byParent(guess, key, sku, title, { choices, optionsOf });
  if (title === undefined) return undefined;
  const cells = title.cells;
  const continues = cells.some(
    (cell, row) => cell === '' && row > 0 && choices.some((column) => column.cells[row] !== ''),
  );
  if (continues && choices.length > 0) {
    guess.notes.push(`A row without '${title.header}' is a variant of the product above it.`);
    const listing = cells.some(
      (cell, row) => cell !== '' && choices.some((one) => isList(one.cells[row] ?? '')),
    );
    const options = optionsOf(listing ? 'all' : undefined);
    const titleName = guess.use('title', title);
    return {
      group: { starts: { [titleName]: 'present' } },
      rows: listing ? { [titleName]: 'blank' } : paired === undefined ? 'all' : { [OPTION_VALUE]: 'present' },
      options,
      inherit: inherited(guess),
      by: title,
    };
  }
  if (title.distinct === title.values.length && by === undefined)
    return namesVariants(guess) || listsChoices(guess, choices) || sharesCode(guess, sku) ? undefined : ALONE;
  if (choices.length === 0 && guess.columns.some(isOfList)) {
    const products = Map.groupBy(cells.keys(), (row) => cells[row]);
    askOption(
      guess,
      guess.free.filter((column) => mayBeChoice(column, [...products.values()])),
      `rows with the same '${title.header}' are from one list, and no column is called a size or colour`,
    );
    return undefined;
  }
  const combination = (row: number) =>
    JSON.stringify([cells[row], ...choices.map((column) => column.cells[row])]);
  const rows = cells.flatMap((cell, row) => (cell === '' ? [] : [row]));
  const alike = rows.length - new Set(rows.map(combination)).size;
  if (choices.length > 0 && (alike === 0 || by !== undefined)) {
    const names = quotedHeaders(choices, ' and ');
    guess.notes.push(
      `Rows with the same '${title.header}' are variants of one product, by ${names}: ${title.distinct} products of ${rows.length} rows.`,
    );
    return {
      group: { by: guess.use('title', title), rows: 'anywhere' },
      rows: 'all',
      options: optionsOf(undefined),
      inherit: [],
      by: title,
    };
  }
  const repeated = rows.length - title.distinct;
  const areMostlyVariants = alike * 2 < repeated;
  if (choices.length > 0 && (!isKey(sku) || areMostlyVariants)) {
    askGroup(guess, {
      reason: `${repeated} names repeat, and ${areMostlyVariants ? `${alike} of the ` : ''}rows with the same name do not differ in ${quotedHeaders(choices, ' and ')}`,
      answers: areMostlyVariants ? [asGroup(title), EACH_ROW] : [EACH_ROW],
    });
    return undefined;
  }
  return namesVariants(guess, title) || sharesHandle(guess, title) ? undefined : ALONE;
}

const EACH_ROW = { value: 'none', label: 'each row is one product' };

/** The answer that rows with the same value in a column are one product. */
function asGroup(column: SampledColumn) {
  return {
    value: nameOf(column),
    label: `rows with the same '${column.header}', under the name of the first`,
  };
}

/** Asks in which of some columns the variants of a product differ. */
function askOption(guess: Guess, candidates: readonly SampledColumn[], reason: string) {
  guess.askColumn(
    'option',
    candidates,
    reason,
    'none of them: each row is one product',
    'the option in which the variants of a product differ',
  );
}

function askGroup(guess: Guess, question: Pick<MappingQuestion, 'reason' | 'answers'>) {
  guess.ask({ id: 'group', text: 'Which rows are variants of one product?', ...question });
}

const MAX_CHOICE_LENGTH = 60;

/** Asks about sizes or colours that a row lists in one cell: each variant needs its own row. */
function listsChoices(guess: Guess, choices: readonly SampledColumn[]) {
  const listing = choices.find(({ values }) => values.some(isList));
  if (listing === undefined) return false;
  askGroup(guess, {
    reason: `'${listing.header}' lists several values in a cell, such as '${listing.values.find(isList)}', and each variant needs its own row`,
    answers: [{ value: 'none', label: `send the products without '${listing.header}'` }],
  });
  return true;
}

/** Asks about rows with different names and the same SKU: they may be one product in several languages, or its variants. */
function sharesCode(guess: Guess, sku: SampledColumn | undefined) {
  if (sku === undefined || sku.distinct === sku.values.length) return false;
  askGroup(guess, {
    reason: `rows with the same '${sku.header}', such as '${firstRepeated(sku.values)}', have different names`,
    answers: [EACH_ROW, asGroup(sku)],
  });
  return true;
}

/** Asks about rows with names and the same handle, which identifies one product. */
function sharesHandle(guess: Guess, title: SampledColumn) {
  const handle = guess.freeCalled('url').find(({ values }) => values.length > 0);
  const named = handle?.cells.filter((cell, row) => cell !== '' && title.cells[row] !== '') ?? [];
  const repeated = firstRepeated(named);
  if (handle === undefined || repeated === undefined) return false;
  askGroup(guess, {
    reason: `rows have the same '${handle.header}', such as '${repeated}', and no column is called a size or colour`,
    answers: [{ value: nameOf(handle), label: `rows with the same '${handle.header}'` }, EACH_ROW],
  });
  return true;
}

function firstRepeated(values: readonly string[]) {
  const known = new Set<string>();
  return values.find((value) => known.size === known.add(value).size);
}

/** Whether a cell has several values; 0,3 l is one. */
function isList(value: string) {
  return /^[^,;|/]{1,20}(?:[,;|/] ?[^,;|/]{1,20})+$/.test(value) && !/^\d+,\d+ ?\p{L}*$/u.test(value);
}

/** Asks about rows whose kind says that they are variants, where no column says of which product. */
function namesVariants(guess: Guess, title?: SampledColumn) {
  const isVariant = (value: string) => isCellWord(value, 'variantKinds');
  const kind = guess.free.find(
    ({ values, distinct }) => distinct > 1 && distinct <= MAX_STATES && values.some(isVariant),
  );
  if (kind === undefined) return false;
  const keys = guess.free.filter(
    (column) => column !== kind && column.distinct < column.values.length && isMostly(column, isCode),
  );
  askGroup(guess, {
    reason: `'${kind.header}' has '${kind.values.find(isVariant)}', and no column is known that names the product of a variant`,
    answers: [...keys.map(asGroup), ...(title === undefined ? [] : [asGroup(title)]), EACH_ROW],
  });
  return true;
}

function chosenOptions(guess: Guess, choices: readonly SampledColumn[]): OptionsSpec {
  const columns = choices.map((column) => {
    guess.claim(
      `option ${column.header}`,
      column,
      guess.evidence(column, ['size', 'color', 'option', 'material'], 'an option', ''),
      'certain',
    );
    return [labelOf(column), guess.use('option', column), missingSteps(column)] as const;
  });
  const repeated = (label: string) => columns.filter(([other]) => other === label).length > 1;
  const labelled = columns.map(([label, name, steps]) => [
    repeated(label) ? `${label} (${name})` : label,
    readBy(name, steps),
  ]);
  return { columns: Object.fromEntries(labelled), keep: 'differing' };
}

/** The name of an option as customers see it: the last part of a path, `color` for `variants[].g:color`. */
function labelOf({ header }: SampledColumn) {
  return /\s/.test(header)
    ? header
    : (header.split(/\[\]\.?|[.@/>:]/).findLast((part) => part !== '') ?? header);
}

/** Columns in which a blank cell of a continuing row means the value above. */
function inherited(guess: Guess): readonly string[] {
  return [...guess.used].flatMap(([name, { column }]) =>
    name !== 'title' && name !== 'sku' && column.cells.includes('') && !name.startsWith('option')
      ? [name]
      : [],
  );
}

/** What the buyer of a product chooses. */
interface Choices {
  readonly choices: readonly SampledColumn[];
  readonly optionsOf: (listed: 'all' | 'parents' | undefined) => OptionsSpec;
}

/** Rows that name their parent, or share the name of a group. */
function byParent(
  guess: Guess,
  parent: SampledColumn,
  sku: SampledColumn | undefined,
  title: SampledColumn | undefined,
  { choices, optionsOf }: Choices,
): VariantDraft | undefined {
  const id = guess.columns.find((column) => column !== sku && isExactlyCalled(column, 'id') && isKey(column));
  const named = parent.cells.flatMap((cell, row) => (cell === '' ? [] : [{ cell, row }]));
  const names = withoutAbsent([
    sku && { column: sku, use: 'sku', before: '' },
    id && { column: id, use: 'id', before: '' },
    id && { column: id, use: 'id', before: 'id:' },
  ])
    .map((one) => ({ ...one, known: new Set(one.column.values.map((value) => `${one.before}${value}`)) }))
    .filter(({ known }) => named.some(({ cell }) => known.has(cell)));
  const refers = named.every(
    ({ cell, row }) =>
      names.some(({ known }) => known.has(cell)) && names.every(({ column }) => column.cells[row] !== cell),
  );
  const groups = Map.groupBy(named, ({ cell }) => cell);
  const several = [...groups.values()].filter((rows) => rows.length > 1);
  if (!refers && several.length === 0) return ALONE;
  if (choices.length === 0) {
    const rows = several.map((group) => group.map(({ row }) => row));
    askOption(
      guess,
      guess.free.filter((column) => column !== parent && mayBeChoice(column, rows)),
      `'${parent.header}' groups ${named.length} rows, and no column is called a size or colour`,
    );
    return undefined;
  }
  guess.claim(
    'group',
    parent,
    guess.evidence(parent, ['parent'], 'the parent', `${groups.size} products have ${named.length} variants`),
    'certain',
  );
  const name = guess.use('parent', parent);
  const options = optionsOf(refers ? 'parents' : undefined);
  if (refers) {
    const headers = [...new Set(names.map(({ column }) => column))];
    guess.notes.push(
      `A row with a '${parent.header}' is a variant of the row that has this value as ${quotedHeaders(headers, ' or ')}.`,
    );
    const group = {
      parent: name,
      names: names.map(({ column, use, before }): Value => {
        const used = guess.use(use, column);
        return before === '' ? used : `${before}{${used}}`;
      }),
    };
    const areKeyed = parent.cells.every((cell, row) => cell !== '' || sku?.cells[row] !== '');
    return { group, rows: 'children', options, inherit: [], by: areKeyed ? sku : title };
  }
  const differs = several.filter((rows) => new Set(rows.map(({ row }) => title?.cells[row])).size > 1);
  const accepted = guess.answers['group'] !== undefined;
  if (differs.length > 0 && !accepted) {
    askGroup(guess, {
      reason: `rows with the same '${parent.header}' have different names, of which only the first would be sent`,
      answers: [asGroup(parent), EACH_ROW],
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

/** Whether a column may say what a buyer chooses: texts, or values that differ within each product. */
function mayBeChoice(column: SampledColumn, products: readonly (readonly number[])[]) {
  const isOther = column.reading.meanings.some(({ concept }) => NO_CHOICES.includes(concept));
  const differs = (rows: readonly number[]) =>
    new Set(rows.map((row) => column.cells[row])).size === rows.length;
  return column.values.length > 0 && !isOther && (isText(column) || products.every(differs));
}

const NO_CHOICES: readonly Concept[] = [
  'sku',
  'gtin',
  'id',
  'mpn',
  'url',
  'image',
  'description',
  'summary',
  'price',
  'regular',
  'was',
  'sale',
  'cost',
  'quantity',
  'position',
  'unit',
  'none',
];

/** Whether a column has a value on every row, and no value twice. */
export function isKey(column: SampledColumn | undefined): boolean {
  return (
    column !== undefined &&
    column.values.length === column.cells.length &&
    column.distinct === column.values.length
  );
}

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
interface PairedOptions {
  readonly names: readonly SampledColumn[];
  readonly values: readonly SampledColumn[];
}

/** The families of columns that have them; undefined if there are none, or none has a value. */
function pairedOptions(guess: Guess): PairedOptions | undefined {
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

function familyOf({ header }: SampledColumn) {
  return header.replace(/\d+/, '{n}');
}

/** The name of the values in the mapping. */
const OPTION_VALUE = 'optionValue{n}';

/**
 * The options as the mapping reads them. `listed`: that the row of a product lists the values of its variants; `all`: also
 * those of products without further rows, which have all of them.
 */
function pairedSpec(
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
