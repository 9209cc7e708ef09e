import type { JsonObject } from '../../model/json-object.ts';
import {
  type Category,
  type CategoryReference,
  PRODUCT_TYPES,
  type Product,
  type ProductType,
  type Subscription,
} from '../../model/mapped-record.ts';
import { type LookupTable, lookupKey } from '../lookup-table.ts';
import type { BuildRecord, ProductRows, RecordRows, SourceRow } from '../record-rows.ts';
import { given, type Path, Problems, resolveLookup, type Scope } from '../scope.ts';
import type { ProductMappingSpec, WholeProductSpec } from '../spec/mapping-spec.ts';
import type { CategoriesSpec, ProductSpec } from '../spec/product-spec.ts';
import { splitText } from '../transforms/list-transforms.ts';
import { slugify } from '../transforms/slug.ts';
import { attempt, type Cell, type Expression, isList, refuse, Unreadable } from '../values/cell.ts';
import { compileCondition } from '../values/compile-condition.ts';
import { compileAs, compileField, compileFlag, compileRowField } from '../values/compile-value.ts';
import {
  compileVariantPatches,
  compileVariants,
  type ProductVariants,
  type SkippedProduct,
} from './compile-variants.ts';
import type { WeightUnit } from './compile-weight.ts';
import type { Clock } from './pricing.ts';
import { categoryFinder, type StoreCategories } from './store-categories.ts';

type Draft = { -readonly [K in keyof Product]?: Product[K] };

interface ProductContext {
  readonly clock: Clock;
  readonly weightUnit: WeightUnit;
  /** Left out: categories are sent by their names. */
  readonly categories?: StoreCategories;
  /** Left out: values that are no addresses are left out. */
  readonly findPicture?: FindPicture;
}

/** Compiles a whole product (storefront-api.md, section 4.1). */
export function compileProduct(scope: Scope, spec: WholeProductSpec, context: ProductContext): BuildRecord {
  const variantsOf = compileVariants(scope, spec, context);
  const fill = compileFields(scope, spec, {
    blankTitle: 'reject',
    typeOf: compileType(scope, spec),
    variantsOf,
    storeCategories: context.categories,
    findPicture: context.findPicture,
  });
  return (rows, url) => {
    const draft: Draft = { type: 'physical' };
    const found = fill(rows, draft, url);
    if ('skipped' in found) return found;
    const { type = 'physical', title, options = [], variants = [] } = draft;
    if (title === undefined) throw new Unreadable('title-missing', 'title is blank').in('title');
    const body = { ...draft, type, title, url, options, variants };
    return found.lacksPictures ? { body, lacksPictures: true } : { body };
  };
}

/**
 * Compiles what identifies a product: title, pictures, and the SKUs of its rows. What cannot be read is left out, so that also a
 * product that is rejected is found under its earlier url.
 */
export function compileLikeness(
  outer: Scope,
  { product, variants }: WholeProductSpec,
  findPicture: FindPicture | undefined,
): (rows: RecordRows) => JsonObject {
  const scope = { ...outer, problems: new Problems(), trace: undefined };
  const title = compileField(scope, ['product', 'title'], product.title, 'text');
  const images = given(product.images, (value) =>
    compileField(scope, ['product', 'images'], value, 'text[]'),
  );
  const sku = given(variants.sku, (value) => compileRowField(scope, ['variants', 'sku'], value, 'text'));
  return (rows) => {
    const named = attempt(title, rows, 0);
    const pictures = images && attempt(images, rows, 0);
    const written = pictures !== undefined && !(pictures instanceof Unreadable) && isList(pictures);
    const skus = rows.rows.flatMap((row) => (sku && attempt(sku, row, 0)) ?? []);
    return {
      title: typeof named === 'string' ? onOneLine(named) : '',
      images: written ? addresses(pictures.map(String), [], '', findPicture).usable : [],
      variants: skus.flatMap((one) => (typeof one === 'string' ? [{ sku: one }] : [])),
    };
  };
}

/** Compiles what an update changes in a product: the fields that the mapping names, where the row has a value for them. */
export function compilePatch(scope: Scope, spec: ProductMappingSpec, context: ProductContext): BuildRecord {
  const variantsOf = compileVariantPatches(scope, spec, context);
  // Marks the columns of the default type as used; in an update this type changes nothing.
  compileType(scope, spec);
  const fill = compileFields(scope, spec, {
    blankTitle: 'leave-out',
    typeOf: compileSaidType({ ...scope, problems: new Problems() }, spec.product.type),
    variantsOf,
    storeCategories: context.categories,
    findPicture: context.findPicture,
  });
  return (rows) => {
    const draft: Draft = {};
    const found = fill(rows, draft, undefined);
    if ('skipped' in found) return found;
    if (found.lacksPictures) delete draft.images;
    return { body: { ...draft, variants: found.patches ?? [] } };
  };
}

interface FieldRules {
  readonly blankTitle: 'reject' | 'leave-out';
  readonly typeOf: Expression<ProductType | undefined, ProductRows>;
  readonly variantsOf: Expression<ProductVariants | SkippedProduct, RecordRows>;
  readonly storeCategories: StoreCategories | undefined;
  readonly findPicture: FindPicture | undefined;
}

/** The address that the picture file of a name is published at, or why there is none, as a note; undefined for other addresses. */
export type FindPicture = (
  written: string,
) => { readonly address: string } | { readonly note: string } | undefined;

/**
 * Compiles what fills a draft, field by field, in the order in which they are sent. It gives the variants, or why the product is left
 * out.
 */
function compileFields(
  scope: Scope,
  spec: ProductMappingSpec,
  rules: FieldRules,
): (rows: RecordRows, draft: Draft, url: string | undefined) => ProductVariants | SkippedProduct {
  const { product } = spec;
  const { faults } = scope;
  const compile = (
    name: 'title' | 'description' | 'file' | 'images',
    wanted: 'text' | 'text[]',
    blank?: 'reject' | 'leave-out',
  ) => given(product[name], (value) => compileField(scope, ['product', name], value, wanted, blank));
  const asField = (name: string, read: Expression<Cell, RecordRows> | undefined) =>
    given(read, (compiled) => faults.field(name, compiled));
  const title = asField('title', compile('title', 'text', rules.blankTitle));
  const description = asField('description', compile('description', 'text'));
  const isHidden = given(product.hidden, (flag) =>
    faults.field(
      'hidden',
      compileFlag(
        scope,
        ['product', 'hidden'],
        flag,
        rules.blankTitle === 'leave-out' ? 'leave-out' : 'false',
      ),
    ),
  );
  const images = asField('images', compile('images', 'text[]'));
  const categoriesOf = given(product.categories, (written) =>
    faults.field(
      'categories',
      compileCategories(scope, ['product', 'categories'], written, rules.storeCategories),
    ),
  );
  const advice = unsetBases(scope, JSON.stringify(product.images ?? null));
  const subscriptionOf = given(product.subscription, (written) =>
    faults.field('subscription', compileSubscription(scope, written)),
  );
  const file = asField('file', given(compile('file', 'text'), addressOnly));
  const variantsOf = faults.field('options', rules.variantsOf);
  const typeOf = faults.field('type', rules.typeOf);
  return (rows, draft, url) => {
    const { head } = rows;
    const named = title?.(rows, 0);
    if (typeof named === 'string') draft.title = onOneLine(named);
    const described = description?.(rows, 0);
    if (typeof described === 'string') draft.description = described;
    if (url !== undefined) draft.url = url;
    const hidden = head && isHidden?.(head, 0);
    if (typeof hidden === 'boolean') draft.hidden = hidden;
    const pictures = images?.(rows, 0);
    let lacksPictures = false;
    if (isList(pictures)) {
      const read = addresses(pictures.map(String), scope.notes, advice, rules.findPicture);
      const { usable } = read;
      ({ lacksPictures } = read);
      // An empty list would remove the store's images only because none can be read.
      if (usable.length > 0 || pictures.length === 0) draft.images = usable;
    }
    const categories = categoriesOf?.(rows, 0);
    if (categories !== undefined) draft.categories = categories;
    const found = variantsOf(rows, 0) ?? { rows: [] };
    if ('skipped' in found) return found;
    const { options, variants, rows: variantRows } = found;
    if (options !== undefined) draft.options = options;
    if (variants !== undefined) draft.variants = variants;
    const all: ProductRows = { record: rows, variantRows, hasFile: false };
    const subscription = variantRows.length > 0 ? subscriptionOf?.(all, 0) : undefined;
    if (subscription !== undefined) draft.subscription = subscription;
    const sold = file?.(rows, 0);
    if (typeof sold === 'string') draft.file = sold;
    const type = typeOf(sold === undefined ? all : { ...all, hasFile: true }, 0);
    if (type !== undefined) draft.type = type;
    return lacksPictures ? { ...found, lacksPictures } : found;
  };
}

function addressOnly(read: Expression<Cell, RecordRows>): Expression<Cell, RecordRows> {
  return (rows, member) => {
    const found = read(rows, member);
    return typeof found !== 'string' || isAddress(found)
      ? found
      : refuse('file-not-an-address', 'the file is not an http address');
  };
}

/** A text without the indentation and line breaks of its file, as a title or the name of a category is. */
function onOneLine(text: string): string {
  return text.replaceAll(/(?<!\s)\s+/g, (space) => (/[\r\n\t]/.test(space) ? ' ' : space)).trim();
}

/** The position of a second address directly after the first; after `/` or `=` it is part of it. */
const RUN_TOGETHER = /[\p{L}\p{N}_)]https?:\/\//iu;

/** Whether a text is one address. */
function isAddress(text: string): boolean {
  return (
    /^https?:\/\/[^\s/]/i.test(text) &&
    // After the first `://` nearly no address has another one.
    (text.indexOf('://', 'https'.length + 1) < 0 || !RUN_TOGETHER.test(text))
  );
}

/** Params that could complete incomplete addresses: params of the images that have no http address yet. */
function unsetBases({ params }: Scope, written: string): string {
  const names = [...params].flatMap(([name, value]) =>
    written.includes(`{${name}}`) && !isAddress(String(value)) ? [`${name} to https://…`] : [],
  );
  return names.length === 0 ? '' : `; set ${names.join(' and ')} in the job (params)`;
}

/** Separators between two addresses of one cell. Within an address, a second one follows no blank or separator. */
const BETWEEN_ADDRESSES = /(?<![\s,;|])[\s,;|]+(?=https?:\/\/|$)/i;
/** A text without any of them, as nearly all are. */
const ONE_WORD = /^[^\s,;|]+$/;

/** Image addresses, without other texts, and whether picture files are missing. `//host/…` means https; blanks within an address are encoded. */
function addresses(
  written: readonly string[],
  notes: string[],
  advice: string,
  findPicture: FindPicture | undefined,
): { readonly usable: readonly string[]; readonly lacksPictures: boolean } {
  const kept = new Set<string>();
  let lacksPictures = false;
  const apart = written.every((text) => ONE_WORD.test(text))
    ? written
    : written.flatMap((text) => text.split(BETWEEN_ADDRESSES).filter((one) => one !== ''));
  if (apart.length > written.length) notes.push('images: several addresses in one cell, split');
  for (const text of apart) {
    const whole = text.startsWith('//') ? `https:${text}` : text;
    const address = whole.replaceAll(/[ \u00a0]/g, '%20');
    const found =
      findPicture === undefined ? [] : picturesNamed(isAddress(address) ? address : text, findPicture);
    for (const picture of found) {
      if ('address' in picture) kept.add(picture.address);
      else {
        notes.push(picture.note);
        lacksPictures = true;
      }
    }
    if (found.length > 0) continue;
    if (isAddress(address)) kept.add(address);
    else notes.push(`images: not an http address, left out${advice}`);
  }
  return { usable: [...kept], lacksPictures };
}

/** A name may have any sign: only where there is no such file, they separate several names. */
function picturesNamed(text: string, find: FindPicture): readonly NonNullable<ReturnType<FindPicture>>[] {
  const whole = find(text);
  if (whole === undefined) return [];
  const names = text.split(/[,;|\n]/).flatMap((name) => name.trim() || []);
  return 'address' in whole || names.length < 2 ? [whole] : names.flatMap((name) => find(name) ?? []);
}

/** The type from the mapping; otherwise digital with a file, service if nothing of it is shipped, else physical. */
function compileType(scope: Scope, { product }: ProductMappingSpec): FieldRules['typeOf'] {
  const unshipped = given(product.unshipped, (condition) =>
    compileCondition(scope, ['product', 'unshipped'], condition),
  );
  const said = compileSaidType(scope, product.type);
  return (rows) => {
    const named = said(rows, 0);
    if (named !== undefined) return named;
    if (rows.hasFile) return 'digital';
    return unshipped !== undefined && rows.variantRows.every((row) => unshipped(row, 0))
      ? 'service'
      : 'physical';
  };
}

function compileSaidType(scope: Scope, type: ProductSpec['type']): FieldRules['typeOf'] {
  if (type === undefined) return () => undefined;
  if (isByCondition(type)) {
    const tests = PRODUCT_TYPES.flatMap((name) => {
      const condition = type.is[name];
      const path = ['product', 'type', 'is', name];
      return condition === undefined ? [] : [{ name, test: compileCondition(scope, path, condition) }];
    });
    const met = (rows: readonly SourceRow[]) =>
      tests.find(({ test }) => rows.length > 0 && rows.every((row) => test(row, 0)))?.name;
    return ({ record: { head }, variantRows }) => met(head === undefined ? [] : [head]) ?? met(variantRows);
  }
  const field = compileField(scope, ['product', 'type'], type, 'text');
  return ({ record }) => {
    const found = field(record, 0);
    if (found === undefined) return undefined;
    return (
      PRODUCT_TYPES.find((name) => name === found) ??
      refuse('type-unknown', `expected one of ${PRODUCT_TYPES.join(', ')}`)
    );
  };
}

type TypeSpec = NonNullable<ProductSpec['type']>;

function isByCondition(type: TypeSpec): type is Extract<TypeSpec, { readonly is: unknown }> {
  return typeof type === 'object' && !Array.isArray(type) && 'is' in type;
}

/**
 * Compiles the categories: the last level of each path, by name and handle, without a parent, as the API document has them. Ids and
 * parents come from a lookup table, else from the store where it lists its categories.
 */
function compileCategories(
  scope: Scope,
  path: Path,
  written: NonNullable<ProductSpec['categories']>,
  ofStore: StoreCategories | undefined,
): Expression<readonly CategoryReference[] | undefined, RecordRows> {
  const spec: CategoriesSpec = isCategories(written) ? written : { value: written };
  const valuePath = isCategories(written) ? [...path, 'value'] : path;
  const field = compileField(scope, valuePath, spec.value, 'text[]');
  const separators = spec.path === undefined ? [] : typeof spec.path === 'string' ? [spec.path] : spec.path;
  const except = new Set((spec.except ?? []).map((name) => name.toLowerCase()));
  const table = given(spec.table, (name) => resolveLookup(scope, [...path, 'table'], name));
  const findInStore = given(ofStore, categoryFinder);
  return (rows) => {
    const paths = field(rows, 0);
    if (!isList(paths)) return undefined;
    const found = new Map<string | number, CategoryReference>();
    for (const item of paths) {
      const levels =
        separators.length === 0 ? [String(item)] : splitText(String(item), separators, { escapedBy: '\\' });
      const name = given(levels.at(-1), onOneLine);
      if (
        name === undefined ||
        except.has(name.toLowerCase()) ||
        (spec.root === false && levels.length < 2)
      ) {
        continue;
      }
      const category = known(table, levels, name) ??
        findInStore?.(levels, name) ?? { name, url: slugify(name), parentCategory: 0 };
      const by = typeof category === 'number' ? category : (category.id ?? category.url);
      if (by !== '' && !found.has(by)) found.set(by, category);
    }
    return found.size === 0 && paths.length > 0 ? undefined : [...found.values()];
  };
}

function isCategories(written: NonNullable<ProductSpec['categories']>): written is CategoriesSpec {
  return (
    typeof written === 'object' &&
    !Array.isArray(written) &&
    ('path' in written || 'root' in written || 'table' in written || 'except' in written)
  );
}

/** The category in a lookup table, by its whole path (levels joined by ' > ') or by its name. */
function known(
  table: LookupTable | undefined,
  levels: readonly string[],
  name: string,
): Category | undefined {
  const row = table?.rows.get(lookupKey(levels.join(' > '))) ?? table?.rows.get(lookupKey(name));
  if (row === undefined) return undefined;
  const id = Number(row.get('id') || Number.NaN);
  const parent = Number(row.get('parentCategory') ?? 0);
  return {
    ...(Number.isSafeInteger(id) && { id }),
    name: row.get('name') || name,
    url: row.get('url') || slugify(row.get('name') || name),
    parentCategory: Number.isSafeInteger(parent) ? parent : 0,
  };
}

type SubscriptionSpec = NonNullable<ProductSpec['subscription']>;
type BillingDraft = { -readonly [Field in keyof Subscription]: Subscription[Field] };

/**
 * Compiles recurring billing (storefront-api.md, section 2, Subscription): that of the head row, otherwise of the variant rows. If the mapping declares a product as a
 * subscription but its billing is unknown, the product is rejected: otherwise it would be charged once.
 */
function compileSubscription(
  outer: Scope,
  spec: SubscriptionSpec,
): Expression<Subscription | undefined, ProductRows> {
  const path = ['product', 'subscription'];
  const scope = { ...outer, field: 'subscription' };
  const billingOf = compileBilling(scope, path, spec);
  const isOne = given(spec.when, (when) => compileCondition(scope, [...path, 'when'], when));
  return ({ record: { head }, variantRows }) => {
    const rows = head === undefined ? variantRows : [head, ...variantRows.filter((row) => row !== head)];
    const meant = isOne === undefined ? rows : rows.filter((row) => isOne(row, 0));
    const [first] = meant;
    if (first === undefined) return undefined;
    let found: Subscription | undefined;
    for (const row of meant) {
      const billing = billingOf(row, 0);
      if (billing === undefined) continue;
      if (found !== undefined && JSON.stringify(billing) !== JSON.stringify(found)) {
        const message =
          'its variants are billed in different ways, but the store bills each product in one way';
        refuse('subscription-differs', message, row.line);
      }
      found = billing;
    }
    if (found !== undefined || isOne === undefined) return found;
    const message =
      'it is a subscription, but the file does not say how often it is billed: export it with these columns';
    return refuse('subscription-unknown', message, first.line);
  };
}

/** The billing data of one row; undefined if it has none. */
function compileBilling(
  scope: Scope,
  path: readonly string[],
  spec: SubscriptionSpec,
): Expression<Subscription | undefined> {
  const read = (key: 'cycles' | 'length' | 'period' | 'periodUnit'): Expression | undefined => {
    const wanted = key === 'periodUnit' ? 'text' : 'number';
    return given(spec[key], (value) => compileAs(scope, [...path, key], value, wanted).read);
  };
  const unit = read('periodUnit');
  const numbers = (['cycles', 'period', 'length'] as const).map((key) => ({ key, read: read(key) }));
  let part: keyof SubscriptionSpec = 'cycles';
  const billingOf = (row: SourceRow): Subscription | undefined => {
    const found: BillingDraft = {};
    let length: number | undefined;
    for (const { key, read: readNumber } of numbers) {
      part = key;
      const value = readNumber?.(row, 0);
      if (typeof value !== 'number') continue;
      if (!Number.isSafeInteger(value) || value < 0)
        refuse('not-an-integer', `${key} must be a whole number`);
      if (key === 'length') length = value;
      else found[key] = value;
    }
    part = 'periodUnit';
    const named = unit?.(row, 0);
    if (typeof named === 'string') found.periodUnit = named;
    if (Object.keys(found).length === 0) return undefined;
    // A length of 0 has no end, and so no number of cycles.
    if (length !== undefined && length > 0) {
      part = 'length';
      found.cycles = length / (found.period ?? 1);
      if (!Number.isSafeInteger(found.cycles)) {
        refuse('not-an-integer', 'the length must be a whole number of periods');
      }
    }
    return found;
  };
  return (row) => {
    const found = attempt(billingOf, row, 0);
    if (found instanceof Unreadable) throw found.in(`subscription.${part}`).at(row.line);
    return found;
  };
}
