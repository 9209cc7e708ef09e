import { isJsonObject } from '../../model/json-object.ts';
import { booleanWord } from '../../model/row.ts';
import type { SourceRow } from '../record-rows.ts';
import { type Named, namedAt, type Path, resolveName, type Scope, slotsOf } from '../scope.ts';
import type { CellTest, Condition, Matcher, Word } from '../spec/value.ts';
import { spellingsOf } from '../transforms/boolean.ts';
import { compilePattern, rememberingLast } from '../transforms/compile-pattern.ts';
import { PLAIN_NUMBER, readNumber } from '../transforms/read-number.ts';
import { cleanCell, type Expression } from './cell.ts';

/** A test of one cell: undefined is a column that the file lacks. */
type CellCheck = (cell: string | undefined) => boolean;

/** Compiles a condition. Columns that the file lacks meet only `missing`. */
export function compileCondition(scope: Scope, path: Path, condition: Condition): Expression<boolean> {
  const test = compileTest(scope, path, condition);
  const { trace } = scope;
  return trace === undefined ? test : (row, n) => trace.evaluate(path, row, () => test(row, n), true);
}

/**
 * Compiles a condition that gives a field its value. It gives undefined in a file that has none of its columns, unless it asks for
 * `missing`: `not` of a column that was renamed would hide all products.
 */
export function compileDecision(
  scope: Scope,
  path: Path,
  condition: Condition,
): Expression<boolean | undefined> {
  const test = compileCondition(scope, path, condition);
  const columns = columnsOf(condition)
    .map((name) => resolveName(scope, name))
    .filter((named) => named?.kind !== 'param');
  if (columns.length === 0 || asksFor(condition, ['missing'])) return test;
  // A joined file has its columns, which are in the headers, and no cell where no row has the key.
  const isInFile = ({ cells, table }: SourceRow) =>
    columns.some((named) =>
      slotsOf(named).some((slot) => (table.headers[slot] ?? cells[slot]) !== undefined),
    );
  return (row, n) => (isInFile(row) ? test(row, n) : undefined);
}

function compileTest(scope: Scope, path: Path, condition: Condition): Expression<boolean> {
  const group = groupOf(condition);
  const tests =
    group === undefined
      ? Object.entries(condition).map(([name, matcher]: [string, Matcher]) =>
          compileColumnTest(scope, [...path, name], name, matcher),
        )
      : group.parts.map((part, index) =>
          compileCondition(scope, [...path, group.key, ...(group.key === 'not' ? [] : [index])], part),
        );
  const [only, second] = tests;
  if (group?.key === 'not') return (row, n) => only?.(row, n) === false;
  if (only !== undefined && second === undefined) return only;
  return group?.key === 'any'
    ? (row, n) => tests.some((test) => test(row, n))
    : (row, n) => tests.every((test) => test(row, n));
}

/** The columns that a condition uses. */
export function columnsOf(condition: Condition): readonly string[] {
  return groupOf(condition)?.parts.flatMap(columnsOf) ?? Object.keys(condition);
}

/** Words that ask whether there is a value, and not which. */
export const PRESENCES: readonly string[] = ['blank', 'present', 'missing'];

/** Whether a condition has one of these words for cells. */
export function asksFor(condition: Condition, presences: readonly string[]): boolean {
  const group = groupOf(condition);
  if (group !== undefined) return group.parts.some((part) => asksFor(part, presences));
  return Object.values(condition).some((matcher: Matcher) =>
    wordsOf(matcher).some((word) => presences.includes(plainWord(word))),
  );
}

/** The conditions that a condition is made of; undefined for one about columns. */
function groupOf(
  condition: Condition,
): { readonly key: 'any' | 'all' | 'not'; readonly parts: readonly Condition[] } | undefined {
  if ('any' in condition && Array.isArray(condition.any)) return { key: 'any', parts: condition.any };
  if ('all' in condition && Array.isArray(condition.all)) return { key: 'all', parts: condition.all };
  if ('not' in condition && isCondition(condition.not)) return { key: 'not', parts: [condition.not] };
  return undefined;
}

function isCondition(value: unknown): value is Condition {
  return isJsonObject(value);
}

function compileColumnTest(scope: Scope, path: Path, name: string, matcher: Matcher): Expression<boolean> {
  const matches = compileMatcher(scope, path, matcher);
  const check: CellCheck = scope.contacts
    ? (cell) => matches(cell === undefined ? undefined : (scope.clean(cell) ?? ''))
    : matches;
  const named = namedAt(scope, path, name);
  return named === undefined ? () => false : testOf(named, check);
}

function testOf(named: Named, check: CellCheck): Expression<boolean> {
  switch (named.kind) {
    case 'column': {
      const { slot } = named;
      return (row) => check(row.cells[slot]);
    }
    case 'family': {
      const { family } = named;
      // Outside of a pass over the family, any member that the row's own file has may meet the test.
      return (row, n) => {
        if (n > 0) return check(row.cells[family.slots.get(n) ?? -1]);
        let any = false;
        for (const number of family.numbers) {
          const cell = row.cells[family.slots.get(number) ?? -1];
          if (cell !== undefined && check(cell)) return true;
          any ||= cell !== undefined;
        }
        return !any && check(undefined);
      };
    }
    case 'param': {
      const met = check(String(named.value));
      return () => met;
    }
    default:
      return named satisfies never;
  }
}

function compileMatcher(scope: Scope, path: Path, matcher: Matcher): CellCheck {
  return isCellTest(matcher) ? compileCellTest(scope, path, matcher) : compileWords(wordsOf(matcher));
}

function wordsOf(matcher: Matcher) {
  if (isCellTest(matcher)) return [];
  return isWords(matcher) ? matcher : [matcher];
}

function isWords(matcher: Word | readonly Word[]): matcher is readonly Word[] {
  return Array.isArray(matcher);
}

function isCellTest(matcher: Matcher): matcher is CellTest {
  return typeof matcher === 'object' && !Array.isArray(matcher);
}

function plainWord(word: Word) {
  return String(word).trim().toLowerCase();
}

function compileWords(words: readonly Word[]): CellCheck {
  const plain = words.map(plainWord);
  const [blank, present, missing] = PRESENCES.map((word) => plain.includes(word));
  const values = words.filter((word) => !PRESENCES.includes(plainWord(word)));
  const texts = new Set(values.flatMap((word) => [...spellingsOf(word)]));
  const numbers = new Set(
    values.flatMap((word) =>
      typeof word === 'number' || /^-?[0-9]+(?:\.[0-9]+)?$/.test(plainWord(word)) ? [Number(word)] : [],
    ),
  );
  const isWord = rememberingLast(
    (text) => texts.has(booleanWord(text)) || (numbers.size > 0 && numbers.has(Number(text))),
  );
  return (cell) => {
    if (cell === undefined) return missing === true;
    const text = cleanCell(cell);
    return text === undefined ? blank === true : present === true || isWord(text);
  };
}

function compileCellTest(scope: Scope, path: Path, test: CellTest): CellCheck {
  const kinds = Object.keys(test);
  if (kinds.length !== 1) scope.problems.add(path, 'expected one of contains, starts, matches, above, below');
  const searched = test.contains ?? test.starts;
  if (searched !== undefined) {
    const words = wordsOf(searched).map((word) => String(word).toLowerCase());
    const search = test.contains === undefined ? 'startsWith' : 'includes';
    return onText((text) => words.some((word) => text.toLowerCase()[search](word)));
  }
  if (test.matches !== undefined) {
    const pattern = compilePattern(test.matches, scope.limits.patternLength, (message) =>
      scope.problems.add([...path, 'matches'], message),
    );
    return onText(rememberingLast((text) => pattern?.testExact(text) ?? false));
  }
  const { above = -Infinity, below = Infinity } = test;
  const isWithin = (number: number) => number > above && number < below;
  return onText((text) => {
    const plain = Number(text);
    if (Number.isFinite(plain)) return isWithin(plain);
    // Which sign is the decimal one is known to the step that reads the cell, and not here: both readings must pass.
    const readings = WITH_COMMAS.map((format) => readNumber(text, format, String));
    const numbers = readings.filter((number) => typeof number === 'number');
    return numbers.length > 0 && numbers.every(isWithin);
  });
}

const WITH_COMMAS = [
  { ...PLAIN_NUMBER, decimal: ',', thousands: '.', currency: 'strip', fallback: 'blank' },
  { ...PLAIN_NUMBER, decimal: '.', thousands: ',', currency: 'strip', fallback: 'blank' },
] as const;

function onText(check: (text: string) => boolean): CellCheck {
  return (cell) => {
    const text = cleanCell(cell);
    return text !== undefined && check(text);
  };
}
