import type { Product, ProductOption, Variant } from '../../src/model/mapped-record.ts';

/** What an independent reading of a file says that a product must be. */
export interface ExpectedProduct extends Pick<Product, 'title' | 'type' | 'options' | 'variants'> {
  readonly hidden: boolean;
  readonly images: readonly string[];
  /** Rows that count under this product. */
  readonly rows: number;
}

/** Rows that must not become a product, with the reason a person would give. */
export interface ExpectedLoss {
  readonly title: string;
  readonly rows: number;
  readonly why: string;
}

/** An independent count of a file. */
export interface Expectation {
  readonly rows: number;
  readonly products: readonly ExpectedProduct[];
  readonly rejected: readonly ExpectedLoss[];
  readonly skipped: readonly ExpectedLoss[];
}

/** The four price fields: on sale only when `sale` is a price below `regular` (design: table of mappings). */
export function prices(regular: number, sale: number | null): Omit<Variant, 'options'> {
  return sale !== null && sale < regular
    ? { price: sale, onSale: true, regularPrice: regular, salePrice: sale }
    : { price: regular, onSale: false, regularPrice: regular };
}

/** Leaves out what is undefined, as a request body does. */
export function variant(
  options: readonly string[],
  money: Omit<Variant, 'options'>,
  rest: {
    readonly quantity?: number | undefined;
    readonly sku?: string | undefined;
    readonly weight?: number | undefined;
  },
): Variant {
  return {
    options,
    ...money,
    ...(rest.quantity === undefined ? {} : { quantity: Math.max(0, rest.quantity) }),
    ...(rest.sku === undefined || rest.sku === '' ? {} : { sku: rest.sku }),
    ...(rest.weight === undefined ? {} : { weight: rest.weight }),
  };
}

/** Options in the order of their names, with the values that the variants use, in order of first use. */
export function optionsInUse(names: readonly string[], variants: readonly Variant[]): ProductOption[] {
  return names.map((name, index) => ({
    name,
    values: unique(variants.map(({ options }) => options[index] ?? '')),
    advanced: advancedOf(variants),
  }));
}

/** Whether variants differ in anything but their options. */
export function advancedOf(variants: readonly Variant[]): boolean {
  return unique(variants.map(({ options: _options, ...rest }) => JSON.stringify(rest))).length > 1;
}

export function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
