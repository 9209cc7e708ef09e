import { describe, expect, it } from 'vitest';
import { compileMapping } from '../../src/mapping/compile-mapping.ts';
import { lookupTable } from '../../src/mapping/lookup-table.ts';
import { deferTables } from '../../src/mapping/map-tables.ts';
import type { MappingSpec } from '../../src/mapping/spec/mapping-spec.ts';
import { shownMark } from '../../src/model/row.ts';
import { openRowScratch } from '../../src/state/sqlite/open-row-scratch.ts';
import { brief, CONTEXT, formattedTable, mapAll, mappingOf, products, table } from './mapping-setup.ts';

const PRODUCTS = mappingOf(`
import: products
columns: { handle: Handle, title: Title, body: Body, sku: Sku, size: Size, image: Image, price: Price, shown: Shown, other: Other }
expect: { shown: [yes, no], other: '^[a-z]*$' }
product: { url: handle, title: title, description: body, images: { all: [image] }, hidden: { shown: no } }
options: { columns: { Size: size } }
variants: { sku: sku, pricing: { price: price } }
`);
const PRODUCT = {
  Handle: 'mug',
  Title: 'Mug',
  Body: 'Red',
  Sku: 'M-1',
  Size: 'S',
  Image: '',
  Price: '9',
  Shown: 'yes',
  Other: '',
};

async function product(cells: Partial<typeof PRODUCT>) {
  const row = { ...PRODUCT, ...cells };
  const rows = [Object.values(row), Object.values({ ...PRODUCT, Handle: 'cup' })];
  const { mapped } = await mapAll(PRODUCTS, [table(Object.keys(PRODUCT), rows)]);
  const [first, second] = mapped;
  // Whatever is wrong with one row, the next is not in doubt.
  expect(second?.kind).toBe('record');
  return first;
}

const CONTACTS = mappingOf(`
import: contacts
columns: { id: Id, email: Email, name: Name, phone: Phone, note: Note, born: Born }
contact: { id: id, email: email, name: name, phone: phone, note: note, properties: { fields: { Born: born } } }
`);
const CONTACT = {
  Id: '7',
  Email: 'ann@mail.example',
  Name: 'Ann',
  Phone: '+44 117',
  Note: 'x',
  Born: '1980',
};

async function contact(cells: Partial<typeof CONTACT>) {
  const { mapped } = await mapAll(CONTACTS, [
    table(Object.keys(CONTACT), [Object.values({ ...CONTACT, ...cells })]),
  ]);
  return mapped[0];
}

describe('a cell that a spreadsheet has spoilt', () => {
  it.each([
    ['Title', '#N/A'],
    ['Body', '#REF!'],
    ['Sku', '#WERT!'],
    ['Size', '#NOM?'],
    ['Price', '#DIV/0!'],
    ['Price', 'NaN'],
    ['Shown', '#NV'],
    ['Body', '########'],
    ['Sku', '#ERROR!'],
    ['Title', 'Err:502'],
  ] as const)('refuses the product: %s %s', async (column, text) => {
    expect(await product({ [column]: text })).toMatchObject({
      kind: 'rejected',
      key: 'mug',
      reason: { code: 'spreadsheet-error', line: 2, column, message: expect.stringContaining(text) },
    });
  });

  it.each([
    ['Sku', '1.23E+12'],
    ['Sku', '4,00639E+12'],
    ['Sku', '1.23457E12'],
  ] as const)('refuses a code whose digits are lost: %s %s', async (column, text) => {
    expect(await product({ [column]: text })).toMatchObject({
      kind: 'rejected',
      reason: { code: 'digits-lost', column },
    });
  });

  it.each([
    { Sku: '5E10' },
    { Sku: 'E+12' },
    { Title: 'Vitamin 1.5E+12' },
    { Title: 'Vitamin 1.5E12' },
    { Title: '#1 mug!' },
    { Body: '#N/A is what you see' },
    { Other: '#N/A' },
  ])('is not seen in %j', async (cells) => {
    expect((await product(cells))?.kind).toBe('record');
  });

  it('leaves an image out as what is no address', async () => {
    const found = await product({ Image: '#N/A' });
    expect(found).toMatchObject({ kind: 'record', notes: ['images: not an http address, left out'] });
  });

  it('makes the key an unknown one', async () => {
    for (const handle of ['#N/A', '1.23E+12', 'mug\ufffd']) {
      expect(await product({ Handle: handle })).toMatchObject({ kind: 'rejected', key: null });
      const rows = [Object.values({ ...PRODUCT, Handle: handle })];
      const tables = [table(Object.keys(PRODUCT), rows)];
      for await (const batch of deferTables(compileMapping(PRODUCTS, CONTEXT), tables, {
        context: 'x',
        openScratch: openRowScratch,
      })) {
        expect(batch).toMatchObject([{ kind: 'rejected', key: null }]);
      }
    }
  });

  it('refuses a contact without quoting it', async () => {
    for (const cells of [
      { Phone: '4.47911E+11' },
      { Name: '#NAME?' },
      { Born: '#N/A' },
      { Email: '#REF!' },
    ]) {
      const found = await contact(cells);
      expect(found).toMatchObject({
        kind: 'rejected',
        reason: { message: expect.stringMatching(/^the cell /) },
      });
    }
  });
});

describe('a cell that a workbook has as a date or time', () => {
  const dated = (columns: readonly string[], header: readonly string[]) =>
    Object.fromEntries(header.flatMap((name, at) => (columns.includes(name) ? [[at, '(date)']] : [])));
  const mapOne = async (cells: Partial<typeof PRODUCT>, dates: readonly string[]) => {
    const header = Object.keys(PRODUCT);
    const row = [Object.values({ ...PRODUCT, ...cells }), dated(dates, header)] as const;
    const { mapped } = await mapAll(PRODUCTS, [formattedTable(header, [row])]);
    return mapped[0];
  };

  it.each([
    ['Sku', '2026-12-10'],
    ['Size', '2026-03-02'],
    ['Size', '02:27:00'],
  ] as const)('refuses the product as a code or size: %s %s', async (column, text) => {
    expect(await mapOne({ [column]: text }, [column])).toMatchObject({
      kind: 'rejected',
      key: 'mug',
      reason: { code: 'made-a-date', line: 2, column, message: expect.stringContaining(text) },
    });
    // As a text of any source it may be meant, and in a rejects file it is still refused.
    expect(await product({ [column]: text })).toMatchObject({ kind: 'record' });
    expect(await product({ [column]: `${text} (date)` })).toMatchObject({ kind: 'rejected' });
  });

  const mapCourse = async (columns: string, options: string, cells: Readonly<Record<string, string>>) => {
    const spec = mappingOf(`import: products
group: { by: handle, rows: adjacent }
columns: { handle: Handle, title: Title, price: Price, ${columns} }
product: { url: handle, title: title }
options: ${options}
variants: { pricing: { price: price } }`);
    const headers = ['Handle', 'Title', 'Price', ...Object.keys(cells)];
    const rows = ['2026-12-10', '2026-12-11'].map((date) => {
      const row = ['course', 'Course', '90', ...Object.values(cells)];
      return [[...row.slice(0, -1), date], { [headers.length - 1]: '(date)' }] as const;
    });
    const { mapped } = await mapAll(spec, [formattedTable(headers, rows)]);
    return mapped;
  };

  it.each([
    ['Kurs-Termin', 'record'],
    ['Kursdatum', 'record'],
    ['StartDate', 'record'],
    ['日付', 'record'],
    ['Größe', 'rejected'],
  ])('is an option below %s: %s', async (header, kind) => {
    expect(await mapCourse(`on: "${header}"`, '{ columns: { On: on } }', { [header]: '' })).toMatchObject([
      { kind },
    ]);
    const url = mappingOf(
      `import: products\ncolumns: { title: Title, on: "${header}" }\nproduct: { url: ["{title} {on}", slug], title: title }`,
    );
    const row = [['Course', '2026-12-10'], { 1: '(date)' }] as const;
    const { mapped } = await mapAll(url, [formattedTable(['Title', header], [row])]);
    expect(mapped, 'as a part of a url').toMatchObject([{ kind }]);
  });

  it.each([
    ['Date', 'record'],
    ['Size', 'rejected'],
  ])('is an option whose name is in a cell: %s: %s', async (name, kind) => {
    const columns = '"option{n}": "Option{n} Name", "value{n}": "Option{n} Value"';
    const cells = { 'Option1 Name': name, 'Option1 Value': '' };
    const found = await mapCourse(columns, '{ names: "option{n}", values: "value{n}" }', cells);
    expect(found).toMatchObject([{ kind }]);
    if (kind === 'rejected')
      expect(found).toMatchObject([{ reason: { line: 2, also: [{ line: 3, column: 'Option1 Value' }] } }]);
  });

  it('makes the key an unknown one, and names each column', async () => {
    const cells = { Handle: '2026-12-10', Size: '2026-03-02' };
    expect(await mapOne(cells, ['Handle', 'Size'])).toMatchObject({
      kind: 'rejected',
      key: null,
      reason: { column: 'Handle', also: [{ column: 'Size' }] },
    });
  });

  it('is a text elsewhere, and no price', async () => {
    const cells = { Title: '2026-12-10', Body: '2026-03-02' };
    expect(await mapOne(cells, ['Title', 'Body'])).toMatchObject({
      kind: 'record',
      body: { title: '2026-12-10', description: '2026-03-02' },
    });
    expect(await mapOne({ Price: '2026-05-12' }, ['Price'])).toMatchObject({
      kind: 'rejected',
      reason: { column: 'Price', code: 'not-a-number' },
    });
  });

  it('is a property of a contact, and no phone number', async () => {
    const header = Object.keys(CONTACT);
    const map = async (column: string) => {
      const row = Object.values({ ...CONTACT, [column]: '1980-04-01' });
      const { mapped } = await mapAll(CONTACTS, [formattedTable(header, [[row, dated([column], header)]])]);
      return mapped[0];
    };
    expect(await map('Born')).toMatchObject({ kind: 'record' });
    expect(await map('Phone')).toMatchObject({ kind: 'rejected', reason: { code: 'made-a-date' } });
  });
});

describe('a number of which a workbook shows more', () => {
  const mark = (format: string, columns: readonly string[], header: readonly string[]) =>
    Object.fromEntries(
      header.flatMap((name, at) => (columns.includes(name) ? [[at, `€ ${shownMark(format)}`]] : [])),
    );
  const mapOne = async (spec: MappingSpec, all: object, column: string, text: string, format: string) => {
    const header = Object.keys(all);
    const row = Object.values({ ...all, [column]: text });
    const { mapped } = await mapAll(spec, [formattedTable(header, [[row, mark(format, [column], header)]])]);
    return mapped[0];
  };

  it.each([
    ['Sku', '1042', '"ART-"0'],
    ['Size', '250', '0" ml"'],
    ['Title', '0.75', '# ?/?'],
    ['Size', '1234', '##-##'],
  ])('refuses the product as a text that customers see: %s', async (column, text, format) => {
    const message = `'${text} (shown as ${format})' is a number that the workbook shows otherwise`;
    expect(await mapOne(PRODUCTS, PRODUCT, column, text, format)).toMatchObject({
      kind: 'rejected',
      key: 'mug',
      reason: { code: 'shown-otherwise', line: 2, column, message: expect.stringContaining(message) },
    });
    expect(await product({ [column]: text })).toMatchObject({ kind: 'record' });
    expect(await product({ [column]: `${text} ${shownMark(format)}` })).toMatchObject({ kind: 'rejected' });
  });

  it('is taken where the mapping completes it to what is sold', async () => {
    const completed = mappingOf(`import: products
columns: { handle: Handle, title: Title, sku: Sku, price: Price, size: Size }
product: { url: handle, title: '{title} ({size} ml)' }
options: { columns: { Size: { join: [size], with: '' }, Content: '{size} ml' } }
variants: { sku: 'A-{sku}', pricing: { price: price } }`);
    const spec = mappingOf(`import: products
columns: { handle: Handle, title: Title, price: Price, size: Size }
product: { url: handle, title: '{title} ({size} ml)' }
options: { columns: { Content: '{size} ml' } }
variants: { sku: 'A-{size}', pricing: { price: price } }`);
    const all = { Handle: 'mug', Title: 'Mug', Sku: '1', Price: '9', Size: '1' };
    expect(await mapOne(spec, all, 'Size', '250', '0" ml"')).toMatchObject({
      kind: 'record',
      body: { title: 'Mug (250 ml)', options: [{ values: ['250 ml'] }], variants: [{ sku: 'A-250' }] },
    });
    expect(await mapOne(completed, all, 'Size', '250', '0" ml"')).toMatchObject({ kind: 'rejected' });
    // Another field may have the same number.
    const beside = mappingOf(`import: products
columns: { handle: Handle, title: Title, sku: Sku, price: Price, size: Size }
product: { url: handle, title: title }
options: { columns: { Content: '{size} ml' } }
variants: { sku: sku, pricing: { price: price } }`);
    expect(await mapOne(beside, { ...all, Sku: '250' }, 'Size', '250', '0" ml"')).toMatchObject({
      kind: 'record',
    });
    const asNumber = mappingOf(`import: products
columns: { handle: Handle, title: Title, price: Price, size: Size }
product: { url: handle, title: title }
options: { columns: { Content: [size, number] } }
variants: { pricing: { price: price } }`);
    expect(await mapOne(asNumber, all, 'Size', '10.00', '0.00" ml"')).toMatchObject({ kind: 'rejected' });
    // Each is named: the rejects file marks those.
    const cells = Object.values({ ...PRODUCT, Sku: '7', Size: '250' });
    const marks = { 3: shownMark('"T"0'), 4: shownMark('0" ml"') };
    const { mapped } = await mapAll(PRODUCTS, [formattedTable(Object.keys(PRODUCT), [[cells, marks]])]);
    expect(mapped).toMatchObject([{ kind: 'rejected', reason: { also: [{ column: 'Size' }] } }]);
  });

  it.each([
    ['4.00638E+12', '400638133393100'],
    ['1.23456789012346E+17', '#"x"'],
  ])('is refused as a key, too, where its digits are lost: %s shown as %s', async (text, format) => {
    expect(await mapOne(PRODUCTS, PRODUCT, 'Handle', text, format)).toMatchObject({
      kind: 'rejected',
      key: null,
      reason: { code: 'digits-lost' },
    });
  });

  it('is read as a number and as a key, and noted in other texts', async () => {
    const priced = await mapOne(PRODUCTS, PRODUCT, 'Price', '0.75', '# ?/?');
    expect(priced).toMatchObject({ kind: 'record', body: { variants: [{ price: 0.75 }] } });
    expect(priced).not.toHaveProperty('notes');
    expect(await mapOne(PRODUCTS, PRODUCT, 'Handle', '7', '"P"0')).toMatchObject({
      kind: 'record',
      key: '7',
    });
    expect(await mapOne(PRODUCTS, PRODUCT, 'Body', '250', '0" ml"')).toMatchObject({
      body: { description: '250' },
      notes: ['description: a number without what the workbook shows beside it, sent as it is'],
    });
  });

  it('leaves a phone number that lacks only signs between its digits', async () => {
    const phone = (format: string) => mapOne(CONTACTS, CONTACT, 'Phone', '5551234', format);
    for (const format of [
      '[<=9999999]###-####;(###) ###-####',
      '[<=9999999][$-1000000]###-####;[$-1000000](###) ###-####',
      '(555) 123-4',
    ])
      expect(await phone(format)).toMatchObject({ kind: 'record' });
    const ods = await mapOne(CONTACTS, CONTACT, 'Phone', '5551230067', '(555) 123-0067');
    expect(ods).toMatchObject({ kind: 'record' });
    for (const format of ['0 000 000 000', '+#', '"+49 "0'])
      expect(await phone(format)).toMatchObject({
        kind: 'rejected',
        reason: { code: 'shown-otherwise', message: expect.stringMatching(/^the cell is a number/) },
      });
  });
});

describe('a cell of a lookup table', () => {
  const spec = (column: string) =>
    mappingOf(`import: products
columns: { title: Title, price: Price, code: Code }
lookups: { more: { path: more.xlsx, match: code } }
product: { url: [title, slug], title: title, description: [code, { table: more, column: until }] }
options: { columns: { Size: { value: [code, { table: more, column: ${column} }] } } }
variants: { sku: [code, { table: more, column: sku }], pricing: { price: price } }`);

  it.each([
    [['s-1', 'S', '2026-03-05'], { 3: '(date)' }, 'size', undefined],
    [['2026-12-10', 'S', ''], { 1: '(date)' }, 'size', 'made-a-date'],
    [['s-1', '2026-03-02', ''], { 2: '(date)' }, 'size', 'made-a-date'],
    [['s-1', '250', ''], { 2: shownMark('0" ml"') }, 'size', 'shown-otherwise'],
    [['s-1', '2026-03-02', ''], undefined, 'size', undefined],
    [['s-1', 'S', '2026-03-05'], { 3: '(date)' }, 'until', 'made-a-date'],
    [['#N/A', 'S', ''], undefined, 'size', 'spreadsheet-error'],
    [['4.00638E+12', 'S', ''], undefined, 'size', 'digits-lost'],
  ])('is refused where one of the source is: %s', async (cells, formats, column, code) => {
    const header = ['code', 'sku', 'size', 'until'];
    const more = lookupTable(header, [['a', ...cells]], 'code', [formats]) ?? expect.fail();
    const { mapped } = await mapAll(spec(column), [table(['Title', 'Price', 'Code'], [['Mug', '9', 'a']])], {
      lookups: new Map([['more', more]]),
    });
    expect(mapped).toMatchObject([
      code === undefined
        ? { kind: 'record' }
        : {
            kind: 'rejected',
            reason: {
              code,
              message: expect.stringMatching(/ in the lookup table more, column \w+, (?:is|has) /),
            },
          },
    ]);
  });
});

describe('characters that were lost, or that no text has', () => {
  it.each(['Title', 'Sku', 'Size'] as const)('refuse the product in %s', async (column) => {
    expect(await product({ [column]: 'M\ufffdg' })).toMatchObject({
      kind: 'rejected',
      reason: { code: 'characters-lost', column },
    });
  });

  it('are noted in long texts, and control characters removed from prose', async () => {
    const found = await product({
      Title: 'Bl\u0092ue \u000bmug',
      Body: 'caf\ufffd \u0007cr\u00e8me\nnew line',
    });
    expect(found).toMatchObject({
      kind: 'record',
      body: { title: 'Blue mug', description: 'caf\ufffd cr\u00e8me\nnew line' },
      notes: [
        'title: control characters, removed',
        'description: characters were lost when the file was converted (U+FFFD), sent as it is',
        'description: control characters, removed',
      ],
    });
    expect(await contact({ Note: 'a\u0001b', Name: 'A\u0001nn' })).toMatchObject({
      kind: 'record',
      body: { note: 'ab', name: 'Ann' },
    });
  });

  it.each(['Handle', 'Sku', 'Size'] as const)(
    'refuse the product with a control character in %s',
    async (column) => {
      expect(await product({ [column]: 'M\u0001' })).toMatchObject({
        kind: 'rejected',
        reason: { code: 'control-characters', column, message: expect.not.stringContaining('\u0001') },
      });
    },
  );
});

describe('what is sent and counted', () => {
  it.each([
    'https://img.example/1.jpg,https://img.example/2.jpg',
    'https://img.example/1.jpg https://img.example/2.jpg',
    'https://img.example/1.jpg | https://img.example/2.jpg',
    'https://img.example/1.jpg\nhttps://img.example/2.jpg',
    'https://img.example/1.jpg, //img.example/2.jpg',
    '//img.example/1.jpg;//img.example/2.jpg',
  ])('are two addresses in one cell, split: %j', async (image) => {
    expect(await product({ Image: image })).toMatchObject({
      body: { images: ['https://img.example/1.jpg', 'https://img.example/2.jpg'] },
      notes: ['images: several addresses in one cell, split'],
    });
  });

  it.each([
    'https://img.example/fetch/https://other.example/1.jpg',
    'https://img.example/?u=https://other.example/1.jpg',
  ])('is one address that holds another: %s', async (image) => {
    const { mapped } = await mapAll(PRODUCTS, [
      table(Object.keys(PRODUCT), [Object.values({ ...PRODUCT, Image: image })]),
    ]);
    expect(products(mapped)[0]?.images).toEqual([image]);
  });

  it('is a price of 0', async () => {
    const found = await product({ Price: '0' });
    expect(found === undefined ? '' : brief(found)).toBe('record mug (1 row)');
    expect(found).toMatchObject({ notes: ['variants.price: 0, sent as a price'] });
  });
});
