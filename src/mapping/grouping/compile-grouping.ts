import type { GroupSpec } from '../../config/mapping/mapping-group.ts';
import type { Scope } from '../scope.ts';
import type { Expression } from '../values/cell.ts';
import { compileAs } from '../values/compile-value.ts';
import { compileCondition } from '../values/condition.ts';
import { byChildren } from './by-children.ts';
import { byKeyAdjacent, byKeyAnywhere } from './by-key.ts';
import { byParent } from './by-parent.ts';
import { byStart } from './by-start.ts';
import { type Grouping, trustedKey } from './grouping.ts';
import { rowGrouper } from './row-grouper.ts';

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
