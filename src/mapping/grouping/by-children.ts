import type { GroupSpec } from '../../config/mapping/mapping-group.ts';
import type { SourceRow } from '../rows.ts';
import { resolveName, type Scope, unknownName } from '../scope.ts';
import { compileCondition, type Test } from '../values/condition.ts';
import { parseChildren, parsePairs } from './children-cell.ts';
import type { Grouping } from './grouping.ts';
import { compileNames } from './names.ts';
import { UNLINKED } from './row-scratch.ts';
import { finishReferred, ScratchGrouper } from './scratch-grouper.ts';

/** A row that lists children is a record with them; so is a row that nobody lists, or that is sold alone as well. */
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
