import type { RecordRows, SourceRow } from '../rows.ts';
import type { Scope } from '../scope.ts';
import type { GroupSpec } from '../spec/group-spec.ts';
import type { Condition } from '../spec/value-spec.ts';
import { blankIfUnreadable, type Expression } from '../values/cell.ts';
import { compileAs } from '../values/compile-value.ts';
import { columnsOf, compileCondition, type Test } from '../values/condition.ts';
import { AdjacentGrouper } from './adjacent-grouper.ts';
import { byChildren, byParent } from './by-reference.ts';
import { type Grouper, type Grouping, inFirstColumn, spansOf, strayRecord, trustedKey } from './grouping.ts';
import { UNLINKED } from './row-scratch.ts';
import { finishKeyed, ScratchGrouper } from './scratch-grouper.ts';
import { StartsGrouper } from './starts-grouper.ts';

/** Compiles the grouping. `key` is what identifies a record: the url of a product, the id of a contact. */
export function compileGrouping(scope: Scope, spec: GroupSpec | undefined, key: Expression): Grouping {
  const test = (name: 'head' | 'alone') =>
    spec?.[name] === undefined ? undefined : compileCondition(scope, ['group', name], spec[name]);
  const head = test('head');
  if (spec?.by !== undefined) {
    const by = compileAs({ ...scope, field: 'key' }, ['group', 'by'], spec.by, 'text');
    return spec.rows === 'anywhere'
      ? byKeyAnywhere(scope, by, key, { head, alone: test('alone') })
      : byKeyAdjacent(scope, by, head);
  }
  if (spec?.starts !== undefined) return byStart(scope, spec.starts);
  if (spec?.parent !== undefined) return byParent(scope, spec.parent, spec.names ?? []);
  if (spec?.children !== undefined) return byChildren(scope, { ...spec, children: spec.children }, head);
  return { kind: 'row', open: () => rowGrouper(trustedKey(scope, key)) };
}

/** Every row is a record. `keyOf` reads the key of a misaligned row, where it can be trusted. */
function rowGrouper(keyOf: (misaligned: SourceRow) => string | null): Grouper {
  return {
    startTable: () => undefined,
    add: (rows) => rows.map((row) => recordOf(row, keyOf)),
    end: () => [],
  };
}

function recordOf(row: SourceRow, keyOf: (misaligned: SourceRow) => string | null): RecordRows {
  if (row.misaligned !== undefined) return strayRecord([row], row.misaligned.reason, keyOf(row));
  const rows = [row];
  return {
    head: row,
    rows,
    children: [],
    childOptions: undefined,
    fault: undefined,
    key: null,
    spans: spansOf(rows),
    counted: 1,
    torn: false,
  };
}

/** Rows with the same value are a record, and follow each other. */
function byKeyAdjacent(scope: Scope, by: Expression, head: Test | undefined): Grouping {
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
function byKeyAnywhere(
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

/** A row that meets the condition begins a record; those after it that do not, continue it. */
function byStart(scope: Scope, condition: Condition): Grouping {
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
