import type { Condition } from '../../config/mapping/mapping-condition.ts';
import type { Scope } from '../scope.ts';
import { columnsOf, compileCondition } from '../values/condition.ts';
import { type Grouping, inFirstColumn } from './grouping.ts';
import { StartsGrouper } from './starts-grouper.ts';

/** A row that meets the condition begins a record; those after it that do not, continue it. */
export function byStart(scope: Scope, condition: Condition): Grouping {
  const starts = compileCondition(scope, ['group', 'starts'], condition);
  const decidedByFirst = inFirstColumn(scope.columns, columnsOf(condition));
  return {
    kind: 'starts',
    open: () =>
      new StartsGrouper(
        starts,
        (row) => {
          const { firstSlots } = row.table;
          const fits = row.misaligned?.firstFits !== false;
          const cells = row.cells.map((cell, slot) => (fits && firstSlots.has(slot) ? cell : undefined));
          return starts({ ...row, cells }, 0) ? 'starts' : decidedByFirst(row) ? 'continues' : 'unknown';
        },
        scope.limits.recordRows,
      ),
  };
}
