import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rowPlace } from '../../src/model/row.ts';
import { CsvError, SourceError } from '../../src/model/storeferry-error.ts';
import { readStaged } from './read-staged.ts';
import { makeXlsx } from './workbooks.ts';

async function refusal(read: Promise<unknown>): Promise<string> {
  const error: unknown = await read.catch((reason: unknown) => reason);
  if (!(error instanceof SourceError)) throw new Error(`expected a SourceError, got ${String(error)}`);
  expect(error.hint).toBeTruthy();
  return `${error.message} ${error.hint}`;
}

const products = [
  { sku: '007', price: 12.5, stock: null, active: true, dimensions: { weight: { value: 1.5 } } },
  {
    sku: 'B',
    price: 9,
    tags: ['a', 'b'],
    images: [{ url: 'https://x/1' }, { url: 'https://x/2', alt: 'two' }],
  },
];

it.each([
  ['headerRow', { headerRow: 2 }],
  ['dataRow', { dataRow: 3 }],
] as const)('refuses %s of records, which have no header row', async (key, source) => {
  const read = readStaged('a.json', JSON.stringify(products), source);
  await expect(read).rejects.toThrow(CsvError);
  await expect(read).rejects.toMatchObject({
    message: `\`${key}\` is set, but a file of format json has no header row.`,
    place: { file: 'a.json' },
    hint: expect.stringContaining(`Remove \`${key}\``),
  });
});

describe('JSON', () => {
  const header = [
    'sku',
    'price',
    'stock',
    'active',
    'dimensions.weight.value',
    'tags',
    'images[].url',
    'images[].alt',
  ];
  const cells = [
    ['007', '12.5', '', 'true', '1.5', '', '', ''],
    ['B', '9', '', '', '', 'a\nb', 'https://x/1\nhttps://x/2', '\ntwo'],
  ];

  it('gives the objects of the outermost array, a column for each path', async () => {
    const read = await readStaged('a.json', JSON.stringify(products, null, 2));
    expect(read.header).toEqual(header);
    expect(read.rows.map(({ line }) => line)).toEqual([1, 2]);
    expect(read.cells).toEqual(cells);
    expect(rowPlace(2, 'price', read.places)).toBe('[1].price');
  });

  it.each([
    ['data.products', { data: { more: [{ sku: 'x' }], products }, next: null }],
    ['shops.products', { shops: [{ products: products.slice(0, 1) }, { products: products.slice(1) }] }],
    ['shops[].products[]', { shops: [{ products }] }],
  ])('gives the objects at the path %s', async (records, document) => {
    const read = await readStaged('a.json', JSON.stringify(document), { records });
    expect(read.cells).toEqual(cells);
    expect(rowPlace(17, 'price', read.places)).toBe(`${records}[16].price`);
  });

  it('keeps the digits of numbers as they are written', async () => {
    const read = await readStaged('a.json', '[{"a": 12345678901234567890, "b": 1.50, "c": 1e3}]');
    expect(read.cells).toEqual([['12345678901234567890', '1.50', '1000']]);
  });

  it.each([
    ['1e1', '10'],
    ['1.0E7', '10000000'],
    ['-12.5e-1', '-1.25'],
    ['0E-8', '0'],
    ['0.00e0', '0'],
    ['-0.0E+3', '0'],
    ['"1e1"', '1e1'],
    ['-0', '-0'],
    ['9007199254740993', '9007199254740993'],
    // A code may have lost digits: it is refused (`digits-lost`), as a price that is no number.
    ['4.01e12', '4.01E+12'],
    ['1e12', '1E+12'],
    ['1E400', '1E+400'],
    ['1e-400', '1e-400'],
  ])('reads the number %s as %s', async (written, cell) => {
    const record = `{"a":${written},"b":1}`;
    for (const [file, text] of [
      ['a.json', `[${record}]`],
      ['a.jsonl', record],
    ] as const)
      expect((await readStaged(file, text)).cells).toEqual([[cell, '1']]);
  });

  it('keeps the places of values that belong together, from the beginning of each row', async () => {
    const options = [{ name: 'Fit' }, { name: null, value: 'a' }, { name: 'Size', value: 'M\n S' }, {}];
    const variant = { options, tags: ['x\ny'] };
    const read = await readStaged(
      'a.json',
      JSON.stringify([{ options, tags: ['', 'a', null, 'b'], variants: [variant, variant] }]),
      { records: '[] > variants' },
    );
    // Without others beside them, values stay as they were.
    const alone = JSON.stringify([{ texts: [{ t: null }, { t: 'a\nb' }, {}, { t: 'c' }] }]);
    expect((await readStaged('a.json', alone)).cells).toEqual([['a\nb\nc']]);
    const own = ['Fit\n\nSize\n', '\na\nM S\n', 'a\nb'];
    const row = [...own, 'Fit\n\nSize\n', '\na\nM S\n', 'x\ny'];
    expect(read.cells).toEqual([row, row]);
  });

  it('gives a line of JSON Lines as a record', async () => {
    const text = `${JSON.stringify(products[0])}\n\n${JSON.stringify(products[1])}\n`;
    const read = await readStaged('a.jsonl', text);
    expect(read.cells).toEqual(cells);
    expect(read.rows.map(({ line }) => line)).toEqual([1, 3]);
    expect(rowPlace(3, 'price', read.places)).toBe('line 3');
  });

  it.each([
    ['is cut off', '[{"a": 1}, {"a": ', {}, 'The JSON is broken at its end: expected a value.'],
    ['goes on behind its end', '[{"a": 1}] x', {}, 'The JSON is broken in line 1, columns 1 to 13: '],
    ['has a broken line', `[${'{"a": 1},\n'.repeat(2_000)}{"a" 2}]`, {}, 'in line 2001, columns 1 to 9: '],
    [
      'has another value among its records',
      '[{"a": 1}, "x"]',
      {},
      '`[1]` is not an object: expected a record',
    ],
    ['has no object in its place', '{"d": [{"a": 1}, null]}', { records: 'd' }, '`d[1]` is not an object: '],
    [
      'is nested 10 000 times',
      '[{"a":'.repeat(10_000),
      {},
      'Record 1 of the JSON file has more than 200 levels',
    ],
    ['has no records today', '{"products": []}', {}, 'has no records in its outermost array'],
    ['has lists alone in its list', '[[], []]', {}, 'has no records in its outermost array'],
    ['has a list alone at the path', '{"d": [[]]}', { records: 'd' }, 'has no records at `d`'],
    ['is no UTF-8', Buffer.from('[{"a": "caf\xe9"}]', 'latin1'), {}, 'is not UTF-8'],
    [
      'keeps its records elsewhere',
      '{"data": {"products": [{"a": 1}, {"a": 2}]}}',
      {},
      'Repeated paths: `data.products` (2 times). Set `records`',
    ],
    ['has none at the path', '{"data": [{"a": 1}]}', { records: 'items' }, 'no records at `items`'],
    [
      'has a list with a single record',
      '{"contacts": [{"email": "a@b.example"}], "page": {"total": 1}}',
      {},
      'Possible paths: `contacts`. Set `records`',
    ],
    ['is broken in a line', '{"a": 1}\n{"a": \n', {}, 'The JSON is broken in line 2'],
    ['is nested without end', '['.repeat(1000), {}, 'more than 200 levels'],
    [
      'has more columns than allowed',
      JSON.stringify([Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`c${n}`, n]))]),
      {},
      'beyond the limit columns',
    ],
    ['has a text without end', `[{"a": "${'x'.repeat(5000)}"}]`, {}, 'beyond the limit cellBytes'],
  ])('is refused where it %s', async (_, text, source, message) => {
    expect(await refusal(readStaged('a.json', text, source, { columns: 10, cellBytes: 2000 }))).toContain(
      message,
    );
  });
});

describe('JSON without a list', () => {
  it('is one record: a feed of one product', async () => {
    const read = await readStaged('one.jsonl', '{"sku": "A", "price": 1}\n');
    expect([read.header, read.cells]).toEqual([['sku', 'price'], [['A', '1']]]);
    const { cells } = await readStaged('one.json', '{\n  "sku": "A",\n  "images": ["a", "b"]\n}');
    expect(cells).toEqual([['A', 'a\nb']]);
  });

  it('has a record for each object, as JSON Lines with a long first line', async () => {
    const long = 'x'.repeat(100_000);
    const { cells } = await readStaged('a.jsonl', `{"sku": "A", "text": "${long}"}\n{"sku": "B"}\n`);
    expect(cells).toEqual([
      ['A', long],
      ['B', ''],
    ]);
  });
});

describe('a line of JSON Lines', () => {
  it.each([
    ['broken', '{"a": 1}\n{"a": 2, "b" 3}\n', "The JSON is broken in line 2, column 14: expected ':'."],
    ['cut off', '{"a": 1}\n\n{"a": 2, "b":\n{"a": 3}', 'in line 3, column 14: expected a value.'],
    ['no object', '{"a": 1}\n[1, 2]\n', 'Line 2 is not an object: expected a record'],
    ['too deep', `{"a": 1}\n${'{"a":'.repeat(10_000)}`, 'Record 2 of the JSON file has more than 200 levels'],
  ])('that is %s is named', async (_, text, message) => {
    expect(await refusal(readStaged('a.jsonl', text))).toContain(message);
  });
});

describe('a list within records', () => {
  const shirts = [
    {
      id: 7,
      variants: [
        { sku: 'S', price: 1 },
        { sku: 'M', price: null, stock: [1, 2] },
      ],
      title: 'Shirt',
    },
    { id: 8, title: 'Cup', variants: [] },
    { id: 9, title: 'Jug', variants: [{ sku: 'J', price: 3 }] },
  ];
  const header = ['id', 'variants[].sku', 'variants[].price', 'variants[].stock', 'title'];
  const cells = [
    ['7', 'S', '1', '', 'Shirt'],
    ['7', 'M', '', '1\n2', 'Shirt'],
    ['8', '', '', '', 'Cup'],
    ['9', 'J', '3', '', 'Jug'],
  ];
  const padded = (rows: readonly (readonly string[])[]) =>
    rows.map((row) => header.map((_, index) => row[index] ?? ''));

  it.each([
    ['a.json', JSON.stringify({ data: { items: shirts } }), 'data.items > variants'],
    ['a.json', JSON.stringify(shirts), '> variants[]'],
    ['a.jsonl', shirts.map((shirt) => JSON.stringify(shirt)).join('\n'), '>variants'],
  ])('of %s gives rows that repeat the values of their record', async (name, text, records) => {
    const read = await readStaged(name, text, { records });
    expect(read.header).toEqual(header);
    expect(padded(read.cells)).toEqual(cells);
    expect(read.rows.map(({ line }) => line)).toEqual([1, 1, 2, 3]);
  });

  it('of XML as well', async () => {
    const item = (id: number, inner: string) => `<p id="${id}">${inner}<name>N${id}</name></p>`;
    const text = `<?xml version="1.0"?><shop>${item(1, '<vs><v c="red"><s>A</s></v><v><s>B</s></v></vs>')}${item(2, '')}</shop>`;
    const read = await readStaged('a.xml', text, { records: 'shop.p > vs.v' });
    expect(read.header).toEqual(['@id', 'vs.v@c', 'vs.v.s', 'name']);
    expect(read.cells).toEqual([
      ['1', 'red', 'A', 'N1'],
      ['1', '', 'B', 'N1'],
      ['2', '', '', 'N2'],
    ]);
    expect(rowPlace(2, 'name', read.places)).toBe('/shop/p[2]/name');
  });

  it('must be there, and must not repeat too much', async () => {
    const none = readStaged('a.json', JSON.stringify(shirts), { records: '> offers' });
    expect(await refusal(none)).toContain('No record of the file has a list of objects at `offers`');
    const large = { text: 'x'.repeat(40_000), variants: Array.from({ length: 1_000 }, (_, id) => ({ id })) };
    const text = JSON.stringify([large]);
    expect(await refusal(readStaged('a.json', text, { records: '> variants' }))).toContain('rowBytes');
  });
});

describe('XML', () => {
  const rss = `<?xml version="1.0"?>
<rss xmlns:g="http://base.google.com/ns/1.0" version="2.0"><channel><title>Shop</title>
  <item><g:id>007</g:id><title>Lamp &amp; shade</title><g:price>12.50 EUR</g:price><g:shipping><g:price>3 EUR</g:price></g:shipping></item>
  <item><g:id>B</g:id><title><![CDATA[Jug <b>big</b>]]></title><g:additional_image_link>https://x/1,2</g:additional_image_link>
    <g:additional_image_link>https://x/3</g:additional_image_link><g:price/></item>
</channel></rss>`;

  it('gives the items of an RSS feed, a column for each path', async () => {
    const read = await readStaged('a.xml', rss);
    expect(read.header).toEqual([
      'g:id',
      'title',
      'g:price',
      'g:shipping.g:price',
      'g:additional_image_link',
    ]);
    expect(read.cells).toEqual([
      ['007', 'Lamp & shade', '12.50 EUR', '3 EUR', ''],
      ['B', 'Jug <b>big</b>', '', '', 'https://x/1,2\nhttps://x/3'],
    ]);
    expect(rowPlace(2, 'g:price', read.places)).toBe('/rss/channel/item[2]/g:price');
  });

  it('gives the entries of an Atom feed, and attributes', async () => {
    const atom = `<feed xmlns="http://www.w3.org/2005/Atom"><entry id="7"><title>A</title><link href="https://x/a" rel="alternate"/></entry></feed>`;
    const read = await readStaged('a.xml', atom);
    expect(read.header).toEqual(['@id', 'title', 'link@href', 'link@rel', 'link']);
    expect(rowPlace(1, 'link@href', read.places)).toBe('/feed/entry[1]/link/@href');
    expect(read.cells).toEqual([['7', 'A', 'https://x/a', 'alternate', '']]);
  });

  it('gives the elements at a path, in the charset that the file names', async () => {
    const shop = Buffer.from(
      '<?xml version="1.0" encoding="windows-1252"?><shop><offers><offer id="1"><name>Caf\xe9</name></offer></offers></shop>',
      'latin1',
    );
    const read = await readStaged('a.xml', shop, { records: 'shop.offers.offer' });
    expect(read.header).toEqual(['@id', 'name']);
    expect(read.cells).toEqual([['1', 'Café']]);
  });

  it.each([
    [
      'has a DOCTYPE',
      '<!DOCTYPE rss [<!ENTITY a "b">]><rss><channel><item><a>&a;</a></item></channel></rss>',
      {},
      'has a DOCTYPE',
    ],
    [
      'has an entity of its own',
      '<rss><channel><item><a>&a;</a></item></channel></rss>',
      {},
      'The XML is broken in line 1',
    ],
    ['is cut off', '<rss><channel><item><a>1</a></item>', {}, 'The XML is broken'],
    [
      'is no feed',
      '<?xml version="1.0"?><shop><offer><a>1</a></offer><offer><a>2</a></offer></shop>',
      {},
      'it is none of the known feeds. Repeated paths: `shop.offer` (2 times)',
    ],
    [
      'has none at the path',
      '<rss><channel><item><a>1</a></item></channel></rss>',
      { records: 'rss.item' },
      'no records at `rss.item`',
    ],
    [
      'has a single record',
      '<crm><contacts><contact><email>a@b.example</email></contact></contacts></crm>',
      {},
      'Possible paths: `crm.contacts.contact`. Set `records`',
    ],
    [
      'names an unknown charset',
      '<?xml version="1.0" encoding="klingon"?><rss/>',
      {},
      'unknown charset, klingon',
    ],
    [
      'is in another charset than it names',
      Buffer.from('<?xml version="1.0"?><rss><channel><item><a>caf\xe9</a></item></channel></rss>', 'latin1'),
      {},
      'not in utf-8, the charset that it names',
    ],
    [
      'has a text without end',
      `<rss><channel><item><a>${'x'.repeat(5000)}</a></item></channel></rss>`,
      {},
      'beyond the limit cellBytes',
    ],
    [
      'has a text without end in short pieces',
      `<rss><channel><item><a>${`<![CDATA[${'x'.repeat(100)}]]>`.repeat(50)}`,
      {},
      '[1]/a is beyond the limit cellBytes',
    ],
    [
      'has a tag without end',
      `<rss${Array.from({ length: 20_001 }, (_, number) => ` a${number}="1"`).join('')}`,
      {},
      'an element has more than 20000 attributes',
    ],
  ])('is refused where it %s', async (_, text, source, message) => {
    expect(await refusal(readStaged('a.xml', text, source, { cellBytes: 2000 }))).toContain(message);
  });

  it.each([
    ['no declaration', '<shop><item><a>1</a></item></shop>'],
    ['blanks, attributes and no declaration', '<Shop-1 date="1.2.">\n  <item><a>1</a></item></Shop-1>'],
    ['a comment first', '<!-- made by hand --><shop><item><a>1</a></item></shop>'],
    ['two bytes for each character', Buffer.from('\ufeff<?xml version="1.0"?><shop/>', 'utf16le').swap16()],
  ])('is recognised by its beginning: %s', async (_, content) => {
    expect(await refusal(readStaged('a.xml', content))).toContain('The XML file has no records');
  });
});

describe('namespaces of XML', () => {
  const google = 'http://base.google.com/ns/1.0';
  const headerOf = async (attributes: string, item: string) =>
    (await readStaged('a.xml', `<rss ${attributes}><channel>${item}</channel></rss>`)).header;

  it('have the usual prefix, whatever the file uses', async () => {
    expect(await headerOf(`xmlns:x="${google}"`, '<item x:id="1"><x:price>1</x:price></item>')).toEqual([
      '@g:id',
      'g:price',
    ]);
    expect(await headerOf('', '<item><g:price>1</g:price></item>')).toEqual(['g:price']);
    expect(await headerOf('xmlns:g="http://other.example"', '<item><g:price>1</g:price></item>')).toEqual([
      'g:price',
    ]);
    expect(await headerOf('', `<item xmlns="${google}"><price>1</price></item>`)).toEqual(['price']);
  });

  it('that share a prefix are not confused', async () => {
    const { header, cells } = await readStaged(
      'a.xml',
      `<rss xmlns:g="${google}"><channel><item><a xmlns:g="http://other.example"><g:price>7</g:price></a><g:price>1</g:price></item><item><g:price>2</g:price></item></channel></rss>`,
    );
    expect(header).toEqual(['a.g2:price', 'g:price']);
    expect(cells).toEqual([
      ['7', '1'],
      ['', '2'],
    ]);
  });

  it('are told apart up to a thousand, and then have the prefixes of the file', async () => {
    const declared = (count: number) =>
      Array.from({ length: count }, (_, number) => `xmlns:p${number}="n${number}"`).join(' ');
    const item = '<item xmlns:p0="other" xmlns:p1="another"><p0:a>1</p0:a></item>';
    expect(await headerOf(declared(998), item)).toEqual(['p02:a']);
    expect(await headerOf(declared(1000), item)).toEqual(['p0:a']);
  });
});

it('reads the text of an element around CDATA, as one', async () => {
  const { cells } = await readStaged(
    'a.xml',
    '<rss><channel><item><d><![CDATA[<p>a & b</p>]]> and <![CDATA[]]]]><![CDATA[>]]></d></item></channel></rss>',
  );
  expect(cells).toEqual([['<p>a & b</p> and ]]>']]);
});

describe('text beside elements', () => {
  const cellsOf = async (text: string, records?: string, limits = {}) => {
    const { header, cells } = await readStaged(
      'a.xml',
      `<rss><channel>${text}</channel></rss>`,
      { records },
      limits,
    );
    return Object.fromEntries(header.map((name, index) => [name, cells[0]?.[index]]));
  };

  it('is one value, with the tags of the elements', async () => {
    const text = `<d>Not <b>dishwasher</b> safe.<br/>Holds <i>0.5</i> l, <a href="/x?a=1&amp;b=2" title='"x"' xmlns:h="y">see <u>this</u></a> &amp; that</d>`;
    expect(await cellsOf(`<item>${text}</item>`)).toMatchObject({
      d: 'Not <b>dishwasher</b> safe.<br>Holds <i>0.5</i> l, <a href="/x?a=1&amp;b=2" title="&quot;x&quot;">see <u>this</u></a> & that',
      'd.b': 'dishwasher',
      'd.i': '0.5',
      'd.a': 'see <u>this</u>',
      'd.a.u': 'this',
    });
  });

  it('loses no value that is beside objects of its path', async () => {
    const item = '<d><p>One <b>two</b></p><p>three</p></d><a n="x">1</a><a n="y"/><a>2</a>';
    const cells = await cellsOf(`<item>${item}</item>`);
    expect(cells).toMatchObject({ 'a@n': 'x\ny\n', a: '1\n\n2', 'd.p.b': 'two\n' });
    expect(cells['d.p']?.trim()).toBe('One <b>two</b>\nthree');
  });

  it('loses no value, and changes no order, whatever lists are in lists', async () => {
    interface Element {
      readonly name: string;
      readonly id: string | null;
      readonly content: string | readonly Element[];
    }
    const { element } = fc.letrec<{ element: Element }>((tie) => ({
      element: fc.record({
        name: fc.constantFrom('q1', 'q2'),
        id: fc.option(fc.constantFrom('x', 'y'), { nil: null }),
        content: fc.oneof(
          { depthSize: 'small' },
          fc.constantFrom('', '1', '2', '3\n4'),
          fc.array(tie('element'), { minLength: 1, maxLength: 4 }),
        ),
      }),
    }));
    const written = ({ name, id, content }: Element): string =>
      `<${name}${id === null ? '' : ` id="${id}"`}>${typeof content === 'string' ? content : content.map(written).join('')}</${name}>`;
    const words = (text = '') => text.split(/\s+/).filter((word) => word !== '');
    const collect = ({ name, id, content }: Element, within: string, into: Map<string, string[]>) => {
      const path = `${within}${name}`;
      const add = (column: string, text: string) =>
        into.set(column, [...(into.get(column) ?? []), ...words(text)]);
      if (id !== null) add(`${path}@id`, id);
      if (typeof content === 'string') add(path, content);
      else for (const one of content) collect(one, `${path}.`, into);
      return into;
    };
    await fc.assert(
      fc.asyncProperty(fc.array(element, { minLength: 1, maxLength: 5 }), async (all) => {
        const cells = await cellsOf(`<item>${all.map(written).join('')}</item>`);
        const expected = all.reduce((into, one) => collect(one, '', into), new Map<string, string[]>());
        for (const [column, values] of expected)
          expect([column, words(cells[column])]).toEqual([column, values]);
      }),
      { numRuns: 200 },
    );
  });

  it('is one value, too, where all of its text is in markup', async () => {
    const item =
      '<d>\n<p>One</p>\n<div><h:p xmlns:h="y">2</h:p></div></d><e><p>One <b>two</b></p><ul><li>3</li></ul></e><f><img src="1.png"/></f><g><p></p></g><i><div><b>4</b></div></i><j><b>5</b></j>';
    const cells = await cellsOf(`<item>${item}</item>`);
    expect(cells).toMatchObject({
      e: '<p>One <b>two</b></p><ul><li>3</li></ul>',
      'e.p': 'One <b>two</b>',
      'e.ul.li': '3',
      'f.img@src': '1.png',
      i: '<div><b>4</b></div>',
      'j.b': '5',
    });
    for (const name of ['d', 'f', 'g', 'j']) expect(cells).not.toHaveProperty(name);
    const long = `<item><id>1</id><d>${'<b>y</b>'.repeat(200)}</d></item>`;
    expect(await cellsOf(long, undefined, { cellBytes: 1000 })).not.toHaveProperty('d');
  });

  it('keeps the places of values that belong together', async () => {
    const pairs = [
      ['Barva', ''],
      ['Velikost', 'M\n (38-40)'],
      ['', 'x'],
    ];
    const xml = pairs.map(
      ([name, value]) => `<P><N>${name}</N>${value === '' ? '<V/>' : `<V>${value}</V>`}</P>`,
    );
    const attributes = pairs.map(([name, value]) => `<A n="${name}">${value}</A>`);
    expect(
      await cellsOf(
        `<item>${xml.join('')}${attributes.join('')}<T>one\ntwo</T><I>1</I><I/><I>2</I><D l="en"/><D l="de">1\n2</D></item>`,
      ),
    ).toMatchObject({
      // One value keeps its line breaks, and is in no line of another one.
      D: '\n\n1\n2',
      'P.N': 'Barva\nVelikost\n',
      'P.V': '\nM (38-40)\nx',
      'A@n': 'Barva\nVelikost\n',
      A: '\nM (38-40)\nx',
      T: 'one\ntwo',
      I: '1\n2',
    });
  });

  it('is a value without elements that are data, also where markup is among them', async () => {
    const item =
      '<id>SKU-0<type>own</type></id><category>Cups<id>7</id></category><price>12.50<currency>EUR</currency></price><d>one <b>two <x>3</x></b> four</d><e>5 <B>six</B><h:b>7</h:b></e><f>8 <B>nine</B></f>';
    expect(await cellsOf(`<item>${item}</item>`)).toMatchObject({
      id: 'SKU-0',
      'id.type': 'own',
      category: 'Cups',
      price: '12.50',
      d: 'one  four',
      'd.b': 'two',
      e: '5',
      f: '8 <B>nine</B>',
    });
    const long = `<item><d>own ${'<b>y</b>'.repeat(200)}<x>1</x></d></item>`;
    expect(await cellsOf(long, undefined, { cellBytes: 1000 })).toMatchObject({ d: 'own' });
    const own = `<item><d>${'own <x>1</x>'.repeat(300)}</d></item>`;
    expect(await refusal(cellsOf(own, undefined, { cellBytes: 1000 }))).toContain(
      '/d is beyond the limit cellBytes',
    );
  });

  it('is no value where it is only blank, and elements of a record or a row are no part of its text', async () => {
    expect(await cellsOf('<item>\n <d> <b>x</b>\n</d> own <vs> <v>note <s>A</s></v></vs></item>')).toEqual({
      'd.b': 'x',
      'vs.v': 'note <s>A</s>',
      'vs.v.s': 'A',
      text: 'own',
    });
    expect(await cellsOf('<item><vs><v>note <s>A</s></v></vs></item>', 'rss.channel.item > vs.v')).toEqual({
      'vs.v': 'note',
      'vs.v.s': 'A',
    });
  });

  it('is refused beyond the limit of a cell, and elements alone are not', async () => {
    const many = '<b a="x">y</b>'.repeat(200);
    const limits = { cellBytes: 1000 };
    const mixed = `<item><d>${many}<c> z</c></d></item>`;
    expect(await cellsOf(mixed, undefined, limits)).toMatchObject({ 'd.c': 'z' });
    for (const text of [`own ${many}`, `${many} own`])
      expect(await refusal(cellsOf(`<item><d>${text}</d></item>`, undefined, limits))).toContain(
        '/d is beyond the limit cellBytes',
      );
  });
});

it('refuses an attribute that an element has twice, with its place', async () => {
  const text = '<rss><channel><item id="1" id="2"><a>1</a></item></channel></rss>';
  expect(await refusal(readStaged('a.xml', text))).toContain(
    'in line 1, column 34: duplicate attribute: id.',
  );
});

describe('the digest of a snapshot', () => {
  it('is another one when a column is called otherwise', async () => {
    const one = await readStaged('a.json', '[{"a": 1}]');
    const other = await readStaged('a.json', '[{"b": 1}]');
    expect(one.cells).toEqual(other.cells);
    expect(one.sha256).not.toBe(other.sha256);
  });
});

describe('a choice that the file does not have', () => {
  it.each([
    ['a.csv', 'sku\na\n', { sheet: 'Prices' }, 'is CSV, which has no `sheet`'],
    ['a.csv', 'sku\na\n', { records: 'items' }, 'is CSV, which has no `records`'],
    ['a.json', '[{"a": 1}]', { sheet: 2 }, 'is JSON, which has no `sheet`'],
    [
      'a.xlsx',
      makeXlsx([{ name: 'S', rows: [['a'], ['b']] }]),
      { records: 'items' },
      'is a workbook, which has no `records`',
    ],
  ])('is refused: %s', async (name, content, source, message) => {
    expect(await refusal(readStaged(name, content, source))).toContain(message);
  });
});

it('reads JSON beside CSV whose delimiter the source names', async () => {
  const { rows } = await readStaged('a.json', JSON.stringify(products), { delimiter: ';', quotes: 'none' });
  expect(rows).toHaveLength((await readStaged('a.json', JSON.stringify(products))).rows.length);
});
