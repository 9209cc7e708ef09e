import type { OptionsSpec, Value } from '../../mapping/spec/mapping-spec.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import type { Concept } from '../column-fields.ts';
import { type Guess, isExactlyCalled, LEAVE_OUT, quotedHeaders } from './guess.ts';
import { readProductHeader } from './header-reading.ts';
import { booleanOf, isAmount, isMark, isMissingValue, type SampledColumn } from './sampled-column.ts';
import { words } from './words.ts';

/** A value of an option as shops write it: a size of clothes or shoes. */
const SIZE = /^(?:\d?x{0,3}[sl]|m|x{2,4}[sl]|\d{2}(?:[.,/]\d{1,2})?)$/i;

/** What the cells of such columns are. */
type Content = 'stock' | 'price' | 'offered';

/** Columns that have the same header but for the value of the option. */
interface SpreadGroup {
  /** As the mapping writes the header: `Stock {value}`; undefined where the headers are the values. */
  readonly pattern: string | undefined;
  readonly columns: readonly SampledColumn[];
  /** What the headers say that the cells are. */
  readonly content: Content | undefined;
  /** The name of the option in the headers. */
  readonly name: string | undefined;
}

/** Finds columns that are sizes or colours with stock or prices. Undefined also while a question about them is open. */
export function draftSpread(guess: Guess) {
  const found = new Map<Content, SpreadGroup>();
  for (const group of groupsOf(guess)) {
    const content = group.content ?? contentOf(guess, group);
    if (content !== undefined && !found.has(content)) found.set(content, group);
  }
  const [first] = found.values();
  if (first === undefined) return undefined;
  const name = [...found.values()].find((group) => group.name !== undefined)?.name ?? sizeWord(guess);
  const names = [...found].map(([content, { columns, pattern }]) => {
    const evidence = `each is a variant: its cells are ${CELLS[content]}`;
    for (const column of columns) guess.claim(`${name}: ${content}`, column, evidence, 'likely');
    return [content, guess.useFamily(content, columns, pattern)] as const;
  });
  const listed = quotedHeaders(first.columns);
  guess.notes.push(
    `${listed} are variants, with the option '${name}'; a value whose cell is blank is no variant.`,
  );
  const stock = names.find(([content]) => content === 'stock')?.[1];
  const families = names.map(([, family]) => family);
  const [only, second] = families;
  const options: OptionsSpec = {
    fromColumns: { name, columns: only !== undefined && second === undefined ? only : families },
  };
  const quantity: Value | undefined = stock && [stock, 'integer', { min: 0 }];
  return {
    options,
    /** Undefined where the columns do not have the stock. */
    quantity,
    /** All prices as one column; undefined where the columns do not have them. */
    price: merged(found.get('price')),
  };
}

const CELLS: Readonly<Record<Content, string>> = {
  stock: 'its stock',
  price: 'its price',
  offered: 'marked where it is sold',
};

/** The columns of prices as one, for what all of them show. */
function merged(group: SpreadGroup | undefined): SampledColumn | undefined {
  const [first] = group?.columns ?? [];
  if (group === undefined || first === undefined) return undefined;
  const values = group.columns.flatMap((column) => column.values);
  return { ...first, values, cells: group.columns.flatMap(({ cells }) => cells) };
}

function groupsOf(guess: Guess): readonly SpreadGroup[] {
  const named = guess.free.flatMap((column) => {
    const name = spreadName(column.header);
    return name === undefined ? [] : [{ ...name, column }];
  });
  const byPattern = Map.groupBy(named, ({ pattern }) => pattern);
  return [...byPattern].flatMap(([pattern, members]): SpreadGroup[] => {
    const columns = members.map(({ column }) => column);
    const [{ content, name } = { content: undefined, name: undefined }] = members;
    const headers = new Set(columns.map(({ header }) => header));
    const areRead = columns.every(
      ({ values }) =>
        content === undefined || values.every((value) => (content === 'stock' ? isStock : isPrice)(value)),
    );
    // A pattern in the mapping would take further columns with headers such as 'Stock total'.
    const [before = '', after = ''] = pattern?.split(VALUE) ?? [];
    const isOnly = guess.columns.every(
      ({ header }) =>
        headers.has(header) ||
        pattern === undefined ||
        !(
          header.startsWith(before) &&
          header.endsWith(after) &&
          header.length > before.length + after.length
        ),
    );
    const isFilled = columns.some(({ values }) => values.length > 0);
    const isUnique = headers.size === columns.length;
    return columns.length > 1 && areRead && isOnly && isFilled && isUnique
      ? [{ pattern, columns, content, name }]
      : [];
  });
}

const VALUE = '{value}';

/** A header that is a size, or a size beside a word for stock, price or size. */
function spreadName(header: string): Pick<SpreadGroup, 'pattern' | 'content' | 'name'> | undefined {
  if (SIZE.test(header)) return { pattern: undefined, content: undefined, name: undefined };
  const [, first = '', between = '', last = ''] = /^(.*?)([\s_:|/().-]+)([^\s_:|/().-]+)$/.exec(header) ?? [];
  const [, start = '', gap = '', rest = ''] = /^([^\s_:|/().-]+)([\s_:|/().-]+)(.*)$/.exec(header) ?? [];
  for (const [value, word, pattern] of [
    [last, first, `${first}${between}${VALUE}`],
    [start, rest, `${VALUE}${gap}${rest}`],
  ] as const) {
    const concepts = readProductHeader(word).meanings.flatMap(({ concept, how }) =>
      how === 'exact' ? [concept] : [],
    );
    if (SIZE.test(value)) {
      if (concepts.includes('quantity')) return { pattern, content: 'stock', name: undefined };
      if (concepts.includes('price')) return { pattern, content: 'price', name: undefined };
      if (concepts.includes('size')) return { pattern, content: undefined, name: word };
    }
    if (concepts.includes('color') && pattern.endsWith(VALUE) && /\p{L}/u.test(value))
      return { pattern, content: undefined, name: word };
  }
  return undefined;
}

/** What the cells of columns are whose headers do not say it: whole numbers below sizes are the stock, everything else is asked. */
function contentOf(guess: Guess, { columns }: SpreadGroup) {
  const [first] = columns;
  if (first === undefined) return undefined;
  const values = columns.flatMap((column) => column.values);
  const isAll = (test: (value: string) => boolean) => values.every(test);
  const has = (concept: 'quantity' | 'price') =>
    guess.columns.some((column) => isExactlyCalled(column, concept));
  const offers: readonly (readonly [value: Content, label: string])[] = withoutAbsent([
    isAll(isStock) && (['stock', 'each is a variant, with this stock'] as const),
    isAll(isPrice) && !has('price') && (['price', 'each is a variant, with this price'] as const),
    isAll((value) => booleanOf(value) === true || isMark(value)) &&
      (['offered', 'each is a variant where a cell is marked; its stock is not tracked'] as const),
  ]);
  if (offers.length === 0) return undefined;
  const areLetters = columns.every(({ header }) => /^(?:\d?x{0,4}[sl]|m)$/i.test(header));
  const id = `unused.${first.header}` as const;
  if (
    offers[0]?.[0] === 'stock' &&
    areLetters &&
    !has('quantity') &&
    !grows(columns) &&
    guess.answers[id] === undefined
  )
    return 'stock';
  const answer = guess.askUnused(columns, 'may be variants', [
    ...offers.map(([value, label]) => ({ value, label })),
    LEAVE_OUT,
  ]);
  return offers.find(([value]) => value === answer)?.[0];
}

function isStock(value: string) {
  return /^\d+$/.test(value);
}

function isPrice(value: string) {
  return isAmount(value) || isMissingValue(value);
}

/** Whether numbers grow from size to size in every row, as measures of clothes do. */
function grows(columns: readonly SampledColumn[]) {
  const [first] = columns;
  const rows = (first?.cells ?? []).map((_, row) =>
    columns.flatMap(({ cells }) => (cells[row] === '' ? [] : [Number(cells[row])])),
  );
  return rows.every((row) => row.every((number, at) => at === 0 || number > (row[at - 1] ?? 0)));
}

/** The word for a size in the language of the file. */
function sizeWord({ languages }: Guess) {
  const { headers, languages: known } = words();
  const code = Object.keys(known).find((one) => known[one]?.name === languages[0]) ?? 'en';
  const [word = 'size'] = headers.products.size[code] ?? headers.products.size['en'] ?? [];
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}

/** The concept that a column covers for one warehouse or variant: `Stock Berlin`, `Size S`, or `XL`. */
export function partOf({ header }: SampledColumn): Concept | undefined {
  if (SIZE.test(header)) return 'size';
  const parts = header.split(/[\s_:|/()[\].-]+/).filter((part) => part !== '');
  if (parts.length < 2) return undefined;
  return [parts[0], parts.at(-1)]
    .flatMap((word) => readProductHeader(word ?? '').meanings)
    .find(({ concept, how }) => how === 'exact' && ['quantity', 'size', 'color'].includes(concept))?.concept;
}
