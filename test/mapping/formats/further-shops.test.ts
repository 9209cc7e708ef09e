import { describe, expect, it } from 'vitest';
import { type MapOptions, mapBytes, mapText } from './map-text.ts';

/** An export as somebody would have it, made up, and what becomes of it: products, rejections, skips. */
interface Export {
  readonly mapping: string;
  readonly options?: MapOptions;
  readonly text: string;
  readonly becomes: readonly string[];
}

const EXPORTS: readonly Export[] = [
  {
    mapping: 'bigcommerce-products',
    text: `Item,ID,Name,Type,SKU,Options,Inventory Tracking,Current Stock,Price,Sale Price,Description,Product URL,Is Visible,Variant Image URL,Internal Image URL (Export),Image Sort Order
Product,1,"Jug, 1 l",physical,JUG,,product,4,1299.50,999,"<p>Two
lines</p>",https://shop.example/jug-1-l/,TRUE,,,
Image,2,,,,,,,,,,,,,https://img.example/jug.jpg,0
Product,3,Scarf,physical,SC,,variant,0,20,0,,/scarf/,FALSE,,,
Variant,4,,,SC-R,Type=Swatch|Name=Colour|Value=Dark red[#800],,7,,,,,,,,
Variant,5,,,SC-B,Type=Swatch|Name=Colour|Value=Blue[#00f],,,25,,,,,,,
Product,6,Voucher,giftcard,V,,none,,10,,,,TRUE,,,`,
    becomes: [
      'jug-1-l: 999 instead of 1299.5, 4 pieces, JUG; 1 image',
      'scarf (hidden): Colour Dark red 20, 7 pieces, SC-R; Colour Blue 25, SC-B',
      'rejected voucher: word-unknown',
    ],
  },
  {
    mapping: 'ecwid-products',
    text: `type,product_internal_id,product_sku,product_name,product_price,product_compare_to_price,product_is_inventory_tracked,product_quantity,product_quantity_out_of_stock_behaviour,product_is_available,product_media_main_image_url,product_variation_sku,product_variation_option_{Shoe size},product_variation_option_Colour
product_variation,7,SH,,59.90,,true,2,,,https://img.example/red.jpg,SH-42,"42,5",Red
product,7,SH,Shoe,49.90,69.90,false,,SHOW,true,,,,
product_option,7,SH,,,,,,,,,,,
product,8,LA,"Lamp ""Moon""",12,,true,0,ALLOW_PREORDER,true,https://img.example/lamp.jpg,,,
product_variation,7,SH,,,,true,0,,,,SH-43,43,Red
product,9,ME,Mesh,8,,true,0,SHOW,false,,,,
product_bundle,10,BU,Bundle,9,,,,,true,,,,`,
    becomes: [
      'shoe: Shoe size 42,5 Colour Red 59.9 instead of 69.9, 2 pieces, SH-42; Shoe size 43 Colour Red 49.9 instead of 69.9, 0 pieces, SH-43; 1 image',
      'lamp-moon: 12, LA; 1 image',
      'mesh (hidden): 8, 0 pieces, ME',
      'skipped bundle: categories-and-the-like',
    ],
  },
  {
    mapping: 'lightspeed-products',
    text: `id;handle;sku;name;description;product_category;variant_option_one_name;variant_option_one_value;variant_option_two_name;variant_option_two_value;weight;weight_unit;retail_price;active;active_online;track_inventory;inventory_Harbour;inventory_Old town
1;tee;T-S;Tee;;Tops;Size;S;;;0.2;kg;15;1;1;1;4;
2;mug;M;Mug;;;;;;;;;8,50;1;0;1;;
3;tee;T-M;Tee;;Tops;Size;M;;;200;g;15;1;1;1;1,000;5
4;tie;TIE;Tie;;;;;;;;;12;0;1;0;3;3`,
    becomes: [
      'tee: Size S 15, 4 pieces, T-S; Size M 15, 1005 pieces, T-M',
      'rejected mug: not-a-number',
      'tie (hidden): 12, TIE',
    ],
  },
  {
    mapping: 'opencart-products',
    options: { params: { withoutOptions: true, mediaUrl: 'https://shop.example/image' } },
    text: `product_id,name(en-gb),name(de-de),sku,quantity,model,image_name,shipping,price,weight,weight_unit,status,description(en-gb),seo_keyword(en-gb),subtract
30,Salt &amp; pepper,Salz &amp; Pfeffer,,5,SP-1,catalog/sp.jpg,true,4.00,0,kg,true,<p>Two</p>,,true
31,Guide,Heft,G-31,0,G,,false,9.5,,,false,,guide-31,false
32,Jar,Glas,,-2,J,https://img.example/j.jpg,yes,3,300,g,true,,jar,yes`,
    becomes: [
      'salt-pepper: 4, 5 pieces, SP-1; 1 image',
      'guide-31 (hidden): 9.5, G-31',
      'jar: 3, 0 pieces, J; 1 image',
    ],
  },
  {
    mapping: 'shopware-products',
    text: `id;parent_id;product_number;active;stock;name;description;price_net;price_gross;list_price_gross;is_closeout;cover_media_url
0189d4f0c0aa7000a000000000000001;;SW-1;1;3;Vase;;8.4033613445378;10;12.5;0;https://img.example/v.jpg
0189d4f0c0aa7000a000000000000002;;SW-2;1;0;Bowl;;4.2016806722689;5;;1;
0189d4f0c0aa7000a000000000000003;;SW-3;0;0;Set;;1;2;;0;
0189d4f0c0aa7000a000000000000004;0189d4f0c0aa7000a000000000000003;SW-3.1;;9;;;;;;;
0189d4f0c0aa7000a000000000000005;;SW-4;1;0;Rug;;20;23.8;;0;
0189d4f0c0aa7000a000000000000006;0189d4f0c0aa7000a000000000000005;SW-4.1;;1;;;;;;;
0189d4f0c0aa7000a000000000000007;0189d4f0c0aa7000a000000000000005;SW-4.2;;1;;;;;;;`,
    becomes: [
      'vase: 10 instead of 12.5, 3 pieces, SW-1; 1 image',
      'bowl: 5, 0 pieces, SW-2',
      'set (hidden): 2, 9 pieces, SW-3.1',
      'rejected rug: repeated-combination',
    ],
  },
  {
    mapping: 'square-products',
    text: `Reference Handle,Token,Item Name,Variation Name,SKU,Description,Categories,Item Type,Weight (kg),Price,Online Sale Price,Archived,Sellable,Option Name 1,Option Value 1,Current Quantity Harbour,Current Quantity Market
#soap,AA,Soap,Regular,S-1,"Mild, green",Bath (ABCDEFGHIJKLMNOPQRSTUVWX),Physical good,0.1,6.50,5,N,Y,,,3,4
#tea,BB,Tea,50 g,T-50,,,Prepared food and beverage,,4,,N,Y,,,,
#tea,CC,Tea,100 g,T-100,,,,,7,,N,Y,,,-1,
#cap,DD,Cap,"S, Red",C-S,,,Physical good,,20,,N,N,Size,S,1,
#old,EE,Old,Regular,O,,,Physical good,,1,,Y,Y,,,,
#cut,FF,Haircut,Regular,H,,,Appointment,,variable,,N,Y,,,,`,
    becomes: [
      'soap: 5 instead of 6.5, 7 pieces, S-1',
      'tea: Variation 50 g 4, T-50; Variation 100 g 7, 0 pieces, T-100',
      'skipped cap: no-price',
      'skipped old: archived',
      'skipped haircut: no-price',
    ],
  },
];

async function outcome({ mapping, options = {} }: Export, bytes: Buffer): Promise<readonly string[]> {
  const { products, rejected, skipped } = await mapBytes(mapping, bytes, options);
  return [
    ...products.map(({ body: { url, hidden, options: names, variants, images = [] } }) => {
      const sold = variants.map(({ options: values, price, regularPrice, onSale, quantity, sku }) =>
        [
          [...values.map((value, index) => `${names[index]?.name} ${value}`), price].join(' ') +
            (onSale ? ` instead of ${regularPrice}` : ''),
          ...(quantity === undefined ? [] : [`${quantity} pieces`]),
          sku,
        ].join(', '),
      );
      const pictures = images.length === 0 ? [] : [`${images.length} image`];
      return `${url}${hidden === true ? ' (hidden)' : ''}: ${[...sold, ...pictures].join('; ')}`;
    }),
    ...rejected.map(({ key, reason }) => `rejected ${key}: ${reason.code}`),
    ...skipped.map(({ key, reason }) => `skipped ${key}: ${reason.code}`),
  ];
}

describe.each(EXPORTS)('an export for $mapping', (one) => {
  it('becomes these products', async () => {
    const found = await outcome(one, Buffer.from(one.text));
    expect([...found].sort()).toEqual([...one.becomes].sort());
  });

  it('becomes the same when a spreadsheet has saved it: UTF-16, CRLF', async () => {
    const saved = Buffer.from(`\ufeff${one.text.replaceAll('\n', '\r\n')}\r\n`, 'utf16le');
    expect(await outcome(one, saved)).toEqual(await outcome(one, Buffer.from(one.text)));
  });

  it('loses no row beside one that is cut off', async () => {
    const whole = await mapText(one.mapping, one.text, one.options);
    const [, first = ''] = one.text.split('\n');
    const cut = await mapText(one.mapping, `${one.text}\n${first.slice(0, 6)}`, one.options);
    expect(cut.rows).toBe(whole.rows + 1);
    expect(rowsOf(cut.rejected)).toBeGreaterThan(rowsOf(whole.rejected));
  });
});

const rowsOf = (all: readonly { readonly rows: number }[]) => all.reduce((sum, { rows }) => sum + rows, 0);
