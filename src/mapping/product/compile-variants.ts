import {
  type ProductOption,
  type Variant,
  type VariantPatch,
  variantsDiffer,
} from '../../model/mapped-record.ts';
import { NO_PRICE, type Reason } from '../../model/reason.ts';
import type { RecordRows, SourceRow } from '../record-rows.ts';
import { given, type Named, namedAt, type Path, type Scope } from '../scope.ts';
import type { ProductMappingSpec, WholeProductSpec } from '../spec/mapping-spec.ts';
import { cleanCell, type Expression } from '../values/cell.ts';
import { compileCondition } from '../values/compile-condition.ts';
import { compileRowField } from '../values/compile-value.ts';
import { chooseVariants, combine, type OptionRules } from './choose-variants.ts';
import { compileWeight, type WeightUnit } from './compile-weight.ts';
import {
  childOptionReader,
  compileOptionReader,
  compileSpread,
  noOptions,
  type OptionReader,
  type OptionTable,
  type SpreadColumns,
} from './option-table.ts';
import { type Clock, compilePricing, type Prices, type Pricing } from './pricing.ts';

/** The options and variants of a product; of an update, only what changes in its variants. */
export interface ProductVariants {
  readonly options?: readonly ProductOption[];
  readonly variants?: readonly Variant[];
  readonly patches?: readonly VariantPatch[];
  /** Their rows, for values that the product as a whole takes from them. */
  readonly rows: readonly SourceRow[];
  readonly lacksPictures?: true;
}

/** The reason for leaving out a product without any price. */
export interface SkippedProduct {
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
export function compileVariants(
  scope: Scope,
  spec: WholeProductSpec,
  context: VariantContext,
): Expression<ProductVariants | SkippedProduct, RecordRows> {
  const { options } = spec;
  const spread = compileSpreadColumns(scope, spec);
  const fields = compileVariantFields(spread?.scope ?? scope, spec, context);
  const reader = compileOptions(scope, spec, spread);
  const rowsOf = compilePricedRows(scope, spec, spread);
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
export function compileVariantPatches(
  scope: Scope,
  spec: ProductMappingSpec,
  context: VariantContext,
): Expression<ProductVariants, RecordRows> {
  const spread = compileSpreadColumns(scope, spec);
  const fields = compileVariantFields(spread?.scope ?? scope, spec, context);
  const { prices, quantity, sku, weight } = fields;
  const isAbout = [prices, quantity, sku, weight, spec.options].some((field) => field !== undefined);
  const rowsOf = compilePricedRows(scope, spec, spread);
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

interface VariantContext {
  readonly clock: Clock;
  readonly weightUnit: WeightUnit;
  readonly advanced?: boolean | undefined;
  readonly nullQuantity?: boolean;
}

function compileVariantFields(
  scope: Scope,
  { variants }: ProductMappingSpec,
  context: VariantContext,
): VariantFields {
  const { faults } = scope;
  const path = ['variants'];
  const row = (key: 'sku' | 'quantity', wanted: 'text' | 'number') =>
    given(variants[key], (value) =>
      faults.field(`variants.${key}`, compileRowField(scope, [...path, key], value, wanted)),
    );
  const pricing = given(variants.pricing, (spec) =>
    compilePricing(scope, [...path, 'pricing'], spec, context.clock),
  );
  return {
    prices: given(pricing, ({ read }) => faults.field('variants.price', read)),
    isUnpriced: pricing?.isBlank,
    notes: scope.notes,
    faults,
    trace: scope.trace,
    quantity: row('quantity', 'number'),
    untracked: context.nullQuantity === true ? null : undefined,
    sku: row('sku', 'text'),
    weight: given(variants.weight, (spec) =>
      faults.field('variants.weight', compileWeight(scope, [...path, 'weight'], spec, context.weightUnit)),
    ),
  };
}

function compileSpreadColumns(scope: Scope, { options }: ProductMappingSpec): SpreadColumns | undefined {
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

/** Reads the rows that a product is bought as, with what they inherit; `alone`: the head row is the only one. */
function compilePricedRows(
  scope: Scope,
  spec: ProductMappingSpec,
  spread: SpreadColumns | undefined,
): (
  rows: RecordRows,
  choosesNone: boolean,
) => {
  readonly priced: readonly SourceRow[];
  readonly alone: boolean;
  readonly sharing: ReadonlySet<SourceRow>;
} {
  const rowsOf = compileVariantRows(scope, spec);
  const path = ['variants', 'inherit'];
  const quantity = JSON.stringify(spec.variants.quantity ?? null);
  const isStock = (column: string) => quantity.includes(JSON.stringify(column));
  const inherit = inheriting({ ...scope, field: 'inherit' }, path, spec.variants.inherit ?? [], isStock);
  return (rows, choosesNone) => {
    const own = choosesNone ? [] : rowsOf(rows);
    const alone = own.length === 0;
    const taken = alone ? (rows.head === undefined ? [] : [rows.head]) : own;
    const { rows: priced, sharing } =
      rows.head === undefined ? { rows: taken, sharing: NONE_SHARING } : inherit(taken, rows.head);
    return spread === undefined
      ? { priced, alone, sharing }
      : { priced: spread.expand(priced), alone: false, sharing };
  };
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
  const variant: { -readonly [K in keyof Variant]: Variant[K] } = { options, price, onSale, regularPrice };
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
  const part: { -readonly [K in keyof VariantParts]?: VariantParts[K] } = isLeftOut
    ? {}
    : { ...prices?.(row, 0) };
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

function compileVariantRows(
  scope: Scope,
  spec: ProductMappingSpec,
): (rows: RecordRows) => readonly SourceRow[] {
  const { rows } = spec.variants;
  const kept = compileExcept(scope, spec);
  if (rows === 'all') return (record) => kept(record.rows);
  if (rows === 'children') {
    if (spec.group?.parent === undefined && spec.group?.children === undefined) {
      scope.problems.add(['variants', 'rows'], 'children needs a group by parent or by children');
    }
    return (record) => kept(record.children);
  }
  const test: Expression<boolean> = compileCondition(scope, ['variants', 'rows'], rows);
  return (record) => kept(record.rows.filter((row) => test(row, 0)));
}

/** Leaves out the rows that the mapping excludes, and notes it. */
function compileExcept(
  scope: Scope,
  spec: ProductMappingSpec,
): (rows: readonly SourceRow[]) => readonly SourceRow[] {
  if (spec.variants.except === undefined) return (rows) => rows;
  const test = compileCondition(scope, ['variants', 'except'], spec.variants.except);
  return (rows) => {
    const kept = rows.filter((row) => !test(row, 0));
    for (let left = rows.length - kept.length; left > 0; left--) {
      scope.notes.push('variants: not for sale, left out');
    }
    return kept;
  };
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

/**
 * Variant rows with the head row's cells where their own are blank, or have a word with that meaning. `sharing`: the rows that
 * together have the stock of the head row, by such a word.
 */
type Inherit = (
  rows: readonly SourceRow[],
  head: SourceRow,
) => { readonly rows: readonly SourceRow[]; readonly sharing: ReadonlySet<SourceRow> };

const NONE_SHARING: ReadonlySet<SourceRow> = new Set();

interface Inherited {
  readonly named: Exclude<Named, { readonly kind: 'param' }>;
  /** The words that mean "as in the head row"; undefined for a blank cell. */
  readonly words: ReadonlySet<string> | undefined;
  readonly isStock: boolean;
}

type InheritSpec = readonly (string | Readonly<Record<string, string | readonly string[]>>)[];

/** Compiles which columns a variant takes from the head row. */
function inheriting(
  scope: Scope,
  path: Path,
  spec: InheritSpec,
  isStock: (column: string) => boolean,
): Inherit {
  const inherited = spec.flatMap((one, index): Inherited[] => {
    const entries: [string, ReadonlySet<string> | undefined][] =
      typeof one === 'string'
        ? [[one, undefined]]
        : Object.entries(one).map(([name, words]) => [
            name,
            new Set((typeof words === 'string' ? [words] : words).map((word) => word.toLowerCase())),
          ]);
    return entries.flatMap(([name, words]) => {
      const named = namedAt(scope, [...path, index], name);
      return named === undefined || named.kind === 'param' ? [] : [{ named, words, isStock: isStock(name) }];
    });
  });
  if (inherited.length === 0) return (rows) => ({ rows, sharing: NONE_SHARING });
  const { trace } = scope;
  return (rows, head) => {
    const sharing = new Set<SourceRow>();
    const complete = rows.map((row) => {
      if (row === head) return row;
      const { made, sharesStock } = withInherited(row, head, inherited);
      const traced = trace?.inherited(made, row, head) ?? made;
      if (sharesStock) sharing.add(traced);
      return traced;
    });
    return { rows: complete, sharing: sharing.size > 1 ? sharing : NONE_SHARING };
  };
}

function withInherited(row: SourceRow, head: SourceRow, inherited: readonly Inherited[]) {
  const cells = [...row.cells];
  let { currencies } = row;
  let sharesStock = false;
  for (const { named, words, isStock } of inherited) {
    const slots = named.kind === 'column' ? [named.slot] : named.family.slots.values();
    for (const slot of slots) {
      const own = cleanCell(cells[slot]);
      if (words === undefined ? own === undefined : own !== undefined && words.has(own.toLowerCase())) {
        cells[slot] = head.cells[slot];
        if (currencies !== head.currencies) currencies = { ...currencies, [slot]: head.currencies?.[slot] };
        sharesStock ||= isStock && words !== undefined;
      }
    }
  }
  return { made: { ...row, cells, currencies }, sharesStock };
}
