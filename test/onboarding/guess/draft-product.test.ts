import { describe, expect, it } from 'vitest';
import { proposeMapping } from '../../../src/onboarding/guess/propose-mapping.ts';
import { mapAll, products, table } from '../../mapping/mapping-setup.ts';
import { guessed } from './guess-setup.ts';

type Answers = Readonly<Record<string, string>>;
const hidden = (text: string, answers?: Answers) =>
  guessed(text, (product) => product.hidden ?? null, answers);
const titles = (text: string, answers?: Answers) => guessed(text, ({ title }) => title, answers);

describe('whether a product is hidden', () => {
  it('is said by a blank beside words of one meaning', async () => {
    expect(await hidden('Name;Price;Active\nMug;4.00;yes\nJug;5.00;')).toEqual([false, true]);
    expect(await hidden('Name;Price;Status\nMug;4.00;published\nJug;5.00;')).toEqual([false, true]);
    expect(await hidden('Name;Price;Hidden\nMug;4.00;yes\nJug;5.00;')).toEqual([true, false]);
  });

  it('is asked where a blank stands beside words of both meanings', async () => {
    const text = 'Name;Price;Active\nMug;4.00;yes\nJug;5.00;no\nCan;6.00;';
    expect(await hidden(text)).toEqual(['unused.Active']);
    expect(await hidden(text, { 'unused.Active': 'hidden' })).toEqual([false, true, true]);
    expect(await hidden(text, { 'unused.Active': 'shown' })).toEqual([false, true, false]);
  });

  it('is asked for each number where there are more than 0 and 1', async () => {
    const text = 'Name;Price;Visibility\nMug;4.00;1\nJug;5.00;4';
    expect(await hidden(text)).toEqual(['word.1', 'word.4']);
    expect(await hidden(text, { 'word.1': 'hidden', 'word.4': 'shown' })).toEqual([true, false]);
    expect(await hidden(text, { 'word.1': 'shown', 'word.4': 'shown' })).toEqual([false, false]);
    expect(await hidden('Name;Price;Visibility\nMug;4.00;1\nJug;5.00;0')).toEqual([false, true]);
  });

  it('is asked where few words of a status are understood', async () => {
    const text = 'Name;Price;Status\nMug;4.00;EOL\nJug;5.00;running\nCan;6.00;new';
    expect(await hidden(text)).toEqual(['column.visible']);
    const column = { 'column.visible': 'Status' };
    expect(await hidden(text, column)).toEqual(['word.eol', 'word.running', 'word.new']);
    expect(await hidden(text.replace('EOL', 'used'))).toEqual([null, null, null]);
  });

  it('is asked where a header that is nearly one for what is shown has codes', async () => {
    expect(await hidden('Name;Price;active_flag\nMug;4.00;I\nJug;5.00;A')).toEqual(['column.visible']);
  });

  it('is asked where a status has codes', async () => {
    expect(await hidden('Name;Price;Status\nMug;4.00;A\nJug;5.00;I')).toEqual(['column.visible']);
  });

  it.each([
    ['Sellable', 'no', 'yes'],
    ['Listed', '0', '1'],
    ['Approved', 'no', 'yes'],
    ['Im Shop', 'nein', 'ja'],
  ])('is said by %s', async (header, no, yes) => {
    expect(await hidden(`Name;Price;${header}\nMug;4.00;${no}\nJug;5.00;${yes}`)).toEqual([true, false]);
  });

  it('is asked where marks show what another column withdraws', async () => {
    const text = 'Name;Price;Visible;Discontinued\nMug;4.00;x;yes\nJug;5.00;;yes';
    expect(await hidden(text)).toEqual(['unused.Discontinued']);
    expect(await hidden(text.replace('x;yes', 'x;no'))).toEqual([false, true]);
  });
});

describe('marks whose meaning is not known', () => {
  it.each([
    ['Onlineverkauf', 'nein', 'ja'],
    ['Kanal 2', 'x', ''],
    ['Sichtschutz', 'J', 'N'],
    ['Vitrine', 'oui', 'non'],
    ['Flag', '1', '0'],
    ['Kz', 'D', 'U'],
    ['LKZ', 'L', ''],
  ])(
    '%s are asked about where no column says what is shown, and so is what they say',
    async (header, one, other) => {
      const text = `Name;Price;${header}\nMug;4.00;${one}\nJug;5.00;${other}`;
      expect(await hidden(text)).toEqual(['column.visible']);
      expect(await hidden(text, { 'column.visible': '' })).toEqual([null, null]);
      const column = { 'column.visible': header };
      const meaning = (first: string, second: string) => ({
        [`word.${one.toLowerCase()}`]: first,
        ...(other !== '' && { [`word.${other.toLowerCase()}`]: second }),
      });
      expect(await hidden(text, column)).toEqual(Object.keys(meaning('', '')));
      expect(await hidden(text, { ...column, ...meaning('hidden', 'shown') })).toEqual([true, false]);
      expect(await hidden(text, { ...column, ...meaning('shown', 'hidden') })).toEqual([false, true]);
      expect(await hidden(text.replace(`5.00;${other}`, `5.00;${one}`))).toEqual([null, null]);
      const beside = `Name;Active;Price;${header}\nMug;yes;4.00;${one}\nJug;no;5.00;${other}`;
      expect(await hidden(beside)).toEqual([`unused.${header}`]);
    },
  );

  it.each(['Vegan', 'Sold individually', 'Letzter Verkauf', 'Taxable'])(
    '%s is a property',
    async (header) => {
      expect(await hidden(`Name;Price;${header}\nMug;4.00;yes\nJug;5.00;no`)).toEqual([null, null]);
    },
  );

  it.each([
    ['Suspended', 'yes', 'no'],
    ['Onlineverkauf', 'nein', 'ja'],
    ['Verkaufssperre ab', '2026-01-02', ''],
    ['Freigabestufe', 'Entwurf', 'fertig'],
    ['Workflow', 'in Prüfung', 'fertig'],
    ['Expired', 'yes', 'no'],
    ['Sperrkennzeichen', 'X', ''],
  ])('%s is asked about beside a column that shows the product', async (header, mark, other) => {
    const text = `Name;Price;Active;${header}\nMug;4.00;yes;${mark}\nJug;5.00;no;${other}`;
    expect(await hidden(text)).toEqual([`unused.${header}`]);
    expect(await hidden(text.replace(`yes;${mark}`, `yes;${other}`))).toEqual([false, true]);
  });
});

describe('dates whose meaning is not known', () => {
  it.each([
    ['of which some are to come', '2026-01-02', '2027-01-02'],
    ['of some products only', '2025-01-02', ''],
    ['as numbers', '20270102', '20250102'],
    ['as seconds', '1830000000', '1700000000'],
    ['with words for months', '3 January 2027', 'May 2, 2025'],
    ['with words of another language', '3. Dezember 2027', '2. Mai 2024'],
  ])('are asked about: %s', async (_, one, other) => {
    const text = `Name;Price;Stichtag\nMug;4.00;${one}\nJug;5.00;${other}`;
    expect(await titles(text)).toEqual(['unused.Stichtag']);
    expect(await titles(text, { 'unused.Stichtag': 'leave-out' })).toEqual(['Mug', 'Jug']);
    expect(await titles(text.replace('Stichtag', 'Last sold'))).toEqual(['Mug', 'Jug']);
  });

  it('are not asked about where all are over, in whichever language', async () => {
    for (const past of ['2. Mai 2024', '2024-05-02'])
      expect(await titles(`Name;Price;Stichtag\nMug;4.00;${past}\nJug;5.00;${past}`)).toEqual(['Mug', 'Jug']);
  });

  it.each([
    ['sizes', '10/20/30', '40/60/80'],
    ['sizes of which each could be a date', '10/20/30', '20/10/30'],
    ['numbers of a supplier', '1800012345', '1800012346'],
    ['numbers of eight digits', '20271502', '20279901'],
  ])('are none: %s', async (_, one, other) => {
    const text = `Name;Price;Interne Angabe\nMug;4.00;${one}\nJug;5.00;${other}`;
    expect(await titles(text)).toEqual(['Mug', 'Jug']);
    expect(await titles(text.replace('Interne ', ''))).toEqual(['Mug', 'Jug']);
  });

  it('are asked about where a known header has others than can be read', async () => {
    const text = 'Name;Price;Launch\nMug;4.00;Q1 2027\nJug;5.00;now';
    expect(await titles(text)).toEqual(['unused.Launch']);
    expect(await titles(text.replace('Q1 2027', 'now'))).toEqual(['Mug', 'Jug']);
  });

  it('are those of changes where all products have one that is over', async () => {
    expect(await titles('Name;Price;Stand\nMug;4.00;2025-01-02\nJug;5.00;2026-02-03')).toEqual([
      'Mug',
      'Jug',
    ]);
  });
});

describe('a header that is nearly one for what is shown', () => {
  it.each([
    ['Invisble', '0', '1'],
    ['Not visible to guests', 'no', 'yes'],
    ['Visble', 'no', 'yes'],
  ])('%s is asked about, and so are its words: it may say the opposite', async (header, no, yes) => {
    const text = `Name;Price;${header}\nMug;4.00;${no}\nJug;5.00;${yes}`;
    expect(await hidden(text)).toEqual(['column.visible']);
    const column = { 'column.visible': header };
    expect(await hidden(text, column)).toEqual([`word.${no}`, `word.${yes}`]);
    const turned = { ...column, [`word.${no}`]: 'shown', [`word.${yes}`]: 'hidden' };
    expect(await hidden(text, turned)).toEqual([false, true]);
    const alone = `Name;Price;${header}\nMug;4.00;${no}`;
    expect(await hidden(alone, { ...column, [`word.${no}`]: 'shown' })).toEqual([false]);
  });

  it.each(['Invisible', 'Not published', 'Hors ligne', 'Nicht sichtbar'])(
    'is none where it is %s',
    async (header) => {
      expect(await hidden(`Name;Price;${header}\nMug;4.00;0\nJug;5.00;1`)).toEqual([false, true]);
    },
  );
});

describe('a date', () => {
  const asked = async (header: string, date: string, more = '') =>
    await titles(`Name;Price;${header}\nMug;4.00;${date}${more}`);

  it.each([
    ['Publish at', '2026-07-01 10:00'],
    ['Available from', '1/7/2026'],
    ['Verfügbar ab', '01.07.26'],
    ['Release date', '46300'],
    ['Price valid from', 'July 1, 2026'],
    ['Date de sortie', '20260701'],
    ['Valid until', '2026-06-01'],
    ['Active to', '1.6.2026'],
  ])('%s %s is asked about: the store would offer the product now', async (header, date) => {
    expect(await asked(header, date)).toEqual([`unused.${header}`]);
  });

  it('is not asked about where it has come, or the product is hidden anyway', async () => {
    expect(await asked('Available from', '2026-06-01')).toEqual(['Mug']);
    expect(await asked('Valid until', '2026-07-01')).toEqual(['Mug']);
    expect(await asked('Visible;Publish at', 'no;2026-07-01')).toEqual(['Mug']);
    expect(await asked('Visible;Publish at', 'yes;2026-07-01')).toEqual(['unused.Publish at']);
    expect(await asked('Availability (days)', '14')).toEqual(['column.quantity']);
  });
});

describe('what a product is', () => {
  it('is asked where rows with one SKU have different names', async () => {
    const text = 'SKU;Name;Price;Language\nA1;Hemd;5.00;de\nA1;Shirt;5.00;en\nA2;Coat;7.00;en';
    expect(await titles(text)).toEqual(['group']);
    expect(await titles(text, { group: 'none' })).toEqual(['Hemd', 'Shirt', 'Coat']);
  });

  it.each(['123.0', '2026-03-15', '1,001'])(
    'is asked where a program may have changed its SKU to %s',
    async (sku) => {
      const text = `SKU;Name;Price\n${sku};Mug;4.00\nA-2;Jug;5.00`;
      expect(await titles(text)).toEqual(['column.sku']);
      expect(await titles(text, { 'column.sku': 'SKU' })).toEqual(['Mug', 'Jug']);
    },
  );

  it('is asked where a spreadsheet has shortened its SKU', async () => {
    expect(await titles('SKU;Name;Price\n4.01E+12;Mug;4.00\n4.02E+12;Jug;5.00')).toEqual(['column.sku']);
  });

  it.each(['1-Jan', '01.02.2024'])(
    'is asked where a spreadsheet has made the date %s of its SKU',
    async (date) => {
      expect(await hidden(`SKU;Name;Price\nA1;Mug;4.00\n${date};Jug;5.00`)).toEqual(['column.sku']);
    },
  );

  it('is asked where another column than that of the EAN may have its SKU', async () => {
    const text = 'EAN;Warehouse SKU;Name;Price\n4006381333931;A1;Mug;4.00\n4006381333948;B2;Jug;5.00';
    expect(await hidden(text)).toEqual(['column.sku']);
    expect(await hidden(text, { 'column.sku': 'Warehouse SKU' })).toEqual([null, null]);
  });

  it('is not asked because of errors of a spreadsheet: their rows are rejected', () => {
    const header = ['Name', 'Price', 'Stock', 'Active'];
    const rows = [
      ['Mug', '4.00', '#REF!', 'yes'],
      ['Jug', '#N/A', '2', '#VALUE!'],
      ['Can', '6.00', '3', 'no'],
    ];
    expect(proposeMapping('products', { header, rows }).questions).toEqual([]);
  });

  it('is asked where names repeat beside a column of products', async () => {
    const text = 'Name;Product;Price\nAcme;Mug;4.00\nAcme;Jug;5.00';
    expect(await titles(text)).toEqual(['column.title']);
    expect(await titles(text, { 'column.title': 'Product' })).toEqual(['Mug', 'Jug']);
    expect(await titles(text.replace('Acme;Jug', 'Bolt;Jug'))).toEqual(['Acme', 'Bolt']);
  });

  it('is said without tags and entities', async () => {
    const header = ['SKU', 'Name', 'Price', 'Description', 'Category'];
    const rows = [['A1', 'Salt &amp; <b>Pepper</b>', '4.00', '&lt;p&gt;Hot&lt;/p&gt;', 'Food &amp; Drink']];
    const { spec } = proposeMapping('products', { header, rows });
    const { mapped } = await mapAll(spec ?? expect.fail(), [table(header, rows)]);
    expect(products(mapped)).toMatchObject([
      { title: 'Salt & Pepper', description: '<p>Hot</p>', categories: [{ name: 'Food & Drink' }] },
    ]);
  });

  it('is never said by a price or a stock', async () => {
    const text = 'Name;Price;Stock\nMug;4.00;3\nMug;5.00;2';
    expect(await titles(text)).toEqual(['column.url']);
    await expect(titles(text, { 'column.url': 'Name' })).resolves.toBeDefined();
  });

  it.each(['Total 2 items', 'Average', 'Summe:'])('is not the last row %s', async (name) => {
    const text = `SKU;Name;Price\nA1;Mug;4.00\nA2;Jug;5.00\n;${name};9.00`;
    expect(await titles(text)).toEqual(['Mug', 'Jug']);
  });

  it('is not a row of subtotals', async () => {
    const text =
      'SKU;Name;Price\nA1;Mug;4.00\n;Zwischensumme;4.00\nA2;Jug;5.00\n;Sous-total:;5.00\n;Total jugs;9.00';
    expect(await titles(text)).toEqual(['Mug', 'Jug']);
  });

  it.each([
    ['that other products lack too', 'SKU;Name;Price\nA1;Mug;4.00\n;Jug;5.00\n;Total jugs;9.00'],
    ['with a SKU', 'SKU;Name;Price\nA1;Mug;4.00\nA3;Total;9.00\nA2;Jug;5.00'],
    ['between products', 'SKU;Name;Price\nA1;Mug;4.00\n;Total jugs;9.00\nA2;Jug;5.00'],
  ])('is asked about where it may be totals: %s', async (_, text) => {
    const name = text.includes('jugs') ? 'Total jugs' : 'Total';
    const word = `word.${name}`;
    expect(await titles(text)).toEqual([word]);
    expect(await titles(text, { [word]: 'totals' })).toEqual(['Mug', 'Jug']);
    expect(await titles(text, { [word]: 'product' })).toContain(name);
  });

  it('is not a row whose price and stock are the sums of those above', async () => {
    const text =
      'SKU;Name;Price;Stock\nA1;Mug;4.50;1\nA2;Jug;5.00;2\n;Page 1;9.50;3\nA3;Pot;6.00;0\nA4;Can;1.00;1\n;Page 2;7.00;1\n;All;16.50;4';
    const answers = { 'word.Page 1': 'totals', 'word.Page 2': 'totals' };
    expect(await titles(text)).toEqual(Object.keys(answers));
    expect(await titles(text, answers)).toEqual(['Mug', 'Jug', 'Pot', 'Can']);
    expect(await titles(text.replace('16.50;4', '16.50;9'), answers)).toContain('All');
  });

  it('may be called a total', async () => {
    expect(await titles('SKU;Name;Price\nA1;Mug;4.00\nA2;Total care kit;5.00')).toEqual([
      'Mug',
      'Total care kit',
    ]);
  });
});

describe('a row that may be no product', () => {
  it.each([
    ['SKU', 'TEST;Bowl'],
    ['SKU', 'test-001;Bowl'],
    ['Name', 'A3;Testartikel'],
    ['Name', 'A3;Test 1'],
    ['Name', 'A3;DO NOT SELL'],
    ['Name', 'A3;Bowl - ne pas vendre'],
    ['Name', 'A3;Bowl (gesperrt)'],
    ['Name', 'A3;Bowl [discontinued]'],
    ['Name', 'A3;Bowl (sold out)'],
  ])('by its %s is asked about: %s', async (header, row) => {
    const text = `SKU;Name;Price\nA1;Mug;4.00\n${row};6.00\nA2;Jug;5.00`;
    const id = `word.${row.split(';')[header === 'SKU' ? 0 : 1]}`;
    expect(await titles(text)).toEqual([id]);
    expect(await titles(text, { [id]: 'leave-out' })).toEqual(['Mug', 'Jug']);
    expect(await titles(text, { [id]: 'product' })).toHaveLength(3);
  });

  it('may be a test or a demonstration that is sold, or one among others of a trial', async () => {
    const tests = 'A3;COVID-19 test;6.00\nA4;Test kit;7.00\nA5;Testament;8.00\nA6;Demo version;9.00';
    expect(await titles(`SKU;Name;Price\nA1;Mug;4.00\n${tests}`)).toHaveLength(5);
    expect(await titles('SKU;Name;Price\nA1;Test 1;4.00\nA2;Test 2;5.00')).toHaveLength(2);
  });
});

describe('a product that is not shipped', () => {
  const types = (text: string, answers?: Answers) => guessed(text, ({ type }) => type, answers);

  it.each([
    ['Type', 'Digital', 'Service'],
    ['Artikeltyp', 'download', 'Dienstleistung'],
  ])('is found by words of %s', async (header, digital, service) => {
    const text = `Name;Price;${header}\nBook;4.00;${digital}\nMug;5.00;physical\nRepair;6.00;${service}`;
    const id = `unused.${header}`;
    expect(await types(text)).toEqual([id]);
    expect(await types(text, { [id]: 'by-word' })).toEqual(['digital', 'physical', 'service']);
    expect(await types(text, { [id]: 'leave-out' })).toEqual(['physical', 'physical', 'physical']);
  });

  it.each([
    ['Requires shipping', 'no', 'yes'],
    ['Virtual', 'yes', 'no'],
    ['Download', 'x', ''],
  ])('is marked by %s: %s', async (header, unshipped, other) => {
    const text = `Name;Price;${header}\nBook;4.00;${unshipped}\nMug;5.00;${other}`;
    const id = `unused.${header}`;
    expect(await types(text)).toEqual([id]);
    expect(await types(text, { [id]: 'digital' })).toEqual(['digital', 'physical']);
    expect(await types(text, { [id]: 'service' })).toEqual(['service', 'physical']);
    expect(await types(text.replace(`4.00;${unshipped}`, `4.00;${other}`))).toEqual(['physical', 'physical']);
  });
});

describe('rows from a list within each product', () => {
  const text =
    'title;sku;variants[].sku;variants[].price;variants[].title\nMug;M;M-1;4.00;Small\nMug;M;M-2;5.00;Large\nJug;J;J-1;6.00;Small';
  const variants = (answers?: Answers) =>
    guessed(text, (one) => [one.title, ...one.variants.map(({ sku, price }) => `${sku} ${price}`)], answers);

  it('are variants by the option that is answered, or products', async () => {
    expect(await variants()).toEqual(['column.option']);
    expect(await variants({ 'column.option': 'variants[].title' })).toEqual([
      ['Mug', 'M-1 4', 'M-2 5'],
      ['Jug', 'J-1 6'],
    ]);
    expect(await variants({ 'column.option': '' })).toEqual([
      ['Mug', 'M-1 4'],
      ['Mug', 'M-2 5'],
      ['Jug', 'J-1 6'],
    ]);
  });
});

describe('pictures', () => {
  const images = (text: string, answers?: Answers) => guessed(text, (product) => product.images, answers);

  it.each([
    ['C:\\pics\\mug.jpg', 'mug.jpg'],
    ['/media/mug.jpg', 'media/mug.jpg'],
    ['media/mug.jpg', 'media/mug.jpg'],
    ['/a/1.jpg, /a/2.jpg', 'a/1.jpg https://x.example/i/a/2.jpg'],
  ])('called %s are below the address that is answered', async (file, path) => {
    const answers = { imageBase: 'https://x.example/i/' };
    expect(await images(`Name;Price;Image\nMug;4.00;${file}`, answers)).toEqual([
      `https://x.example/i/${path}`.split(' '),
    ]);
  });

  it('are asked about where no header is called an image: they may be of certificates, or of a brand', async () => {
    const text = 'Name;Price;Logo\nMug;4.00;https://x.example/a.png\nJug;5.00;https://x.example/b.png';
    expect(await images(text)).toEqual(['column.images']);
    expect(await images(text, { 'column.images': '' })).toEqual([undefined, undefined]);
    const sent = [['https://x.example/a.png'], ['https://x.example/b.png']];
    expect(await images(text, { 'column.images': 'Logo' })).toEqual(sent);
    expect(await images(text.replace('Logo', 'Image'))).toEqual(sent);
    expect(
      await images('Name;Price;View 1;View 2\nMug;4.00;https://x.example/a.png;https://x.example/b.png'),
    ).toEqual([sent.flat()]);
  });
});

it('has a lowest price as its price where that is answered, in any case', async () => {
  const prices = (fromPrices: string) =>
    guessed('Name;Price\nMug;from 9.90\nTea;5.00', ({ variants }) => variants, { fromPrices });
  expect(await prices('SEND')).toEqual(await prices('send'));
});
