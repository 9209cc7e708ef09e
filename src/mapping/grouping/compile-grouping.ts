import type { SourceRow } from '../record-rows.ts';
import { given, namedAt, type Scope } from '../scope.ts';
import type { ChildrenSpec, GroupSpec } from '../spec/mapping-spec.ts';
import type { Condition, Value } from '../spec/value.ts';
import { blankIfUnreadable, type Expression, type TypedExpression } from '../values/cell.ts';
import { columnsOf, compileCondition } from '../values/compile-condition.ts';
import { compileAs, headerOf } from '../values/compile-value.ts';
import { adjacentGrouper, startsGrouper } from './adjacent-grouper.ts';
import {
  type Grouper,
  type Grouping,
  inFirstColumn,
  recordOf,
  strayLinks,
  trustedKey,
  UNLINKED,
  ungroupedRow,
} from './grouping.ts';
import { finishKeyed, finishReferred, scratchGrouper } from './scratch-grouper.ts';

/** Compiles the grouping. `key` identifies a record: the url of a product, the id of a contact. */
export function compileGrouping(scope: Scope, spec: GroupSpec | undefined, key: TypedExpression): Grouping {
  const test = (name: 'head' | 'alone') =>
    given(spec?.[name], (condition) => compileCondition(scope, ['group', name], condition));
  const head = test('head');
  if (spec?.by !== undefined) {
    const by = compileAs({ ...scope, field: 'key' }, ['group', 'by'], spec.by, 'text');
    if (spec.rows === 'anywhere') return byKeyAnywhere(scope, by, key, { head, alone: test('alone') });
    const options = {
      key: blankIfUnreadable(by.read),
      trusted: inFirstColumn(scope.columns, by.sources),
      head,
      mostRows: scope.limits.recordRows,
      columnOf: (row: SourceRow) => headerOf(scope, by.sources, row),
    };
    return { open: () => adjacentGrouper(options) };
  }
  if (spec?.starts !== undefined) return byStart(scope, spec.starts);
  if (spec?.parent !== undefined) return byParent(scope, spec.parent, spec.names ?? []);
  if (spec?.children !== undefined) return byChildren(scope, { ...spec, children: spec.children }, head);
  return { open: () => rowGrouper(trustedKey(scope, key)) };
}

/** Every row is a record. `keyOf` reads the key of a misaligned row, if it can be trusted. */
function rowGrouper(keyOf: (misaligned: SourceRow) => string | null): Grouper {
  return {
    startTable: () => undefined,
    add: (rows) =>
      rows.map((row) =>
        row.misaligned === undefined
          ? recordOf([row], { head: row, rows: [row] })
          : ungroupedRow(row, row.misaligned.reason, keyOf(row)),
      ),
    end: () => [],
    bounds: { endBefore: () => [], begins: () => true },
  };
}

/** Rows with the same value are a record, wherever they are; those that meet `alone` are records of their own. */
function byKeyAnywhere(
  scope: Scope,
  by: TypedExpression,
  key: TypedExpression,
  {
    head,
    alone,
  }: { readonly head: Expression<boolean> | undefined; readonly alone: Expression<boolean> | undefined },
): Grouping {
  const trusted = inFirstColumn(scope.columns, by.sources);
  const keyOf = trustedKey(scope, key);
  const readBy = blankIfUnreadable(by.read);
  return {
    open: (openScratch) =>
      scratchGrouper(
        openScratch('key'),
        (row) => {
          const key = readBy(row, 0);
          const certain = row.misaligned === undefined || trusted(row);
          if (typeof key !== 'string' || !certain) return strayLinks(row, headerOf(scope, by.sources, row));
          return row.misaligned === undefined && alone?.(row, 0) === true
            ? { ...UNLINKED, alone: true }
            : { ...UNLINKED, belongs: key };
        },
        (gathered) => finishKeyed(gathered, head, keyOf),
        scope.limits.recordRows,
      ),
  };
}

/** A row that meets the condition begins a record; the following rows that do not meet it continue it. */
function byStart(scope: Scope, condition: Condition): Grouping {
  const starts = compileCondition(scope, ['group', 'starts'], condition);
  const decidedByFirst = inFirstColumn(scope.columns, columnsOf(condition));
  return {
    open: () =>
      startsGrouper(
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

/** A row that names a parent belongs to the row with that name; a row without a parent is a record. */
function byParent(outer: Scope, parent: string, names: readonly Value[]): Grouping {
  const scope = { ...outer, field: 'group' };
  const reference = blankIfUnreadable(compileAs(scope, ['group', 'parent'], parent, 'text').read);
  const namesOf = compileNames(scope, names);
  return {
    open: (openScratch) =>
      scratchGrouper(
        openScratch('parent'),
        (row) => {
          if (row.misaligned !== undefined) return strayLinks(row);
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

/**
 * A row that lists children is a record with them. A row is also a record if no other row lists it, or if it is sold
 * alone as well.
 */
function byChildren(
  scope: Scope,
  spec: GroupSpec & { readonly children: NonNullable<GroupSpec['children']> },
  head: Expression<boolean> | undefined,
): Grouping {
  const { children } = spec;
  const referring = { ...scope, field: 'group' };
  const slot = slotOf(referring, ['group', 'children', 'cell'], children.cell);
  const labelSlot = given(children.labels, (name) =>
    slotOf(referring, ['group', 'children', 'labels'], name),
  );
  const namesOf = compileNames(referring, spec.names ?? []);
  const alone = given(spec.alone, (one) => compileCondition(scope, ['group', 'alone'], one));
  const referencesOf = (row: SourceRow) => parseChildren(row.cells[slot] ?? '', children);
  return {
    open: (openScratch) =>
      scratchGrouper(
        openScratch('children'),
        (row) => {
          if (row.misaligned !== undefined) return strayLinks(row);
          const names = namesOf(row);
          const silent = head !== undefined && !head(row, 0);
          if (silent) {
            const [belongs] = names;
            return belongs === undefined ? strayLinks(row) : { ...UNLINKED, belongs, silent: true };
          }
          return {
            ...UNLINKED,
            names,
            wants: referencesOf(row).map(({ name }) => name),
            alone: alone?.(row, 0) ?? false,
          };
        },
        (gathered) => {
          const record = finishReferred(gathered);
          const { head: parent, children: found } = record;
          const references = given(parent, referencesOf) ?? [];
          const labels = parsePairs(parent?.cells[labelSlot ?? -1] ?? '', children);
          const childOptions = references.map(({ options }) => labelled(options, labels));
          const missing = {
            code: 'child-missing',
            message: `the row lists ${references.length} children, of which ${found.length} are others in the source`,
            ...(parent && { line: parent.line }),
          };
          const fault = record.fault ?? (references.length === found.length ? undefined : missing);
          return { ...record, childOptions, fault };
        },
        scope.limits.recordRows,
      ),
  };
}

type Names = ReadonlyMap<string, string>;

function labelled(options: Names, labels: Names): Names {
  return new Map([...options].map(([code, value]) => [labels.get(code) ?? code, value]));
}

function slotOf(scope: Scope, path: readonly string[], name: string): number {
  const named = namedAt(scope, path, name);
  if (named?.kind === 'column') return named.slot;
  if (named !== undefined) scope.problems.add(path, `${name} is not a single column`);
  return -1;
}

/** Compiles the names by which other rows may refer to a row. */
function compileNames(scope: Scope, names: readonly Value[]): (row: SourceRow) => readonly string[] {
  const reads = names.map((name, index) =>
    blankIfUnreadable(compileAs(scope, ['group', 'names', index], name, 'text').read),
  );
  return (row) =>
    reads.flatMap((read) => {
      const name = read(row, 0);
      return typeof name === 'string' ? [name] : [];
    });
}

/** A child as the cell of its parent names it. */
interface ChildReference {
  readonly name: string;
  /** Its options by code. */
  readonly options: ReadonlyMap<string, string>;
}

/** Reads `sku=A,size=XS|sku=B,size=S`. A piece without `=` belongs to the previous value (`size=10,5 cm`). */
function parseChildren(cell: string, spec: ChildrenSpec): readonly ChildReference[] {
  const references: ChildReference[] = [];
  for (const item of cell.split(spec.items)) {
    if (item.trim() === '') continue;
    if (spec.reference === undefined) {
      references.push({ name: item.trim(), options: new Map() });
      continue;
    }
    const pairs = parsePairs(item, spec);
    const name = pairs.get(spec.reference);
    if (name !== undefined) {
      pairs.delete(spec.reference);
      for (const other of spec.except ?? []) pairs.delete(other);
      references.push({ name, options: pairs });
    }
  }
  return references;
}

/** Reads `code=value,code=value`. */
function parsePairs(text: string, spec: ChildrenSpec): Map<string, string> {
  const pairs = new Map<string, string>();
  let last: string | undefined;
  for (const piece of text.split(spec.pairs)) {
    const at = piece.indexOf(spec.equals);
    if (at < 0) {
      if (last !== undefined) pairs.set(last, `${pairs.get(last)}${spec.pairs}${piece.trimEnd()}`);
      continue;
    }
    last = piece.slice(0, at).trim();
    pairs.set(last, piece.slice(at + spec.equals.length).trim());
  }
  return pairs;
}
