import type { Value } from '../../config/mapping/mapping-value.ts';
import type { Scope } from '../scope.ts';
import { blankIfUnreadable } from '../values/cell.ts';
import { compileAs } from '../values/compile-value.ts';
import type { Grouping } from './grouping.ts';
import { compileNames } from './names.ts';
import { UNLINKED } from './row-scratch.ts';
import { finishReferred, ScratchGrouper } from './scratch-grouper.ts';

/** A row that names a parent belongs to the row of that name; one that names none is a record. */
export function byParent(outer: Scope, parent: string, names: readonly Value[]): Grouping {
  const scope = { ...outer, field: 'group' };
  const reference = blankIfUnreadable(compileAs(scope, ['group', 'parent'], parent, 'text').read);
  const namesOf = compileNames(scope, names);
  return {
    kind: 'parent',
    open: (openScratch) =>
      new ScratchGrouper(
        openScratch('parent'),
        (row) => {
          if (row.misaligned !== undefined) return { ...UNLINKED, stray: true };
          const named = reference(row, 0);
          return typeof named === 'string'
            ? { ...UNLINKED, belongs: named }
            : { ...UNLINKED, names: namesOf(row) };
        },
        finishReferred,
        scope.limits.recordRows,
      ),
  };
}
