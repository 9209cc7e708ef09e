import { withoutUndefined } from '../model/json-object.ts';
import type { Reason } from '../model/reason.ts';
import { booleanWord, isErrorValue, type Row } from '../model/row.ts';
import type { Binding } from './columns/bind-table.ts';
import type { BoundTable, Misalignment } from './record-rows.ts';
import { resolveName, type Scope, unknownName } from './scope.ts';
import type { MappingSpec } from './spec/mapping-spec.ts';
import type { Condition } from './spec/value.ts';
import { spellingsOf } from './transforms/boolean.ts';
import { compilePattern, rememberingLast } from './transforms/compile-pattern.ts';
import { cleanCell } from './values/cell.ts';
import { columnsOf, compileCondition } from './values/compile-condition.ts';

/** Finds out why the cells of a row may not belong to their headers; `cells` are those by slot. */
export type AlignmentCheck = (row: Row, cells: Cells, binding: Binding) => Misalignment | undefined;

type Cells = readonly (string | undefined)[];

/** Compiles the signs of a shifted row: its length, cells that do not fit, and cells that contradict each other. */
export function compileAlignment(scope: Scope, spec: MappingSpec): AlignmentCheck {
  const checks = [compileExpectations(scope, spec.expect ?? {}), compileShifted(scope, spec.misaligned)];
  const padsShortRows = spec.csv?.shortRows === 'pad';
  const contradiction = (cells: Cells, table: BoundTable, line: number, only?: ReadonlySet<number>) => {
    for (const check of checks) {
      const reason = check(cells, table, line, only);
      if (reason !== undefined) return reason;
    }
    return undefined;
  };
  return (row, cells, binding) => {
    const { table } = binding;
    const reason = wrongLength(row, binding, padsShortRows) ?? contradiction(cells, table, row.line);
    if (reason === undefined) return undefined;
    return {
      reason,
      cells: row.cells.map((cell) => cell.trim()),
      firstFits: contradiction(cells, table, row.line, table.firstSlots) === undefined,
    };
  };
}

/**
 * An extra cell counts even if it is blank: if the last columns are often blank, it is the only sign of a comma
 * without quotes.
 */
function wrongLength(
  { cells, line }: Row,
  { width, surplus }: Binding,
  padsShortRows: boolean,
): Reason | undefined {
  const isLong = cells.length > width || surplus.some((index) => cleanCell(cells[index]) !== undefined);
  if (!isLong && (cells.length === width || padsShortRows)) return undefined;
  return {
    code: isLong ? 'row-too-long' : 'row-too-short',
    message: `the row has ${cells.length} cells under ${width} headers: look for a missing or extra delimiter or quote`,
    line,
  };
}

/** Finds the first cell that does not fit its column. With `only`, among the cells of these slots. */
type CellsCheck = (
  cells: Cells,
  table: BoundTable,
  line: number,
  only?: ReadonlySet<number>,
) => Reason | undefined;

/** Compiles the mapping's expectations about cells. */
function compileExpectations(scope: Scope, spec: NonNullable<MappingSpec['expect']>): CellsCheck {
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
        // The error of a spreadsheet replaces the value: its record is wrong, but the row has not shifted.
        if (text !== undefined && !fits(text) && !isErrorValue(text)) {
          return withoutUndefined({
            code: 'cell-unexpected',
            message: `${scope.quote(text)} does not fit this column${words}: has the row shifted?`,
            line,
            column: table.headers[slot],
          });
        }
      }
    }
    return undefined;
  };
}

/** Compiles the condition that only a shifted row meets. With `only`: if it uses one of these slots. */
function compileShifted(scope: Scope, condition: Condition | undefined): CellsCheck {
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

function fitting(
  scope: Scope,
  name: string,
  expected: string | readonly (string | number | boolean)[],
): (text: string) => boolean {
  if (typeof expected !== 'string') {
    const words = new Set(expected.flatMap((word) => [...spellingsOf(word)]));
    return rememberingLast((text) => words.has(booleanWord(text)));
  }
  const pattern = compilePattern(expected, scope.limits.patternLength, (message) =>
    scope.problems.add(['expect', name], message),
  );
  return rememberingLast((text) => pattern?.testExact(text) ?? false);
}
