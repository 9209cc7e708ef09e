import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { proposeMapping } from '../../src/onboarding/guess/propose-mapping.ts';
import { fileToGuess, lookAtSource, previewSource } from '../../src/onboarding/preview-source.ts';
import { workspaceWith } from '../source/folder-on-disk.ts';
import { type CellToWrite, makeOds, makeXlsx, type SheetToWrite } from '../tables/workbooks.ts';

/** The proposal for a sheet of products. */
async function proposed(sheet: Omit<SheetToWrite, 'name'>, format: 'xlsx' | 'ods', answers = {}) {
  const bytes = (format === 'xlsx' ? makeXlsx : makeOds)([{ name: 'S', ...sheet }]);
  await using workspace = await workspaceWith({ [`a.${format}`]: bytes });
  const look = await lookAtSource(join(workspace.workspaceDir, `a.${format}`));
  return proposeMapping('products', fileToGuess(look), answers);
}

const ids = ({ questions }: Awaited<ReturnType<typeof proposed>>) => questions.map(({ id }) => id);

const rows = [
  ['SKU', 'Name', 'Price'],
  ['A1', 'Mug', '4.00'],
  ['A2', 'Jug', '5.00'],
  ['A3', 'Can', '6.00'],
];

describe.each(['xlsx', 'ods'] as const)('rows that an .%s', (format) => {
  it.each([
    ['hides', { hiddenRows: [3] }, 'unused.hidden rows', 'the row is hidden'],
    ['strikes out', { struckRows: [3, 4] }, 'unused.struck rows', 'the row is struck out'],
  ])('%s are asked about, and left out by their SKU', async (_, marks, id, reason) => {
    const lines = Object.values(marks)[0] ?? [];
    expect(ids(await proposed({ rows, ...marks }, format))).toEqual([id]);
    const sent = await proposed({ rows, ...marks }, format, { [id]: 'send' });
    expect(sent.spec).toEqual((await proposed({ rows }, format)).spec);
    const { spec } = await proposed({ rows, ...marks }, format, { [id]: 'leave-out' });
    expect(spec).toMatchObject({ skip: [{ when: { sku: lines.map((line) => `A${line - 1}`) }, reason }] });
  });

  it('hides, and that say what others say, can only be sent', async () => {
    const alike = rows.map(([, ...cells]) => cells.map((cell) => cell.replace('Can', 'Jug')));
    const { questions } = await proposed({ rows: alike, hiddenRows: [3] }, format);
    expect(
      questions.find(({ id }) => id === 'unused.hidden rows')?.answers.map(({ value }) => value),
    ).toEqual(['send']);
  });
});

it.each([
  ['xlsx', { number: '46083', format: 'd/m' }],
  ['ods', { number: '2026-03-02', format: 'date' }],
] as const)('sizes that are dates in an .%s are rejected in the preview', async (format, size) => {
  const bytes = (format === 'xlsx' ? makeXlsx : makeOds)([
    {
      name: 'S',
      rows: [
        ['SKU', 'Name', 'Price', 'Size'],
        ['A1', 'Shirt', '4.00', '10-12'],
        ['A2', 'Shirt', '4.00', size],
        ['A3', 'Sock', '2.00', '10-12'],
        ['A4', 'Sock', '2.00', '12-14'],
      ],
    },
  ]);
  await using workspace = await workspaceWith({ [`a.${format}`]: bytes });
  const look = await lookAtSource(join(workspace.workspaceDir, `a.${format}`));
  const { spec } = proposeMapping('products', fileToGuess(look), {});
  if (spec === null) throw new Error('there is a question');
  const { counts } = await previewSource(look, spec, { params: {}, weightUnit: 'kg', now: 0 });
  expect(counts).toMatchObject({ record: 1, rejected: 1 });
});

describe('numbers that a sheet shows with words', () => {
  const priced = (header: string, ...cells: CellToWrite[]) => [
    ['SKU', 'Name', ...(header === 'Price' ? [header] : ['Price', header])],
    ...cells.map((cell, at) => [`A${at}`, `Mug ${at}`, ...(header === 'Price' ? [cell] : ['4.00', cell])]),
  ];

  it.each([
    ['Price', '0.00" €/100 Stk"', '# €/100 Stk'],
    ['Price', '#,##0.0,"k"', '#,k'],
    ['Price', '0.0,', '#,'],
    ['Price', '0.00" for "0" pcs"', '# for # pcs'],
    ['Price', '#\\ ##0.00\\ "zł/100 szt."', '# zł/100 szt.'],
    ['Stock', '#\\ ##0\\ "sold out"', '# sold out'],
    ['Price', '[>=1000]0.00" EUR";[<1000]"on request"', '# / on request'],
    ['Price', '[<1000]"on request";0.00', '# / on request'],
    ['Price', '"on request";0.00', '# / on request'],
    ['Price', '0.00;-0.00;\\f\\r\\e\\e', '# / free'],
    ['Price', '#,##0.00;[Red]"n/a; ""?";"free";@', '# / n/a; ?'],
    ['Price', '#,##0\\ "kr";-#,##0\\ "kr";"on request - "\\ "kr"', '# / on request -  kr'],
    ['Price', '#,##0\\ "kr";"-"\\ "kr";"-"\\ "kr"', '# / - kr'],
    ['Price', '"- kr";#,##0\\ "kr"', '# / - kr'],
    ['Price', ';;;', '# (hidden)'],
    ['Price', ';0.00', '# (hidden)'],
    ['Stock', '"";""', '# (hidden)'],
    ['Price', '#,##0.00\\ [$€-407]" netto"', '# € netto'],
    ['Price', '"ab "0.00" €"', 'ab # €'],
    ['Stock', '0" cartons"', '# cartons'],
    ['Stock', '[>1000]"In stock";"Sold out"', '# / In stock'],
  ])('%s as %s are asked about', async (header, format, shown) => {
    const file = { rows: priced(header, { number: 1250, format }, { number: 990, format }) };
    expect(ids(await proposed(file, 'xlsx'))).toEqual([`word.${shown}`]);
    expect((await proposed(file, 'xlsx', { [`word.${shown}`]: 'send' })).spec).not.toBeNull();
  });

  it.each([
    ['Price', '#,##0.00\\ [$€-407]'],
    ['Price', '0.00" EUR"'],
    ['Price', '0.00" €/Stück"'],
    ['Price', '#\\ ##0.00\\ "zł"'],
    ['Price', '#\\ ##0\\ [$Kč-405]'],
    ['Price', '#\\ ##0.00\\ "kr"'],
    ['Price', `#\\'##0.00\\ "CHF"`],
    ['Price', '#"."##0\\ "EUR"'],
    ['Price', '"Rs." #,##0.00'],
    ['Stock', '#\\ ##0\\ "szt."'],
    ['Stock', '#,##0\\ "in stock"'],
    ['Stock', '0" Stk"'],
    ['Stock', '0;-0;;@'],
    ['Price', '_-* #,##0.00_-;-* #,##0.00_-;_-* "-"??_-;_-@_-'],
    ['Price', '[=0]"";0.00'],
    ['Price', '_-* #,##0\\ "kr"_-;-* #,##0\\ "kr"_-;_-* "-"\\ "kr"_-;_-@_-'],
    ['Price', '_-* #,##0\\ [$Kč-405]_-;\\-* #,##0\\ [$Kč-405]_-;_-* "-"\\ [$Kč-405]_-;_-@_-'],
    ['Price', '_ [$CHF-807]\\ * #,##0_ ;_ [$CHF-807]\\ * \\-#,##0_ ;_ [$CHF-807]\\ * "-"_ ;_ @_ '],
    ['Length', '0" cm"'],
  ])('%s as %s are not', async (header, format) => {
    const file = { rows: priced(header, { number: 12, format }, { number: 9, format }) };
    expect(ids(await proposed(file, 'xlsx'))).toEqual([]);
  });

  it('are asked about in an .ods too', async () => {
    const cells = ['12,50 €/100 Stk', '9,90 €/100 Stk'].map((shown, at) => ({
      number: [12.5, 9.9][at] ?? 0,
      shown,
    }));
    expect(ids(await proposed({ rows: priced('Price', ...cells) }, 'ods'))).toEqual(['word.# €/100 Stk']);
  });
});
