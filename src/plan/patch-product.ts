import { isDeepStrictEqual } from 'node:util';
import { type JsonObject, member, objectsIn } from '../model/json-object.ts';
import {
  membersOf,
  type Product,
  type ProductField,
  type ProductPatch,
  type VariantPatch,
  variantsDiffer,
} from '../model/mapped-record.ts';
import type { Reason } from '../model/reason.ts';

/**
 * The members of a body in the order in which mappings send them. A merged body has them in this order, so that the same values
 * always give the same text; members of a later version keep their order, after these.
 */
const PRODUCT_ORDER: readonly string[] = [
  ...['type', 'title', 'description', 'url', 'hidden', 'images', 'categories', 'options', 'variants'],
  ...['subscription', 'file'],
];
const VARIANT_ORDER: readonly string[] = [
  ...['options', 'price', 'onSale', 'regularPrice', 'salePrice', 'quantity', 'sku', 'weight'],
];

/** A merged product, or why a patch cannot be merged into it. */
export type Merged = { readonly product: Product } | { readonly refused: Reason };

/**
 * The acknowledged product with the fields of the patches instead of its own; all other fields are unchanged. Variants are found
 * by SKU, else by options; a patch that names neither (blank cells) changes the only variant. Refused where a variant cannot be found, and
 * where two patches give the same field another value.
 */
export function patchProduct(
  acknowledged: JsonObject,
  patches: readonly ProductPatch[],
  advanced?: boolean,
): Merged {
  const variants = variantsOf(acknowledged);
  const given = new Map<string, unknown>();
  const disagrees = (place: string, members: JsonObject) =>
    Object.entries(members).find(([name, value]) => {
      const before = given.has(place + name) ? given.get(place + name) : value;
      given.set(place + name, value);
      return !isDeepStrictEqual(before, value);
    })?.[0];
  let product = acknowledged;
  for (const { url: _key, variants: changes, ...fields } of patches) {
    const field = disagrees('', fields);
    if (field !== undefined) return { refused: disagreement(field) };
    product = { ...product, ...fields };
    for (const change of changes) {
      const { options = [], ...members } = change;
      if (options.length === 0 && Object.keys(members).length === 0) continue;
      const found = findVariant(variants, change);
      if (typeof found !== 'number') return { refused: found };
      const name = disagrees(`${found} `, members);
      if (name !== undefined) return { refused: disagreement(`variants.${name}`) };
      variants[found] = patchVariant(variants[found] ?? {}, members);
    }
  }
  return { product: withVariants(product, variants, advanced) };
}

/** A price without a sale ends an earlier sale. */
function patchVariant(variant: JsonObject, members: JsonObject): JsonObject {
  const { salePrice: _salePrice, ...rest } = variant;
  return inOrder({ ...('price' in members ? rest : variant), ...members }, VARIANT_ORDER);
}

/** The place of the variant that the patch changes, or why it is unclear. */
function findVariant(variants: readonly JsonObject[], { sku, options }: VariantPatch): number | Reason {
  const places = (has: (variant: JsonObject) => boolean) =>
    variants.flatMap((variant, place) => (has(variant) ? [place] : []));
  const bySku = sku === undefined ? [] : places((variant) => member(variant, 'sku') === sku);
  const hasOptions = (variant: JsonObject) => isDeepStrictEqual(member(variant, 'options'), options);
  const byOptions = options === undefined ? [] : places(hasOptions);
  const both = bySku.filter((place) => byOptions.includes(place));
  const [first, ...others] = [both, bySku, byOptions].find((found) => found.length > 0) ?? [];
  if (first !== undefined && others.length === 0) return first;
  if (first !== undefined) {
    const message = `${others.length + 1} variants of the product have this ${bySku.length > 0 ? 'SKU' : 'combination of options'}; make it unique in the store, or name the options as well`;
    return { code: 'ambiguous-match', message, field: 'variants.sku' };
  }
  if (sku === undefined && (options ?? []).length === 0) {
    if (variants.length === 1) return 0;
    const message = `the product has ${variants.length} variants, and the row does not say which; map variants.sku or options`;
    return { code: 'ambiguous-match', message, field: 'variants.sku' };
  }
  const message = `the product has no variant with ${sku === undefined ? 'these options' : 'this SKU'}; correct it, or let the job that owns the product add the variant first`;
  return { code: 'no-match', message, field: sku === undefined ? 'options' : 'variants.sku' };
}

function disagreement(field: string): Reason {
  const message = 'rows of one product give this field different values; make them equal, or keep one';
  return { code: 'rows-disagree', message, field };
}

/**
 * The product with these fields as the store last acknowledged them; a field that the acknowledged product lacks is left out. Variants
 * are paired by SKU where it is unique, else by options; one that the store does not have yet keeps its own. `advanced`: what the
 * mapping says of the options.
 */
export function keepFields(
  product: JsonObject,
  acknowledged: JsonObject,
  keep: readonly ProductField[],
  advanced?: boolean,
): Product {
  const members = membersOf(keep, 'variants');
  const known = variantsOf(acknowledged);
  const kept = replaced(product, acknowledged, membersOf(keep, 'product'));
  const skuOf = (variant: JsonObject) => member(variant, 'sku');
  const bySku = Map.groupBy(known, skuOf);
  const nowBySku = Map.groupBy(variantsOf(product), skuOf);
  nowBySku.delete(undefined);
  const byOptions = new Map(known.map((variant) => [JSON.stringify(member(variant, 'options')), variant]));
  const variants = variantsOf(product).map((variant) => {
    const sku = skuOf(variant);
    const [only, ...others] = nowBySku.get(sku)?.length === 1 ? (bySku.get(sku) ?? []) : [];
    const alike = byOptions.get(JSON.stringify(member(variant, 'options')));
    const oldSku = alike && skuOf(alike);
    // Its SKU is now that of another variant, which is therefore the one that the store has.
    const isOther = oldSku !== sku && nowBySku.has(oldSku);
    const before = (others.length === 0 ? only : undefined) ?? (isOther ? undefined : alike);
    return before === undefined ? variant : inOrder(replaced(variant, before, members), VARIANT_ORDER);
  });
  return withVariants(kept, variants, advanced);
}

/** The object with these members of the other, or without them where the other has none. */
function replaced(object: JsonObject, other: JsonObject, members: readonly string[]): JsonObject {
  const own = Object.entries(object).filter(([name]) => !members.includes(name));
  const others = members.filter((name) => Object.hasOwn(other, name)).map((name) => [name, other[name]]);
  return Object.fromEntries([...own, ...others]);
}

function variantsOf(product: JsonObject): JsonObject[] {
  return [...objectsIn(product, 'variants')];
}

/** With these variants. An acknowledged body has the members of a `Product`; a later version of Storeferry may have added others. */
function withVariants(
  product: JsonObject,
  variants: readonly JsonObject[],
  advanced: boolean | undefined,
): Product {
  const options = advancedOptions(product, variants, advanced);
  const whole: Product = inOrder({ ...product, ...options, variants }, PRODUCT_ORDER);
  return whole;
}

/**
 * The options of a product that gets these variants. Where `advanced` is not what the product's own variants make of it, a mapping
 * said so: it stays, else two jobs would undo each other.
 */
function advancedOptions(
  product: JsonObject,
  variants: readonly JsonObject[],
  said: boolean | undefined,
): { readonly options?: readonly JsonObject[] } {
  const options = objectsIn(product, 'options');
  const before = variantsDiffer(variantsOf(product));
  const follows = options.every((option) => member(option, 'advanced') === before);
  if (options.length === 0 || (said === undefined && !follows)) return {};
  const advanced = said ?? variantsDiffer(variants);
  return { options: options.map((option) => ({ ...option, advanced })) };
}

function inOrder(object: JsonObject, order: readonly string[]) {
  const known = order.filter((name) => Object.hasOwn(object, name));
  const others = Object.keys(object).filter((name) => !order.includes(name));
  return Object.fromEntries([...known, ...others].map((name): unknown[] => [name, object[name]]));
}
