import { describe, expect, it } from 'vitest';
import { brief, mapAll, mappingOf, products, table } from './mapping-setup.ts';

const HEADER = ['Handle', 'Title', 'Size', 'Price'];

/** Rows of one handle are a product; `Title` stands on its first row. */
function mapping(csv = '') {
  return mappingOf(`
import: products
${csv}
columns: { handle: Handle, title: Title, size: Size, price: Price }
group: { by: handle, rows: adjacent, head: { title: present } }
product: { url: handle, title: title }
options: { columns: { Size: size } }
variants: { pricing: { price: price } }
`);
}

async function outcome(rows: readonly (readonly string[])[], header = HEADER, spec = mapping()) {
  const { mapped } = await mapAll(spec, [table(header, rows)]);
  return mapped.map(brief);
}

describe('rows of one key that must follow each other', () => {
  it('become one product each, with all rows accounted for', async () => {
    const { mapped } = await mapAll(mapping(), [
      table(HEADER, [
        ['a', 'A', 'S', '1'],
        ['a', '', 'L', '2'],
        ['b', 'B', 'S', '3'],
      ]),
    ]);
    expect(mapped.map(brief)).toEqual(['record a (2 rows)', 'record b (1 row)']);
    expect(mapped[0]?.spans).toEqual([{ file: 0, from: 2, to: 3 }]);
  });

  it('leave out one that repeats the row before it in every cell, also of columns that are not used', async () => {
    const header = [...HEADER, 'Note'];
    const row = ['a', 'A', '', '1', 'x'];
    expect(await outcome([row, row, row, ['b', 'B', '', '1', 'x']], header)).toEqual([
      'skipped a identical-copy (1 row)',
      'skipped a identical-copy (1 row)',
      'record a (1 row)',
      'record b (1 row)',
    ]);
    expect(await outcome([row, row.with(4, 'y')], header)).toEqual([
      'rejected a repeated-combination (2 rows)',
    ]);
    expect(await outcome([row, row.with(4, 'y'), row], header)).toEqual([
      'rejected a repeated-combination (3 rows)',
    ]);
  });

  it('go on in the next file', async () => {
    const { mapped } = await mapAll(mapping(), [
      table(HEADER, [['a', 'A', 'S', '1']], 0),
      table(['Price', 'Handle', 'Title', 'Size'], [['2', 'a', '', 'L']], 1),
    ]);
    expect(mapped.map(brief)).toEqual(['record a (2 rows)']);
    expect(products(mapped)[0]?.variants.map(({ price }) => price)).toEqual([1, 2]);
    expect(mapped[0]?.spans).toEqual([
      { file: 0, from: 2, to: 2 },
      { file: 1, from: 2, to: 2 },
    ]);
  });

  it.each(['adjacent', 'anywhere'])(
    'are refused in pieces when there is no end to them (%s)',
    async (how) => {
      const endless = mappingOf(`
import: products
columns: { handle: Handle, price: Price }
group: { by: handle, rows: ${how} }
product: { url: handle, title: handle }
variants: { pricing: { price: price } }
`);
      const rows = Array.from({ length: 45_000 }, (_, index) => ['a', `${index}`]);
      const { mapped } = await mapAll(endless, [table(['Handle', 'Price'], [...rows, ['b', '1']], 0, 1000)]);
      expect(mapped.map(brief)).toEqual([
        'rejected a too-many-rows (20000 rows)',
        'rejected a too-many-rows (20000 rows)',
        'rejected a too-many-rows (5000 rows)',
        'record b (1 row)',
      ]);
      expect(mapped[0]).toMatchObject({
        reason: {
          message: expect.stringMatching(
            /^beyond the limit recordRows \(20000\): .*`limits: \{ recordRows: … \}`/,
          ),
        },
      });
    },
  );

  it('are torn when a later block does not begin like a product', async () => {
    const { mapped } = await mapAll(mapping(), [
      table(HEADER, [
        ['a', 'A', 'S', '1'],
        ['b', 'B', 'S', '1'],
        ['a', '', 'L', '2'],
      ]),
    ]);
    expect(mapped.map(({ key, kind, partial }) => [key, kind, partial])).toEqual([
      ['a', 'record', undefined],
      ['b', 'record', undefined],
      ['a', 'rejected', true],
    ]);
  });

  it('are not torn when the same key comes again as a whole product: that is a duplicate', async () => {
    const { mapped } = await mapAll(mapping(), [
      table(HEADER, [
        ['a', 'A', 'S', '1'],
        ['b', 'B', 'S', '1'],
        ['a', 'A', 'L', '2'],
      ]),
    ]);
    expect(mapped.map(({ key, partial }) => [key, partial])).toEqual([
      ['a', undefined],
      ['b', undefined],
      ['a', undefined],
    ]);
  });
});

describe('a row whose cell count is wrong', () => {
  it('is rejected with the product that its first cell names', async () => {
    expect(
      await outcome([
        ['a', 'A', 'S', '1'],
        ['b', 'B', 'S', '1'],
        ['b', '', 'L', 'x', '2'],
        ['c', 'C', 'S', '1'],
      ]),
    ).toEqual(['record a (1 row)', 'rejected b row-too-long (2 rows)', 'record c (1 row)']);
  });

  it('is a product of its own, rejected, when its first cell names a new one', async () => {
    expect(
      await outcome([
        ['a', 'A', 'S', '1'],
        ['b', 'B', 'S'],
        ['c', 'C', 'S', '1'],
      ]),
    ).toEqual(['record a (1 row)', 'rejected b row-too-short (1 row)', 'record c (1 row)']);
  });

  it('is too long when its surplus cells are blank, for that may be all that shows of a comma', async () => {
    expect(await outcome([['a', 'A', 'S', '1', '', ' ']])).toEqual(['rejected a row-too-long (1 row)']);
  });

  it('counts as whole when it is short and the format is known to write short rows', async () => {
    const spec = mapping('csv: { shortRows: pad }');
    expect(
      await outcome(
        [
          ['a', 'A', '', '1'],
          ['b', 'B'],
        ],
        HEADER,
        spec,
      ),
    ).toEqual(['record a (1 row)', 'skipped b no-price (1 row)']);
  });

  it.each([
    [
      'of a file that ends each of its rows with a delimiter',
      [
        ['a', 'A', 'S', '1', ''],
        ['b', 'B', 'M', '2', ''],
      ],
      ['record a (1 row)', 'record b (1 row)'],
    ],
    [
      'of a file of which a row ends with another',
      [
        ['a', 'A', 'S', '1', ''],
        ['b', 'B', 'M', '2', '', ''],
      ],
      ['rejected a row-too-long (1 row)', 'rejected b row-too-long (1 row)'],
    ],
    ['of a file with a single row', [['a', 'A', 'S', '1', '']], ['rejected a row-too-long (1 row)']],
    [
      'of a file whose prices have a comma',
      [
        ['a', 'A', '1', '50', ''],
        ['b', 'B', '2', '95', ''],
      ],
      ['rejected a row-too-long (1 row)', 'rejected b row-too-long (1 row)'],
    ],
    [
      'of a file whose titles have a comma',
      [
        ['a', 'A', ' blue', '1', ''],
        ['b', 'B', ' red', '2', ''],
      ],
      ['rejected a row-too-long (1 row)', 'rejected b row-too-long (1 row)'],
    ],
  ])('is judged by all rows: %s', async (_name, rows, expected) => {
    expect(await outcome(rows, HEADER)).toEqual(expected);
  });

  it('is whole where only the header ends with a delimiter', async () => {
    const rows = [
      ['a', 'A', 'S', '1'],
      ['b', 'B', 'S', '1'],
    ];
    expect(await outcome(rows, [...HEADER, ''])).toEqual(['record a (1 row)', 'record b (1 row)']);
  });

  it('is still too long when a corrected rejects file has cells left in its extra columns', async () => {
    const header = [...HEADER, 'storeferry_extra_1', 'storeferry_reason', 'storeferry_line'];
    expect(
      await outcome(
        [
          ['a', 'A', 'S', '1', '', 'too long', '2'],
          ['b', 'B', 'S', '1', 'left', 'too long', '3'],
        ],
        header,
      ),
    ).toEqual(['record a (1 row)', 'rejected b row-too-long (1 row)']);
  });
});

describe('a misaligned row whose key does not stand in the first column', () => {
  const header = ['Title', 'Handle', 'Size', 'Price'];

  it('belongs to the product before it when its key cell names that', async () => {
    expect(
      await outcome(
        [
          ['A', 'a', 'S', '1'],
          ['', 'a', 'L', '2', 'x'],
          ['B', 'b', 'S', '1'],
        ],
        header,
      ),
    ).toEqual(['rejected a row-too-long (2 rows)', 'record b (1 row)']);
  });

  it('belongs to the product after it when one of its cells names that', async () => {
    expect(
      await outcome(
        [
          ['A', 'a', 'S', '1'],
          ['B', ' with a comma', 'b', 'S', '1'],
          ['', 'b', 'L', '2'],
          ['C', 'c', 'S', '1'],
        ],
        header,
      ),
    ).toEqual(['record a (1 row)', 'rejected b row-too-long (2 rows)', 'record c (1 row)']);
  });

  it('puts both its neighbours in doubt when no cell names either, and its key is unreadable', async () => {
    expect(
      await outcome(
        [
          ['A', 'a', 'S', '1'],
          ['B', ' with a comma', 'b', 'S', '1'],
          ['C', 'c', 'S', '1'],
          ['D', 'd', 'S', '1'],
        ],
        header,
      ),
    ).toEqual([
      'rejected null row-too-long (1 row)',
      'rejected a neighbour-misaligned (1 row)',
      'rejected c neighbour-misaligned (1 row)',
      'record d (1 row)',
    ]);
  });

  it('puts the only neighbour in doubt at the end of the file', async () => {
    expect(
      await outcome(
        [
          ['A', 'a', 'S', '1'],
          ['B', ' x', 'b', 'S', '1'],
        ],
        header,
      ),
    ).toEqual(['rejected null row-too-long (1 row)', 'rejected a neighbour-misaligned (1 row)']);
  });

  it('does not pile up in memory when it is not the only one', async () => {
    const rows = Array.from({ length: 2500 }, (_, index) => ['x', 'y', `${index}`, 'z', 'w']);
    const found = await outcome([['A', 'a', 'S', '1'], ...rows, ['B', 'b', 'S', '1']], header);
    expect(found).toHaveLength(2502);
    expect(found.filter((one) => one === 'rejected null row-too-long (1 row)')).toHaveLength(2500);
  });
});

describe('a row with a blank key', () => {
  it('is rejected with the product in the middle of which it stands', async () => {
    expect(
      await outcome([
        ['a', 'A', 'S', '1'],
        ['', '', 'M', '2'],
        ['a', '', 'L', '3'],
      ]),
    ).toEqual(['rejected a key-missing (3 rows)']);
  });

  it('is rejected alone between products when it describes one itself', async () => {
    expect(
      await outcome([
        ['a', 'A', 'S', '1'],
        ['', 'New', 'M', '2'],
        ['b', 'B', 'L', '3'],
      ]),
    ).toEqual(['rejected null key-missing (1 row)', 'record a (1 row)', 'record b (1 row)']);
  });

  it('puts both neighbours in doubt when it can only be a part of one', async () => {
    expect(
      await outcome([
        ['a', 'A', 'S', '1'],
        ['', '', 'M', '2'],
        ['b', 'B', 'L', '3'],
      ]),
    ).toEqual([
      'rejected null key-missing (1 row)',
      'rejected a neighbour-misaligned (1 row)',
      'rejected b neighbour-misaligned (1 row)',
    ]);
  });
});
