import { csvText, mapText } from './map-text.ts';

/** The columns of the rows. */
export const header = [
  'sku',
  'store_view_code',
  'product_type',
  'name',
  'product_online',
  'visibility',
  'price',
  'special_price',
  'special_price_from_date',
  'special_price_to_date',
  'url_key',
  'base_image',
  'additional_images',
  'qty',
  'is_in_stock',
  'manage_stock',
  'use_config_manage_stock',
  'configurable_variations',
  'configurable_variation_labels',
] as const;
/** A row by column. */
export type Row = Partial<Record<(typeof header)[number], string | number>>;

/** A simple product that is not sold on its own. */
export const simple = (sku: string, more: Row = {}): Row => ({
  sku,
  product_type: 'simple',
  name: `Simple ${sku}`,
  product_online: 1,
  visibility: 'Not Visible Individually',
  price: 10,
  url_key: sku.toLowerCase(),
  qty: 5,
  is_in_stock: 1,
  manage_stock: 1,
  use_config_manage_stock: 0,
  ...more,
});
/** A configurable product of these variations. */
export const configurable = (sku: string, variations: string, more: Row = {}): Row => ({
  ...simple(sku),
  product_type: 'configurable',
  visibility: 'Catalog, Search',
  price: '',
  configurable_variations: variations,
  configurable_variation_labels: 'size=Size,color=Colour',
  ...more,
});
/** Maps rows of these columns. */
export const map = (rows: readonly Row[], options: Parameters<typeof mapText>[2] = {}) =>
  mapText('magento-products', csvText(header, rows), options);
