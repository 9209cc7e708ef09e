import { type JsonObject, member } from '../json-value.ts';

/** The sku of a variant; undefined where it has none. */
export function skuOf(variant: JsonObject): string | undefined {
  const sku = member(variant, 'sku');
  return typeof sku === 'string' && sku !== '' ? sku : undefined;
}

/** The name of a variant within its product: `Red / L`, else the sku; null where nothing does. */
export function variantName(variant: JsonObject): string | null {
  const options = member(variant, 'options');
  const values = Array.isArray(options) ? options.join(' / ') : '';
  return values || (skuOf(variant) ?? null);
}
