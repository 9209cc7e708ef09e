import type { GroupSpec } from '../../config/mapping-group.ts';
import type { Value } from '../../config/mapping-value.ts';
import type { Binding } from '../bind-table.ts';
import { compileCondition, type Test } from '../condition.ts';
import { compileAs, type Expression } from '../expression.ts';
import type { RecordRows } from '../record-rows.ts';
import type { Scope } from '../scope.ts';
import { resolveName, unknownName } from '../scope.ts';
import type { SourceRow } from '../source-row.ts';
import { AdjacentGrouper } from './adjacent-grouper.ts';
import { parseChildren, parsePairs } from './children-cell.ts';
import type { Grouper } from './grouper.ts';
import { rowGrouper } from './row-grouper.ts';
import type { OpenScratch, RowLinks } from './row-scratch.ts';
import { finishKeyed, type GatheredRecord, ScratchGrouper } from './scratch-grouper.ts';
import { type Beginning, StartsGrouper } from './starts-grouper.ts';

/** How the rows of a source become records. */
export interface Grouping {
  readonly kind: 'row' | 'adjacent' | 'anywhere' | 'starts' | 'parent' | 'children';
  /** Whether the key of a misaligned row of such a file can be trusted: nothing can shift a first column. */
  readonly trustsKey: (binding: Binding) => boolean;
  /** Gathers a source; the scratch, where one is needed, is opened and left to the caller to dispose of. */
  readonly open: (openScratch: OpenScratch) => Grouper;
}

/** Compiles the grouping. `key` is what identifies a record: the url of a product, the id of a contact. */
export function compileGrouping(scope: Scope, spec: GroupSpec | undefined, key: Expression): Grouping {
  const path = ['group'];
  const head = spec?.head === undefined ? undefined : compileCondition(scope, [...path, 'head'], spec.head);
  if (spec?.by !== undefined) {
    const by = compileAs(scope, [...path, 'by'], spec.by, 'text');
    if (spec.rows !== 'anywhere') {
      return keyedAdjacent(scope, by, head);
    }
    const alone =
      spec.alone === undefined ? undefined : compileCondition(scope, [...path, 'alone'], spec.alone);
    return keyedAnywhere(scope, by, { head, alone });
  }
  if (spec?.starts !== undefined) {
    return starting(
      scope,
      compileCondition(scope, [...path, 'starts'], spec.starts),
      Object.keys(flat(spec.starts)),
    );
  }
  if (spec?.parent !== undefined) {
    return byParent(scope, spec.parent, spec.names ?? []);
  }
  if (spec?.children !== undefined) {
    return byChildren(scope, { ...spec, children: spec.children }, head);
  }
  return {
    kind: 'row',
    trustsKey: firstColumn(scope, key.sources),
    open: () => rowGrouper(key.read),
  };
}

function keyedAdjacent(scope: Scope, by: Expression, head: Test | undefined): Grouping {
  return {
    kind: 'adjacent',
    trustsKey: firstColumn(scope, by.sources),
    open: () => new AdjacentGrouper(by.read, head),
  };
}

const UNLINKED: RowLinks = { belongs: null, names: [], wants: [], silent: false, alone: false, stray: false };

function keyedAnywhere(
  scope: Scope,
  by: Expression,
  { head, alone }: { readonly head: Test | undefined; readonly alone: Test | undefined },
): Grouping {
  return {
    kind: 'anywhere',
    trustsKey: firstColumn(scope, by.sources),
    open: (openScratch) =>
      new ScratchGrouper(
        openScratch('key'),
        (row) => {
          const key = by.read(row, 0);
          const certain = row.misaligned === undefined || row.misaligned.keyTrusted;
          if (typeof key !== 'string' || !certain) {
            return { ...UNLINKED, stray: true };
          }
          return row.misaligned === undefined && alone?.(row, 0) === true
            ? { ...UNLINKED, alone: true }
            : { ...UNLINKED, belongs: key };
        },
        (gathered) => finishKeyed(gathered, head),
      ),
  };
}

function starting(scope: Scope, starts: Test, columns: readonly string[]): Grouping {
  const slots = columns.flatMap((name) => scope.columns.declared.get(name)?.slot ?? []);
  const only = columns.length === 1;
  return {
    kind: 'starts',
    trustsKey: ({ indexes }) => slots.some((slot) => indexes[slot] === 0),
    open: () =>
      new StartsGrouper(starts, (row): Beginning => {
        if (row.misaligned?.keyTrusted !== true) {
          return 'unknown';
        }
        const [first = ''] = row.misaligned.cells;
        const cells = row.cells.map((cell, slot) =>
          slots.includes(slot) && cell?.trim() === first ? cell : undefined,
        );
        return starts({ ...row, cells }, 0) ? 'starts' : only ? 'continues' : 'unknown';
      }),
  };
}

/** The columns of a condition, however deep. */
function flat(condition: NonNullable<GroupSpec['starts']>): Readonly<Record<string, true>> {
  const names: Record<string, true> = {};
  const visit = (one: unknown): void => {
    if (typeof one !== 'object' || one === null) {
      return;
    }
    for (const [key, value] of Object.entries(one)) {
      if ((key === 'any' || key === 'all') && Array.isArray(value)) {
        value.forEach(visit);
      } else if (key === 'not') {
        visit(value);
      } else {
        names[key] = true;
      }
    }
  };
  visit(condition);
  return names;
}

function byParent(scope: Scope, parent: string, names: readonly Value[]): Grouping {
  const reference = compileAs(scope, ['group', 'parent'], parent, 'text');
  const reads = names.map((name, index) => compileAs(scope, ['group', 'names', index], name, 'text').read);
  const namesOf = (row: SourceRow) =>
    reads.flatMap((read) => {
      const name = read(row, 0);
      return typeof name === 'string' ? [name] : [];
    });
  return {
    kind: 'parent',
    trustsKey: () => false,
    open: (openScratch) =>
      new ScratchGrouper(
        openScratch('parent'),
        (row) => {
          if (row.misaligned !== undefined) {
            return { ...UNLINKED, stray: true };
          }
          const named = reference.read(row, 0);
          return typeof named === 'string'
            ? { ...UNLINKED, belongs: named }
            : { ...UNLINKED, names: namesOf(row) };
        },
        finishReferred,
      ),
  };
}

function byChildren(
  scope: Scope,
  spec: GroupSpec & { readonly children: NonNullable<GroupSpec['children']> },
  head: Test | undefined,
): Grouping {
  const { children } = spec;
  const slot = slotOf(scope, ['group', 'children', 'cell'], children.cell);
  const labelSlot =
    children.labels === undefined
      ? undefined
      : slotOf(scope, ['group', 'children', 'labels'], children.labels);
  const reads = (spec.names ?? []).map(
    (name, index) => compileAs(scope, ['group', 'names', index], name, 'text').read,
  );
  const alone =
    spec.alone === undefined ? undefined : compileCondition(scope, ['group', 'alone'], spec.alone);
  const referencesOf = (row: SourceRow) => parseChildren(row.cells[slot] ?? '', children);
  return {
    kind: 'children',
    trustsKey: () => false,
    open: (openScratch) =>
      new ScratchGrouper(
        openScratch('children'),
        (row) => {
          if (row.misaligned !== undefined) {
            return { ...UNLINKED, stray: true };
          }
          const names = reads.flatMap((read) => {
            const name = read(row, 0);
            return typeof name === 'string' ? [name] : [];
          });
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
      ),
  };
}

function labelled(
  options: ReadonlyMap<string, string>,
  labels: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  return new Map([...options].map(([code, value]) => [labels.get(code) ?? code, value]));
}

function finishReferred({ head, members, fault, spans, counted }: GatheredRecord): RecordRows {
  return {
    head,
    rows: head === undefined ? members : [head, ...members],
    children: members,
    childOptions: undefined,
    fault,
    key: null,
    spans,
    counted,
    torn: false,
  };
}

function slotOf(scope: Scope, path: readonly string[], name: string): number {
  const named = resolveName(scope, name);
  if (named?.kind === 'column') {
    return named.slot;
  }
  if (named === undefined) {
    unknownName(scope, path, name);
  } else {
    scope.problems.add(path, `${name} is not a single column`);
  }
  return -1;
}

/** Whether all that a key is made of, of what the file has, stands in the first column. */
function firstColumn(scope: Scope, sources: ReadonlySet<string>): (binding: Binding) => boolean {
  const slots = [...sources].map((name) => scope.columns.declared.get(name)?.slot ?? -1);
  return ({ indexes }) => {
    const found = slots.flatMap((slot) => indexes[slot] ?? []).filter((index) => index >= 0);
    return found.length > 0 && found.every((index) => index === 0);
  };
}
