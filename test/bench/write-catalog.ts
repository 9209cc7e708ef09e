import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { seededRandom } from '../support/store/random.ts';

const HEADER = [
  'Handle,Title,Body (HTML),Vendor,Product Category,Type,Tags,Published',
  'Option1 Name,Option1 Value,Option2 Name,Option2 Value,Option3 Name,Option3 Value',
  'Variant SKU,Variant Grams,Variant Inventory Tracker,Variant Inventory Qty,Variant Inventory Policy',
  'Variant Fulfillment Service,Variant Price,Variant Compare At Price,Variant Requires Shipping,Variant Taxable',
  'Variant Barcode,Image Src,Image Position,Image Alt Text,Gift Card,SEO Title,SEO Description',
  'Variant Image,Variant Weight Unit,Variant Tax Code,Cost per item,Status',
].join(',');

const WORDS = [
  'cotton linen wool canvas oak walnut brass copper glass stoneware paper leather cork felt slate',
  'soft plain striped folded woven carved glazed polished small large light heavy warm quiet',
  'cup bowl lamp shirt scarf chair shelf tray box basket blanket notebook clock vase mat bag',
]
  .join(' ')
  .split(' ');
const COLOURS = ['Black', 'White', 'Sea green', 'Ochre', 'Rust', 'Indigo'];
const SIZES = ['S', 'M', 'L', 'XL'];

/** How large a catalog shall be: either figure decides. */
export type CatalogSize = { readonly rows: number } | { readonly products: number };

export interface WrittenCatalog {
  readonly rows: number;
  readonly products: number;
}

/**
 * Writes a made catalog in Shopify's columns, the same for the same seed: one to four variants a product, two rows
 * and a half on average, a third of the descriptions with quotes, commas and line breaks in them. `otherPrices` is the share of
 * products, scattered, whose prices differ from those of the same catalog without it.
 */
export async function writeCatalog(
  path: string,
  size: CatalogSize,
  { seed = 1, otherPrices = 0 }: { readonly seed?: number; readonly otherPrices?: number } = {},
): Promise<WrittenCatalog> {
  const random = seededRandom(seed);
  const written = { rows: 0, products: 0 };
  const isFull = () => ('rows' in size ? written.rows >= size.rows : written.products >= size.products);
  const most = () => ('rows' in size ? size.rows - written.rows : Number.POSITIVE_INFINITY);

  function* chunks(): Generator<string> {
    let chunk = `${HEADER}\n`;
    while (!isFull()) {
      written.products++;
      const isOther = ((written.products * 2_654_435_761) >>> 0) / 2 ** 32 < otherPrices;
      const lines = productLines(written.products, random, most(), isOther ? 1 : 0);
      written.rows += lines.length;
      chunk += lines.join('');
      if (chunk.length > 1 << 18) {
        yield chunk;
        chunk = '';
      }
    }
    yield chunk;
  }
  await pipeline(Readable.from(chunks()), createWriteStream(path));
  return written;
}

function productLines(number: number, random: () => number, mostRows: number, surcharge: number): string[] {
  const pick = (from: readonly string[]) => from[Math.floor(random() * from.length)] ?? '';
  const words = (count: number) => Array.from({ length: count }, () => pick(WORDS)).join(' ');
  const title = `${words(3)} ${number}`;
  const handle = title.replaceAll(' ', '-');
  const text = words(20 + Math.floor(random() * 40));
  const body = random() < 1 / 3 ? `"<p>${text},</p>\n<p class=""fine"">${words(8)}</p>"` : `<p>${text}</p>`;
  const variants = Math.min(mostRows, 1 + Math.floor(random() * 4));
  const colour = pick(COLOURS);
  const price = (5 + surcharge + Math.floor(random() * 9_000) / 100).toFixed(2);
  const sale = random() < 0.2 ? (Number(price) * 1.25).toFixed(2) : '';
  const published = random() < 0.95;
  return Array.from({ length: variants }, (_, index) => {
    const first = index === 0;
    const sku = `SKU-${number}-${index + 1}`;
    const grams = 50 + Math.floor(random() * 1_000);
    const stock = Math.floor(random() * 40);
    const image = `https://images.example/${number % 97}/${handle}-${index + 1}.jpg`;
    const plain = variants === 1;
    return `${[
      handle,
      first ? title : '',
      first ? body : '',
      first ? `Maker ${number % 50}` : '',
      '',
      first ? pick(WORDS) : '',
      first ? `"${pick(WORDS)}, ${pick(WORDS)}"` : '',
      first ? String(published) : '',
      first ? (plain ? 'Title' : 'Color') : '',
      plain ? 'Default Title' : colour,
      first && !plain ? 'Size' : '',
      plain ? '' : (SIZES[index] ?? ''),
      '',
      '',
      sku,
      grams,
      'shopify',
      stock,
      'deny',
      'manual',
      price,
      sale,
      'true',
      'true',
      String(4_000_000_000_000 + number * 10 + index),
      image,
      index + 1,
      first ? title : '',
      'false',
      first ? title : '',
      first ? words(10) : '',
      '',
      'kg',
      '',
      price,
      first ? 'active' : '',
    ].join(',')}\n`;
  });
}
