import type { ProductMappingSpec } from '../../config/mapping/mapping-spec.ts';
import type { Product } from '../../model/product.ts';
import type { Reason } from '../../model/reason.ts';
import type { Clock } from '../clock.ts';
import type { RecordRows } from '../rows.ts';
import type { Scope } from '../scope.ts';
import { type Cell, isList, Unreadable } from '../values/cell.ts';
import { compileField, compileFlag } from '../values/field.ts';
import { compileCategories } from './categories.ts';
import { compileSubscription } from './subscription.ts';
import { compileType } from './type.ts';
import { compileVariants, type NotForSale } from './variants.ts';
import type { WeightUnit } from './weight.ts';

type Draft = { -readonly [K in keyof Product]?: Product[K] };

/** Makes the body of a product of its rows, or says why not. The key is given: `url` is read before anything else. */
export type BuildProduct = (rows: RecordRows, url: string) => Product | NotForSale | Reason;

/** Compiles the fields of a product (storefront-api.md, section 4.1), in the order in which they are sent. */
export function compileProduct(
  scope: Scope,
  spec: ProductMappingSpec,
  context: { readonly clock: Clock; readonly weightUnit: WeightUnit },
): BuildProduct {
  const { product } = spec;
  const text = (key: 'title' | 'description' | 'file') => {
    const value = product[key];
    const blank = key === 'title' ? 'reject' : 'leave-out';
    return value === undefined
      ? undefined
      : compileField(scope, ['product', key], value, { wanted: 'text', blank });
  };
  const title = text('title');
  const description = text('description');
  const hidden =
    product.hidden === undefined ? undefined : compileFlag(scope, ['product', 'hidden'], product.hidden);
  const images =
    product.images === undefined
      ? undefined
      : compileField(scope, ['product', 'images'], product.images, { wanted: 'text[]', blank: 'leave-out' });
  const categories =
    product.categories === undefined
      ? undefined
      : compileCategories(scope, ['product', 'categories'], product.categories);
  const advice = unsetBases(scope, JSON.stringify(product.images ?? null));
  const variantsOf = compileVariants(scope, spec, context);
  const subscription = compileSubscription(scope, product.subscription);
  const file = text('file');
  const typeOf = compileType(scope, spec);

  return (rows, url) => {
    const draft: Draft = {};
    const line = rows.head?.line;
    const named = title?.(rows);
    if (typeof named !== 'string') return reasonOf(named, 'title', line);
    draft.type = 'physical';
    draft.title = named;
    const described = description?.(rows);
    if (described instanceof Unreadable) return described.reason('description', line);
    if (typeof described === 'string') draft.description = described;
    draft.url = url;
    const isHidden = rows.head === undefined ? undefined : hidden?.(rows.head, 0);
    if (isHidden instanceof Unreadable) return isHidden.reason('hidden', line);
    if (typeof isHidden === 'boolean') draft.hidden = isHidden;
    const pictures = images?.(rows);
    if (pictures instanceof Unreadable) return pictures.reason('images', line);
    if (isList(pictures)) {
      const usable = addresses(pictures.map(String), scope.notes, advice);
      // an empty list would take away what the store has, on the ground of images that only cannot be read
      if (usable.length > 0 || pictures.length === 0) draft.images = usable;
    }
    const belongsTo = categories?.(rows);
    if (belongsTo instanceof Unreadable) return belongsTo.reason('categories', line);
    if (belongsTo !== undefined) draft.categories = belongsTo;
    const bought = variantsOf(rows);
    if ('code' in bought || 'skipped' in bought) return bought;
    draft.options = bought.options;
    draft.variants = bought.variants;
    const recurring = subscription(rows, bought.rows);
    if (recurring !== undefined && 'code' in recurring) return recurring;
    if (recurring !== undefined) draft.subscription = recurring;
    const sold = file?.(rows);
    if (sold instanceof Unreadable || (typeof sold === 'string' && !isAddress(sold))) {
      return sold instanceof Unreadable
        ? sold.reason('file', line)
        : new Unreadable('file-not-an-address', 'the file is not an http address').reason('file', line);
    }
    if (typeof sold === 'string') draft.file = sold;
    const type = typeOf(rows, bought.rows, draft.file !== undefined);
    if (typeof type !== 'string') return type;
    draft.type = type;
    return { ...draft, type, title: named, url, options: bought.options, variants: bought.variants };
  };
}

function reasonOf(cell: Cell, field: string, line: number | undefined): Reason {
  const why = cell instanceof Unreadable ? cell : new Unreadable(`${field}-missing`, `${field} is blank`);
  return why.reason(field, line);
}

function isAddress(text: string): boolean {
  return /^https?:\/\/[^\s/]/i.test(text);
}

/** Which params could make addresses of what is none: those that the images are written with, and that hold none. */
function unsetBases({ params }: Scope, written: string): string {
  const names = [...params].flatMap(([name, value]) =>
    written.includes(`{${name}}`) && !isAddress(String(value)) ? [`${name}: https://…`] : [],
  );
  return names.length === 0 ? '' : `; set \`params: { ${names.join(', ')} }\` in the job`;
}

/** What stands between two addresses of one cell; within one, a further address follows no blank or separator. */
const BETWEEN_ADDRESSES = /[\s,;|]+(?=https?:\/\/)/i;

/** Image addresses without what is none; `//host/…` is meant as https. */
function addresses(written: readonly string[], notes: string[], advice: string): readonly string[] {
  const kept = new Set<string>();
  const apart = written.flatMap((text) => text.split(BETWEEN_ADDRESSES));
  if (apart.length > written.length) notes.push('images: several addresses in one cell, taken apart');
  for (const text of apart) {
    const address = text.startsWith('//') ? `https:${text}` : text;
    if (isAddress(address)) kept.add(address);
    else notes.push(`images: not an http address, left out${advice}`);
  }
  return [...kept];
}
