import type { JsonObject, Mutable } from '../../model/json-object.ts';
import {
  PRODUCT_TYPES,
  type Product,
  type ProductOption,
  type ProductType,
  type Variant,
  type VariantPatch,
  variantsDiffer,
} from '../../model/mapped-record.ts';
import { NO_PRICE, type Reason } from '../../model/reason.ts';
import type { BuildRecord, ProductRows, RecordRows, SourceRow } from '../record-rows.ts';
import { mapDefined, Problems, type Scope } from '../scope.ts';
import type { ProductMappingSpec, WholeProductSpec } from '../spec/mapping-spec.ts';
import type { ProductSpec } from '../spec/product-spec.ts';
import { attempt, type Cell, type Expression, isList, refuse, Unreadable } from '../values/cell.ts';
import { compileDecision } from '../values/compile-condition.ts';
import { compileField, compileFlag, compileRowField } from '../values/compile-value.ts';
import { compileCategories, type StoreCategories } from './compile-categories.ts';
import { compileSpread, compileVariantRows, type SpreadColumns } from './compile-variant-rows.ts';
import { compileWeight, type WeightUnit } from './compile-weight.ts';
import {
  childOptionReader,
  chooseVariants,
  combine,
  compileOptionReader,
  noOptions,
  type OptionReader,
  type OptionRules,
  type OptionTable,
} from './option-table.ts';
import {
  adviceOnBases,
  type FindPicture,
  isAddress,
  onOneLine,
  pictureAddresses,
} from './picture-addresses.ts';
import { type Clock, compilePricing, compileSubscription, type Prices, type Pricing } from './pricing.ts';

type Draft = Partial<Mutable<Product>>;

interface ProductContext {
  readonly clock: Clock;
  readonly weightUnit: WeightUnit;
  readonly advanced?: boolean | undefined;
  /** Untracked stock is sent as `quantity: null`. */
  readonly nullQuantity?: boolean;
  /** Left out: categories are sent by their names. */
  readonly categories?: StoreCategories;
  /** Left out: values that are no addresses are left out. */
  readonly findPicture?: FindPicture;
}

/** Compiles a whole product (storefront-api.md, section 4.1). */
export function compileProduct(scope: Scope, spec: WholeProductSpec, context: ProductContext): BuildRecord {
  const variantsOf = compileVariants(scope, spec, context);
  const typeOf = compileType(scope, spec);
  const fill = compileFields(scope, spec, context, { blank: 'reject', typeOf, variantsOf });
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
  const images = mapDefined(product.images, (value) =>
    compileField(scope, ['product', 'images'], value, 'text[]'),
  );
  const sku = mapDefined(variants.sku, (value) => compileRowField(scope, ['variants', 'sku'], value, 'text'));
  return (rows) => {
    const named = attempt(title, rows, 0);
    const pictures = images && attempt(images, rows, 0);
    const written = pictures !== undefined && !(pictures instanceof Unreadable) && isList(pictures);
    const skus = rows.rows.flatMap((row) => (sku && attempt(sku, row, 0)) ?? []);
    return {
      title: typeof named === 'string' ? onOneLine(named) : '',
      images: written ? pictureAddresses(pictures.map(String), [], '', findPicture).usable : [],
      variants: skus.flatMap((one) => (typeof one === 'string' ? [{ sku: one }] : [])),
    };
  };
}

/** Compiles what an update changes in a product: the fields that the mapping names, where the row has a value for them. */
export function compilePatch(scope: Scope, spec: ProductMappingSpec, context: ProductContext): BuildRecord {
  const variantsOf = compileVariantPatches(scope, spec, context);
  // Marks the columns of the default type as used; in an update this type changes nothing.
  compileType(scope, spec);
  const typeOf = compileSaidType({ ...scope, problems: new Problems() }, spec.product.type);
  const fill = compileFields(scope, spec, context, { blank: 'leave-out', typeOf, variantsOf });
  return (rows) => {
    const draft: Draft = {};
    const found = fill(rows, draft, undefined);
    if ('skipped' in found) return found;
    if (found.lacksPictures) delete draft.images;
    return { body: { ...draft, variants: found.patches ?? [] } };
  };
}

interface FieldRules {
  /** What a blank title or `hidden` means. */
  readonly blank: 'reject' | 'leave-out';
  readonly typeOf: Expression<ProductType | undefined, ProductRows>;
  readonly variantsOf: Expression<ProductVariants | SkippedProduct, RecordRows>;
}

/**
 * Compiles what fills a draft, field by field, in the order in which they are sent. It gives the variants, or why the product is left
 * out.
 */
function compileFields(
  scope: Scope,
  spec: ProductMappingSpec,
  { categories: ofStore, findPicture }: ProductContext,
  rules: FieldRules,
): (rows: RecordRows, draft: Draft, url: string | undefined) => ProductVariants | SkippedProduct {
  const { product } = spec;
  const { faults } = scope;
  const compile = (
    name: 'title' | 'description' | 'file' | 'images',
    wanted: 'text' | 'text[]',
    blank?: FieldRules['blank'],
  ) =>
    mapDefined(product[name], (value) =>
      faults.field(name, compileField(scope, ['product', name], value, wanted, blank)),
    );
  const title = compile('title', 'text', rules.blank);
  const description = compile('description', 'text');
  const isHidden = mapDefined(product.hidden, (flag) => {
    const blank = rules.blank === 'leave-out' ? rules.blank : 'false';
    return faults.field('hidden', compileFlag(scope, ['product', 'hidden'], flag, blank));
  });
  const images = compile('images', 'text[]');
  const categoriesOf = mapDefined(product.categories, (written) =>
    faults.field('categories', compileCategories(scope, ['product', 'categories'], written, ofStore)),
  );
  const advice = adviceOnBases(scope, JSON.stringify(product.images ?? null));
  const subscriptionOf = mapDefined(product.subscription, (written) =>
    faults.field('subscription', compileSubscription(scope, written)),
  );
  const file = mapDefined(compile('file', 'text'), (read) => faults.field('file', addressOnly(read)));
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
      const read = pictureAddresses(pictures.map(String), scope.notes, advice, findPicture);
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

/** The type from the mapping; otherwise digital with a file, service if nothing of it is shipped, else physical. */
function compileType(scope: Scope, { product }: ProductMappingSpec): FieldRules['typeOf'] {
  const unshipped = mapDefined(product.unshipped, (condition) =>
    compileDecision(scope, ['product', 'unshipped'], condition),
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
      return condition === undefined ? [] : [{ name, test: compileDecision(scope, path, condition) }];
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

/** The options and variants of a product; of an update, only what changes in its variants. */
interface ProductVariants {
  readonly options?: readonly ProductOption[];
  readonly variants?: readonly Variant[];
  readonly patches?: readonly VariantPatch[];
  /** Their rows, for values that the product as a whole takes from them. */
  readonly rows: readonly SourceRow[];
  readonly lacksPictures?: true;
}

/** The reason for leaving out a product without any price. */
interface SkippedProduct {
  readonly skipped: Reason;
}

const NOT_FOR_SALE: Reason = {
  code: NO_PRICE,
  message: 'no price, so the shop does not sell it',
  field: 'variants.price',
};

interface VariantFields {
  /** Undefined where the mapping is for updates, and changes no price. */
  readonly prices: Expression<Prices | undefined> | undefined;
  /** Whether a row has no price of any kind. */
  readonly isUnpriced: Pricing['isBlank'] | undefined;
  readonly quantity: Expression | undefined;
  /** What stands for stock that is not tracked. */
  readonly untracked: null | undefined;
  readonly sku: Expression | undefined;
  readonly weight: Expression | undefined;
  readonly notes: string[];
  readonly faults: Scope['faults'];
  readonly trace: Scope['trace'];
}

/** Compiles the options and variants of a product. */
function compileVariants(
  scope: Scope,
  spec: WholeProductSpec,
  context: ProductContext,
): Expression<ProductVariants | SkippedProduct, RecordRows> {
  const { options } = spec;
  const spread = compileSpreadColumns(scope, spec);
  const fields = compileVariantFields(spread?.scope ?? scope, spec, context);
  const reader = compileOptions(scope, spec, spread);
  const rowsOf = compileVariantRows(scope, spec, spread);
  const rules = optionRules(scope, spec);
  const combines = options?.combine === true;
  const choosesNone = combines && options.values === undefined;
  return (rows) => {
    const { priced, alone, sharing } = rowsOf(rows, choosesNone);
    return readVariants(rows, priced, alone, {
      fields,
      sharing,
      reader,
      rules,
      combines,
      advanced: options?.advanced ?? context.advanced,
    });
  };
}

/**
 * Compiles what an update changes in variants. Each row is about one, which its SKU or its options name; a blank cell changes
 * nothing. A mapping without anything about variants gives none.
 */
function compileVariantPatches(
  scope: Scope,
  spec: ProductMappingSpec,
  context: ProductContext,
): Expression<ProductVariants, RecordRows> {
  const spread = compileSpreadColumns(scope, spec);
  const fields = compileVariantFields(spread?.scope ?? scope, spec, context);
  const { prices, quantity, sku, weight } = fields;
  const isAbout = [prices, quantity, sku, weight, spec.options].some((field) => field !== undefined);
  const rowsOf = compileVariantRows(scope, spec, spread);
  const reader = spec.options === undefined ? undefined : compileOptions(scope, spec, spread);
  const { none } = optionRules(scope, spec);
  return (rows) => {
    const { priced } = rowsOf(rows, false);
    if (!isAbout) return { rows: priced };
    const table = reader?.(rows, priced);
    const patches = priced.map((row, index): VariantPatch => {
      const parts = readParts(fields, row, 'leave-out');
      const variant = table === undefined ? parts : { options: chosen(table, index, none), ...parts };
      fields.trace?.made(variant, row);
      return variant;
    });
    return { patches, rows: priced };
  };
}

/** The values that a row of an update chooses, in the order of the source's options. */
function chosen(
  { names, choices }: OptionTable,
  index: number,
  none: OptionRules['none'],
): readonly string[] {
  const values = (choices[index] ?? []).flatMap((value, at) =>
    value === undefined ? [] : [{ name: names[at] ?? '', value }],
  );
  const [only, second] = values;
  const isNone =
    only !== undefined &&
    second === undefined &&
    only.name.toLowerCase() === none?.name &&
    only.value.toLowerCase() === none.value;
  return isNone ? [] : values.map(({ value }) => value);
}

function compileVariantFields(
  scope: Scope,
  { variants }: ProductMappingSpec,
  context: ProductContext,
): VariantFields {
  const { faults } = scope;
  const path = ['variants'];
  const row = (key: 'sku' | 'quantity', wanted: 'text' | 'number') =>
    mapDefined(variants[key], (value) =>
      faults.field(`variants.${key}`, compileRowField(scope, [...path, key], value, wanted)),
    );
  const pricing = mapDefined(variants.pricing, (spec) =>
    compilePricing(scope, [...path, 'pricing'], spec, context.clock),
  );
  return {
    prices: mapDefined(pricing, ({ read }) => faults.field('variants.price', read)),
    isUnpriced: pricing?.isBlank,
    notes: scope.notes,
    faults,
    trace: scope.trace,
    quantity: row('quantity', 'number'),
    untracked: context.nullQuantity === true ? null : undefined,
    sku: row('sku', 'text'),
    weight: mapDefined(variants.weight, (spec) =>
      faults.field('variants.weight', compileWeight(scope, [...path, 'weight'], spec, context.weightUnit)),
    ),
  };
}

function compileSpreadColumns(scope: Scope, { options }: ProductMappingSpec) {
  if (options?.fromColumns === undefined) return undefined;
  const path = ['options', 'fromColumns'];
  if (options.combine === true) scope.problems.add(path, 'fromColumns does not go with combine');
  return compileSpread(scope, path, options.fromColumns);
}

function compileOptions(
  scope: Scope,
  { options, group }: ProductMappingSpec,
  spread: SpreadColumns | undefined,
): OptionReader {
  const byReference = group?.parent !== undefined || group?.children !== undefined;
  const reader =
    options?.names !== undefined || options?.columns !== undefined
      ? compileOptionReader({ ...scope, field: 'options' }, ['options'], options, byReference)
      : group?.children?.reference === undefined
        ? noOptions
        : childOptionReader;
  return spread?.withOption(reader) ?? reader;
}

function readVariants(
  rows: RecordRows,
  variantRows: readonly SourceRow[],
  alone: boolean,
  compiled: {
    readonly fields: VariantFields;
    /** The variant rows that together have one stock. */
    readonly sharing: ReadonlySet<SourceRow>;
    readonly reader: OptionReader;
    readonly rules: OptionRules;
    readonly combines: boolean;
    /** What the mapping says of all options; else their variants decide. */
    readonly advanced: boolean | undefined;
  },
): ProductVariants | SkippedProduct {
  const { fields, reader, rules, combines, sharing } = compiled;
  if (variantRows.length > 0 && variantRows.every((row) => fields.isUnpriced?.(row) === true)) {
    const line = rows.head?.line ?? variantRows[0]?.line;
    return { skipped: line === undefined ? NOT_FOR_SALE : { ...NOT_FOR_SALE, line } };
  }
  const readTable = () => (alone && !combines ? noOptions(rows, variantRows) : reader(rows, variantRows));
  const choose = () => {
    const table =
      fields.trace === undefined ? readTable() : fields.trace.evaluate(['options'], undefined, readTable);
    return alone && combines ? combine(table, rules) : chooseVariants(table, rules);
  };
  const readAllParts = () => variantRows.map((row) => readParts(fields, row));
  const chosen = fields.faults.alsoOf(choose, readAllParts);
  const counts = Map.groupBy(chosen.choices, ({ row }) => row);
  const parts = readAllParts().map((part, index) => {
    const row = variantRows[index];
    if ((counts.get(index)?.length ?? 0) > 1 || (row !== undefined && sharing.has(row)))
      return withoutShared(part, fields.notes);
    return part;
  });
  const variants: Variant[] = [];
  for (const { row, values } of chosen.choices) {
    const part = parts[row];
    if (part === undefined || !hasPrices(part)) continue;
    const variant = withOptions(values, part);
    fields.trace?.made(variant, variantRows[row]);
    variants.push(variant);
  }
  const skus = variants.flatMap(({ sku }) => sku ?? []);
  if (new Set(skus).size < skus.length) {
    fields.notes.push('variants.sku: variants of one product have the same SKU, sent as it is');
  }
  const advanced = compiled.advanced ?? variantsDiffer(variants);
  const options = chosen.options.map(({ name, values }) => ({ name, values, advanced }));
  return { options, variants, rows: variantRows };
}

/**
 * What a row that gives several variants says of each: its stock is that of all together, and a list of SKUs does not say which is
 * whose. A stock of 0 is that of each.
 */
function withoutShared(part: Partial<VariantParts>, notes: string[]): Partial<VariantParts> {
  const { quantity = 0, sku = '', ...others } = part;
  const isList = sku.includes(',');
  if (isList) notes.push('variants.sku: a list of SKUs for several variants, left out');
  if ((quantity ?? 0) > 0) notes.push('variants.quantity: one stock for several variants together, left out');
  return {
    ...others,
    ...(part.quantity === undefined || (quantity ?? 0) > 0 ? {} : { quantity }),
    ...(part.sku === undefined || isList ? {} : { sku }),
  };
}

/** Field by field, in the order in which they are sent: spreading took a tenth of the time of mapping. */
function withOptions(options: Variant['options'], part: VariantParts): Variant {
  const { price, onSale, regularPrice, salePrice, quantity, sku, weight } = part;
  const variant: Mutable<Variant> = { options, price, onSale, regularPrice };
  if (salePrice !== undefined) variant.salePrice = salePrice;
  if (quantity !== undefined) variant.quantity = quantity;
  if (sku !== undefined) variant.sku = sku;
  if (weight !== undefined) variant.weight = weight;
  return variant;
}

type VariantParts = Omit<Variant, 'options'>;

function hasPrices(part: Partial<VariantParts>): part is VariantParts {
  return part.price !== undefined;
}

function readParts(
  { prices, isUnpriced, quantity, untracked, sku, weight, notes }: VariantFields,
  row: SourceRow,
  blankPrice: 'reject' | 'leave-out' = 'reject',
): Partial<VariantParts> {
  const isLeftOut = blankPrice === 'leave-out' && isUnpriced?.(row) === true;
  const part: Partial<Mutable<VariantParts>> = isLeftOut ? {} : { ...prices?.(row, 0) };
  if (part.price === 0) notes.push('variants.price: 0, sent as a price');
  const stock = quantity?.(row, 0);
  if (typeof stock === 'number') part.quantity = stock;
  else if (quantity !== undefined && untracked === null && blankPrice === 'reject') part.quantity = null;
  const code = sku?.(row, 0);
  if (typeof code === 'string') part.sku = code;
  const weighs = weight?.(row, 0);
  if (typeof weighs === 'number') part.weight = weighs;
  return part;
}

function optionRules(scope: Scope, spec: ProductMappingSpec): OptionRules {
  const { keep = 'used', blank = 'reject', none = {} } = spec.options ?? {};
  const [pair, second] = Object.entries(none);
  if (second !== undefined) {
    scope.problems.add(['options', 'none'], 'expected one option that means "no options"');
  }
  return {
    keep,
    blank,
    none: pair === undefined ? undefined : { name: pair[0].toLowerCase(), value: pair[1].toLowerCase() },
    mostCombinations: scope.limits.combinations,
  };
}
