import { describe, expect, test } from 'vitest';
import { mapText } from './map-text.ts';

const map = (...lines: string[]) => mapText('etsy-products', lines.join('\n'));

describe('etsy-products', () => {
  test.each([
    [
      'English',
      'TITLE,DESCRIPTION,PRICE,CURRENCY_CODE,QUANTITY,TAGS,MATERIALS,IMAGE1,IMAGE2,VARIATION 1 TYPE,VARIATION 1 NAME,VARIATION 1 VALUES,SKU',
    ],
    [
      'Italian',
      'TITOLO,DESCRIZIONE,PREZZO,CURRENCY_CODE,QUANTITÀ,TAG,MATERIALI,IMMAGINE1,IMMAGINE2,TIPO VARIANTE 1,NOME VARIANTE 1,VALORI VARIANTE 1,SKU',
    ],
    [
      'German',
      'TITEL,BESCHREIBUNG,PREIS,WÄHRUNGSCODE,STÜCKZAHL,TAGS,MATERIALIEN,BILD1,BILD2,VARIATIONSTYP 1,VARIATIONSNAME 1,VARIATIONSWERT 1,BESTANDSEINHEIT',
    ],
  ])('reads the headers of an %s account', async (_, header) => {
    const { products, rejected } = await map(
      header,
      'Mug,Blue.,"19,90",EUR,4,t,m,https://img.example/1.jpg,https://img.example/2.jpg,Size,Size,"S,L",',
    );

    expect(rejected).toEqual([]);
    expect(products[0]).toMatchObject({
      key: 'mug',
      body: {
        description: '<p>Blue.</p>',
        images: ['https://img.example/1.jpg', 'https://img.example/2.jpg'],
        options: [{ name: 'Size', values: ['S', 'L'] }],
        variants: [
          { options: ['S'], price: 19.9 },
          { options: ['L'], price: 19.9 },
        ],
      },
      notes: ['variants.quantity: one stock for several variants together, left out'],
    });
    expect(JSON.stringify(products[0]?.body)).not.toContain('quantity');
  });

  test('gives the stock of a listing to its only variant, and none of it to several', async () => {
    const { products } = await map(
      'TITLE,PRICE,QUANTITY,VARIATION 1 NAME,VARIATION 1 VALUES,SKU',
      'Mug,10,4,,,M',
      'Cap,10,4,Size,S,C',
      'Tee,20,2997,Size,"S,M,L","T-S,T-M,T-L"',
      'Hat,20,0,Size,"S,M",H',
    );
    expect(
      products.map(({ key, body, notes }) => [
        key,
        body.variants.map(({ quantity, sku }) => [quantity, sku]),
        notes ?? [],
      ]),
    ).toEqual([
      ['mug', [[4, 'M']], []],
      ['cap', [[4, 'C']], []],
      [
        'tee',
        [
          [undefined, undefined],
          [undefined, undefined],
          [undefined, undefined],
        ],
        [
          'variants.sku: a list of SKUs for several variants, left out',
          'variants.quantity: one stock for several variants together, left out',
        ],
      ],
      [
        'hat',
        [
          [0, 'H'],
          [0, 'H'],
        ],
        ['variants.sku: variants of one product have the same SKU, sent as it is'],
      ],
    ]);
  });

  test('reads what there is when columns are missing', async () => {
    const { products } = await map('TITLE,PRICE', 'Mug,19.90');

    expect(products[0]?.body).toEqual({
      type: 'physical',
      title: 'Mug',
      url: 'mug',
      options: [],
      variants: [{ options: [], price: 19.9, onSale: false, regularPrice: 19.9 }],
    });
  });

  test('decodes the entities that Etsy writes, and keeps line breaks', async () => {
    const { products } = await map(
      'TITLE,DESCRIPTION,PRICE',
      'Tom&#39;s &quot;big&quot; mug &amp; lid,"One.\n\nTwo < three &amp; four.",20',
    );

    expect(products[0]?.body.title).toBe(`Tom's "big" mug & lid`);
    expect(products[0]?.key).toBe('toms-big-mug-lid');
    expect(products[0]?.body.description).toContain('Two &lt; three &amp; four.');
    expect(products[0]?.body.description).toMatch(/<(br|p)\b/);
  });

  test('gives no SKU to a variant when it is not said which is whose', async () => {
    const { products } = await map(
      'TITLE,PRICE,VARIATION 1 NAME,VARIATION 1 VALUES,SKU',
      'Mug,20,Size,"S,L","M-S,M-L"',
      'Cup,20,Size,"S,L",CUP',
      'Jug,20,,,"J,1"',
    );

    expect(products.map(({ body }) => body.variants.map(({ sku }) => sku))).toEqual([
      [undefined, undefined],
      ['CUP', 'CUP'],
      ['J,1'],
    ]);
  });

  test('rejects a price that can be read in two ways, and one that is none', async () => {
    const { products, rejected, skipped } = await map(
      'TITLE,PRICE',
      'Vase,"1,299"',
      'Jar,',
      'Urn,"1.299,00"',
      'Box,1299.5',
    );

    expect(rejected.map(({ key }) => key)).toEqual(['vase']);
    expect(skipped.map(({ key, reason }) => [key, reason.code])).toEqual([['jar', 'no-price']]);
    expect(products.map(({ body }) => body.variants[0]?.price)).toEqual([1299, 1299.5]);
  });

  test('keeps titles in any script apart', async () => {
    const { products } = await map(
      'TITLE,PRICE',
      '陶器の花瓶,20',
      'Керамическая ваза,20',
      'Céramique d’été,20',
    );

    expect(products.map(({ key }) => key)).toEqual(['陶器の花瓶', 'керамическая-ваза', 'ceramique-dete']);
  });

  test('rejects variations whose name is missing instead of dropping them', async () => {
    const { products, rejected } = await map(
      'TITLE,PRICE,VARIATION 1 NAME,VARIATION 1 VALUES',
      'Mug,10,,"S,L"',
      'Cap,10,Size,"S,L"',
    );

    expect(products.map(({ key }) => key)).toEqual(['cap']);
    expect(rejected.map(({ reason }) => [reason.code, reason.line, reason.column])).toEqual([
      ['option-name-missing', 2, 'VARIATION 1 NAME'],
    ]);
  });
});
