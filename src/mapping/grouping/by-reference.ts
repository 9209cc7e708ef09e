import type { SourceRow } from '../rows.ts';
import { resolveName, type Scope, unknownName } from '../scope.ts';
import type { ChildrenSpec, GroupSpec } from '../spec/group-spec.ts';
import type { Value } from '../spec/value-spec.ts';
import { blankIfUnreadable } from '../values/cell.ts';
import { compileAs } from '../values/compile-value.ts';
import { compileCondition, type Test } from '../values/condition.ts';
import type { Grouping } from './grouping.ts';
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

/** A row that lists children is a record with them; so is a row that no other lists, or that is sold alone as well. */
export function byChildren(
  scope: Scope,
  spec: GroupSpec & { readonly children: NonNullable<GroupSpec['children']> },
  head: Test | undefined,
): Grouping {
  const { children } = spec;
  const referring = { ...scope, field: 'group' };
  const slot = slotOf(referring, ['group', 'children', 'cell'], children.cell);
  const labelSlot =
    children.labels === undefined
      ? undefined
      : slotOf(referring, ['group', 'children', 'labels'], children.labels);
  const namesOf = compileNames(referring, spec.names ?? []);
  const alone =
    spec.alone === undefined ? undefined : compileCondition(scope, ['group', 'alone'], spec.alone);
  const referencesOf = (row: SourceRow) => parseChildren(row.cells[slot] ?? '', children);
  return {
    kind: 'children',
    open: (openScratch) =>
      new ScratchGrouper(
        openScratch('children'),
        (row) => {
          if (row.misaligned !== undefined) return { ...UNLINKED, stray: true };
          const names = namesOf(row);
          const silent = head !== undefined && !head(row, 0);
          return silent
            ? { ...UNLINKED, belongs: names[0] ?? null, silent: names.length > 0, stray: names.length === 0 }
            : {
                ...UNLINKED,
                names,
                wants: referencesOf(row).map(({ name }) => name),
                alone: alone?.(row, 0) ?? false,
              };
        },
        (gathered) => {
          const references = gathered.head === undefined ? [] : referencesOf(gathered.head);
          const labels =
            labelSlot === undefined || gathered.head === undefined
              ? new Map<string, string>()
              : parsePairs(gathered.head.cells[labelSlot] ?? '', children);
          const record = finishReferred(gathered);
          return {
            ...record,
            childOptions: references.map(({ options }) => labelled(options, labels)),
            fault:
              record.fault ??
              (references.length === record.children.length
                ? undefined
                : {
                    code: 'child-missing',
                    message: `the row lists ${references.length} children, of which ${record.children.length} are others in the source`,
                    ...(gathered.head === undefined ? {} : { line: gathered.head.line }),
                  }),
          };
        },
        scope.limits.recordRows,
      ),
  };
}

function labelled(
  options: ReadonlyMap<string, string>,
  labels: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  return new Map([...options].map(([code, value]) => [labels.get(code) ?? code, value]));
}

function slotOf(scope: Scope, path: readonly string[], name: string): number {
  const named = resolveName(scope, name);
  if (named?.kind === 'column') return named.slot;
  if (named === undefined) unknownName(scope, path, name);
  else scope.problems.add(path, `${name} is not a single column`);
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

/** Reads `sku=A,size=XS|sku=B,size=S`. A piece without `=` belongs to the value before it (`size=10,5 cm`). */
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
