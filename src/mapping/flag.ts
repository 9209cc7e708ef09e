import type { Condition } from '../config/mapping-condition.ts';
import type { Flag } from '../config/mapping-value.ts';
import { compileCondition } from './condition.ts';
import { compileAs, type Read } from './expression.ts';
import type { Path } from './problems.ts';
import { resolveName, type Scope } from './scope.ts';
import type { SourceRow } from './source-row.ts';

/** Compiles a yes/no field. A condition on columns that the file lacks altogether says nothing. */
export function compileFlag(outer: Scope, path: Path, flag: Flag): Read {
  const scope = { ...outer, field: String(path.at(-1)) };
  if (!isCondition(flag)) {
    return compileAs(scope, path, flag, 'boolean').read;
  }
  const test = compileCondition(scope, path, flag);
  const names = columnsOf(flag);
  const known = names.map((name) => resolveName(scope, name));
  const present = (row: SourceRow) =>
    known.some((named) => {
      switch (named?.kind) {
        case 'column':
          return row.cells[named.slot] !== undefined;
        case 'family':
          return named.family.numbers.length > 0;
        default:
          return named !== undefined;
      }
    });
  return (row, n) => (test(row, n) ? true : present(row) ? false : undefined);
}

function isCondition(flag: Flag): flag is Condition {
  return typeof flag === 'object' && !Array.isArray(flag);
}

/** The columns that a condition looks at. */
function columnsOf(condition: Condition): readonly string[] {
  if ('any' in condition && Array.isArray(condition.any)) {
    return condition.any.flatMap(columnsOf);
  }
  if ('all' in condition && Array.isArray(condition.all)) {
    return condition.all.flatMap(columnsOf);
  }
  if ('not' in condition && isNested(condition.not)) {
    return columnsOf(condition.not);
  }
  return Object.keys(condition);
}

function isNested(value: unknown): value is Condition {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
