import type { MappingSpec } from '../mapping/spec/mapping-spec.ts';
import { isJsonObject, member, valueAt } from '../model/json-object.ts';

/** What the cells of a column must have for a field. Amounts and weights need a decimal sign, and words a meaning. */
type Accepted = 'text' | 'list' | 'count' | 'flag' | 'amount' | 'weight' | 'words';

/** A field of the store that one column of a file can fill. */
export interface ColumnField<Meaning extends string = Concept> {
  /** In forms. */
  readonly label: string;
  /** In questions: `the price`. */
  readonly what: string;
  readonly accepts: Accepted;
  /** Where a mapping has it; undefined if the mapping makes another field of it. */
  readonly path: readonly string[] | undefined;
  /** What its headers may mean, as words.yaml names it. */
  readonly concepts: readonly Meaning[];
}

function field<const Meaning extends string>(
  label: string,
  what: string,
  accepts: Accepted,
  path: string | undefined,
  ...concepts: readonly Meaning[]
): ColumnField<Meaning> {
  return { label, what, accepts, path: path?.split('.'), concepts };
}

/** The fields that one column can fill, as answers name them (`column.FIELD`). */
export const COLUMN_FIELDS = {
  products: {
    title: field('Title', 'the name of the product', 'text', 'product.title', 'title'),
    price: field('Price', 'the price', 'amount', 'variants.pricing.price', 'price', 'regular'),
    was: field('Price before', 'the price before a sale', 'amount', 'variants.pricing.was', 'was', 'regular'),
    sale: field('Sale price', 'the price during a sale', 'amount', 'variants.pricing.sale', 'sale'),
    currency: field('Currency', 'the currency', 'words', undefined, 'currency'),
    sku: field('SKU', 'the SKU', 'text', 'variants.sku', 'sku'),
    quantity: field('Stock', 'the stock', 'count', 'variants.quantity', 'quantity'),
    availability: field('Availability', 'the availability', 'words', undefined, 'availability', 'visible'),
    description: field('Description', 'the description', 'text', 'product.description', 'description'),
    images: field('Image addresses', 'images', 'list', 'product.images', 'image'),
    category: field('Category', 'the category', 'text', 'product.categories', 'category'),
    subcategory: field('Subcategory', 'the subcategory', 'text', undefined, 'subcategory'),
    weight: field('Weight', 'the weight', 'weight', 'variants.weight', 'weight'),
    url: field('Address (url)', 'the URL handle', 'text', 'product.url', 'url'),
    visible: field('Visible: yes or no', 'whether the product is shown', 'words', undefined, 'visible'),
    hidden: field('Hidden: yes or no', 'whether the product is hidden', 'words', 'product.hidden', 'hidden'),
  },
  contacts: {
    email: field('E-mail', 'the e-mail address', 'text', 'contact.email', 'email'),
    name: field('Name', 'the name', 'text', 'contact.name', 'name'),
    firstName: field('First name', 'the first name', 'text', undefined, 'firstName'),
    lastName: field('Last name', 'the last name', 'text', undefined, 'lastName'),
    phone: field('Phone', 'the phone', 'text', 'contact.phone', 'phone'),
    mobile: field('Mobile phone', 'the mobile phone', 'text', undefined, 'mobile'),
    companyName: field('Company', 'the company', 'text', 'contact.companyName', 'companyName'),
    address: field('Address', 'the address', 'text', 'contact.address', 'address'),
    houseNumber: field('House number', 'the house number', 'text', undefined, 'houseNumber'),
    zip: field('Postal code', 'the postal code', 'text', 'contact.zip', 'zip'),
    city: field('City', 'the city', 'text', 'contact.city', 'city'),
    state: field('State', 'the state', 'text', 'contact.state', 'state'),
    country: field('Country', 'the country', 'text', 'contact.country', 'country'),
    note: field('Note', 'the note', 'text', 'contact.note', 'note'),
    tags: field('Tags', 'tags', 'list', 'contact.tags', 'tags'),
    subscribed: field(
      'Subscribed: yes or no',
      'whether the contact gets e-mails',
      'flag',
      'contact.subscribed',
      'subscribed',
    ),
    unsubscribed: field(
      'Unsubscribed: yes or no',
      'whether the contact is unsubscribed',
      'words',
      undefined,
      'unsubscribed',
    ),
  },
} as const;

/** Concepts of headers that no field takes by itself: they qualify another column, or keep theirs from being used. */
const OTHER_CONCEPTS = {
  products: [
    'summary',
    'cost',
    'otherAmount',
    'discount',
    'taxRate',
    'saleDate',
    'begins',
    'ends',
    'discontinued',
    'reserved',
    'soldOut',
    'tracked',
    'backorder',
    'shipped',
    'unshipped',
    'onSale',
    'surcharge',
    'priceUnit',
    'unit',
    'taxIncluded',
    'weightUnit',
    'gtin',
    'mpn',
    'parent',
    'id',
    'position',
    'page',
    'size',
    'color',
    'option',
    'material',
    'none',
  ],
  // Those who joined something that may be a list for e-mails, or a course, and who left it.
  contacts: ['joined', 'ended', 'refused', 'confirmed', 'middleName', 'addressLine', 'none'],
} as const;

type Fields = typeof COLUMN_FIELDS;
type ConceptOf<Imports extends keyof Fields> =
  | Extract<Fields[Imports][keyof Fields[Imports]], ColumnField<string>>['concepts'][number]
  | (typeof OTHER_CONCEPTS)[Imports][number];
/** What the headers of files mean. */
export type Concept = ConceptOf<'products'> | ConceptOf<'contacts'>;

/** The concepts of headers; each has words in words.yaml. */
export const CONCEPTS: {
  readonly products: readonly ConceptOf<'products'>[];
  readonly contacts: readonly ConceptOf<'contacts'>[];
} = {
  products: [
    ...new Set([
      ...Object.values(COLUMN_FIELDS.products).flatMap(({ concepts }) => concepts),
      ...OTHER_CONCEPTS.products,
    ]),
  ],
  contacts: [
    ...Object.values(COLUMN_FIELDS.contacts).flatMap(({ concepts }) => concepts),
    ...OTHER_CONCEPTS.contacts,
  ],
};

/** The fields of a resource by their names, whatever the resource is. */
export function fieldsOf(imports: MappingSpec['import']): Readonly<Record<string, ColumnField>> {
  return COLUMN_FIELDS[imports];
}

/** The label of a field for people; a name that is no field is shown as it is. */
export function fieldLabel(imports: MappingSpec['import'], name: string): string {
  return fieldsOf(imports)[name]?.label ?? name;
}

/** What a mapping has for a field; undefined if it does not fill it. A sale lowers the regular price. */
export function fieldValue(spec: MappingSpec, name: string): unknown {
  const path = fieldsOf(spec.import)[name]?.path;
  if (path === undefined) return undefined;
  return (
    valueAt(spec, path) ?? (name === 'price' ? valueAt(spec, ['variants', 'pricing', 'regular']) : undefined)
  );
}

/** The column of the mapping that a value begins with; undefined for constants and for values made of several. */
export function columnOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value.includes('{') ? undefined : value;
  if (Array.isArray(value)) return columnOf(value[0]);
  return isJsonObject(value) ? columnOf(member(value, 'value')) : undefined;
}
