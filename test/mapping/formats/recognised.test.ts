import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { guessMapping, recogniseFile } from '../../../src/onboarding/guess-mapping.ts';
import { shippedMapping } from '../mapping-setup.ts';

/** Header lines of formats as their documents have them, shortened; no real file of these is among the test data. */
const HEADERS: readonly (readonly [mapping: string, headers: string])[] = [
  [
    'prestashop-products',
    'Product ID;Active (0/1);Name *;Categories (x,y,z...);Price tax excluded;Tax rules ID;Wholesale price;On sale (0/1);Discount amount;Discount percent;Reference #;Supplier;EAN13;Weight;Quantity;Visibility;Summary;Description;URL rewritten;Image URLs (x,y,z...)',
  ],
  [
    'bigcommerce-products',
    'Item;ID;Name;Type;SKU;Options;Inventory Tracking;Current Stock;Low Stock;Price;Cost Price;Retail Price;Sale Price;Brand ID;Channels;Categories;Description;Custom Fields;Page Title;Product URL;Weight;Is Visible;Variant Image URL;Internal Image URL (Export);Image URL (Import)',
  ],
  [
    'opencart-products',
    'product_id;name(en-gb);name(de-de);categories;sku;upc;ean;location;quantity;model;manufacturer;image_name;shipping;price;points;date_added;weight;weight_unit;length;width;height;length_unit;status;tax_class_id;description(en-gb);description(de-de);meta_title(en-gb);stock_status_id;store_ids;related_ids;sort_order;subtract;minimum',
  ],
  [
    'shopware-products',
    'id;parent_id;product_number;active;stock;name;description;price_net;price_gross;purchase_prices_net;tax_id;tax_rate;tax_name;cover_media_id;cover_media_url;manufacturer_id;manufacturer_name;categories;sales_channel;propertyIds;optionIds',
  ],
  [
    'square-products',
    'Reference Handle;Token;Item Name;Customer-facing Name;Variation Name;SKU;Description;Categories;Reporting Category;GTIN;Square Online Item Visibility;Item Type;Weight (lb);Price;Online Sale Price;Archived;Sellable;Stockable;Option Name 1;Option Value 1;Default Unit Cost;Current Quantity Harbour;New Quantity Harbour;Current Quantity Market;Tax - VAT (20%)',
  ],
  [
    'lightspeed-products',
    'id;handle;sku;composite_name;composite_sku;composite_quantity;name;description;product_category;variant_option_one_name;variant_option_one_value;tags;weight;weight_unit;supply_price;retail_price;tax_name;brand_name;supplier_name;active;track_inventory;inventory_Main_Outlet;reorder_point_Main_Outlet;inventory_Market',
  ],
  [
    'ecwid-products',
    'type;product_internal_id;product_sku;product_name;product_price;product_compare_to_price;product_is_inventory_tracked;product_quantity;product_quantity_out_of_stock_behaviour;product_is_available;product_media_main_image_url;product_description;product_category_1;product_brand;product_upc;product_weight;product_is_shipping_required;product_option_name;product_option_type;product_option_value;product_variation_sku;product_variation_option_Color;category_internal_id;category_path;url',
  ],
  [
    'heureka-products',
    'ITEM_ID;PRODUCTNAME;PRODUCT;DESCRIPTION;URL;IMGURL;IMGURL_ALTERNATIVE;PRICE_VAT;VAT;MANUFACTURER;CATEGORYTEXT;EAN;PRODUCTNO;PARAM.PARAM_NAME;PARAM.VAL;DELIVERY_DATE;DELIVERY.DELIVERY_ID;DELIVERY.DELIVERY_PRICE;ITEMGROUP_ID',
  ],
  [
    'yml-products',
    '@id;@available;url;price;oldprice;currencyId;categoryId;picture;store;pickup;delivery;vendor;name;description;param@name;param;sales_notes;barcode',
  ],
  [
    'skroutz-products',
    'id;name;link;image;additional_imageurl;category;price_with_vat;vat;manufacturer;mpn;ean;availability;size;weight;color;description;quantity',
  ],
  [
    'ceneo-products',
    '@id;@url;@price;@avail;@set;@weight;@basket;@stock;cat;name;imgs.main@url;imgs.i@url;desc;attrs.a@name;attrs.a',
  ],
  [
    'idealo-products',
    'categoryPath;brand;title;price;basePrice;hans;eans;deliveryCosts;url;delivery;sku;imageUrls;description;paymentCosts_CashInAdvance;paymentCosts_Invoice',
  ],
  [
    'shopify-json-products',
    'id;title;handle;body_html;published_at;created_at;updated_at;vendor;product_type;tags;variants[].id;variants[].title;variants[].option1;variants[].option2;variants[].option3;variants[].sku;variants[].requires_shipping;variants[].taxable;variants[].available;variants[].price;variants[].grams;variants[].compare_at_price;variants[].position;images[].id;images[].src;images[].width;options[].name;options[].position;options[].values',
  ],
  [
    'google-merchant-products',
    'id;title;description;availability;condition;price;link;image_link;brand;google_product_category;fb_product_category;quantity_to_sell_on_facebook;sale_price;item_group_id;gender;color;size;status;shipping_weight;style[0]',
  ],
  [
    'klaviyo-contacts',
    'Email;Klaviyo ID;First Name;Last Name;Organization;Title;Phone Number;Address;Address 2;City;State / Region;Country;Zip Code;Latitude;Longitude;Source;IP Address;Email Marketing Consent;Email Marketing Consent Timestamp;Date Added;Email Suppressions',
  ],
  [
    'brevo-contacts',
    'CONTACT ID;EMAIL;LASTNAME;FIRSTNAME;SMS;LANDLINE_NUMBER;EMAIL_BLACKLISTED;SMS_BLACKLISTED;ADDED_TIME;MODIFIED_TIME',
  ],
  [
    'pipedrive-contacts',
    'Person - ID;Person - Name;Person - First name;Person - Last name;Person - Organization;Person - Email - Work;Person - Email - Home;Person - Phone - Work;Person - Phone - Mobile;Person - Labels;Person - Marketing status',
  ],
  [
    'zoho-contacts',
    'Record Id;Contact Owner;Lead Source;First Name;Last Name;Contact Name;Account Name;Email;Secondary Email;Title;Department;Phone;Mobile;Email Opt Out;Created By;Created Time;Modified Time;Mailing Street;Mailing City;Mailing State;Mailing Zip;Mailing Country;Description;Tag',
  ],
];

const shipped = readdirSync(join(import.meta.dirname, '..', '..', '..', 'mappings'))
  .filter((name) => name.endsWith('.yaml'))
  .map((file) => basename(file, '.yaml'))
  .map((name) => ({ name, spec: shippedMapping(name), shipped: true }));

describe('a header line', () => {
  it.each(HEADERS)('of %s is recognised', (mapping, headers) => {
    expect(guessMapping(headers.split(';'), shipped).best?.name).toBe(mapping);
    expect(recogniseFile({ header: headers.split(';'), rows: [] }, shipped).best?.name).toBe(mapping);
  });
});
