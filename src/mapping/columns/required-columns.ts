import type { MappingSpec } from '../../config/mapping/mapping-spec.ts';

/** The columns, by the mapping's names, without which a file is not of its format. */
export function requiredColumns(spec: MappingSpec): readonly string[] {
  return [...new Set([...(spec.required ?? []), ...requiredByGroup(spec)])];
}

/** The column that groups rows must be there; of several alternatives, nobody knows which. */
function requiredByGroup({ group, columns }: MappingSpec): readonly string[] {
  const by = Array.isArray(group?.by) ? group.by[0] : group?.by;
  return typeof by === 'string' && Object.hasOwn(columns, by) ? [by] : [];
}
