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

  it.each([
    ['@type', 'vendor.model', 'vendor.model'],
    ['type', 'simple', 'variable'],
  ])('are no kinds of records: %s', async (header, one, other) => {
    const [first] = await sent(`sku;name;price;${header}\nA;Cup;5.00;${one}\nB;Jug;6.00;${other}`);
    expect(first?.categories).toBeUndefined();
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
