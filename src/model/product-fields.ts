/**
 * The fields of a product that one job may send and another keep, by the names that jobs use, each with the members of the request
 * body that it stands for (storefront-api.md, section 2): of the product, or of each variant. The members of a price follow from each
 * other, so they are one field, under either name.
 */
const FIELDS = {
  title: ['title'],
  description: ['description'],
  hidden: ['hidden'],
  images: ['images'],
  categories: ['categories'],
  type: ['type'],
  file: ['file'],
  subscription: ['subscription'],
  'variants.pricing': ['price', 'onSale', 'regularPrice', 'salePrice'],
  'variants.price': ['price', 'onSale', 'regularPrice', 'salePrice'],
  'variants.quantity': ['quantity'],
  'variants.weight': ['weight'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** A field that one job may send and another keep. */
export type ProductField = keyof typeof FIELDS;

/** The fields that a job sends. */
export interface SentFields {
  readonly job: string;
  /** Whether it changes fields of products that another job owns (`mode: update`). */
  readonly updates: boolean;
  readonly fields: readonly ProductField[];
}

/** Their names. */
export const PRODUCT_FIELDS: readonly ProductField[] = namesOf(FIELDS);

function namesOf<Name extends string>(fields: Readonly<Record<Name, unknown>>): Name[] {
  const names: Name[] = [];
  for (const name in fields) names.push(name);
  return names;
}

/** The members that these fields stand for: of the product itself, or of each of its variants. */
export function membersOf(fields: readonly ProductField[], of: 'product' | 'variants'): readonly string[] {
  return fields
    .filter((field) => field.startsWith('variants.') === (of === 'variants'))
    .flatMap((field) => FIELDS[field]);
}

/** The fields as reports name them, such as `variants.price`: where a field stands for several members, by the first. */
export function reportedField(field: ProductField): string {
  const [member] = FIELDS[field];
  return field.startsWith('variants.') ? `variants.${member}` : member;
}
