import type { Condition } from '../../config/mapping/mapping-condition.ts';
import type { Flag } from '../../config/mapping/mapping-value.ts';
import type { Path } from '../problems.ts';
import { resolveName, type Scope } from '../scope.ts';
import type { SourceRow } from '../source-row.ts';
import { compileAs } from './compile-value.ts';
import { columnsOf, compileCondition } from './condition.ts';
import type { Read } from './expression.ts';

/** Compiles a yes/no field. A condition on columns that the file lacks altogether says nothing. */
export function compileFlag(outer: Scope, path: Path, flag: Flag): Read {
  const scope = { ...outer, field: String(path.at(-1)) };
  if (!isCondition(flag)) return compileAs(scope, path, flag, 'boolean').read;
  const test = compileCondition(scope, path, flag);
  const names = columnsOf(flag);
  const known = names.map((name) => resolveName(scope, name));
  const present = (row: SourceRow) =>
    known.some((named) => {
      switch (named?.kind) {
        case 'column':
          return row.cells[named.slot] !== undefined;
        case 'family':
          return named.family.numbers.some(
            (number) => row.cells[named.family.slots.get(number) ?? -1] !== undefined,
          );
        default:
          return named !== undefined;
      }
    });
  return (row, n) => (test(row, n) ? true : present(row) ? false : undefined);
}

function isCondition(flag: Flag): flag is Condition {
  return typeof flag === 'object' && !Array.isArray(flag);
}
