import { describe, expect, it } from 'vitest';
import { checkMapping } from '../../src/mapping/compile-mapping.ts';
import { mapAll, mappingOf, table } from './mapping-setup.ts';

const STOCK = mappingOf(`
import: products
columns: { sku: SKU, qty: Qty, price: Price, was: Was }
variants: { sku: sku, quantity: [qty, integer], pricing: { price: [price, number], was: [was, number] } }
`);
const HEADER = ['SKU', 'Qty', 'Price', 'Was'];

async function patches(
  spec: typeof STOCK,
  header: readonly string[],
  rows: string[][],
  match?: 'url' | 'sku',
) {
  const { mapped } = await mapAll(spec, [table(header, rows)], { match });
  return mapped.map((one) => (one.kind === 'record' ? [one.key, one.body] : [one.key, one.reason.code]));
}

describe('a mapping without all that a product needs', () => {
  it('gives what changes in a variant, its price as a whole, and nothing for blank cells', async () => {
    expect(checkMapping(STOCK)).toEqual([]);
    const rows = [
      ...[
        ['A', '3', '', ''],
        ['B', '', '8', '10'],
        ['C', '', '8', ''],
        ['D', '', '', ''],
      ],
      ...[
        ['', '1', '2', ''],
        ['E', 'x', '', ''],
      ],
    ];
    expect(await patches(STOCK, HEADER, rows, 'sku')).toEqual([
      ['A', { variants: [{ sku: 'A', quantity: 3 }] }],
      ['B', { variants: [{ sku: 'B', price: 8, onSale: true, regularPrice: 10, salePrice: 8 }] }],
      ['C', { variants: [{ sku: 'C', price: 8, onSale: false, regularPrice: 8 }] }],
      ['D', { variants: [{ sku: 'D' }] }],
      ...[
        [null, 'sku-missing'],
        ['E', 'not-a-number'],
      ],
    ]);
  });

  it('gives fields of the product alone, and variants by their options', async () => {
    const fields = mappingOf(`
import: products
columns: { url: Url, hide: Hide, title: Title }
product: { url: url, title: title, hidden: [hide, boolean] }
`);
    const header = ['Url', 'Hide', 'Title'];
    expect(
      await patches(fields, header, [
        ['a', 'yes', ''],
        ['b', '', 'B'],
      ]),
    ).toEqual([
      ['a', { hidden: true, variants: [] }],
      ['b', { title: 'B', variants: [] }],
    ]);
    const sizes = mappingOf(`
import: products
columns: { url: Url, size: Size, qty: Qty }
group: { by: url, rows: adjacent }
product: { url: url }
options: { columns: { Size: size }, none: { Size: one size } }
variants: { quantity: [qty, integer] }
`);
    const rows = [
      ['a', 'S', '1'],
      ['a', 'L', '2'],
      ['b', 'One size', '3'],
    ];
    expect(await patches(sizes, ['Url', 'Size', 'Qty'], rows, 'url')).toEqual([
      [
        'a',
        {
          variants: [
            { options: ['S'], quantity: 1 },
            { options: ['L'], quantity: 2 },
          ],
        },
      ],
      ['b', { variants: [{ options: [], quantity: 3 }] }],
    ]);
  });

  it('gives nothing for a condition whose cells are blank, unless it asks for blank cells', async () => {
    const hidden = async (condition: string, ...rows: string[][]) => {
      const written = `import: products
columns: { url: Url, hide: Hide${condition.includes('status') ? ', status: Status' : ''} }
product: { url: url, hidden: ${condition} }
`;
      const found = await patches(mappingOf(written), ['Url', 'Hide', 'Status'], rows);
      return found.map(([, body]) => body);
    };
    const [blank, no, yes] = [
      ['a', '', ''],
      ['b', 'no', ''],
      ['c', 'yes', ''],
    ] satisfies [string[], string[], string[]];
    const [shown, hides] = [false, true].map((value) => ({ hidden: value, variants: [] }));
    const nothing = { variants: [] };
    expect(await hidden('{ hide: yes }', blank, no, yes)).toEqual([nothing, shown, hides]);
    expect(await hidden('{ not: { hide: no } }', blank, no, yes)).toEqual([nothing, shown, hides]);
    const either = '{ any: [{ hide: yes }, { status: [draft, archived] }] }';
    const statuses = [
      ['d', '', 'draft'],
      ['e', '', 'active'],
    ];
    expect(await hidden(either, blank, no, ...statuses)).toEqual([nothing, shown, hides, shown]);
    expect(await hidden('{ hide: present }', blank, yes)).toEqual([shown, hides]);
    expect(await hidden('{ all: [{ not: { hide: [no, blank] } }] }', blank, no, yes)).toEqual([
      ...[shown, shown],
      hides,
    ]);
  });

  it('must have what finds a product', () => {
    const nothing = mappingOf('import: products\ncolumns: { q: Qty }\nvariants: { quantity: q }\n');
    expect(checkMapping(nothing)[0]?.message).toContain('product.url, variants.sku or product.id');
  });
});
