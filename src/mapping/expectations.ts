import type { Reason } from '../model/reason.ts';
import { booleanWord, isErrorValue } from '../model/spreadsheet-words.ts';
import type { BoundTable } from './rows.ts';
import { resolveName, type Scope, unknownName } from './scope.ts';
import type { MappingSpec } from './spec/mapping-spec.ts';
import type { Condition } from './spec/value-spec.ts';
import { NO_WORDS, YES_WORDS } from './transforms/boolean.ts';
import { compilePattern } from './transforms/pattern.ts';
import { cleanCell } from './values/cell.ts';
import { columnsOf, compileCondition } from './values/condition.ts';

/**
 * Looks whether cells are such as their columns have; the first that is not shows that the row is misaligned. With
 * `only`, the cells of these slots.
 */
export type Expectations = (
  cells: readonly (string | undefined)[],
  table: BoundTable,
  line: number,
  only?: ReadonlySet<number>,
) => Reason | undefined;

/** Compiles what the mapping expects of cells; always content where it expects nothing. */
export function compileExpectations(scope: Scope, spec: NonNullable<MappingSpec['expect']>): Expectations {
  const checks = Object.entries(spec).flatMap(([name, expected]) => {
    const named = resolveName(scope, name);
    if (named === undefined || named.kind === 'param') {
      if (named === undefined) unknownName(scope, ['expect', name], name);
      else scope.problems.add(['expect', name], `${name} is not a column`);
      return [];
    }
    const fits = fitting(scope, name, expected);
    const words = typeof expected === 'string' ? '' : ` (${expected.join(', ')})`;
    const slots = named.kind === 'column' ? [named.slot] : named.family.slots;
    return [{ slots, fits, words }];
  });
  if (checks.length === 0) return () => undefined;
  return (cells, table, line, only) => {
    for (const { slots, fits, words } of checks) {
      for (const slot of slots.values()) {
        if (only?.has(slot) === false) continue;
        const text = cleanCell(cells[slot]);
        // The error of a spreadsheet stands where its value would: it spoils its record, and has shifted nothing.
        if (text !== undefined && !fits(text) && !isErrorValue(text)) {
          const column = table.headers[slot];
          return {
            code: 'cell-unexpected',
            message: `${scope.quote(text)} is not what stands in this column${words}: has the row shifted?`,
            line,
            ...(column === undefined ? {} : { column }),
          };
        }
      }
    }
    return undefined;
  };
}

/** Compiles the condition that only a row which has shifted meets. With `only`: where it looks at one of these slots. */
export function compileShifted(scope: Scope, condition: Condition | undefined): Expectations {
  if (condition === undefined) return () => undefined;
  const test = compileCondition(scope, ['misaligned'], condition);
  const slots = columnsOf(condition).map((name) => scope.columns.declared.get(name)?.slot ?? -1);
  return (cells, table, line, only) =>
    (only === undefined || slots.some((slot) => only.has(slot))) &&
    test({ table, seq: 0, line, cells, misaligned: undefined, chars: 0 }, 0)
      ? {
          code: 'row-shifted',
          message: 'the cells of this row do not fit together: has the row shifted?',
          line,
        }
      : undefined;
}

/** Texts that are known to fit; a pattern costs ten times as much as looking among them. */
const MOST_FITTED = 64;
/** Longer ones are parts of the block they were read in, and to remember them would keep all of it. */
const SHORT = 12;

function fitting(
  scope: Scope,
  name: string,
  expected: string | readonly (string | number | boolean)[],
): (text: string) => boolean {
  if (typeof expected !== 'string') {
    const words = new Set(
      expected.flatMap((word) => {
        const text = String(word).toLowerCase();
        return text === 'yes' || text === 'true'
          ? [...YES_WORDS]
          : text === 'no' || text === 'false'
            ? [...NO_WORDS]
            : [text];
      }),
    );
    return (text) => words.has(booleanWord(text));
  }
  const pattern = compilePattern(expected, scope.limits.patternLength, (message) =>
    scope.problems.add(['expect', name], message),
  );
  // Rows of a record repeat its key, and columns such as a position have few values: what fitted before still does.
  let last: string | undefined;
  const fitted = new Set<string>();
  return (text) => {
    if (text === last || (text.length <= SHORT && fitted.has(text))) return true;
    const fits = pattern?.testExact(text) ?? false;
    last = fits ? text : last;
    if (fits && text.length <= SHORT && fitted.size < MOST_FITTED) fitted.add(text);
    return fits;
  };
}
