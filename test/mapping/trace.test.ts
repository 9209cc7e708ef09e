import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { compileMapping } from '../../src/mapping/compile-mapping.ts';
import { mapTables, type Table, type TracedRecord, traceTables } from '../../src/mapping/map-tables.ts';
import type { MappingSpec } from '../../src/mapping/spec/mapping-spec.ts';
import { leavesOf, type Mapped } from '../../src/model/mapped-record.ts';
import { openRowScratch } from '../../src/state/sqlite/open-row-scratch.ts';
import { CONTEXT, mappingOf, parseCsv, shippedMapping, table } from './mapping-setup.ts';

async function traceAll(
  spec: MappingSpec,
  tables: readonly Table[],
  context: Partial<typeof CONTEXT> = {},
): Promise<readonly TracedRecord[]> {
  const found: TracedRecord[] = [];
  const compile = (trace: Parameters<typeof compileMapping>[2]) =>
    compileMapping(spec, { ...CONTEXT, ...context }, trace);
  for await (const batch of traceTables(compile, tables, () => true, { openScratch: openRowScratch })) {
    found.push(...batch.filter((one) => one !== null));
  }
  return found;
}

it('begins a step with the name of its transform', async () => {
  const spec = mappingOf(`
import: products
columns: { sku: SKU }
lookups: { names: { path: names.csv, match: code } }
product: { url: sku, title: [sku, { table: names, otherwise: keep, column: name }] }
`);
  const names = { columns: ['code', 'name'], rows: new Map([['7', new Map([['name', 'Cup']])]]) };
  const lookups = new Map([['names', names]]);
  const [traced] = await traceAll(spec, [table(['SKU'], [['7']])], { lookups });
  expect(links(traced)['title']).toBe('SKU=7@2 table (names, otherwise keep, column name)');
});

it('of a price that a rule changes has the steps of this price, and the rule where it changes it', async () => {
  const spec = mappingOf(`
import: products
columns: { sku: SKU, price: Price, was: Old, part: Part }
product: { url: sku, title: sku }
variants: { pricing: { price: [price, { times: 1.2 }], was: [was, { times: 3 }], rule: [{ plus: '{part}' }, { round: 0.1 }] } }
`);
  const [changed, same] = await traceAll(spec, [
    table(
      ['SKU', 'Price', 'Old', 'Part'],
      [
        ['a', '10.04', '5', '0.06'],
        ['b', '10', '5', '0'],
      ],
    ),
  ]);
  expect(links(changed)).toMatchObject({
    'variants[0].price': 'Price=10.04@2 Part=0.06@2 times (1.2) plus ({part}) round (0.1)',
    'variants[0].regularPrice': 'Old=5@2 Part=0.06@2 times (3) plus ({part}) round (0.1)',
  });
  expect(links(same)).toMatchObject({
    'variants[0].price': 'Price=10@3 times (1.2)',
    'variants[0].regularPrice': 'Old=5@3 times (3)',
  });
});

/** The cells and transforms of each field, in short: `Preis=12,90@4 number (decimal comma)`, `?` before those of conditions. */
function links(traced: TracedRecord | undefined): Record<string, string> {
  return Object.fromEntries(
    (traced?.trace.fields ?? []).map(({ path, cells, steps }) => [
      path,
      [
        ...cells.map(
          ({ column, text, line, condition }) => `${condition === true ? '?' : ''}${column}=${text}@${line}`,
        ),
        ...steps,
      ].join(' '),
    ]),
  );
}

const SHIRTS = mappingOf(`
import: products
columns:
  handle: Handle
  name: Name
  price: Preis
  was: Statt
  stock: Lager
  state: Status
  picture: Bild
  more: Weitere Bilder
  kind: Art
  colour: Farbe
params: { sign: "," }
group: { by: handle, rows: anywhere }
product:
  url: [handle, lower]
  title: name
  hidden: { not: { state: aktiv } }
  images: { all: [picture, [more, { split: "|" }, trim]] }
  categories: { value: kind, path: " > " }
variants:
  rows: all
  inherit: [was]
  pricing: { price: [price, { number: { decimal: "{sign}" } }], was: [was, { number: { decimal: "{sign}" } }] }
  quantity: { value: stock, unless: { state: vorbestellbar } }
options: { columns: { Farbe: colour } }
`);
const HEADER = [
  'Handle',
  'Name',
  'Preis',
  'Statt',
  'Lager',
  'Status',
  'Bild',
  'Weitere Bilder',
  'Art',
  'Farbe',
];

describe('what each field of a record is made of', () => {
  it('names the cells, the transforms and the conditions of a product', async () => {
    const [traced] = await traceAll(SHIRTS, [
      table(HEADER, [
        [
          'Hemd',
          'Hemd, weiß',
          '12,90',
          '15,00',
          '3',
          'aktiv',
          'https://x.example/1.jpg',
          '',
          'Mode > Hemden',
          'Rot',
        ],
        [
          'Hemd',
          '',
          '9,90',
          '',
          '0',
          'aktiv',
          '',
          'https://x.example/2.jpg | https://x.example/3.jpg',
          '',
          'Blau',
        ],
      ]),
    ]);
    expect(links(traced)).toEqual({
      type: '',
      title: 'Name=Hemd, weiß@2',
      url: 'Handle=Hemd@2 lower',
      hidden: '?Status=aktiv@2',
      'images[0]': 'Bild=https://x.example/1.jpg@2',
      'images[1]': 'Weitere Bilder=https://x.example/2.jpg | https://x.example/3.jpg@3 split (pipe) trim',
      'images[2]': 'Weitere Bilder=https://x.example/2.jpg | https://x.example/3.jpg@3 split (pipe) trim',
      'categories[0].name': 'Art=Mode > Hemden@2',
      'categories[0].url': 'Art=Mode > Hemden@2',
      'categories[0].parentCategory': 'Art=Mode > Hemden@2',
      'options[0].name': '',
      'options[0].values[0]': 'Farbe=Rot@2',
      'options[0].values[1]': 'Farbe=Blau@3',
      'options[0].advanced': '',
      'variants[0].options[0]': 'Farbe=Rot@2',
      'variants[0].price': 'Preis=12,90@2 number (decimal comma)',
      'variants[0].onSale': 'Preis=12,90@2 Statt=15,00@2 number (decimal comma)',
      'variants[0].regularPrice': 'Statt=15,00@2 number (decimal comma)',
      'variants[0].salePrice': 'Preis=12,90@2 number (decimal comma)',
      'variants[0].quantity': 'Lager=3@2 ?Status=aktiv@2',
      'variants[1].options[0]': 'Farbe=Blau@3',
      'variants[1].price': 'Preis=9,90@3 number (decimal comma)',
      // Inherited from the head row, where the cell is.
      'variants[1].onSale': 'Preis=9,90@3 Statt=15,00@2 number (decimal comma)',
      'variants[1].regularPrice': 'Statt=15,00@2 number (decimal comma)',
      'variants[1].salePrice': 'Preis=9,90@3 number (decimal comma)',
      'variants[1].quantity': 'Lager=0@3 ?Status=aktiv@3',
    });
  });

  it('gives the rows of a rejected record with its reason', async () => {
    const [traced] = await traceAll(SHIRTS, [
      table(HEADER, [['Hemd', 'Hemd', 'ca. 12', '', '', '', '', '', '', '']]),
    ]);
    expect(traced?.mapped).toMatchObject({
      kind: 'rejected',
      key: 'hemd',
      reason: { field: 'variants.price', line: 2, column: 'Preis' },
    });
    expect(traced?.trace.fields).toEqual([]);
    expect(traced?.trace.rows).toMatchObject([
      { line: 2, cells: [{ column: 'Handle' }, { column: 'Name' }, { column: 'Preis', text: 'ca. 12' }] },
    ]);
  });

  it('names the cells of a contact, its id from the crosswalk and its further columns', async () => {
    const spec = mappingOf(`
import: contacts
columns: { mail: E-mail, first: First, last: Last, tags: Tags, out: Opted out }
contact:
  email: [mail, lower]
  name: { join: [first, last] }
  tags: [tags, { split: "," }]
  subscribed: { not: { out: yes } }
  properties: { fields: { Full: last }, rest: true }
`);
    const header = ['E-mail', 'First', 'Last', 'Tags', 'Opted out', 'Stage'];
    const row = ['Ada@X.example', 'Ada', 'Ray', 'a,b', 'no', 'Lead'];
    const crosswalk = { match: 'email', file: 'ids.csv', find: () => 17 };
    const [traced] = await traceAll(spec, [table(header, [row])], { crosswalk });
    expect(links(traced)).toEqual({
      id: 'E-mail=Ada@X.example@2 lower',
      email: 'E-mail=Ada@X.example@2 lower',
      name: 'First=Ada@2 Last=Ray@2',
      'properties[0].name': '',
      'properties[0].value': 'Last=Ray@2',
      'properties[1].name': '',
      'properties[1].value': 'Stage=Lead@2',
      'tags[0]': 'Tags=a,b@2 split (comma)',
      'tags[1]': 'Tags=a,b@2 split (comma)',
      subscribed: '?Opted out=no@2',
    });
  });
});

const shipped = readdirSync(join(import.meta.dirname, '..', '..', 'mappings'))
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => basename(name, '.yaml'));

describe.each(shipped)('traced with the shipped mapping %s', (name) => {
  const spec = shippedMapping(name);
  const tests = spec.tests.filter(({ rows, lookups }) => typeof rows === 'string' && lookups === undefined);

  it.each(tests)('records are the same as without: $name', async ({ rows, delimiter = ',', params = {} }) => {
    const { header, rows: parsed } = await parseCsv(String(rows), delimiter);
    const one = () => [
      table(
        header,
        parsed.map(({ cells }) => cells),
      ),
    ];
    const plain: Mapped[] = [];
    for await (const batch of mapTables(compileMapping(spec, { ...CONTEXT, params }), one(), {
      openScratch: openRowScratch,
    })) {
      plain.push(...batch);
    }
    const traced = await traceAll(spec, one(), { params });
    expect(traced.map(({ mapped }) => mapped)).toEqual(plain);
    for (const { mapped, trace } of traced) {
      if (mapped.kind !== 'record') continue;
      const paths = leavesOf(mapped.body).map(({ path }) => path);
      expect(trace.fields.map(({ path }) => path).filter((path) => path !== 'id')).toEqual(paths);
      const read = trace.fields.filter(({ path }) =>
        /^(title|email|url|images.*|variants.*\.(price|sku))$/.test(path),
      );
      for (const field of read) expect(field.cells, field.path).not.toEqual([]);
    }
  });
});
