import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject, member, memberNames } from '../../model/json-object.ts';
import { type FieldChange, leavesOf } from '../../model/mapped-record.ts';
import { composedEmail } from '../../model/operation.ts';

/** The field of options that follows from the variants: whether the store keeps prices and stock for each combination. */
export const ADVANCED_FIELD = 'options.advanced';

/** The variants of the two bodies of a product: the common ones, and the others. */
export interface VariantPairs {
  readonly pairs: readonly (readonly [before: JsonObject, after: JsonObject])[];
  /** Whether it has only this one, before and after. */
  readonly isOnly: boolean;
  /** Without a counterpart, before and after. */
  readonly removed: readonly JsonObject[];
  readonly added: readonly JsonObject[];
}

/**
 * The differences between the last acknowledged body and the one to be sent, each field once. Bodies that differ only
 * in the order of fields have no changes. `onPairs` is called with the variants of both, paired.
 */
export function fieldChanges(
  oldBody: string,
  newBody: string,
  onPairs?: (paired: VariantPairs) => void,
): FieldChange[] {
  const before: unknown = JSON.parse(oldBody);
  const after: unknown = JSON.parse(newBody);
  if (!isJsonObject(before) || !isJsonObject(after)) return [];
  return [...memberNames(after, before)].flatMap((field) =>
    changesOf(field, member(before, field), member(after, field), onPairs),
  );
}

function changesOf(
  field: string,
  before: unknown,
  after: unknown,
  onPairs: ((paired: VariantPairs) => void) | undefined,
) {
  if (isDeepStrictEqual(before, after)) return [];
  if (field === 'variants' && Array.isArray(before) && Array.isArray(after)) {
    return variantChanges(before.filter(isJsonObject), after.filter(isJsonObject), onPairs);
  }
  if (field === 'properties' && Array.isArray(before) && Array.isArray(after)) {
    return membersChanged(field, byName(before), byName(after));
  }
  if (field === 'options' && isDeepStrictEqual(withoutAdvanced(before), withoutAdvanced(after))) {
    return [{ field: ADVANCED_FIELD, old: advancedOf(before), new: advancedOf(after) }];
  }
  if (isJsonObject(before) && isJsonObject(after)) return membersChanged(field, before, after);
  // An earlier version sent the form of Unicode that the source has.
  if (field === 'email' && isSameEmail(before, after)) return [];
  return [{ field, old: before, new: after }];
}

function isSameEmail(before: unknown, after: unknown) {
  return (
    typeof before === 'string' && typeof after === 'string' && composedEmail(before) === composedEmail(after)
  );
}

function withoutAdvanced(options: unknown) {
  if (!Array.isArray(options)) return options;
  return options.map((option: unknown) => {
    if (!isJsonObject(option)) return option;
    const { advanced: _advanced, ...rest } = option;
    return rest;
  });
}

/** What the first option says of it: mappings say the same of all. */
function advancedOf(options: unknown) {
  return Array.isArray(options) && isJsonObject(options[0]) ? member(options[0], 'advanced') : undefined;
}

function membersChanged(path: string, before: JsonObject, after: JsonObject): FieldChange[] {
  const changes = [...memberNames(after, before)]
    .map((name) => ({ field: `${path}.${name}`, old: member(before, name), new: member(after, name) }))
    .filter((change) => !isDeepStrictEqual(change.old, change.new));
  return changes.length > 0 ? changes : [{ field: path, old: before, new: after }];
}

/** Custom properties as an object, so that each is compared with the one of the same name. */
function byName(properties: readonly unknown[]): JsonObject {
  return Object.fromEntries(
    properties
      .filter(isJsonObject)
      .map((property) => [String(member(property, 'name')), member(property, 'value')]),
  );
}

/**
 * Compares variants with their counterparts, found by option values, else by sku, so that an inserted variant does
 * not make all later ones look changed. A field that differs in several variants is reported once, with the values of
 * the first pair. Variants that were added, removed or only reordered are the field `variants`.
 */
function variantChanges(
  before: readonly JsonObject[],
  after: readonly JsonObject[],
  onPairs?: (paired: VariantPairs) => void,
) {
  const paired = pairUp(before, after);
  const { pairs, removed, added } = paired;
  onPairs?.(paired);
  const changes = new Map<string, FieldChange>();
  if (removed.length > 0 || added.length > 0) {
    changes.set('variants', { field: 'variants', old: labels(removed), new: labels(added) });
  }
  for (const [old, now] of pairs) {
    for (const name of memberNames(now, old)) {
      const field = `variants.${name}`;
      if (changes.has(field) || isDeepStrictEqual(member(old, name), member(now, name))) continue;
      changes.set(field, { field, old: member(old, name), new: member(now, name) });
    }
  }
  if (changes.size === 0)
    changes.set('variants', { field: 'variants', old: labels(before), new: labels(after) });
  return [...changes.values()];
}

function pairUp(before: readonly JsonObject[], after: readonly JsonObject[]): VariantPairs {
  if (before.length === 1 && after.length === 1) {
    return {
      pairs: before.flatMap((old) => after.map((now) => [old, now] as const)),
      isOnly: true,
      removed: [],
      added: [],
    };
  }
  const byOptions = pairBy((variant) => JSON.stringify(member(variant, 'options')), before, after);
  const bySku = pairBy(skuOf, byOptions.removed, byOptions.added);
  const { removed, added } = bySku;
  return { pairs: [...byOptions.pairs, ...bySku.pairs], isOnly: false, removed, added };
}

type Pairs = Omit<VariantPairs, 'isOnly'>;

/** Pairs items with equal values; several items with one value are paired in their order. */
function pairBy(
  handleOf: (variant: JsonObject) => string | undefined,
  before: readonly JsonObject[],
  after: readonly JsonObject[],
): Pairs {
  const waiting = Map.groupBy(before, handleOf);
  waiting.delete(undefined);
  const pairs: [JsonObject, JsonObject][] = [];
  const added: JsonObject[] = [];
  const paired = new Set<JsonObject>();
  for (const now of after) {
    const old = waiting.get(handleOf(now))?.shift();
    if (old === undefined) {
      added.push(now);
    } else {
      pairs.push([old, now]);
      paired.add(old);
    }
  }
  return { pairs, removed: before.filter((old) => !paired.has(old)), added };
}

function labels(variants: readonly JsonObject[]) {
  return variants.map((variant) => variantName(variant) ?? 'the only variant').join(', ');
}

/** The sku of a variant; undefined if it has none. */
function skuOf(variant: JsonObject) {
  const sku = member(variant, 'sku');
  return typeof sku === 'string' && sku !== '' ? sku : undefined;
}

/** The name of a variant within its product: `Red / L`, else the sku; null if it has neither. */
export function variantName(variant: JsonObject): string | null {
  const options = member(variant, 'options');
  const values = Array.isArray(options) ? options.join(' / ') : '';
  return values || (skuOf(variant) ?? null);
}

/** A value that differs from the acknowledged body; null is an absent one. */
interface ValueChange {
  readonly path: string;
  readonly old: string | number | boolean | null;
}

/**
 * The single values of a body that the acknowledged one has otherwise, or lacks (`old` is null), and those that only the
 * acknowledged one has. Variants and properties are compared with their counterparts, wherever they stand.
 */
export function valueChanges(
  acknowledged: string,
  body: object,
): { readonly changed: readonly ValueChange[]; readonly removed: readonly ValueChange[] } {
  const before: unknown = JSON.parse(acknowledged);
  if (!isJsonObject(before) || !isJsonObject(body)) return { changed: [], removed: [] };
  const old = new Map(leavesOf(aligned(before, body)).map(({ path, value }) => [path, value]));
  const now = leavesOf(body);
  const paths = new Set(now.map(({ path }) => path));
  return {
    changed: now.flatMap(({ path, value }) =>
      old.get(path) === value ? [] : [{ path, old: old.get(path) ?? null }],
    ),
    removed: [...old].flatMap(([path, value]) => (paths.has(path) ? [] : [{ path, old: value }])),
  };
}

/** The acknowledged body with its variants and properties at the places of their counterparts, further ones behind. */
function aligned(before: JsonObject, now: JsonObject): JsonObject {
  const ordered = { ...before };
  const place = (field: string, pair: (...lists: [JsonObject[], JsonObject[]]) => Pairs) => {
    const [olds, news] = [member(before, field), member(now, field)];
    if (!Array.isArray(olds) || !Array.isArray(news)) return;
    const items = news.filter(isJsonObject);
    const { pairs, removed } = pair(olds.filter(isJsonObject), items);
    const counterparts = new Map(pairs.map(([old, one]) => [one, old]));
    ordered[field] = [...items.map((one) => counterparts.get(one)), ...removed];
  };
  place('variants', pairUp);
  place('properties', (olds, news) => pairBy((property) => String(member(property, 'name')), olds, news));
  return ordered;
}
