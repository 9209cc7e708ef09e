import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { readStaged } from '../tables/read-staged.ts';
import { type CellToWrite, makeOds, makeXlsx } from '../tables/workbooks.ts';

const HEADER = ['id', 'title', 'description', 'price', 'image_link', 'additional_image_link', 'product_type'];
const ROWS: readonly (readonly CellToWrite[])[] = [
  [
    '0042',
    'Lamp "Ida" & shade',
    'Warm\nlight',
    12.5,
    'https://x.example/1.jpg',
    'https://x.example/2.jpg, https://x.example/3,4.jpg',
    'Home > Lamps',
  ],
  ['B-7', 'Café jug', '<b>Blue</b>', 1250, 'https://x.example/5.jpg', null, 'Home'],
];
const text = (cell: CellToWrite | undefined) => (cell === null || cell === undefined ? '' : String(cell));
const escaped = (value: string) => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const records = ROWS.map((row) =>
  Object.fromEntries(HEADER.map((name, index) => [name, row[index] ?? null])),
);
const SHEETS = [
  { name: 'Terms', rows: [['nothing']], hidden: true },
  { name: 'Price list', rows: [['Prices 2026'], [], HEADER, ...ROWS] },
];

/** One catalog as each kind of file, with what the job says of it. */
const FILES: Readonly<Record<string, readonly [content: string | Uint8Array, source: string]>> = {
  csv: [
    [HEADER, ...ROWS]
      .map((row) => row.map((cell) => `"${text(cell).replaceAll('"', '""')}"`).join(','))
      .join('\n'),
    '',
  ],
  xlsx: [makeXlsx(SHEETS), ', headerRow: 3'],
  ods: [makeOds(SHEETS), ', sheet: price list, headerRow: 3'],
  jsonl: [records.map((record) => JSON.stringify(record)).join('\n'), ''],
  json: [JSON.stringify({ data: { products: records } }), ', records: data.products'],
  xml: [
    `<?xml version="1.0"?><rss xmlns:g="http://base.google.com/ns/1.0"><channel>${elements('item')}</channel></rss>`,
    '',
  ],
  atom: [
    `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0"><title>Shop</title>${elements('entry').replaceAll('g:description>', 'summary>')}</feed>`,
    '',
  ],
};

function elements(record: string): string {
  return ROWS.map(
    (row) =>
      `<${record}>${HEADER.flatMap((name, index) =>
        text(row[index])
          .split(', https')
          .map((part, at) => `<g:${name}>${escaped(at === 0 ? part : `https${part}`)}</g:${name}>`),
      ).join('')}</${record}>`,
  ).join('');
}

const job = (name: string, source: string) =>
  `import: products\nstore: main\nsource: { path: catalog.${name}${source} }\nmapping: google-merchant-products\nsafety: { minRows: 0, maxRejects: off }\n`;

async function scene(name: string, content: string | Uint8Array, source: string) {
  const store = await startStore();
  const workspace = await makeWorkspace(
    {
      'stores.yaml': `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}", weightUnit: kg }\n`,
      'jobs/nightly.yaml': job(name, source),
    },
    { STORE_API_KEY: store.apiKey },
  );
  await writeFile(join(workspace.dir, `catalog.${name}`), content);
  return {
    store,
    workspace,
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

describe('the same catalog', () => {
  it('gives the same requests, byte for byte, as CSV, as a sheet, as JSON, as RSS and as Atom', async () => {
    const bodies: Record<string, readonly (string | undefined)[]> = {};
    for (const [name, [content, source]] of Object.entries(FILES)) {
      await using run = await scene(name, content, source);
      const { code, stderr, stdout } = await run.workspace.storeferry('run', 'nightly');
      expect([name, code, code === 0 ? '' : stdout + stderr]).toEqual([name, 0, '']);
      bodies[name] = ['0042', 'B-7'].map((key) => run.store.lastBody(key));
    }
    expect(bodies['csv']?.[0]).toContain('https://x.example/3,4.jpg');
    for (const name of Object.keys(FILES)) expect([name, bodies[name]]).toEqual([name, bodies['csv']]);
  });
});

describe('a cell that cannot be used', () => {
  const bad = (cell: CellToWrite) => [
    HEADER,
    ['a', 'Cup', 'x', 9, '', '', ''],
    ['b', 'Jug', 'x', cell, '', '', ''],
  ];
  it.each<[string, string, Uint8Array | string, string, string]>([
    ['xlsx', '', makeXlsx([{ name: 'Prices', rows: bad({ error: '#REF!' }) }]), 'Prices!D3', '#REF!'],
    [
      'xlsx',
      '',
      makeXlsx([{ name: 'New prices', rows: bad({ formula: 'A1*2' }) }]),
      "'New prices'!D3",
      '#FORMULA!',
    ],
    ['ods', '', makeOds([{ name: 'Prices', rows: bad({ error: '#N/A' }) }]), 'Prices!D3', '#N/A'],
    [
      'json',
      ', records: items',
      JSON.stringify({
        items: [
          { id: 'a', title: 'Cup', price: 9 },
          { id: 'b', title: 'Jug', price: 'tbc' },
        ],
      }),
      'items[1].price',
      'tbc',
    ],
    [
      'jsonl',
      '',
      '{"id": "a", "title": "Cup", "price": 9}\n{"id": "b", "title": "Jug", "price": "tbc"}\n',
      'line 2',
      'tbc',
    ],
    [
      'xml',
      '',
      '<rss><channel><item><id>a</id><title>Cup</title><price>9</price></item><item><id>b</id><title>Jug</title><price>tbc</price></item></channel></rss>',
      '/rss/channel/item[2]/price',
      'tbc',
    ],
  ])(
    'is named by its place in .%s (%s): plan, report and rejects',
    async (name, source, content, place, value) => {
      await using run = await scene(name, content, source);
      const planned = await run.workspace.storeferry('plan', 'nightly');
      expect(planned.stdout).toContain(place);
      expect(planned.stdout).toContain(value);
      const { code, json } = await run.workspace.storeferry('run', 'nightly', '--json');
      expect([code, json()]).toMatchObject([3, { applied: 1, rejected: 1 }]);
      const rejects = await readFile(join(run.workspace.dir, String(json()['rejectsFile'])), 'utf8');
      expect(rejects).toContain(value);
      const report = await readFile(
        join(run.workspace.dir, String(json()['rejectsFile']).replace('rejects.csv', 'report.html')),
        'utf8',
      );
      expect(report.replaceAll('&apos;', "'").includes(place.replace('line', 'Line'))).toBe(true);
      // Corrected, it is sent.
      const corrected = rejects.replace(/(#REF!|#FORMULA!|#N\/A|tbc)(?=,)/, '21.00');
      await writeFile(join(run.workspace.dir, String(json()['rejectsFile'])), corrected);
      const retried = await run.workspace.storeferry('retry', String(json()['run']), '--json');
      expect(retried.json()).toMatchObject({ status: 'done', applied: 1 });
    },
  );
});

describe('the rejects of a sheet', () => {
  const rows = [
    HEADER,
    ['0042', 'Cup', '=1+1', 'tbc', '', '', ''],
    ['b', 'Jug', 'Two\nlines', { error: '#N/A' }, '', '', ''],
  ];
  const setup = () => scene('xlsx', makeXlsx([{ name: 'Prices', rows }]), '');

  it('come back as a workbook, which retry reads where it was corrected', async () => {
    await using run = await setup();
    const { run: id, rejectsFile } = (await run.workspace.storeferry('run', 'nightly', '--json')).json();
    const file = join(run.workspace.dir, String(rejectsFile).replace('.csv', '.xlsx'));
    const { header, cells } = await readStaged('rejects.xlsx', await readFile(file));
    expect(header).toEqual([...HEADER, 'storeferry_reason', 'storeferry_line']);
    expect(cells.map((row) => [row[0], row[2], row[3], row[8]])).toEqual([
      ['0042', '=1+1', 'tbc', '2'],
      ['b', 'Two\nlines', '#N/A', '3'],
    ]);
    const corrected = cells.map((row) =>
      row.map((cell, index) => (index === 3 ? { number: 21.5, format: '0.00' } : cell)),
    );
    await writeFile(file, makeXlsx([{ name: 'Rejects', rows: [header, ...corrected] }]));
    const retried = await run.workspace.storeferry('retry', String(id), '--json');
    expect([retried.stderr, retried.json()]).toMatchObject([
      expect.stringContaining('2 cells edited in 2 of 2 rows'),
      { status: 'done', applied: 2 },
    ]);
    expect(run.store.lastBody('0042')).toContain('=1+1');
  });

  it('are retried from one file only, whichever it is', async () => {
    await using run = await setup();
    const { run: id, rejectsFile } = (await run.workspace.storeferry('run', 'nightly', '--json')).json();
    const csv = join(run.workspace.dir, String(rejectsFile));
    const file = csv.replace('.csv', '.xlsx');
    const written = await readFile(csv, 'utf8');
    const { header, cells } = await readStaged('rejects.xlsx', await readFile(file));
    const workbook = makeXlsx([
      { name: 'Rejects', rows: [header, ...cells.map((row) => row.map((cell) => cell.replace('tbc', '7')))] },
    ]);
    await writeFile(csv, written.replace('tbc', '8'));
    await writeFile(file, workbook);
    const both = await run.workspace.storeferry('retry', String(id));
    expect([both.code, both.stdout + both.stderr]).toEqual([
      1,
      expect.stringContaining('Both rejects.csv and rejects.xlsx'),
    ]);
    // A workbook in the place of the CSV file is read as what it is.
    await writeFile(csv, workbook);
    await rm(file);
    const retried = await run.workspace.storeferry('retry', String(id), '--json');
    expect(retried.json()).toMatchObject({ applied: 1, rejected: 1 });
    expect(run.store.lastBody('0042')).toContain('"price":7');
    // What is still rejected comes back as a workbook again.
    const again = String(retried.json()['rejectsFile']).replace('.csv', '.xlsx');
    const left = await readStaged('rejects.xlsx', await readFile(join(run.workspace.dir, again)));
    expect(left.cells.map((row) => [row[0], row[3]])).toEqual([['b', '#N/A']]);
    const shown = await run.workspace.storeferry('runs', String(retried.json()['run']));
    expect(shown.stdout.replaceAll(/\s+/g, ' ')).toContain('rejects.xlsx');
  });
});
