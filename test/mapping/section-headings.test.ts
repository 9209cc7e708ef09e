import { describe, expect, it } from 'vitest';
import { proposeMapping } from '../../src/onboarding/guess/propose-mapping.ts';
import { brief, mapAll, mappingOf, table } from './mapping-setup.ts';

const HEADER = ['SKU', 'Name', 'Size', 'Price'];
const CUPS = [
  ['C1', 'Cup', 'S', '4.00'],
  ['C2', 'Cup', 'L', '5.00'],
];
const PLATES = [['P1', 'Plate', 'S', '6.00']];

describe('headings between products', () => {
  it.each([
    ['in one cell', ['Cups', '', '', ''], ['Plates', '', '', ''], [null, null]],
    ['in a later cell', ['', 'Cups', '', ''], ['', 'Plates', '', ''], ['cups', 'plates']],
    ['in merged cells', ['Cups', 'Cups', 'Cups', 'Cups'], ['Plates', 'Plates', '', ''], ['cups', 'plates']],
    ['in rows of one cell', ['Cups'], ['Plates'], [null, null]],
  ])(
    '%s are left out by the mapping that is proposed, with the key that they may have',
    async (_, cups, plates, keys) => {
      const rows = [cups, ...CUPS, plates, ...PLATES];
      const { spec, notes } = proposeMapping('products', { header: HEADER, rows });
      expect(notes).toContain("Rows with one text only, such as 'Cups', are headings: they are left out.");
      if (spec === null) throw new Error('a question is open');
      const { mapped } = await mapAll(spec, [table(HEADER, rows)]);
      expect(mapped.map(brief).sort()).toEqual([
        'record cup (2 rows)',
        'record plate (1 row)',
        `skipped ${keys[0]} a-heading (1 row)`,
        `skipped ${keys[1]} a-heading (1 row)`,
      ]);
    },
  );

  it('are not meant by rows that continue the row above them', () => {
    const header = ['Name', 'Price', 'Image'];
    const rows = [
      ['Cup', '4.00', 'https://img.example/1.jpg'],
      ['', '', 'https://img.example/2.jpg'],
      ['', '', 'https://img.example/3.jpg'],
      ['Jug', '4.00', ''],
    ];
    const { notes } = proposeMapping('products', { header, rows });
    expect(notes.join(' ')).not.toContain('headings');
  });

  it('are rows like others where the mapping does not say that they are left out', async () => {
    const spec = mappingOf(
      'import: products\ncolumns: { name: Name, price: Price }\nproduct: { url: [name, slug], title: name }\nvariants: { pricing: { price: [price, number] } }',
    );
    const { mapped } = await mapAll(spec, [table(['Name', 'Price'], [['Cups', '']])]);
    expect(mapped.map(brief)).toEqual(['skipped cups no-price (1 row)']);
  });
});
