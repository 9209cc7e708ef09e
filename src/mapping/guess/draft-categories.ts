import type { CategoriesSpec } from '../spec/product-spec.ts';
import type { Value } from '../spec/value.ts';
import { named } from './draft-images.ts';
import type { ProductColumn, ProductGuess } from './guess.ts';
import { isText, type SampledColumn } from './sampled-column.ts';

/** The categories: names, lists of names, or paths. Undefined also while a question is open. */
export function draftCategories(guess: ProductGuess): CategoriesSpec | Value | undefined {
  const choice = { fits: isText, shown: (column: SampledColumn) => `${column.distinct} different values` };
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
      `'${column.header}' contains paths, separated by '${path}': the last level is the category.`,
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
        `'${column.header}' contains paths, separated by '${sign}': the last level is the category.`,
      );
      return { value: name, path: sign };
    }
  }
  return name;
}

const PATH_SIGNS = ['>', '»', '→', '\\', '::'];

function askSeparator(
  guess: ProductGuess,
  { header }: ProductColumn,
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

/** What a sign separates: levels of a path, if the same text before the sign occurs with several texts after it, and never the other way round. */
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
