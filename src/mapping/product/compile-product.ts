import {
  type Category,
  PRODUCT_TYPES,
  type Product,
  type ProductType,
  type VariantPatch,
} from '../../model/mapped-record.ts';
import { type LookupTable, lookupKey } from '../lookup-table.ts';
import type { RecordMapper } from '../map-record.ts';
import type { RecordRows, SourceRow } from '../record-rows.ts';
import { given, type Path, Problems, resolveLookup, type Scope } from '../scope.ts';
import type { ProductMappingSpec, WholeProductSpec } from '../spec/mapping-spec.ts';
import type { CategoriesSpec, ProductSpec } from '../spec/product-spec.ts';
import { slugify } from '../transforms/slug.ts';
import { splitText } from '../transforms/split.ts';
import { isList, refuse, Unreadable } from '../values/cell.ts';
import { compileCondition } from '../values/compile-condition.ts';
import { compileField, compileFlag } from '../values/field.ts';
import { compileSubscription } from './compile-subscription.ts';
import { compileVariantPatches, compileVariants, type SkippedProduct } from './compile-variants.ts';
import type { WeightUnit } from './compile-weight.ts';
import type { Clock } from './pricing.ts';

type Draft = { -readonly [K in keyof Product]?: Product[K] };

interface ProductContext {
  readonly clock: Clock;
  readonly weightUnit: WeightUnit;
}

/** Compiles a whole product (storefront-api.md, section 4.1). */
export function compileProduct(
  scope: Scope,
  spec: WholeProductSpec,
  context: ProductContext,
): RecordMapper['build'] {
  const variantsOf = compileVariants(scope, spec, context);
  const fill = compileFields(scope, spec, {
    blankTitle: 'reject',
    typeOf: compileType(scope, spec),
    readVariants(rows, draft) {
      const readResult = variantsOf(rows);
      if ('skipped' in readResult) return readResult;
      draft.options = readResult.options;
      draft.variants = readResult.variants;
      return readResult;
    },
  });
  return (rows, url) => {
    const draft: Draft = { type: 'physical' };
    const filled = fill(rows, draft, url);
    if ('skipped' in filled) return filled;
    const { type = 'physical', title, options = [], variants = [] } = draft;
    if (title === undefined) throw new Unreadable('title-missing', 'title is blank').in('title');
    return { body: { ...draft, type, title, url, options, variants } };
  };
}

/** Compiles what an update changes in a product: the fields that the mapping names, where the row has a value for them. */
export function compilePatch(
  scope: Scope,
  spec: ProductMappingSpec,
  context: ProductContext,
): RecordMapper['build'] {
  const variantsOf = compileVariantPatches(scope, spec, context);
  // Marks the columns of the default type as used; in an update this type changes nothing.
  compileType(scope, spec);
  let variants: readonly VariantPatch[] = [];
  const fill = compileFields(scope, spec, {
    blankTitle: 'leave-out',
    typeOf: compileSaidType({ ...scope, problems: new Problems() }, spec.product.type),
    readVariants(rows) {
      const changed = variantsOf(rows);
      variants = changed.variants;
      return changed;
    },
  });
  return (rows) => {
    const draft: Draft = {};
    const filled = fill(rows, draft, undefined);
    return 'skipped' in filled ? filled : { body: { ...draft, variants } };
  };
}

interface FieldRules {
  readonly blankTitle: 'reject' | 'leave-out';
  readonly typeOf: (...args: Parameters<TypeOf>) => ProductType | undefined;
  /** Reads the variants, and gives the rows that they come from, or why the product is left out. */
  readonly readVariants: (
    rows: RecordRows,
    draft: Draft,
  ) => { readonly rows: readonly SourceRow[] } | SkippedProduct;
}

/** Compiles what fills a draft, field by field, in the order in which they are sent. */
function compileFields(
  scope: Scope,
  spec: ProductMappingSpec,
  { blankTitle, typeOf, readVariants }: FieldRules,
): (rows: RecordRows, draft: Draft, url: string | undefined) => ReturnType<FieldRules['readVariants']> {
  const { product } = spec;
  const text = (key: 'title' | 'description' | 'file') => {
    const blank = key === 'title' ? blankTitle : 'leave-out';
    return given(product[key], (value) =>
      compileField(scope, ['product', key], value, { wanted: 'text', blank }),
    );
  };
  const title = text('title');
  const description = text('description');
  const hidden = given(product.hidden, (flag) =>
    compileFlag(scope, ['product', 'hidden'], flag, blankTitle === 'leave-out' ? 'leave-out' : 'false'),
  );
  const images = given(product.images, (value) =>
    compileField(scope, ['product', 'images'], value, { wanted: 'text[]', blank: 'leave-out' }),
  );
  const categories = given(product.categories, (written) =>
    compileCategories(scope, ['product', 'categories'], written),
  );
  const advice = unsetBases(scope, JSON.stringify(product.images ?? null));
  const subscription = compileSubscription(scope, product.subscription);
  const file = text('file');

  const { faults } = scope;

  return (rows, draft, url) => {
    const { head } = rows;
    const unread = faults.begin();
    const reads = (name: string): boolean => {
      field = name;
      return unread?.has(name) !== true;
    };
    let field = '';
    for (;;) {
      try {
        const named = reads('title') ? title?.(rows) : undefined;
        if (typeof named === 'string') draft.title = onOneLine(named);
        const described = reads('description') ? description?.(rows) : undefined;
        if (typeof described === 'string') draft.description = described;
        if (url !== undefined) draft.url = url;
        const isHidden = head !== undefined && reads('hidden') ? hidden?.(head, 0) : undefined;
        if (typeof isHidden === 'boolean') draft.hidden = isHidden;
        const pictures = reads('images') ? images?.(rows) : undefined;
        if (isList(pictures)) {
          const usable = addresses(pictures.map(String), scope.notes, advice);
          // An empty list would remove the store's images only because none can be read.
          if (usable.length > 0 || pictures.length === 0) draft.images = usable;
        }
        const belongsTo = reads('categories') ? categories?.(rows) : undefined;
        if (belongsTo !== undefined) draft.categories = belongsTo;
        const readResult = reads('options') ? readVariants(rows, draft) : { rows: [] };
        if ('skipped' in readResult) return readResult;
        const recurring =
          readResult.rows.length > 0 && reads('subscription')
            ? subscription(rows, readResult.rows)
            : undefined;
        if (recurring !== undefined) draft.subscription = recurring;
        const sold = reads('file') ? file?.(rows) : undefined;
        if (typeof sold === 'string') {
          if (!isAddress(sold)) refuse('file-not-an-address', 'the file is not an http address');
          draft.file = sold;
        }
        const type = reads('type') ? typeOf(rows, readResult.rows, draft.file !== undefined) : undefined;
        if (type !== undefined) draft.type = type;
        return readResult;
      } catch (error) {
        faults.leaveOut(unread, field, error);
      }
    }
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
    written.includes(`{${name}}`) && !isAddress(String(value)) ? [`${name}: https://…`] : [],
  );
  return names.length === 0 ? '' : `; set \`params: { ${names.join(', ')} }\` in the job`;
}

/** Separators between two addresses of one cell. Within an address, a second one follows no blank or separator. */
const BETWEEN_ADDRESSES = /(?<![\s,;|])[\s,;|]+(?=https?:\/\/|$)/i;
/** A text without any of them, as nearly all are. */
const ONE_WORD = /^[^\s,;|]+$/;

/** Image addresses, without other texts. `//host/…` means https; blanks within an address are encoded. */
function addresses(written: readonly string[], notes: string[], advice: string): readonly string[] {
  const kept = new Set<string>();
  const apart = written.every((text) => ONE_WORD.test(text))
    ? written
    : written.flatMap((text) => text.split(BETWEEN_ADDRESSES).filter((one) => one !== ''));
  if (apart.length > written.length) notes.push('images: several addresses in one cell, split');
  for (const text of apart) {
    const whole = text.startsWith('//') ? `https:${text}` : text;
    const address = whole.replaceAll(/[ \u00a0]/g, '%20');
    if (isAddress(address)) kept.add(address);
    else notes.push(`images: not an http address, left out${advice}`);
  }
  return [...kept];
}

type TypeOf = (rows: RecordRows, variantRows: readonly SourceRow[], hasFile: boolean) => ProductType;

/** The type from the mapping; otherwise digital with a file, service if nothing of it is shipped, else physical. */
function compileType(scope: Scope, { product }: ProductMappingSpec): TypeOf {
  const unshipped = given(product.unshipped, (condition) =>
    compileCondition(scope, ['product', 'unshipped'], condition),
  );
  const said = compileSaidType(scope, product.type);
  return (rows, variantRows, hasFile) => {
    const named = said(rows, variantRows);
    if (named !== undefined) return named;
    if (hasFile) return 'digital';
    return unshipped !== undefined && variantRows.every((row) => unshipped(row, 0)) ? 'service' : 'physical';
  };
}

function compileSaidType(
  scope: Scope,
  type: ProductSpec['type'],
): (rows: RecordRows, variantRows: readonly SourceRow[]) => ProductType | undefined {
  if (type === undefined) return () => undefined;
  if (isByCondition(type)) {
    const tests = PRODUCT_TYPES.flatMap((name) => {
      const condition = type.is[name];
      const path = ['product', 'type', 'is', name];
      return condition === undefined ? [] : [{ name, test: compileCondition(scope, path, condition) }];
    });
    const met = (rows: readonly SourceRow[]) =>
      tests.find(({ test }) => rows.length > 0 && rows.every((row) => test(row, 0)))?.name;
    return ({ head }, variantRows) => met(head === undefined ? [] : [head]) ?? met(variantRows);
  }
  const field = compileField(scope, ['product', 'type'], type, { wanted: 'text', blank: 'leave-out' });
  return (rows) => {
    const found = field(rows);
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
 * Compiles the categories: the last level of each path, by name and handle, without a parent. Ids cannot be read from
 * the API (storefront-api.md has no look-up of categories); only a lookup table has them.
 */
function compileCategories(
  scope: Scope,
  path: Path,
  written: NonNullable<ProductSpec['categories']>,
): (rows: RecordRows) => readonly Category[] | undefined {
  const spec: CategoriesSpec = isCategories(written) ? written : { value: written };
  const valuePath = isCategories(written) ? [...path, 'value'] : path;
  const field = compileField(scope, valuePath, spec.value, { wanted: 'text[]', blank: 'leave-out' });
  const separators = spec.path === undefined ? [] : typeof spec.path === 'string' ? [spec.path] : spec.path;
  const except = new Set((spec.except ?? []).map((name) => name.toLowerCase()));
  const table = given(spec.table, (name) => resolveLookup(scope, [...path, 'table'], name));
  return (rows) => {
    const paths = field(rows);
    if (!isList(paths)) return undefined;
    const byUrl = new Map<string, Category>();
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
      const category = known(table, levels, name) ?? { name, url: slugify(name), parentCategory: 0 };
      if (category.url !== '' && !byUrl.has(category.url)) byUrl.set(category.url, category);
    }
    return byUrl.size === 0 && paths.length > 0 ? undefined : [...byUrl.values()];
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
    ...(Number.isSafeInteger(id) ? { id } : {}),
    name: row.get('name') || name,
    url: row.get('url') || slugify(row.get('name') || name),
    parentCategory: Number.isSafeInteger(parent) ? parent : 0,
  };
}
