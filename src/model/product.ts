/** The kinds of product a store sells (storefront-api.md, section 2, Product). */
export const PRODUCT_TYPES = ['physical', 'digital', 'service', 'membership'] as const;
/** One of the kinds of product. */
export type ProductType = (typeof PRODUCT_TYPES)[number];

/** A category by reference; `parentCategory` 0 is "no parent" (storefront-api.md, section 2, Category). */
export interface Category {
  readonly id?: number;
  readonly name: string;
  readonly url: string;
  readonly parentCategory: number;
}

/** One choice a buyer makes, such as Size, and its values in display order (section 2, Option). */
export interface ProductOption {
  readonly name: string;
  readonly values: readonly string[];
  readonly advanced: boolean;
}

/** One buyable combination (section 2, Variant). Prices carry no currency; `weight` is in the store's unit. */
export interface Variant {
  /** The chosen value of each option, in option order. */
  readonly options: readonly string[];
  readonly price: number;
  readonly onSale: boolean;
  readonly regularPrice: number;
  /** Absent when the variant is not on sale: a 0 would read as free. */
  readonly salePrice?: number;
  /** Absent when stock is not tracked: a 0 would show as sold out. */
  readonly quantity?: number;
  readonly sku?: string;
  readonly weight?: number;
}

/** Recurring billing (section 2, Subscription). The document names no units; values pass through as mapped. */
export interface Subscription {
  readonly cycles?: number;
  readonly period?: number;
  readonly periodUnit?: string;
}

/** A product as it is sent: the body of `POST /api/site/products` (section 4.1). `url` is its key. */
export interface Product {
  readonly type: ProductType;
  readonly title: string;
  readonly description?: string;
  readonly url: string;
  readonly hidden?: boolean;
  readonly images?: readonly string[];
  readonly categories?: readonly Category[];
  readonly options: readonly ProductOption[];
  readonly variants: readonly Variant[];
  readonly subscription?: Subscription;
  readonly file?: string;
}
