import { describe, expect, it } from 'vitest';
import { TableChoiceError } from '../../src/model/storeferry-error.ts';
import { variantsWithin } from '../../src/tables/record-paths.ts';
import { readStaged } from './read-staged.ts';

/** What a file without known records proposes, likeliest first. */
async function proposed(name: string, text: string) {
  try {
    await readStaged(name, text);
  } catch (error) {
    if (!(error instanceof TableChoiceError)) throw error;
    return {
      likely: error.likely,
      values: error.candidates.map(({ value, records }) => `${value} ${records}`),
    };
  }
  throw new Error('the records were found');
}

const product = (id: number, ...variants: readonly number[]) => ({
  id,
  title: `P${id}`,
  handle: `p${id}`,
  variants: variants.map((one) => ({ id: one, title: 'S', sku: `S${one}`, price: '5.00', grams: 1 })),
  images: [1, 2, 3].map((one) => ({
    id: one,
    src: 'https://i.example/1.jpg',
    width: 1,
    height: 1,
    alt: '',
    position: one,
  })),
});

describe('the records of a file that a job does not name', () => {
  it('are the objects with most leaves, with the variants in them', async () => {
    const text = JSON.stringify({ products: [product(1, 11, 12), product(2, 21)] });
    expect(await proposed('a.json', text)).toEqual({
      likely: 'products > variants',
      values: ['products > variants 3', 'products.images 6', 'products.variants 3', 'products 2'],
    });
  });

  it('are no images, whatever leaves these have', async () => {
    const products = [product(1), product(2)].map(({ variants: _, ...others }) => others);
    expect((await proposed('a.json', JSON.stringify({ data: { products } }))).likely).toBe('data.products');
  });

  it.each([
    [
      'elements with more leaves than the others',
      '<y><shop><cs><c id="1">A</c><c id="2">B</c><c id="3">C</c></cs><os><o id="1"><n>A</n><p>1</p></o><o id="2"><n>B</n><p>2</p></o></os></shop></y>',
      'y.shop.os.o',
    ],
    [
      'elements, not a part that each of them has once',
      '<S><I><ID>a</ID><PRODUCT>A</PRODUCT></I><I><ID>b</ID><PRODUCT>B</PRODUCT></I></S>',
      'S.I',
    ],
    [
      'elements in groups',
      '<s><group name="x"><item><id>1</id><n>A</n></item><item><id>2</id><n>B</n></item></group><group name="y"><item><id>3</id><n>C</n></item></group></s>',
      's.group > item',
    ],
    [
      'elements with a list of deliveries that have prices',
      '<s><i><id>1</id><d><x>P</x><price>1</price></d><d><x>D</x><price>2</price></d></i><i><id>2</id></i></s>'.replaceAll(
        /(<\/?)d>/g,
        '$1delivery>',
      ),
      's.i',
    ],
  ])('are the %s', async (_, xml, likely) => {
    expect((await proposed('a.xml', `<?xml version="1.0"?>${xml}`)).likely).toBe(likely);
  });

  it.each([
    [
      'two lists alike',
      '<s><as><a><x>1</x><y>1</y></a><a><x>1</x><y>1</y></a></as><bs><b><x>1</x><y>1</y></b><b><x>1</x><y>1</y></b></bs></s>',
      ['s.as.a 2', 's.bs.b 2'],
    ],
    [
      'three levels',
      '<s><category><name>A</name><product><id>1</id><n>A</n><t>x</t><variant><sku>1</sku><price>1</price></variant><variant><sku>2</sku><price>1</price></variant></product><product><id>2</id></product></category><category><name>B</name></category></s>',
      ['s.category > product 2', 's.category.product > variant 2'],
    ],
  ])('are asked, with their counts: %s', async (_, xml, first) => {
    const { likely, values } = await proposed('a.xml', `<?xml version="1.0"?>${xml}`);
    expect(likely).toBeUndefined();
    expect(values.slice(0, 2)).toEqual(first);
  });

  it.each([
    ['Heureka', '<SHOP><SHOPITEM><ITEM_ID>1</ITEM_ID></SHOPITEM></SHOP>', 'SHOP.SHOPITEM'],
    [
      'YML with a DOCTYPE that names a file',
      '<!DOCTYPE yml_catalog SYSTEM "shops.dtd"><yml_catalog><shop><offers><offer id="1"/></offers></shop></yml_catalog>',
      'yml_catalog.shop.offers.offer',
    ],
  ])('are known in a feed of %s, also if there is one only', async (_, xml, path) => {
    const { places, rows } = await readStaged('a.xml', `<?xml version="1.0"?>${xml}`);
    expect([places.title, rows.length]).toEqual([path, 1]);
  });
});

describe('variants that share the cells of their record', () => {
  it.each([
    [['name', 'variants[].sku', 'variants[].price'], ['A', 'a\nb', '1\n2'], 'variants'],
    [['NAME', 'VARIANTS.VARIANT.CODE', 'VARIANTS.VARIANT.PRICE'], ['A', 'a\nb', '1\n2'], 'VARIANTS.VARIANT'],
    [['name', 'variants[].sku', 'variants[].price'], ['A', 'a', '1'], undefined],
    [['name', 'images[].src', 'images[].position'], ['A', 'a\nb', '1\n2'], undefined],
    [['g:id', 'g:shipping.g:country', 'g:shipping.g:price'], ['A', 'DE\nAT', '1 EUR\n2 EUR'], undefined],
    [['id', 'param', 'param@name'], ['A', 'Red\nS', 'Color\nSize'], undefined],
  ])('are found by their columns: %j', (header, row, list) => {
    expect(variantsWithin(header, [row])).toBe(list);
  });
});
