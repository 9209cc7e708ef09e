import type { Scope } from '../scope.ts';
import { blankIfUnreadable, type Expression } from '../values/cell.ts';
import type { Test } from '../values/condition.ts';
import { AdjacentGrouper } from './adjacent-grouper.ts';
import { type Grouping, inFirstColumn, trustedKey } from './grouping.ts';
import { UNLINKED } from './row-scratch.ts';
import { finishKeyed, ScratchGrouper } from './scratch-grouper.ts';

/** Rows with the same value are a record, and follow each other. */
export function byKeyAdjacent(scope: Scope, by: Expression, head: Test | undefined): Grouping {
  return {
    kind: 'adjacent',
    open: () =>
      new AdjacentGrouper(
        blankIfUnreadable(by.read),
        inFirstColumn(scope.columns, by.sources),
        head,
        scope.limits.recordRows,
      ),
  };
}

/** Rows with the same value are a record, wherever they stand; those that meet `alone` are records of their own. */
export function byKeyAnywhere(
  scope: Scope,
  by: Expression,
  key: Expression,
  { head, alone }: { readonly head: Test | undefined; readonly alone: Test | undefined },
): Grouping {
  const trusted = inFirstColumn(scope.columns, by.sources);
  const keyOf = trustedKey(scope, key);
  const readBy = blankIfUnreadable(by.read);
  return {
    kind: 'anywhere',
    open: (openScratch) =>
      new ScratchGrouper(
        openScratch('key'),
        (row) => {
          const key = readBy(row, 0);
          const certain = row.misaligned === undefined || trusted(row);
          if (typeof key !== 'string' || !certain) return { ...UNLINKED, stray: true };
          return row.misaligned === undefined && alone?.(row, 0) === true
            ? { ...UNLINKED, alone: true }
            : { ...UNLINKED, belongs: key };
        },
        (gathered) => finishKeyed(gathered, head, keyOf),
        scope.limits.recordRows,
      ),
  };
}
