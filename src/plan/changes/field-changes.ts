import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject, member, memberNames } from '../json-value.ts';
import type { FieldChange } from './field-change.ts';
import { type VariantPairs, variantChanges } from './variant-changes.ts';

/**
 * What differs between the body that the store last acknowledged and the one to be sent, each field once. Bodies that
 * say the same in another order of fields have no changes. `onVariants` gets the variants that both have.
 */
export function fieldChanges(
  oldBody: string,
  newBody: string,
  onVariants?: (paired: VariantPairs) => void,
): FieldChange[] {
  const before: unknown = JSON.parse(oldBody);
  const after: unknown = JSON.parse(newBody);
  if (!isJsonObject(before) || !isJsonObject(after)) return [];
  return [...memberNames(after, before)].flatMap((field) =>
    changesOf(field, member(before, field), member(after, field), onVariants),
  );
}

function changesOf(
  field: string,
  before: unknown,
  after: unknown,
  onVariants: ((paired: VariantPairs) => void) | undefined,
): FieldChange[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (field === 'variants' && Array.isArray(before) && Array.isArray(after)) {
    return variantChanges(before.filter(isJsonObject), after.filter(isJsonObject), onVariants);
  }
  if (field === 'properties' && Array.isArray(before) && Array.isArray(after)) {
    return membersChanged(field, byName(before), byName(after));
  }
  if (isJsonObject(before) && isJsonObject(after)) return membersChanged(field, before, after);
  return [{ field, old: before, new: after }];
}

function membersChanged(path: string, before: JsonObject, after: JsonObject): FieldChange[] {
  const changes = [...memberNames(after, before)]
    .map((name) => ({ field: `${path}.${name}`, old: member(before, name), new: member(after, name) }))
    .filter((change) => !isDeepStrictEqual(change.old, change.new));
  return changes.length > 0 ? changes : [{ field: path, old: before, new: after }];
}

/** Custom properties as an object, so that each is compared with the one of its name. */
function byName(properties: readonly unknown[]): JsonObject {
  return Object.fromEntries(
    properties
      .filter(isJsonObject)
      .map((property) => [String(member(property, 'name')), member(property, 'value')]),
  );
}
