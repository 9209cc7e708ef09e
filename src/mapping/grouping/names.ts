import type { Value } from '../../config/mapping/mapping-value.ts';
import type { SourceRow } from '../rows.ts';
import type { Scope } from '../scope.ts';
import { blankIfUnreadable } from '../values/cell.ts';
import { compileAs } from '../values/compile-value.ts';

/** Compiles the names by which other rows may refer to a row. */
export function compileNames(scope: Scope, names: readonly Value[]): (row: SourceRow) => readonly string[] {
  const reads = names.map((name, index) =>
    blankIfUnreadable(compileAs(scope, ['group', 'names', index], name, 'text').read),
  );
  return (row) =>
    reads.flatMap((read) => {
      const name = read(row, 0);
      return typeof name === 'string' ? [name] : [];
    });
}
