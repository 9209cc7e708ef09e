import { describe, expect, it } from 'vitest';
import { brief, mapAll, mappingOf, products, table } from './mapping-setup.ts';

describe('rows that name their parent', () => {
  const spec = mappingOf(`
import: products
columns: { sku: Sku, title: Title, parent: Parent, size: Size, price: Price }
group: { parent: parent, names: [sku] }
product: { url: [title, slug], title: title }
options: { columns: { Size: size } }
variants: { rows: children, pricing: { price: price } }
`);
  const header = ['Title', 'Sku', 'Parent', 'Size', 'Price'];
  const outcome = async (rows: readonly (readonly string[])[]) =>
    (await mapAll(spec, [table(header, rows)])).mapped.map(brief);

  it('may stand before it', async () => {
    expect(
      await outcome([
        ['', 'a-s', 'a', 'S', '1'],
        ['B', 'b', '', '', '2'],
        ['A', 'a', '', '', ''],
        ['', 'a-l', 'a', 'L', '1'],
      ]),
    ).toEqual(['record b (1 row)', 'record a (3 rows)']);
  });

  it('are rejected together when it is not there, and their record is unknown', async () => {
    expect(
      await outcome([
        ['', 'a-s', 'gone', 'S', '1'],
        ['B', 'b', '', '', '2'],
        ['', 'a-l', 'gone', 'L', '1'],
      ]),
    ).toEqual(['rejected null parent-missing (2 rows)', 'record b (1 row)']);
  });

  it('do not adopt children of children', async () => {
    expect(
      await outcome([
        ['A', 'a', '', '', ''],
        ['', 'b', 'a', 'S', '1'],
        ['', 'c', 'b', 'S', '1'],
      ]),
    ).toEqual(['record a (2 rows)', 'rejected null parent-missing (1 row)']);
  });

  it('that are misaligned charge the parent that they name', async () => {
    expect(
      await outcome([
        ['A', 'a', '', '', ''],
        ['', 'a-s', 'a', 'S', '1'],
        ['B', 'b', '', '', '2'],
        ['x', '', 'a-l', 'a', 'L', '1'],
      ]),
    ).toEqual(['rejected a row-too-long (2 rows)', 'record b (1 row)', 'rejected null row-too-long (1 row)']);
  });
});

describe('rows that list their children', () => {
  const spec = mappingOf(`
import: products
columns: { sku: sku, view: view, title: name, kind: kind, listed: variations, labels: labels, price: price }
group:
  children: { cell: listed, reference: sku, labels: labels }
  names: [sku]
  head: { view: blank }
  alone: { kind: both }
skip: [{ when: { kind: part }, reason: not sold on its own }]
product: { url: [title, slug], title: title }
variants: { rows: children, sku: sku, pricing: { price: price } }
`);
  const header = ['sku', 'view', 'name', 'kind', 'variations', 'labels', 'price'];
  const run = (rows: readonly (readonly string[])[]) => mapAll(spec, [table(header, rows)]);
  const S = ['s', '', 'Small', 'part', '', '', '1'];
  const L = ['l', '', 'Large', 'part', '', '', '2'];
  const P = ['p', '', 'Parent', '', 'sku=s,size=5,5 cm|sku=l,size=L', 'size=Size', ''];

  it('become variants with the options that the list gives, in its order', async () => {
    const { mapped } = await run([L, S, P]);
    expect(mapped.map(brief)).toEqual(['record parent (3 rows)']);
    expect(products(mapped)[0]).toMatchObject({
      options: [{ name: 'Size', values: ['5,5 cm', 'L'] }],
      variants: [
        { sku: 's', options: ['5,5 cm'], price: 1 },
        { sku: 'l', options: ['L'], price: 2 },
      ],
    });
  });

  it('may serve two products; the row counts for the first', async () => {
    const { mapped } = await run([S, P, ['q', '', 'Other', '', 'sku=s,size=S', 'size=Size', ''], L]);
    expect(mapped.map(brief)).toEqual(['record parent (3 rows)', 'record other (1 row)']);
    expect(mapped[1]?.spans).toEqual([
      { file: 0, from: 2, to: 2 },
      { file: 0, from: 4, to: 4 },
    ]);
  });

  it('may be products of their own as well', async () => {
    const { mapped } = await run([['s', '', 'Small', 'both', '', '', '1'], L, P]);
    expect(mapped.map(brief)).toEqual(['record small (1 row)', 'record parent (2 rows)']);
  });

  it('are left out when no row lists them and they are not sold alone', async () => {
    expect((await run([S])).mapped.map(brief)).toEqual(['skipped small not-sold-on-its-own (1 row)']);
  });

  it('reject the product when one is missing', async () => {
    expect((await run([S, P])).mapped.map(brief)).toEqual(['rejected parent child-missing (2 rows)']);
  });

  it('are rejected with the product that lists them in other case, unless they are sold alone', async () => {
    const large = (kind: string) => ['L', '', 'Large', kind, '', '', '2'];
    const Q = ['q', '', 'Other', '', 'sku=L,size=L', 'size=Size', ''];
    expect((await run([S, large(''), P])).mapped.map(brief)).toEqual([
      'rejected parent child-missing (3 rows)',
    ]);
    expect((await run([S, large('both'), P])).mapped.map(brief)).toEqual([
      'record large (1 row)',
      'rejected parent child-missing (2 rows)',
    ]);
    expect((await run([S, large(''), P, Q])).mapped.map(brief)).toEqual([
      'rejected parent child-missing (3 rows)',
      'record other (1 row)',
    ]);
  });

  it('reject the product when two rows have the name of one', async () => {
    expect((await run([S, L, P, S])).mapped.map(brief)).toEqual(['rejected parent child-ambiguous (4 rows)']);
  });

  it('are not doubled by rows that only add to them', async () => {
    const { mapped } = await run([
      ['s', 'de', 'Klein', '', '', '', ''],
      S,
      L,
      P,
      ['p', 'de', 'Eltern', '', '', '', ''],
    ]);
    expect(mapped.map(brief)).toEqual(['record parent (5 rows)']);
  });

  it('that only add to a row which is not there are rejected', async () => {
    expect((await run([['z', 'de', 'Klein', '', '', '', '']])).mapped.map(brief)).toEqual([
      'rejected null parent-missing (1 row)',
    ]);
  });
});
