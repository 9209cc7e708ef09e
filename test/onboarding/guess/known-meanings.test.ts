import { describe, expect, it } from 'vitest';
import { checkMapping } from '../../../src/mapping/compile-mapping.ts';
import { proposeMapping } from '../../../src/onboarding/guess/propose-mapping.ts';
import { mapAll, products, table } from '../../mapping/mapping-setup.ts';

type Answers = Readonly<Record<string, string>>;

function proposal(text: string, answers: Answers = {}, imports: 'products' | 'contacts' = 'products') {
  const [header = [], ...rows] = text.split('\n').map((line) => line.split(';'));
  return { header, rows, ...proposeMapping(imports, { header, rows }, answers) };
}

const asked = (text: string, answers?: Answers, imports?: 'products' | 'contacts') =>
  proposal(text, answers, imports).questions.map(({ id }) => id);

/** The products that the proposed mapping makes. */
async function sent(text: string, answers: Answers = {}) {
  const { spec, header, rows, questions } = proposal(text, answers);
  if (spec === null) throw new Error(`asked: ${questions.map(({ id }) => id)}`);
  expect(checkMapping(spec)).toEqual([]);
  const { mapped } = await mapAll(spec, [table(header, rows)]);
  return products(mapped);
}

describe('whether a product is shown', () => {
  it.each([
    ['publish', 'draft'],
    ['publish', 'pending'],
    ['publié', 'brouillon'],
    ['veröffentlicht', 'Entwurf'],
    ['publicado', 'borrador'],
    ['pubblicato', 'bozza'],
    ['gepubliceerd', 'concept'],
    ['opublikowane', 'szkic'],
    ['опубликовано', 'черновик'],
    ['发布', '草稿'],
    ['公開', '下書き'],
  ])("is known of the words '%s' and '%s'", async (shown, hidden) => {
    const list = await sent(
      `sku;name;price;status\nA;Cup;5.00;${shown}\nB;Jug;6.00;${hidden}\nC;Pot;7.00;${shown}`,
    );
    expect(list.map(({ hidden: is }) => is)).toEqual([false, true, false]);
  });

  it.each([
    ['form', 'Polish', 'Remover'],
    ['Bauart', 'Brause', 'schwenkbarer Auslauf'],
    ['care', 'wash at 30', 'remove before washing'],
    ['heel', 'flat', 'blocked heel'],
  ])('is not asked of %s: %s, %s', (header, one, other) => {
    expect(asked(`sku;name;price;${header}\nA;Cup;5.00;${one}\nB;Jug;6.00;${other}`)).toEqual([]);
  });

  it.each(['Damaged', 'Defekt'])('is asked where %s says it in words', (header) => {
    expect(asked(`sku;name;price;stock;${header}\nA;Cup;5.00;9;yes\nB;Jug;6.00;8;no`)).toEqual([
      'column.visible',
    ]);
    expect(asked(`sku;name;price;stock;${header}\nA;Cup;5.00;9;1\nB;Jug;6.00;8;0`)).toEqual([
      `unused.${header}`,
    ]);
  });

  it.each([
    ['Status', 'OK', 'Nicht mehr im Sortiment'],
    ['Status', 'new', 'do not publish yet'],
    ['Durum', 'Satışta', 'Satışta değil'],
  ])('is asked where a word of %s negates: %s, %s', (header, shown, hidden) => {
    const text = `sku;name;price;${header}\nA;Cup;5.00;${shown}\nB;Jug;6.00;${hidden}`;
    expect(asked(text)).toEqual(['column.visible']);
    expect(asked(text.replace(hidden, shown))).toEqual([]);
  });

  it.each([
    [
      'most words of a status',
      'sku;name;price;status\nA;Cup;5.00;wp\nB;Jug;6.00;draft\nC;Pot;7.00;xy',
      'column.visible',
    ],
    [
      'the header',
      'sku;name;price;Post status\nA;Cup;5.00;wp\nB;Jug;6.00;draft\nC;Pot;7.00;xy',
      'column.visible',
    ],
  ])('is asked where a draft stands beside unknown words: %s', (_, text, id) => {
    expect(asked(text)).toEqual([id]);
    expect(asked(text, { [id]: '' })).toEqual([]);
  });
});

describe('categories', () => {
  const csv = (...cells: readonly string[]) =>
    `sku;name;price;categories\n${cells.map((cell, at) => `S${at};N${at};5.00;${cell}`).join('\n')}`;
  const names = async (text: string, answers?: Answers) =>
    (await sent(text, answers)).map(({ categories = [] }) =>
      categories.map((one) => (typeof one === 'object' ? one.name : one)),
    );

  it('have one sign between levels and another between categories', async () => {
    expect(await names(csv('Gifts|Home > Kitchen', 'Home > Bath|Sale', 'Home > Garden'))).toEqual([
      ['Gifts', 'Kitchen'],
      ['Bath', 'Sale'],
      ['Garden'],
    ]);
  });

  it('are asked about a comma beside a path on one side only, and take every answer', async () => {
    const text = csv('Gifts, Home > Kitchen', 'Home > Bath', 'Home > Garden');
    expect(asked(text)).toEqual(['separator']);
    expect((await names(text, { separator: 'list' }))[0]).toEqual(['Gifts', 'Kitchen']);
    expect((await names(text, { separator: 'none' }))[0]).toEqual(['Kitchen']);
  });

  it('are asked about each of two signs that the values leave open', async () => {
    const text = csv('Home|Bath/WC', 'Office|Desk/Lamp');
    expect(asked(text)).toEqual(['separator']);
    expect(asked(text, { separator: 'none' })).toEqual([]);
    const answers = { separator: 'list' };
    expect(asked(text, answers)).toEqual(['word./']);
    expect((await names(text, { ...answers, 'word./': 'path' }))[0]).toEqual(['Home', 'WC']);
    expect((await names(text, { ...answers, 'word./': 'none' }))[0]).toEqual(['Home', 'Bath/WC']);
  });

  it('are read from lists of JSON, and of programs', async () => {
    const answers = { separator: 'list' };
    expect(await names(csv('["Home","Men\'s"]', '["Bath"]'), answers)).toEqual([['Home', "Men's"], ['Bath']]);
    expect(await names(csv("['Home', 'Men's']", "['Bath']"), answers)).toEqual([['Home', "Men's"], ['Bath']]);
  });

  it.each([
    ['@type', 'vendor.model', 'vendor.model'],
    ['type', 'simple', 'variable'],
  ])('are no kinds of records: %s', async (header, one, other) => {
    const [first] = await sent(`sku;name;price;${header}\nA;Cup;5.00;${one}\nB;Jug;6.00;${other}`);
    expect(first?.categories).toBeUndefined();
  });
});

describe('words for a missing value', () => {
  it('are blank in all fields', async () => {
    const list = await sent(
      'sku;name;price;old price;category;description;stock\nA;Cup;5.00;NULL;NULL;TBD;NULL\nB;Jug;6.00;7.00;N/A;-;2\nC;Pot;NULL;9.00;Pots;n/a;3\nD;Pan;8.00;9.00;Pots;A pan;3\nE;Urn;8.00;9.00;Pots;An urn;3\nN/A;Vat;8.00;9.00;Pots;A vat;3',
    );
    expect(
      list.map(({ title, categories, description }) => [title, categories?.length, description]),
    ).toEqual([
      ['Cup', undefined, undefined],
      ['Jug', undefined, undefined],
      ['Pan', 1, 'A pan'],
      ['Urn', 1, 'An urn'],
      ['Vat', 1, 'A vat'],
    ]);
    expect(list.map(({ variants: [one] }) => [one?.sku, one?.price, one?.onSale, one?.quantity])).toEqual([
      ['A', 5, false, undefined],
      ['B', 6, true, 2],
      ['D', 8, true, 3],
      ['E', 8, true, 3],
      [undefined, 8, true, 3],
    ]);
  });

  it('are no values of an option', async () => {
    const [shirt] = await sent(
      'sku;name;price;color;size\nA;Shirt;5.00;N/A;S\nB;Shirt;5.00;-;M\nC;Pot;6.00;;',
    );
    expect(shirt?.options.map(({ values }) => values)).toEqual([['S', 'M']]);
  });

  it('in place of a price are values of other fields: a region, a language, a code', async () => {
    const list = await sent(
      'sku;name;price;option;category\nNA;Plug;5.00;EU;Call\nCL;Plug;5.00;NA;Call\nPOR;Plug;5.00;POR;Call\nX;Cap;na;;Text\nY;Hat;1.00;;Text',
    );
    expect(
      list.map(({ options, categories, variants }) => [
        options.map(({ values }) => values),
        categories?.length,
        variants.map(({ sku }) => sku),
      ]),
    ).toEqual([
      [[['EU', 'NA', 'POR']], 1, ['NA', 'CL', 'POR']],
      [[], 1, ['Y']],
    ]);
  });

  it('leave a product without a name', async () => {
    const list = await sent('sku;name;price\nA;NULL;5.00\nB;Jug;6.00');
    expect(list.map(({ title }) => title)).toEqual(['Jug']);
  });
});

describe('images', () => {
  const images = async (...cells: readonly string[]) =>
    (
      await sent(`sku;name;price;image\n${cells.map((cell, at) => `S${at};N${at};5.00;${cell}`).join('\n')}`)
    ).map((one) => one.images);

  it.each([
    [
      'a list of JSON',
      '["https://i.example/a.jpg","https://i.example/b.jpg"]',
      '["https://i.example/c.jpg"]',
    ],
    [
      'a list of a program',
      "['https://i.example/a.jpg', '//i.example/b.jpg']",
      "['https://i.example/c.jpg']",
    ],
    ['a circumflex', 'https://i.example/a.jpg^https://i.example/b.jpg', 'https://i.example/c.jpg'],
    ['a sign at the end', 'https://i.example/a.jpg,https://i.example/b.jpg,', 'https://i.example/c.jpg,'],
  ])('are read from %s', async (_, several, one) => {
    const [first, second] = await images(several, one);
    expect(first?.map((address) => address.slice(-15))).toEqual(['i.example/a.jpg', 'i.example/b.jpg']);
    expect(second).toEqual(['https://i.example/c.jpg']);
  });

  it('keep a bracket at the end of an address, also beside lists', async () => {
    const sized = 'https://i.example/a.jpg?size=[500]';
    expect(await images(sized, 'https://i.example/b.jpg')).toEqual([[sized], ['https://i.example/b.jpg']]);
    expect(await images(sized, `["${sized}","https://i.example/b.jpg"]`)).toEqual([
      [sized],
      [sized, 'https://i.example/b.jpg'],
    ]);
    expect((await images(`[${sized}, //i.example/b.jpg]`))[0]?.[0]).toBe(sized);
  });

  it('are asked about where only some cells of a column called that have them', () => {
    const text = 'sku;name;price;image\nA;Cup;5.00;https://i.example/a.jpg\nB;Jug;6.00;/b.jpg|/c.jpg';
    expect(asked(text)).toEqual(['column.images']);
    expect(asked(text, { 'column.images': 'image' })).toEqual([]);
    expect(asked(text.replace('https://i.example/a.jpg', 'see folder'))).toEqual([]);
  });
});

describe('names and addresses', () => {
  it('shows customers the last part of a path as the name of an option', async () => {
    const list = await sent('variants[].sku;name;price;variants[].g:color\nA;Cup;5.00;Red\nB;Cup;5.00;Blue');
    expect(list.map(({ options }) => options.map(({ name }) => name))).toEqual([['color']]);
  });

  it('takes the handle from the end of a page address', async () => {
    const list = await sent(
      'handle;name;price\nhttps://s.example/p/red-cup.html?v=1;Cup;5.00\nhttps://s.example/p/jug/;Jug;6.00',
    );
    expect(list.map(({ url }) => url)).toEqual(['red-cup', 'jug']);
  });

  it('makes no handle of page addresses whose ends repeat', async () => {
    const list = await sent(
      'handle;sku;name;price\nhttps://s.example/1/p;A;Cup;5.00\nhttps://s.example/2/p;B;Jug;6.00',
    );
    expect(list.map(({ url }) => url)).toEqual(['a', 'b']);
  });

  it('sends a title on one line, without the indentation of its file', async () => {
    const { spec, header } = proposal('name;price\nCup;5.00\nJug;6.00');
    if (spec === null) throw new Error('asked');
    const { mapped } = await mapAll(spec, [table(header, [['Red\n      cup ', '5.00']])]);
    expect(products(mapped)[0]?.title).toBe('Red cup');
  });

  it.each(['additional_imageurl', 'all_images', 'main_image'])(
    'knows pictures under %s, and encodes their blanks',
    async (name) => {
      const [first] = await sent(
        `sku;name;price;${name}\nA;Cup;5.00;https://i.example/a (1).jpg\nB;Jug;6.00;https://i.example/b.jpg`,
      );
      expect(first?.images).toEqual(['https://i.example/a%20(1).jpg']);
    },
  );
});

describe('rows that all lack their last cells', () => {
  it('are read, if no column of the mapping is among these', async () => {
    const list = await sent('Product ID;Nazwa;Cena;Ilosc;Pozycja\n1;Lampa;47.97;90\n2;Kinkiet;12.00;3');
    expect(list.map(({ title, variants: [one] }) => [title, one?.price, one?.quantity])).toEqual([
      ['Lampa', 47.97, 90],
      ['Kinkiet', 12, 3],
    ]);
  });

  it('are not read, if some rows have them', () => {
    const { spec } = proposal('Nazwa;Cena;Pozycja\nLampa;47.97\nKinkiet;12.00;3');
    expect(spec).not.toHaveProperty('csv');
  });
});

describe('the address of a contact', () => {
  it.each(['Postal', 'ZIP/Postal', 'Postal Zip', 'Zip/Postal Code', 'POSTAL_ZIP'])(
    'has its postal code in %s',
    (header) => {
      const { columns } = proposal(
        `Email;Street;City;${header}\nann@x.example;High St 1;Leeds;LS1 1AA`,
        {},
        'contacts',
      );
      expect(columns.at(-1)?.field).toBe('zip');
    },
  );

  it.each([
    ['an unknown header over postal codes', 'Avviamento', 'LS1 1AA', 'column.zip'],
    ['a header that mentions the zip', 'Zip XY', 'somewhere', 'column.zip'],
    ['a header that mentions the city', 'City XY', 'Leeds', 'column.city'],
  ])('is asked about %s', (_, header, cell, id) => {
    const text = `Email;Street;${header}\nann@x.example;High St 1;${cell}\nbob@x.example;High St 2;${cell}`;
    expect(asked(text, {}, 'contacts')).toEqual([id]);
    expect(asked(text, { [id]: '' }, 'contacts')).toEqual([]);
    expect(asked(text, { [id]: header }, 'contacts')).toEqual([]);
  });
});
