import { isUsed } from './check-use.ts';
import { compileGrouping } from './grouping/compile-grouping.ts';
import { newScope, Problems, paramsOf } from './scope.ts';
import type { MappingSpec } from './spec/mapping-spec.ts';
import type { Value } from './spec/value-spec.ts';
import { compileAs } from './values/compile-value.ts';
import { compileField } from './values/field.ts';

/** The names that decide which rows are one record, and what its key is. */
export interface KeyNames {
  readonly columns: ReadonlySet<string>;
  readonly params: ReadonlySet<string>;
  readonly lookups: ReadonlySet<string>;
}

/**
 * What of a mapping its grouping and the value of its key name, at whatever depth: both are compiled, and the names are
 * those that this resolved. `value` is undefined where the mapping says nothing of the key.
 */
export function keyNames(spec: MappingSpec, value: Value | undefined): KeyNames {
  const problems = new Problems();
  const lookups = new Map(Object.keys(spec.lookups ?? {}).map((name) => [name, undefined] as const));
  const scope = newScope(spec, { params: paramsOf(spec, undefined, problems), lookups, problems });
  if (value !== undefined) compileField(scope, ['key'], value, { wanted: 'text', blank: 'leave-out' });
  compileGrouping(scope, spec.group, compileAs(scope, [], { const: '' }, 'text'));
  const { used, columns } = scope;
  return {
    columns: new Set(
      [...columns.declared.values()].filter((column) => isUsed(scope, column)).map(({ name }) => name),
    ),
    params: new Set([...scope.params.keys()].filter((name) => used.has(name))),
    lookups: new Set([...lookups.keys()].filter((name) => used.has(`lookup ${name}`))),
  };
}
