import { isDeepStrictEqual } from 'node:util';
import { type JsonObject, member, memberNames } from '../json-value.ts';
import type { FieldChange } from './field-change.ts';
import { skuOf, variantName } from './variant-name.ts';

/** The variants of the two bodies of a product: those that stand in both, and the others. */
export interface VariantPairs {
  readonly pairs: readonly (readonly [before: JsonObject, after: JsonObject])[];
  /** Whether it has only this one, before and after. */
  readonly isOnly: boolean;
  /** Without a counterpart, before and after. */
  readonly removed: readonly JsonObject[];
  readonly added: readonly JsonObject[];
}

/**
 * Variants compared with their counterparts, found by option values, else by sku: one that was inserted does not
 * make all that follow it look changed. A field that differs in several variants is given once, with the first
 * pair's values. Variants that were added, removed or only reordered are the field `variants`. `onPairs` gets all
 * pairs.
 */
export function variantChanges(
  before: readonly JsonObject[],
  after: readonly JsonObject[],
  onPairs?: (paired: VariantPairs) => void,
): FieldChange[] {
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

/** Pairs those that share a value; several of one value are paired in their order. */
function pairBy(
  handleOf: (variant: JsonObject) => string | undefined,
  before: readonly JsonObject[],
  after: readonly JsonObject[],
): Omit<VariantPairs, 'isOnly'> {
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

function labels(variants: readonly JsonObject[]): string {
  return variants.map((variant) => variantName(variant) ?? 'the only variant').join(', ');
}
