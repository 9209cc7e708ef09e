import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { makeWorkspace } from '../support/workspace.ts';
import { makeOds, makeXlsx, type SheetToWrite } from '../tables/workbooks.ts';

const ROWS: SheetToWrite['rows'] = [
  ['Handle', 'Title', 'Variant Price', 'Option1 Name', 'Option1 Value', 'Variant SKU'],
  ['mug', 'Mug', { number: 4.5, format: '0.00 "€"' }, 'Title', 'Default Title', '00123'],
  ['cup', 'Cup', { number: 3, format: '0.00 "€"' }, 'Title', 'Default Title', '00124'],
];
const TITLED = [['Price list of May'], [], ...ROWS];
const NOTES = { name: 'Notes', rows: [['Call us']] };
const RECORDS = [
  { Handle: 'mug', Title: 'Mug', 'Variant Price': '4.50', images: [{ url: 'https://a.example/1' }, {}] },
  { Handle: 'cup', Title: 'Cup', 'Variant Price': '3.00', images: [{ url: 'https://a.example/2' }, {}] },
];
const OPTIONS = { 'Option1 Name': 'Title', 'Option1 Value': 'Default Title', 'Variant SKU': '1' };
const ELEMENTS = '<offer id="1"><name>Mug</name></offer><offer id="2"><name>Cup</name></offer>';

/** Runs `init --yes` on one file; gives what it printed, and the source of the job it wrote. */
async function init(name: string, content: string | Uint8Array, ...flags: readonly string[]) {
  await using workspace = await makeWorkspace({}, { STORE_API_KEY: 'key-of-a-shop' });
  const file = join(workspace.dir, name);
  await writeFile(file, content);
  const ended = await workspace.storeferry('init', '--sandbox', '--yes', '--source', file, ...flags);
  const job = await readFile(join(workspace.dir, 'jobs/shopify-products.yaml'), 'utf8').catch(() => '{}');
  const { source }: { source?: object } = parse(job);
  return { ...ended, source };
}

describe('a first import', () => {
  it.each<[string, string, string | Uint8Array, string[], object]>([
    [
      'a workbook with one filled sheet',
      'a.xlsx',
      makeXlsx([
        { name: 'Empty', rows: [] },
        { name: 'P', rows: ROWS },
      ]),
      [],
      {},
    ],
    [
      'a sheet with a title above its header',
      'a.ods',
      makeOds([{ name: 'P', rows: TITLED }]),
      [],
      { headerRow: 3 },
    ],
    [
      'a sheet by its number',
      'a.xlsx',
      makeXlsx([NOTES, { name: 'P', rows: ROWS }]),
      ['--sheet', '2'],
      { sheet: '2' },
    ],
    [
      'a sheet whose name is a number, and a row',
      'a.xlsx',
      makeXlsx([NOTES, { name: '2026', rows: TITLED }]),
      ['--sheet', '2026', '--header-row', '3'],
      { sheet: '2026', headerRow: 3 },
    ],
    [
      'the records of a JSON file that alone are called so',
      'a.json',
      JSON.stringify({ data: { products: RECORDS.map((record) => ({ ...record, ...OPTIONS })) } }),
      [],
      { records: 'data.products' },
    ],
    [
      'quotes that mean inches, where no cell begins with one',
      'a.csv',
      TITLED.slice(2)
        .map((row) =>
          row.map((cell) => (typeof cell === 'object' ? '4.50' : cell === 'Mug' ? 'Mug 4"' : cell)).join(';'),
        )
        .join('\n'),
      [],
      { quotes: 'none' },
    ],
  ])('takes %s', async (_what, name, content, flags, expected) => {
    const made = await init(name, content, ...flags);
    expect(made.source).toEqual({ path: name, ...expected });
    expect(made.stdout).toMatch(/new +2/);
    expect(made.code).toBe(0);
  });

  it('takes the sheet that has a usual name and the columns of a known format, among others', async () => {
    const workbook = makeXlsx([
      {
        name: 'Export Summary',
        rows: [
          ['Sheet', 'Rows'],
          ['Products', '2'],
        ],
      },
      {
        name: 'Customers',
        rows: [
          ['ID', 'Email'],
          ['1', 'ann@x.example'],
        ],
      },
      { name: 'Products', rows: ROWS },
    ]);
    expect((await init('a.xlsx', workbook)).source).toEqual({ path: 'a.xlsx', sheet: 'Products' });
  });

  it('takes quotes for inches where each row ends with a delimiter, or an option says so', async () => {
    const tsv =
      'Handle\tTitle\tVariant Price\tVariant SKU\n\ta\tMug 4" tall\t4.50\t1\t\nb\tCup\t3.00\t2\t\n'.replace(
        '\n\t',
        '\n',
      );
    const flags = ['--mapping', 'shopify-products'];
    const source = { path: 'a.tsv', quotes: 'none' };
    expect((await init('a.tsv', tsv, ...flags)).source).toEqual(source);
    expect((await init('a.tsv', tsv.replace('Cup', '"Cup'), ...flags, '--quotes', 'none')).source).toEqual(
      source,
    );
  });

  it('proposes the elements of an XML file that are its records', async () => {
    const xml = `<?xml version="1.0"?><shop><categories><category/><category/></categories><offers>${ELEMENTS}</offers></shop>`;
    const made = await init('a.xml', xml, '--mapping', 'new', '--import', 'products');
    expect(made.stderr).toContain('Taken: --records shop.offers.offer');
    expect(made.stderr).toContain(
      'a.xml reads as XML with the records shop.offers.offer: 2 rows, 2 columns.',
    );
  });

  it('does not take quotes for inches where a cell begins with one', async () => {
    const refused = await init('a.csv', 'Handle;Title;Variant Price\nmug;Mug 4";4.50\ncup;"Cup";3.00\n');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('The quotes of the file are broken');
  });

  it.each([
    ['which sheet', 'a.xlsx', makeXlsx([NOTES, { name: 'P', rows: ROWS }]), '--sheet with one of: Notes, P'],
    [
      'which records',
      'a.json',
      JSON.stringify({ one: { items: RECORDS }, other: { items: RECORDS } }),
      '--records with one of: one.items, other.items, one.items.images, other.items.images',
    ],
  ])('does not guess %s', async (_what, name, content, hint) => {
    const refused = await init(name, content);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(`Give ${hint}`);
    expect(refused.source).toBeUndefined();
  });
});
