import type { CatalogRow } from './catalog-rows.ts';
import { countEtsy } from './count-etsy.ts';
import { countGoogleMerchant } from './count-google-merchant.ts';
import { countMagento } from './count-magento.ts';
import { countShopify } from './count-shopify.ts';
import { countSquarespace } from './count-squarespace.ts';
import { countWix } from './count-wix.ts';
import { countWooCommerce } from './count-woocommerce.ts';
import type { Expectation } from './expectation.ts';

/** A real file, the shipped mapping that reads it, and how to count it independently of both. */
export interface Catalog {
  readonly file: string;
  readonly mapping: string;
  readonly count: (rows: readonly CatalogRow[]) => Expectation;
}

const formats: Record<string, { readonly files: readonly string[]; readonly count: Catalog['count'] }> = {
  'shopify-products': {
    count: countShopify,
    files: [
      'shopify/ceramics_linked_options_export.csv',
      'shopify/levinmejia_Apparel.csv',
      'shopify/levinmejia_Bicycles.csv',
      'shopify/levinmejia_jewelry.csv',
      'shopify/lowercased_headers_generated.csv',
      'shopify/partners_apparel.csv',
      'shopify/partners_home-and-garden.csv',
      'shopify/partners_jewelery.csv',
      'shopify/pt_br_2022_export.csv',
      'shopify/template_2023_product_template.csv',
      'shopify/template_2026_new_format.csv',
    ],
  },
  'woocommerce-products': {
    count: countWooCommerce,
    files: [
      'woocommerce/classic_commerce_sample_products.csv',
      'woocommerce/persian_bom_crlf.csv',
      'woocommerce/pt_br_event_products.csv',
      'woocommerce/wine_shop_serbian.csv',
    ],
  },
  'magento-products': { count: countMagento, files: ['magento/magento2_catalog_product_sample.csv'] },
  'wix-products': { count: countWix, files: ['wix/merch_catalog_products.csv'] },
  'squarespace-products': {
    count: countSquarespace,
    files: ['squarespace/products_Jul-21.csv', 'squarespace/products_Nov-02.csv'],
  },
  'etsy-products': { count: countEtsy, files: ['etsy/italian_EtsyListingsDownload.csv'] },
  'google-merchant-products': {
    count: countGoogleMerchant,
    files: ['google_merchant/merchant_feed_ar.csv', 'google_merchant/merchant_feed_en.tsv'],
  },
};

/** Every real product catalog of the data folder, with its mapping. */
export const CATALOGS: readonly Catalog[] = Object.entries(formats).flatMap(([mapping, { files, count }]) =>
  files.map((file) => ({ file, mapping, count })),
);
