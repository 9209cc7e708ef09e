import { booleanWord } from '../../model/row.ts';
import type { SourceRow } from '../record-rows.ts';
import { type Named, type Path, resolveName, type Scope, unknownName } from '../scope.ts';
import type { CellTest, Condition, Matcher, Word } from '../spec/value.ts';
import { spellingsOf } from '../transforms/boolean.ts';
import { compilePattern, rememberingLast } from '../transforms/compile-pattern.ts';
import { cleanCell } from './cell.ts';

/** A condition for rows; `n` is the member of a family during a pass over it. */
export type Test = (row: SourceRow, n: number) => boolean;

/** A test of one cell: undefined is a column that the file lacks. */
type CellCheck = (cell: string | undefined) => boolean;

/** Compiles a condition. Columns that the file lacks meet only `missing`. */
export function compileCondition(scope: Scope, path: Path, condition: Condition): Test {
  const test = compileTest(scope, path, condition);
  const { trace } = scope;
  return trace === undefined ? test : (row, n) => trace.evaluate(path, row, () => test(row, n), true);
}

function compileTest(scope: Scope, path: Path, condition: Condition): Test {
  if ('any' in condition && Array.isArray(condition.any)) {
    const tests = compileAll(scope, [...path, 'any'], condition.any);
    return (row, n) => tests.some((test) => test(row, n));
  }
  if ('all' in condition && Array.isArray(condition.all)) {
    const tests = compileAll(scope, [...path, 'all'], condition.all);
    return (row, n) => tests.every((test) => test(row, n));
  }
  if ('not' in condition && isCondition(condition.not)) {
    const test = compileCondition(scope, [...path, 'not'], condition.not);
    return (row, n) => !test(row, n);
  }
  const tests = Object.entries(condition).map(([name, matcher]: [string, Matcher]) =>
    compileColumnTest(scope, [...path, name], name, matcher),
  );
  const [only, second] = tests;
  return only !== undefined && second === undefined ? only : (row, n) => tests.every((test) => test(row, n));
}

/** The columns that a condition uses. */
export function columnsOf(condition: Condition): readonly string[] {
  if ('any' in condition && Array.isArray(condition.any)) return condition.any.flatMap(columnsOf);
  if ('all' in condition && Array.isArray(condition.all)) return condition.all.flatMap(columnsOf);
  if ('not' in condition && isCondition(condition.not)) return columnsOf(condition.not);
  return Object.keys(condition);
}

/** Whether a condition asks if a cell is blank, present or missing: then blank cells decide it as well. */
export function asksForBlank(condition: Condition): boolean {
  if ('any' in condition && Array.isArray(condition.any)) return condition.any.some(asksForBlank);
  if ('all' in condition && Array.isArray(condition.all)) return condition.all.some(asksForBlank);
  if ('not' in condition && isCondition(condition.not)) return asksForBlank(condition.not);
  return Object.values(condition).some((matcher: Matcher) =>
    (isCellTest(matcher) ? [] : isWords(matcher) ? matcher : [matcher]).some((word) =>
      ['blank', 'present', 'missing'].includes(String(word).trim().toLowerCase()),
    ),
  );
}

function isCondition(value: unknown): value is Condition {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function compileAll(scope: Scope, path: Path, conditions: readonly Condition[]): Test[] {
  return conditions.map((condition, index) => compileCondition(scope, [...path, index], condition));
}

function compileColumnTest(scope: Scope, path: Path, name: string, matcher: Matcher): Test {
  const matches = compileMatcher(scope, path, matcher);
  const check: CellCheck = scope.contacts
    ? (cell) => matches(cell === undefined ? undefined : (scope.clean(cell) ?? ''))
    : matches;
  const named = resolveName(scope, name);
  if (named === undefined) {
    unknownName(scope, path, name);
    return () => false;
  }
  return testOf(named, check);
}

function testOf(named: Named, check: CellCheck): Test {
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
  if (isCellTest(matcher)) return compileCellTest(scope, path, matcher);
  return compileWords(isWords(matcher) ? matcher : [matcher]);
}

function isWords(matcher: Word | readonly Word[]): matcher is readonly Word[] {
  return Array.isArray(matcher);
}

function isCellTest(matcher: Matcher): matcher is CellTest {
  return typeof matcher === 'object' && !Array.isArray(matcher);
}

function compileWords(words: readonly Word[]): CellCheck {
  const texts = new Set<string>();
  const numbers = new Set<number>();
  let blank = false;
  let present = false;
  let missing = false;
  for (const word of words) {
    const text = String(word).trim().toLowerCase();
    if (text === 'blank' || text === 'present' || text === 'missing') {
      blank ||= text === 'blank';
      present ||= text === 'present';
      missing ||= text === 'missing';
    } else {
      for (const spelling of spellingsOf(word)) texts.add(spelling);
      if (typeof word === 'number' || /^-?[0-9]+(?:\.[0-9]+)?$/.test(text)) numbers.add(Number(text));
    }
  }
  const isWord = rememberingLast(
    (text) => texts.has(booleanWord(text)) || (numbers.size > 0 && numbers.has(Number(text))),
  );
  return (cell) => {
    if (cell === undefined) return missing;
    const text = cleanCell(cell);
    return text === undefined ? blank : present || isWord(text);
  };
}

function compileCellTest(scope: Scope, path: Path, test: CellTest): CellCheck {
  const kinds = Object.keys(test);
  if (kinds.length !== 1) scope.problems.add(path, 'expected one of contains, starts, matches, above, below');
  if (test.contains !== undefined) {
    const words = lowered(test.contains);
    return onText((text) => words.some((word) => text.toLowerCase().includes(word)));
  }
  if (test.starts !== undefined) {
    const words = lowered(test.starts);
    return onText((text) => words.some((word) => text.toLowerCase().startsWith(word)));
  }
  if (test.matches !== undefined) {
    const pattern = compilePattern(test.matches, scope.limits.patternLength, (message) =>
      scope.problems.add([...path, 'matches'], message),
    );
    return onText(rememberingLast((text) => pattern?.testExact(text) ?? false));
  }
  const { above, below } = test;
  return onText((text) => {
    const number = Number(text);
    return Number.isFinite(number) && number > (above ?? -Infinity) && number < (below ?? Infinity);
  });
}

function onText(check: (text: string) => boolean): CellCheck {
  return (cell) => {
    const text = cleanCell(cell);
    return text !== undefined && check(text);
  };
}

function lowered(words: Word | readonly Word[]): string[] {
  return (isWords(words) ? words : [words]).map((word) => String(word).toLowerCase());
}
