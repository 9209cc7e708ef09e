import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkMapping } from '../../../src/mapping/compile-mapping.ts';
import type { MappingFile } from '../../../src/mapping/spec/mapping-spec.ts';
import { guessImport, proposeMapping } from '../../../src/onboarding/guess/propose-mapping.ts';
import { mapAll, mappingOf, products, table } from '../../mapping/mapping-setup.ts';

/** What a table in CSV with semicolons proposes. */
function proposal(
  text: string,
  answers: Readonly<Record<string, string>> = {},
  earlier: readonly MappingFile[] = [],
) {
  const [header = [], ...rows] = text.split('\n').map((line) => line.split(';'));
  return proposeMapping('products', { header, rows }, answers, earlier);
}

/** The fields of columns, by header. */
function fields(text: string, answers: Readonly<Record<string, string>> = {}) {
  return Object.fromEntries(proposal(text, answers).columns.map(({ header, field }) => [header, field]));
}

const asked = (text: string, answers?: Readonly<Record<string, string>>) =>
  proposal(text, answers).questions.map(({ id }) => id);

describe('what is never taken for the price without an answer', () => {
  it.each([
    ['a cost price', 'Name;Einkaufspreis\nTasse;4,00\nDose;5,00'],
    ['a net price alone', 'Name;Preis netto\nTasse;4,00\nDose;5,00'],
    ['a price for a kilogram', 'Name;Preis pro kg\nTasse;4,00\nDose;5,00'],
    ['a recommended price alone', 'Name;UVP\nTasse;4,00\nDose;5,00'],
    ['a price before the sale alone', 'Name;Old price\nMug;4.00\nJug;5.00'],
    ['one of two prices', 'Name;Price A;Price B\nMug;4.00;5.00\nJug;5.00;6.00'],
    ['one of two taxes', 'Name;Prix HT;Prix TTC\nBol;4,00;4,80\nPot;5,00;6,00'],
    ['a new price beside the price', 'Name;Price;New price\nMug;4.00;5.00\nJug;5.00;6.00'],
    ['one of two taxes, named first', '商品名;税込価格;税抜価格\n皿;3,300;3,000\n鉢;5,500;5,000'],
    ['an amount under an unknown header', 'Name;Betrag XY\nTasse;4,00\nDose;5,00'],
    ['a price from some number of pieces on', 'Name;Preis ab 100\nTasse;4,00\nDose;5,00'],
    ['a price in one of two currencies', 'Name;Price EUR;Price USD\nMug;4.00;5.00\nJug;5.00;6.00'],
    ['text under the header of a price', 'Name;Preis\nTasse;klein\nDose;groß'],
    ['one of two taxes, with a slash', 'Nome;Preço s/ IVA;PVP c/ IVA\nTaça;10,00;12,30\nPrato;5,00;6,15'],
    ['a price to which a tax is added', 'Name;Price + VAT\nMug;4.00\nJug;5.00'],
    ['an old price alone that some rows lack', 'Name;Old price;Sale price\nMug;4.00;3.00\nJug;;5.00'],
  ])('%s', (_, text) => {
    const { questions, spec } = proposal(text);
    expect(questions.map(({ id }) => id)).toContain('column.price');
    expect(spec).toBeNull();
  });

  it('a column called a price with a few other values is offered first, with the option that takes it', () => {
    const { questions } = proposal('Name;VK brutto;Code\nTasse;4,00;1\nDose;abc;2\nTopf;5,00;3');
    expect(questions.find(({ id }) => id === 'column.price')?.flag).toBe("--column 'price=VK brutto'");
  });

  it('net beside a price that is higher by the same tax is left out', () => {
    expect(fields('Name;Preis;Preis netto\nTasse;11,90;10,00\nDose;5,95;5,00')).toMatchObject({
      Preis: 'price',
      'Preis netto': null,
    });
  });
});

it('says of columns that an open answer decides about them, also where another column is asked about', () => {
  const text = 'Artikel;Modell;Preis;36;37;Land\nS-1;Läufer;79,90;3;0;DE\nS-2;Wanderer;129,00;1;2;IT';
  const open = (answers = {}) =>
    proposal(text, answers).columns.flatMap(({ header, isOpen }) => (isOpen ? [header] : []));
  expect(open()).toEqual(['Preis', '36', '37']);
  expect(open({ 'unused.36': 'stock' })).toEqual([]);
});

describe('a column that nothing reads is asked about', () => {
  it.each([
    [
      'a stock for each warehouse',
      'Name;Price;Stock Berlin;Stock Bonn\nMug;4.00;5;1\nJug;5.00;0;2',
      'Stock Berlin',
    ],
    ['a stock for each size', 'Name;Preis;Größe S;Größe M\nHemd;4,00;5;1\nHose;5,00;0;2', 'Größe S'],
    ['sizes as headers', 'Name;Price;S;M;XL\nShirt;4.00;51;52;53\nCoat;5.00;50;52;54', 'S'],
    ['a discount', 'Name;Prezzo;Sconto %\nTazza;4,00;10\nVaso;5,00;0', 'Sconto %'],
    ['dates of a sale', 'Name;Price;Sale price;Sale from\nMug;4.00;3.00;45962\nJug;5.00;;', 'Sale from'],
    [
      'products that are no longer made',
      'Name;Price;Discontinued\nMug;4.00;no\nJug;5.00;yes',
      'Discontinued',
    ],
    [
      'the end of a sale, by words that are nearly known',
      'Name;Price;Offer price;Offer ends\nMug;4.00;3.00;2020-01-01\nJug;5.00;;',
      'Offer ends',
    ],
    [
      'what hides a product that another column shows',
      'Name;Price;Published;Hidden\nMug;4.00;yes;yes\nJug;5.00;no;no',
      'Hidden',
    ],
    [
      'words for shown that are not understood',
      'Name;Price;Status;Visibility\nMug;4.00;active;Catalog\nJug;5.00;draft;Search',
      'Visibility',
    ],
    [
      'what is deleted, and shown',
      'Name;Price;Online;Discontinued\nMug;4.00;1;0\nJug;5.00;1;1',
      'Discontinued',
    ],
    [
      'what is sold out, and has a stock',
      'Name;Price;Stock;Availability\nMug;4.00;3;sold out\nJug;5.00;1;in stock',
      'Availability',
    ],
    ['what may be a price', 'Name;Price;Club price\nMug;4.00;3.00\nJug;5.00;4.00', 'Club price'],
    ['what may be a price, without blanks', '商品名;価格;特売価格\n皿;350円;300円', '特売価格'],
  ])('%s', (_, text, header) => {
    expect(asked(text)).toEqual([`unused.${header}`]);
    expect(asked(text, { [`unused.${header}`]: 'leave-out' })).toEqual([]);
  });

  it.each([
    [
      'a stock besides that of each warehouse',
      'Name;Price;Stock;Stock Bonn;Stock Ulm\nMug;4.00;5;2;3\nJug;5.00;2;1;1',
    ],
    ['no discount at all', 'Name;Price;Discount\nMug;4.00;0\nJug;5.00;'],
    ['a discount that a former price shows', 'Name;Price;Old price;Discount\nMug;4.00;5.00;20 %\nJug;5.00;;'],
    ['dates without a sale', 'Name;Price;Valid from\nMug;4.00;2026-01-01\nJug;5.00;2026-01-01'],
    [
      'two columns that hide the same products',
      'Name;Price;Online;Hidden;Discontinued\nMug;4.00;1;no;\nJug;5.00;0;yes;yes',
    ],
    ['words that fit the stock', 'Name;Price;Stock;Availability\nMug;4.00;3;in stock\nJug;5.00;0;sold out'],
    ['nothing that is no longer made', 'Name;Price;Discontinued\nMug;4.00;no\nJug;5.00;'],
  ])('but not where it changes nothing: %s', (_, text) => {
    expect(asked(text)).toEqual([]);
  });
});

describe('a column that nothing reads is applied where an answer says so', () => {
  const PRICED = ['price', 'onSale', 'regularPrice', 'salePrice', 'quantity'] as const;
  const variants = async (text: string, answers: Readonly<Record<string, string>>, now = '2026-01-15') => {
    const [header = [], ...rows] = text.split('\n').map((line) => line.split(';'));
    const { spec, questions } = proposal(text, answers);
    if (spec === null)
      return questions.map(({ id, answers: offered }) => [id, ...offered.map(({ value }) => value)]);
    expect(checkMapping(spec)).toEqual([]);
    const { mapped } = await mapAll(spec, [table(header, rows)], { now: Date.parse(`${now}T12:00:00Z`) });
    return products(mapped).map(({ variants: [one] }) => PRICED.flatMap((key) => one?.[key] ?? []));
  };

  it('a discount in percent, or in money', async () => {
    const text = 'Name;Prezzo;Sconto\nTazza;4,00;10\nVaso;5,00;0\nPiatto;2,00;';
    expect(await variants(text, {})).toEqual([['unused.Sconto', 'leave-out', 'percent', 'amount']]);
    expect(await variants(text.replace('10', '-12,5'), { 'unused.Sconto': 'percent' })).toEqual([
      [3.5, true, 4, 3.5],
      [5, false, 5],
      [2, false, 2],
    ]);
    expect(await variants(text.replace('10', '0,5'), { 'unused.Sconto': 'Amount' })).toEqual([
      [3.5, true, 4, 3.5],
      [5, false, 5],
      [2, false, 2],
    ]);
    expect(await variants(text.replace('10', '10 %'), {})).toEqual([
      ['unused.Sconto', 'leave-out', 'percent'],
    ]);
    expect(await variants(text.replace('10', 'ab 10'), {})).toEqual([['unused.Sconto', 'leave-out']]);
  });

  it.each([
    ['a sale price', 'Name;Price;Sale price;Sale from;Sale to', '4.00;3.00'],
    ['a price before the sale', 'Name;Price;Old price;Sale from;Sale to', '3.00;4.00'],
  ])('the dates of %s', async (_, header, prices) => {
    const text = `${header}\nMug;${prices};01/02/2026;28/02/2026\nJug;5.00;;;`;
    const answers = { 'unused.Sale from': 'begins-day-first', 'unused.Sale to': 'ends' };
    expect(await variants(text, {})).toEqual([
      [
        'unused.Sale from',
        'leave-out',
        'begins-day-first',
        'ends-day-first',
        'begins-month-first',
        'ends-month-first',
      ],
      ['unused.Sale to', 'leave-out', 'begins', 'ends'],
    ]);
    const [regular, onSale, none] = [
      [4, false, 4],
      [3, true, 4, 3],
      [5, false, 5],
    ];
    expect(await variants(text, answers, '2026-01-15')).toEqual([regular, none]);
    expect(await variants(text, answers, '2026-02-28')).toEqual([onSale, none]);
    expect(await variants(text, answers, '2026-03-01')).toEqual([regular, none]);
    expect(() => proposal(text, { ...answers, 'unused.Sale to': 'begins' })).toThrow(
      'another column has the same answer',
    );
  });

  it('a stock for each warehouse', async () => {
    const text = 'Name;Price;Stock Berlin;Stock Bonn\nMug;4.00;5;1\nJug;5.00;-2;\nPot;6.00;;';
    expect(await variants(text, { 'unused.Stock Berlin': 'sum' })).toEqual([
      [4, false, 4, 6],
      [5, false, 5, 0],
      [6, false, 6],
    ]);
    expect(await variants(text.replace('5;1', 'yes;1'), {})).toEqual([['unused.Stock Berlin', 'leave-out']]);
  });

  it('a part of the stock that is reserved', async () => {
    const text = 'Name;Price;Stock;Reserved\nMug;4.00;5;2\nJug;5.00;1;3\nPot;6.00;4;';
    expect(await variants(text, {})).toEqual([['unused.Reserved', 'leave-out', 'subtract']]);
    expect(await variants(text, { 'unused.Reserved': 'subtract' })).toEqual([
      [4, false, 4, 3],
      [5, false, 5, 0],
      [6, false, 6, 4],
    ]);
    const none = text.replace(';5;2', ';5;0').replace(';1;3', ';1;0');
    expect(await variants(none, {})).toHaveLength(3);
  });

  it('never by an answer that is not offered', () => {
    const text = 'Name;Price;Discontinued\nMug;4.00;no\nJug;5.00;yes';
    expect(() => proposal(text, { 'unused.Discontinued': 'sum' })).toThrow("expected 'leave-out'");
  });
});

describe('what is asked', () => {
  it.each([
    ['the decimal sign where 1.299 is all there is', 'Name;Preis\nSofa;1.299\nBett;2.450', ['decimal']],
    ['which currency', 'Name;Price\nMug;€ 4.00\nJug;$ 5.00', ['currency']],
    ['which currency, of a column', 'Name;Price;Currency\nMug;4.00;EUR\nJug;5.00;USD', ['currency']],
    ['the unit of a weight', 'Name;Preis;Gewicht\nTasse;4,00;300\nDose;5,00;500', ['weightIn']],
    [
      'a word in the stock',
      'Name;Preis;Lager\nTasse;4,00;3\nDose;5,00;im Zulauf\nGlas;5,00;2\nKrug;5,00;2\nTopf;5,00;2',
      ['word.im Zulauf'],
    ],
    ['a word in the status', 'Name;Preis;Status\nTasse;4,00;aktiv\nDose;5,00;geprüft', ['word.geprüft']],
    ['where pictures stand', 'Name;Preis;Bild\nTasse;4,00;tasse.jpg\nDose;5,00;dose.jpg', ['imageBase']],
    [
      'what a slash in categories separates',
      'Name;Preis;Kategorie\nTasse;4,00;Bad/WC\nDose;5,00;Küche',
      ['separator'],
    ],
    [
      'whether a column that mentions it is the stock',
      'Name;Preis;Flaschen lagernd\nWein;4,00;3\nSekt;5,00;0',
      ['column.quantity'],
    ],
    [
      'whether a column that mentions it hides products',
      'Name;Preis;Sichtbar für Gäste\nTasse;4,00;ja\nDose;5,00;nein',
      ['column.visible'],
    ],
    [
      'the name where two columns may be it',
      'Wein;Beschreibung;Preis\nRot;Kirsche;4,00\nWeiß;Apfel;5,00',
      ['column.title'],
    ],
    ['one of two languages', 'Name DE;Name EN;Preis\nTasse;Mug;4,00\nDose;Can;5,00', ['column.title']],
    ['the column that identifies products', 'Name;Preis\nTasse;4,00\nTasse;5,00', ['column.url']],
    [
      'which price is compared',
      'Name;Preis;Angebotspreis;UVP\nTasse;4,00;3,00;5,00\nDose;5,00;;6,00',
      ['column.was'],
    ],
  ])('%s', (_, text, questions) => {
    expect(asked(text)).toEqual(questions);
  });

  it.each([
    ['a volume is one value, not two sizes', 'Name;Preis;Größe\nTasse;4,00;0,3 l\nDose;5,00;0,5 l'],
    ['a comma in Japanese amounts is no decimal sign', '商品名;価格;定価\n皿;2,200;2,750\n鉢;880;880'],
    ['a dash for cents stands behind the decimal sign', 'Naam;Van;Voor\nFiets;2.199,-;1.999,-\nBel;9,-;9,-'],
    ['a tax included, in short', 'Název;Cena vč. DPH\nKolo;4,50\nZvonek;5,00'],
    ['a tax with its rate', 'Name;Preis inkl. 20% USt\nTasse;4,00\nDose;5,00'],
    ['a unit beside the weight', 'name;price;weight;weight@unit\nMug;4.00;300;g\nJug;5.00;500;g'],
  ])('not where the file shows it: %s', (_, text) => {
    expect(asked(text)).toEqual([]);
  });

  it('nothing of a column with marks: a blank is hidden', () => {
    const { spec } = proposal('Name;Preis;Sichtbar\nTasse;4,00;x\nDose;5,00;');
    expect(spec).toMatchObject({ product: { hidden: { visible: 'blank' } } });
  });

  it('nothing that has its answer', () => {
    expect(
      asked('Name;Preis;Gewicht\nSofa;1.299;300\nBett;2.450;500', { decimal: ',', weightIn: 'g' }),
    ).toEqual([]);
    expect(() => asked('Name;Preis\nSofa;1.299\nBett;2.450', { decimal: ';' })).toThrow(
      "expected ',' or '.'",
    );
    expect(() => asked('Name;Preis\nSofa;1,00', { 'column.price': 'Price' })).toThrow('no column');
    expect(() => asked('Name;Preis\nSofa;1,00', { 'column.prcie': 'Preis' })).toThrow("did you mean 'price'");
  });
});

describe('what a column is taken for', () => {
  it.each([
    [
      'an EAN is no SKU beside one',
      'Artikelnummer;EAN;Name;Preis\nA1;4006381333931;Tasse;4,00',
      { Artikelnummer: 'sku', EAN: null },
    ],
    ['an EAN is the SKU where there is no other', 'EAN;Name;Preis\n4006381333931;Tasse;4,00', { EAN: 'sku' }],
    [
      'a number of the row is no SKU',
      'Nr;Name;Preis\n1;Tasse;4,00\n2;Dose;5,00',
      { Nr: null, Name: 'title' },
    ],
    ['the recommended price is compared', 'Name;Preis;UVP\nTasse;4,00;5,00', { Preis: 'price', UVP: 'was' }],
    [
      'codes under Artikel are the SKU',
      'Artikel;Bezeichnung;Preis\nA-1;Tasse;4,00',
      { Artikel: 'sku', Bezeichnung: 'title' },
    ],
    [
      'names under Artikel are the title',
      'Artikel;Preis\nBlaue Tasse;4,00\nRote Tasse;4,00',
      { Artikel: 'title' },
    ],
    ['a misspelt header', 'Beschreibng;Name;Preis\nSchön.;Tasse;4,00', { Beschreibng: 'description' }],
    [
      'words that mean the same',
      'Désignation;Prix;Qté en stock\nBol;4,00;3\nPot;5,00;0',
      { 'Qté en stock': 'quantity' },
    ],
    [
      'a word for a price and one for its kind',
      'Nombre;PVP;PVP oferta\nTaza;4,00;3,00\nVaso;5,00;',
      { PVP: 'price', 'PVP oferta': 'sale' },
    ],
    [
      'a price before the sale that every row has',
      '商品貨號;商品名稱;原價;特價\nA1;錢包;1200;990\nA2;鑰匙圈;350;',
      { 商品貨號: 'sku', 原價: 'price', 特價: 'sale' },
    ],
    [
      'the only column with names, under an unknown header',
      'Art.-Nr.;Gerät;Marke;Preis\nA-1;Uhr schwarz;Ada;4,00\nA-2;Uhr weiß;Ada;5,00',
      { Gerät: 'title', Marke: null },
    ],
    [
      'a description before other texts',
      'Artikelcode;Omschrijving;Latijnse naam;Prijs\nA1;Lavendel;Lavandula;4,00\nA2;Klimop;Hedera;5,00',
      { Omschrijving: 'title', 'Latijnse naam': null },
    ],
    [
      'a path of a feed',
      'g:title;g:price;images[].url\nMug;4.00;https://img.example/a.jpg',
      { 'g:title': 'title', 'g:price': 'price', 'images[].url': 'images' },
    ],
  ])('%s', (_, text, expected) => {
    expect(fields(text)).toMatchObject(expected);
  });

  it('is what an earlier mapping of the workspace took it for', () => {
    const spec = mappingOf(
      'import: products\ncolumns: { title: Etikett, price: Betrag XY }\nproduct: { url: title, title: title }\nvariants: { pricing: { price: price } }',
    );
    const earlier = [
      {
        name: 'my-list',
        spec,
        shipped: false,
        dir: '',
        lookupPlaces: new Map(),
        placeOf: () => ({ file: '' }),
      },
    ];
    const { columns, questions } = proposal('Etikett;Betrag XY\nTasse;4,00', {}, earlier);
    expect(questions).toEqual([]);
    expect(columns.map(({ field }) => field)).toEqual(['title', 'price']);
    expect(columns[0]?.evidence).toContain('my-list');
  });

  it('says in plain words as what a column that it does not use is known', () => {
    const { columns } = proposal('SKU;Name;Price;Members price\nA1;Mug;4.00;3.00\nA2;Cup;5.00;4.00');
    expect(columns[3]?.evidence).toBe('known as other amount, not used');
  });

  it('a row with one cell is a heading, which is left out', async () => {
    const text = 'Code;Name;Price\nTaps;;\nA1;Tap;4.00\nA2;Spout;5.00\nPipes;;\nB1;Pipe;6.00';
    const { spec, notes, questions } = proposal(text);
    expect(questions).toEqual([]);
    expect(notes.join()).toContain("such as 'Taps', are headings");
    const [header = [], ...rows] = text.split('\n').map((line) => line.split(';'));
    if (spec === null) throw new Error('no mapping');
    const { mapped } = await mapAll(spec, [table(header, rows)]);
    expect(mapped.map(({ kind }) => kind).sort()).toEqual([
      'record',
      'record',
      'record',
      'skipped',
      'skipped',
    ]);
  });

  it('a code that variants share is not their SKU', () => {
    const { spec, notes } = proposal('款号;品名;尺码;价格\nA1;衬衫;M;5.00\nA1;衬衫;L;5.00\nA2;长裤;M;6.00');
    expect(spec).toMatchObject({ group: { by: 'title' } });
    expect(spec).not.toHaveProperty('variants.sku');
    expect(notes.join()).toContain("'款号' is not sent as the SKU");
  });

  it('is what the language of the other headers makes of it', () => {
    const columns = (header: string, row: string) =>
      proposeMapping('contacts', { header: header.split(';'), rows: [row.split(';')] }).columns.map(
        ({ field }) => field,
      );
    expect(columns('Courriel;Adresse;CP;Ville', 'a@b.example;4 rue A;69003;Lyon')).toEqual([
      'email',
      'address',
      'zip',
      'city',
    ]);
    expect(columns('E-mail;Ulica;Kod pocztowy;Kraj', 'a@b.example;Polna 3;00-950;Polska')).toEqual([
      'email',
      'address',
      'zip',
      'country',
    ]);
  });

  it.each([
    ['Nombre;Apellidos;Correo', 'Ana;Ruiz;a@b.example', ['first', 'last']],
    ['Name;Vorname;E-Mail', 'Ruiz;Ana;a@b.example', ['last', 'first']],
    ['Name;Vorname;E-Mail', 'Ana Ruiz;Ana;a@b.example', undefined],
  ])('%s: a name beside half of it is the other half', (header, row, halves) => {
    const { spec } = proposeMapping('contacts', { header: header.split(';'), rows: [row.split(';')] });
    const made = (halves ?? []).map((half) => `${half}Name`);
    expect(Object.keys(spec?.columns ?? {}).slice(0, made.length)).toEqual(made);
    expect(spec).toMatchObject({
      contact: { name: halves === undefined ? 'name' : { join: ['firstName', 'lastName'] } },
    });
  });

  it('asks for words that say whether a contact gets e-mails, and for columns that may say it', () => {
    const file = (header: string, cell: string) => ({
      header: ['E-Mail', header],
      rows: [['a@b.example', cell]],
    });
    const news = file('Newsletter', 'angemeldet');
    expect(proposeMapping('contacts', news).questions.map(({ id }) => id)).toEqual(['word.angemeldet']);
    expect(proposeMapping('contacts', news, { 'word.angemeldet': 'yes' }).spec).toMatchObject({
      contact: { subscribed: ['subscribed', { boolean: { yes: ['yes', 'angemeldet'], no: ['no'] } }] },
    });
    expect(
      proposeMapping('contacts', file('Einwilligung Newsletter', 'ja')).questions.map(({ id }) => id),
    ).toEqual(['column.subscribed']);
  });

  it('asks about a column that says of somebody whom another subscribes that they are not', () => {
    const asked = (...rows: readonly string[]) =>
      proposeMapping('contacts', {
        header: ['Email', 'Opted in', 'Unsubscribed'],
        rows: rows.map((row) => row.split(';')),
      }).questions.map(({ id }) => id);
    expect(asked('a@x.example;yes;', 'b@x.example;yes;2024-01-02')).toEqual(['unused.Unsubscribed']);
    expect(asked('a@x.example;yes;no', 'b@x.example;no;2024-01-02')).toEqual([]);
  });

  it('is no contact by name: an e-mail address is needed', () => {
    const file = { header: ['Name', 'Telefon'], rows: [['Ada Byron', '+44 117 496 0182']] };
    expect(guessImport(file)).toBeUndefined();
    expect(proposeMapping('contacts', file).questions.map(({ id }) => id)).toEqual(['column.email']);
  });
});

/** Headers of title, SKU, price, stock, images, description, cost, brand, and what the language writes decimals with. */
const LANGUAGES = [
  [
    ',',
    ['Bezeichnung', 'Artikel-Nr.', 'VK-Preis', 'Lagerbestand', 'Bilder', 'Beschreibung', 'EK-Preis', 'Marke'],
  ],
  [
    '.',
    ['Product name', 'SKU', 'Selling Price', 'Stock Qty', 'Image URLs', 'Description', 'Cost price', 'Brand'],
  ],
  [
    ',',
    ['Désignation', 'Réf.', 'Prix de vente', 'Quantité', 'Photos', 'Descriptif', "Prix d'achat", 'Marque'],
  ],
  [
    ',',
    ['Nombre', 'Referencia', 'Precio', 'Existencias', 'Imágenes', 'Descripción', 'Precio de compra', 'Marca'],
  ],
  [',', ['Nome', 'Codice', 'Prezzo', 'Giacenza', 'Immagini', 'Descrizione', 'Costo', 'Marca']],
  [',', ['Nome', 'Código', 'Preço', 'Estoque', 'Imagens', 'Descrição', 'Preço de custo', 'Marca']],
  [
    ',',
    [
      'Naam',
      'Artikelnummer',
      'Verkoopprijs',
      'Voorraad',
      'Afbeeldingen',
      'Omschrijving',
      'Inkoopprijs',
      'Merk',
    ],
  ],
  [',', ['Nazwa', 'Symbol', 'Cena', 'Stan', 'Zdjęcia', 'Opis', 'Cena zakupu', 'Marka']],
  [
    ',',
    ['Denumire', 'Cod produs', 'Preț', 'Stoc', 'Imagini', 'Descriere', 'Preț de achiziție', 'Producător'],
  ],
  [',', ['Megnevezés', 'Cikkszám', 'Ár', 'Készlet', 'Képek', 'Leírás', 'Beszerzési ár', 'Márka']],
  [',', ['Názov', 'Kód tovaru', 'Cena', 'Množstvo', 'Obrázky', 'Popis', 'Nákupná cena', 'Značka']],
  [',', ['Název', 'Kód', 'Cena', 'Počet kusů', 'Obrázky', 'Popis', 'Nákupní cena', 'Značka']],
  [',', ['Название', 'Артикул', 'Цена', 'Остаток', 'Фото', 'Описание', 'Закупочная цена', 'Бренд']],
  [',', ['Ürün Adı', 'Stok Kodu', 'Satış Fiyatı', 'Stok', 'Görseller', 'Açıklama', 'Alış Fiyatı', 'Marka']],
  ['.', ['商品名', '品番', '販売価格', '在庫数', '画像', '商品説明', '原価', 'ブランド']],
  ['.', ['商品名称', '货号', '售价', '库存', '图片', '描述', '成本价', '品牌']],
] as const;

const product = fc.record({
  price: fc.integer({ min: 1, max: 99_999_999 }),
  stock: fc.integer({ min: 0, max: 900 }),
  images: fc.integer({ min: 0, max: 3 }),
  hasDescription: fc.boolean(),
});

function amount(cents: number, decimal: string, isGrouped: boolean): string {
  const [whole = '', fraction = ''] = (cents / 100).toFixed(2).split('.');
  const sign = decimal === ',' ? '.' : ',';
  return `${isGrouped ? whole.replaceAll(/\B(?=(\d{3})+$)/g, sign) : whole}${decimal}${fraction}`;
}

describe('a column that is merely called a price before a sale, or looks like one', () => {
  it.each(['Was', 'Old price', 'RRP', 'Streichpreis', 'List price'])(
    '%s is used where its values are above',
    (header) => {
      const text = `Name;Price;${header}\nMug;4.00;5.00\nJug;5.00;\nCan;6.00;7.50`;
      expect(asked(text)).toEqual([]);
      expect(fields(text)).toMatchObject({ [header]: 'was' });
    },
  );

  it.each([
    ['its values are below the price', 'Name;Price;RRP\nMug;4.00;3.00\nJug;5.00;4.00\nCan;6.00;7.50'],
    ['half of its values are texts', 'Name;Price;Was\nMug;4.00;no\nJug;5.00;none\nCan;6.00;7.50'],
    ['only its values show it', 'Name;Price;Oud\nMug;4.00;5.00\nJug;5.00;\nCan;6.00;7.50'],
  ])('is asked about where %s; each answer ends that', (_, text) => {
    const { questions } = proposal(text);
    expect(questions.map(({ id }) => id)).toEqual(['column.was']);
    const [used = '', none = '?'] = questions[0]?.answers.map(({ value }) => value) ?? [];
    expect(fields(text, { 'column.was': used })).toMatchObject({ [used]: 'was' });
    expect(none).toBe('');
    expect(asked(text, { 'column.was': none })).toEqual([]);
  });

  it.each([
    ['another currency in the header', 'Name;Price (EUR);RRP (USD)\nMug;4.00;5.00\nJug;5.00;6.00'],
    ['another currency in the cells', 'Name;Price;RRP\nMug;4.00 EUR;5.00 USD\nJug;5.00 EUR;6.00 USD'],
    ['another tax', 'Name;Price incl VAT;RRP excl VAT\nMug;4.00;5.00\nJug;5.00;6.00'],
  ])('with %s is named as left out', (_, text) => {
    const { notes, questions } = proposal(text);
    expect(questions).toEqual([]);
    expect(notes.join('\n')).toContain(': its currency, tax or measure is not that of the price.');
  });

  it('with the currency in its header alone states it for the price too', () => {
    const { spec } = proposal('Name;Price;MSRP (USD)\nMug;4.00;5.00\nJug;5.00;6.00');
    expect(spec).toMatchObject({ variants: { pricing: { currency: { const: 'USD' } } } });
  });
});

it('a weight without values and without a unit is named as left out', () => {
  const { spec, notes } = proposal('Name;Price;Weight\nMug;4.00;\nJug;5.00;');
  expect(notes).toContain(
    "'Weight' is not sent: no row that was read has a weight, and its header names no unit.",
  );
  expect(spec && checkMapping(spec)).toEqual([]);
});

describe('any file of known headers', () => {
  it('is mapped right or asked about, in every language, number style and order of columns', async () => {
    let complete = 0;
    const property = fc.asyncProperty(
      fc.constantFrom(...LANGUAGES),
      fc.constantFrom(',', '.', 'own'),
      fc.boolean(),
      fc.constantFrom('|', ';', ' ', ', '),
      fc.constantFrom('', ' €', ' EUR'),
      fc.array(product, { minLength: 2, maxLength: 8 }),
      fc.array(fc.nat(), { minLength: 8, maxLength: 8 }),
      async ([own, names], style, isGrouped, separator, currency, made, order) => {
        const decimal = style === 'own' ? own : style;
        const images = (index: number, count: number) =>
          Array.from({ length: count }, (_, image) => `https://img.example/${index}-${image}.jpg`);
        const cells = made.map(({ price, stock, images: count, hasDescription }, index) => [
          `${names[0]} ${String.fromCharCode(65 + index)}`,
          `X-${index}7`,
          amount(price, decimal, isGrouped) + currency,
          String(stock),
          images(index, count).join(separator),
          hasDescription ? '<p>Text</p>' : '',
          amount(Math.ceil(price / 2), decimal, isGrouped) + currency,
          'Muster',
        ]);
        const columns = names.map((_, index) => index).sort((a, b) => (order[a] ?? 0) - (order[b] ?? 0));
        const header = columns.map((index) => names[index] ?? '');
        const rows = cells.map((row) => columns.map((index) => row[index] ?? ''));
        const { spec, questions } = proposeMapping('products', { header, rows });
        if (spec === null) {
          expect(questions.length).toBeGreaterThan(0);
          return;
        }
        complete += 1;
        expect(checkMapping(spec)).toEqual([]);
        const { mapped } = await mapAll(spec, [table(header, rows)]);
        expect(products(mapped)).toEqual(
          made.map(({ price, stock, images: count, hasDescription }, index) => ({
            type: 'physical',
            title: `${names[0]} ${String.fromCharCode(65 + index)}`,
            ...(hasDescription ? { description: '<p>Text</p>' } : {}),
            url: `x-${index}7`,
            ...(count === 0 ? {} : { images: images(index, count) }),
            options: [],
            variants: [
              {
                options: [],
                price: price / 100,
                onSale: false,
                regularPrice: price / 100,
                quantity: stock,
                sku: `X-${index}7`,
              },
            ],
          })),
        );
      },
    );
    await fc.assert(property, { numRuns: 300, seed: 7 });
    expect(complete).toBeGreaterThanOrEqual(290);
  });

  it('with any cells at all is proposed without a fault, and what is proposed is a right mapping', () => {
    const cell = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 12 }),
      fc.constantFrom(
        '1.234',
        '12,50 €',
        'ab 9,90',
        '-',
        'ja',
        'A-1',
        'https://img.example/a.jpg',
        '0,5 kg',
        'S',
      ),
    );
    const names = fc.constantFrom(
      ...LANGUAGES.flatMap(([, all]) => [...all]),
      'UVP',
      'Größe',
      'Gewicht',
      'Status',
      'Parent SKU',
      '',
    );
    const file = fc.array(names, { minLength: 1, maxLength: 8 }).chain((header) =>
      fc.record({
        header: fc.constant(header),
        rows: fc.array(fc.array(cell, { minLength: header.length, maxLength: header.length }), {
          maxLength: 6,
        }),
      }),
    );
    fc.assert(
      fc.property(file, fc.constantFrom('products', 'contacts'), (made, imports) => {
        const { spec, questions, columns } = proposeMapping(imports, made);
        expect(columns).toHaveLength(made.header.length);
        expect(spec === null).toBe(questions.length > 0);
        if (spec !== null) expect(checkMapping(spec)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});
