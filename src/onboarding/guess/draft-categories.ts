import type { CategoriesSpec, ProductSpec, Transform, Value } from '../../mapping/spec/mapping-spec.ts';
import { named } from './draft-images.ts';
import { type Guess, isExactlyCalled, LEAVE_OUT, readBy } from './guess.ts';
import {
  areFlags,
  booleanOf,
  isMarked,
  isMarkup,
  isMissingValue,
  isMostly,
  isText,
  listSteps,
  MAX_STATES,
  markedRows,
  missingSteps,
  type SampledColumn,
  shareOf,
  wordsIn,
} from './sampled-column.ts';
import { words } from './words.ts';

/** The categories: names, lists of names, or paths. Undefined also while a question is open. */
export function draftCategories(guess: Guess): CategoriesSpec | Value | undefined {
  const choice = {
    fits: (column: SampledColumn) => isText(column) && !isKind(column),
    shown: (column: SampledColumn) => `${column.distinct} different values`,
  };
  const main = guess.pick('category', {
    ...choice,
    prefer: ({ reading }) => reading.meanings.length === 1,
  });
  const sub = guess.pick('subcategory', choice);
  const column = main ?? sub;
  if (column === undefined) return undefined;
  const used = guess.use('category', column);
  const steps: readonly Transform[] = [
    ...missingSteps(column),
    ...listSteps(column),
    ...(column.values.some(isMarkup) ? [{ html: 'strip' } as const] : []),
  ];
  const name = readBy(used, steps);
  if (main !== undefined && sub !== undefined) {
    guess.notes.push(
      `The category of a product is its '${sub.header}', or its '${main.header}' where that is blank.`,
    );
    return { first: [readBy(guess.use('subcategory', sub), missingSteps(sub)), name] };
  }
  const decoded = column.values
    .filter((value) => !isMissingValue(value))
    .map((value) => value.replaceAll(/&#?\w+;/g, '&'));
  const signs = separatorsOf(guess, { ...column, values: decoded });
  if (signs === undefined) return undefined;
  const { path, list } = signs;
  if (path !== undefined)
    guess.notes.push(
      `'${column.header}' contains paths, separated by '${path}': the last level is the category.`,
    );
  if (list !== undefined)
    guess.notes.push(`'${column.header}' lists several categories, separated by ${named(list)}.`);
  const value = list === undefined ? name : readBy(used, [...steps, { split: list }]);
  return path === undefined ? value : { value, path };
}

/** Which products are digital goods or services, according to answers: others are sent as physical ones, to be shipped. */
export function draftType(guess: Guess): ProductSpec['type'] {
  const { digital, services } = words().cells;
  for (const column of guess.free.filter(({ distinct }) => distinct <= MAX_STATES)) {
    const among = (some: ReadonlySet<string>) => wordsIn(column).filter((word) => some.has(word));
    const byWord = { digital: among(digital), service: among(services) };
    const isShipped = isExactlyCalled(column, 'shipped');
    const isFlag = (isShipped || isExactlyCalled(column, 'unshipped')) && areFlags(column);
    const isOther = (value: string) => isFlag && (isShipped ? booleanOf(value) === false : isMarked(value));
    const [word] = [...byWord.digital, ...byWord.service];
    const shown = word ?? column.values.find(isOther);
    if (shown === undefined) continue;
    const answer = guess.askUnused(
      [column],
      `has '${shown}', and all products would be sent as physical ones`,
      word === undefined ? [LEAVE_OUT, ...KINDS] : [LEAVE_OUT, BY_WORD],
    );
    const kinds = (['digital', 'service'] as const).filter(
      (kind) => answer === kind || (answer === BY_WORD.value && byWord[kind].length > 0),
    );
    if (kinds.length === 0) continue;
    const name = guess.useAnswered('type', column);
    const marked = isShipped ? { [name]: 'no' } : markedRows(name, column);
    const conditionOf = (kind: 'digital' | 'service') =>
      answer === BY_WORD.value ? { [name]: byWord[kind] } : marked;
    return { is: Object.fromEntries(kinds.map((kind) => [kind, conditionOf(kind)])) };
  }
  return undefined;
}

const BY_WORD = {
  value: 'by-word',
  label: 'says which products are digital goods, and which are services',
};
const KINDS = [
  { value: 'digital', label: 'these products are digital goods' },
  { value: 'service', label: 'these products are services, or not shipped' },
];

/** Whether a column says of what kind a record is, not in which category: type, @type. */
function isKind(column: SampledColumn) {
  const isCalled = /(?:^|@|[._ ])type$/i.test(column.header) && !/product.type$/i.test(column.header);
  const isConstant = column.values.length > 1 && column.distinct === 1;
  const { productKinds, parentKinds, variantKinds, digital, services } = words().cells;
  const isOfRows =
    isCalled ||
    !isExactlyCalled(column, 'category', 'subcategory') ||
    wordsIn(column).some((word) => variantKinds.has(word));
  const kinds = [productKinds, variantKinds, digital, services, ...(isOfRows ? [parentKinds] : [])];
  const isWord = (value: string) => kinds.some((some) => some.has(value.toLowerCase()));
  return isMostly(column, isWord) || (isCalled && (isConstant || shareOf(column, isWord) >= 0.5));
}

/** The sign between the levels of a category, and the sign between categories. */
interface Separators {
  readonly path?: string;
  readonly list?: string;
}

const PATH_SIGNS = ['>', '»', '→', '\\', '::'];
/** Signs that may separate levels, categories, or nothing. */
const OPEN_SIGNS = ['|', '/', ';', ',', '\n'];

/** What the signs in categories separate; undefined while that is asked. */
function separatorsOf(guess: Guess, column: SampledColumn) {
  const certain = PATH_SIGNS.find((sign) => column.values.some((value) => value.includes(sign)));
  let found: Separators = certain === undefined ? {} : { path: certain };
  let asked = 0;
  for (const sign of OPEN_SIGNS) {
    if (found.list !== undefined && found.path !== undefined) break;
    const values = found.list === undefined ? column.values : column.values.flatMap(splitAt(found.list));
    const split = values.filter((value) => value.includes(sign));
    if (split.length === 0) continue;
    let kind = kindOf({ ...column, values }, sign, split, found);
    if (kind === undefined) {
      asked += 1;
      kind = askSeparator(guess, column, sign, split, { found, isFirst: asked === 1 });
    }
    if (kind === undefined) return undefined;
    if (kind !== 'none') found = { ...found, [kind]: sign };
  }
  return found;
}

type SeparatorKind = 'path' | 'list' | 'none';

/** Signs that are in no name of a category beside a sign for its levels. */
const LIST_SIGNS: ReadonlySet<string> = new Set(['|', ';', '\n']);

/** What the values show that a sign separates; undefined if they leave it open. */
function kindOf(
  column: SampledColumn,
  sign: string,
  split: readonly string[],
  { path, list }: Separators,
): SeparatorKind | undefined {
  if (path === undefined) {
    if (sign === '\n') return list === undefined ? 'list' : 'none';
    const shown = listOrPath(column, sign);
    return shown === 'list' && list !== undefined ? undefined : shown;
  }
  if (
    LIST_SIGNS.has(sign) ||
    split.some((value) => splitAt(sign)(value).every((part) => part.includes(path)))
  )
    return 'list';
  // Other signs belong to names, such as Salt/Pepper, unless a path is on one side only: Gifts, Home > Bath.
  return sign === ',' && split.some((value) => value.includes(path)) ? undefined : 'none';
}

function splitAt(sign: string): (value: string) => readonly string[] {
  return (value) => value.split(sign).map((part) => part.trim());
}

const KIND_LABELS: Readonly<Record<SeparatorKind, string>> = {
  path: 'the levels of one category',
  list: 'several categories',
  none: 'nothing: it is part of the name',
};

function askSeparator(
  guess: Guess,
  { header }: SampledColumn,
  sign: string,
  values: readonly string[],
  { found, isFirst }: { readonly found: Separators; readonly isFirst: boolean },
): SeparatorKind | undefined {
  const kinds = (['path', 'list', 'none'] as const).filter(
    (kind) => kind === 'none' || found[kind] === undefined,
  );
  // `none` for the first sign is for all of them.
  const isForAll = guess.answers['separator']?.toLowerCase() === 'none';
  const answer = guess.ask({
    id: isFirst || isForAll ? 'separator' : `word.${sign}`,
    text: `What does '${sign}' separate in '${header}'?`,
    reason: `${values.length} values have it, such as '${values[0]}'`,
    answers: kinds.map((value) => ({ value, label: KIND_LABELS[value] })),
  });
  return kinds.find((kind) => kind === answer);
}

/** What a sign separates: levels of a path, if the same text before the sign occurs with several texts after it, and never the other way round. */
function listOrPath({ values }: SampledColumn, sign: string) {
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
