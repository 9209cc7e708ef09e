import { describe, expect, it } from 'vitest';
import { checkMapping, compileMapping, joinOpeners } from '../../src/mapping/compile-mapping.ts';
import { mapTables } from '../../src/mapping/map-tables.ts';
import type { MappingSpec } from '../../src/mapping/spec/mapping-spec.ts';
import type { Mapped } from '../../src/model/mapped-record.ts';
import { openRowScratch } from '../../src/state/sqlite/open-row-scratch.ts';
import { brief, CONTEXT, mappingOf, products, table } from './mapping-setup.ts';

/** A mapping that joins a stock file with these columns, and more of the join. */
function joining(
  columns: string,
  { join = '', quantity = 'stock.qty', more = '', hidden = 'false' } = {},
): MappingSpec {
  return mappingOf(`
import: products
columns: { code: Code, price: Price }
lookups: { stock: { path: stock.csv, match: Article, join: { on: code, columns: ${columns} ${join} } } }
${more}
product: { url: code, title: code, hidden: ${hidden} }
variants: { sku: code, pricing: { price: price }, quantity: ${quantity} }
`);
}

const HEADER = ['Article', 'Qty', 'Cost'];

/** What becomes of products with these codes. */
async function mapJoined(
  spec: MappingSpec,
  stock: readonly (readonly string[])[],
  codes: readonly string[] = ['a'],
) {
  const joined = joinOpeners(spec, {}).get('stock')?.open('stock.csv', HEADER);
  if (joined === undefined) throw new Error('no join');
  for (const [index, cells] of stock.entries()) joined.add({ cells, line: index + 2 }, HEADER.length);
  const mapping = compileMapping(spec, { ...CONTEXT, joins: new Map([['stock', joined]]) });
  const rows = codes.map((code) => [code, '10']);
  const mapped: Mapped[] = [];
  for await (const batch of mapTables(mapping, [table(['Code', 'Price'], rows)], {
    openScratch: openRowScratch,
  }))
    mapped.push(...batch);
  const [facts] = mapping.mapper.joins.facts();
  return { mapped, facts, quantities: products(mapped).map(({ variants }) => variants[0]?.quantity) };
}

describe('a join', () => {
  it('gives each row the cells of the row with its key, in any case and without blanks around it', async () => {
    const stock = [
      [' A ', '3', ''],
      ['b', '7', ''],
    ];
    const { quantities } = await mapJoined(joining('{ qty: Qty }'), stock, ['a', 'B', 'c']);
    expect(quantities).toEqual([3, 7, undefined]);
  });

  it('that has no row with the key is no column that the file lacks: a condition may say so by not', async () => {
    const spec = joining('{ qty: Qty }', { hidden: '{ not: { stock.qty: { above: 0 } } }' });
    const { mapped } = await mapJoined(spec, [['a', '3', '']], ['a', 'b']);
    expect(products(mapped).map((one) => one.hidden)).toEqual([false, true]);
  });

  it.each([
    ['{ sum: Qty }', 5.3],
    ['{ min: Qty }', 0.1],
    ['{ max: Qty }', 5],
    ['{ first: Qty }', 0.2],
    ['{ count: Qty }', 3],
  ])('makes one value of several rows: %s', async (column, expected) => {
    const stock = ['', '0.2', '5', '', '0.1'].map((qty) => ['a', qty, '']);
    expect((await mapJoined(joining(`{ qty: ${column} }`), stock)).quantities).toEqual([expected]);
  });

  it('rejects a record whose key has rows that differ, where the mapping does not say what counts', async () => {
    const stock = [
      ['a', '3', '1'],
      ['b', '4', '1'],
      ['a', '5', '1'],
      ['b', '4', '2'],
    ];
    const { mapped } = await mapJoined(joining('{ qty: Qty }'), stock, ['a', 'b']);
    expect(mapped.map(brief)).toEqual(['rejected a join-ambiguous (1 row)', 'record b (1 row)']);
    expect(mapped[0]).toMatchObject({
      reason: { line: 2, message: expect.stringContaining('lines 2 and 4') },
    });
  });

  it('rejects records whose number cannot be read, and no others', async () => {
    const stock = [
      ['a', 'many', ''],
      ['b', '4', ''],
      ['c', '1', '2', '3'],
    ];
    const { mapped } = await mapJoined(joining('{ qty: { sum: Qty } }'), stock, ['a', 'b', 'c']);
    expect(mapped.map(brief)).toEqual([
      'rejected a join-unreadable (1 row)',
      'record b (1 row)',
      'rejected c join-unreadable (1 row)',
    ]);
  });

  it('reads numbers as the mapping says', async () => {
    const spec = joining('{ qty: { sum: [Menge, Qty], number: { decimal: ",", thousands: "." } } }');
    const stock = [
      ['a', '1.200,5', ''],
      ['a', '0,25', ''],
    ];
    expect((await mapJoined(spec, stock)).quantities).toEqual([1200.75]);
  });

  it('is blank without a row, takes a default, or rejects the record', async () => {
    const codes = ['a', 'b'];
    const stock = [['a', '3', '']];
    const blank = joining('{ qty: Qty }', { quantity: '[stock.qty, { default: 0 }]' });
    expect((await mapJoined(blank, stock, codes)).quantities).toEqual([3, 0]);
    const strict = joining('{ qty: Qty }', { join: ', missing: reject' });
    expect((await mapJoined(strict, stock, codes)).mapped.map(brief)).toEqual([
      'record a (1 row)',
      'rejected b join-missing (1 row)',
    ]);
  });

  it('serves conditions, which know a row without stock from a key without a row', async () => {
    const spec = joining('{ qty: Qty }', {
      more: 'skip: [{ when: { stock.qty: missing }, reason: not in the stock file }, { when: { stock.qty: blank }, reason: no figure }]',
    });
    const { mapped } = await mapJoined(
      spec,
      [
        ['a', '3', ''],
        ['b', '', ''],
      ],
      ['a', 'b', 'c'],
    );
    expect(mapped.map(brief)).toEqual([
      'record a (1 row)',
      'skipped b no-figure (1 row)',
      'skipped c not-in-the-stock-file (1 row)',
    ]);
  });

  it('counts the records that matched, and the keys that nothing asked for', async () => {
    const stock = ['a', 'b', 'x', 'y', 'x'].map((key) => [key, '1', '']);
    const codes = ['a', 'b', 'c', 'd', 'e', 'f'];
    const { facts } = await mapJoined(joining('{ qty: { sum: Qty } }'), stock, codes);
    expect(facts).toEqual({
      name: 'stock',
      file: 'stock.csv',
      records: 6,
      without: 4,
      examples: ['c', 'd', 'e'],
      keys: 4,
      unused: 2,
    });
  });

  it('quotes nothing of a contact', async () => {
    const spec = mappingOf(`
import: contacts
columns: { id: Id, mail: Mail }
lookups: { stock: { path: stock.csv, match: Article, join: { on: mail, columns: { qty: Qty }, missing: reject } } }
contact: { id: id, name: stock.qty }
`);
    const joined = joinOpeners(spec, {}).get('stock')?.open('stock.csv', HEADER) ?? expect.fail();
    for (const qty of ['Ann', 'Bob'])
      joined.add({ cells: ['ann@mail.example', qty, ''], line: 2 }, HEADER.length);
    const mapping = compileMapping(spec, { ...CONTEXT, joins: new Map([['stock', joined]]) });
    const mapped: Mapped[] = [];
    const rows = [
      ['1', 'ann@mail.example'],
      ['2', 'bob@mail.example'],
    ];
    for await (const batch of mapTables(mapping, [table(['Id', 'Mail'], rows)], {
      openScratch: openRowScratch,
    }))
      mapped.push(...batch);
    expect(mapped.map(brief)).toEqual([
      'rejected 1 join-ambiguous (1 row)',
      'rejected 2 join-missing (1 row)',
    ]);
    expect(JSON.stringify([mapped, mapping.mapper.joins.facts()])).not.toMatch(/mail\.example|Ann|Bob/);
  });

  it('adds the stock of several tables', async () => {
    const spec = joining('{ qty: Qty, cost: { sum: Cost } }', {
      quantity: '{ sum: [stock.qty, stock.cost] }',
    });
    expect((await mapJoined(spec, [['a', '3', '4']], ['a', 'b'])).quantities).toEqual([7, undefined]);
  });

  it('refuses a table without a column, or with it twice', () => {
    const open = joinOpeners(joining('{ qty: Quantity }'), {}).get('stock')?.open;
    expect(() => open?.('stock.csv', HEADER)).toThrow("there is no column 'Quantity'");
    expect(() => open?.('stock.csv', ['Article', 'Quantity', 'Article'])).toThrow(
      "'Article' occurs more than once",
    );
  });
});

describe('a check of joins', () => {
  const problems = (spec: MappingSpec) =>
    checkMapping(spec).map(({ path, message }) => `${path.join('.')}: ${message}`);

  it('finds nothing in a good one', () => {
    expect(problems(joining('{ qty: Qty }'))).toEqual([]);
  });

  it.each([
    [
      'a column that is used nowhere',
      joining('{ qty: Qty, cost: Cost }'),
      'lookups.stock.join.columns.cost: the column stock.cost is used nowhere',
    ],
    [
      'a column that is not declared',
      joining('{ qty: Qty }', { quantity: '{ sum: [stock.qty, stock.qyt] }' }),
      "did you mean 'stock.qty'?",
    ],
    [
      'a look-up in it',
      joining('{ qty: Qty }', { quantity: '{ sum: [stock.qty, [code, { table: stock }]] }' }),
      'stock is joined',
    ],
    [
      'an expectation of it',
      joining('{ qty: Qty }', { more: 'expect: { stock.qty: "[0-9]+" }' }),
      'expect.stock.qty',
    ],
    [
      'a number format',
      joining('{ qty: { sum: Qty, number: { decimal: x } } }'),
      "columns.qty.number.decimal: expected '.'",
    ],
  ])('finds %s', (_, spec, message) => {
    expect(problems(spec).join('\n')).toContain(message);
  });

  it.each(['{ qty: { sum: Qty, min: Qty } }', '{ qty: { count: Qty, number: {} } }', '{ q-t: Qty }'])(
    'refuses the columns %s',
    (columns) => {
      expect(() => joining(columns)).toThrow();
    },
  );
});
