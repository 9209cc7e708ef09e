import { describe, expect, it } from 'vitest';
import { checkMapping } from '../../../src/mapping/compile-mapping.ts';
import { matchOfMapping } from '../../../src/mapping/spec/mapping-spec.ts';
import { proposeMapping } from '../../../src/onboarding/guess/propose-mapping.ts';
import { mapAll, table } from '../../mapping/mapping-setup.ts';

function proposal(text: string, answers: Readonly<Record<string, string>> = {}) {
  const [header = [], ...rows] = text.split('\n').map((line) => line.split(';'));
  return { header, rows, ...proposeMapping('products', { header, rows }, answers) };
}

/** What questions offer, by their ids. */
function offered(text: string, answers: Readonly<Record<string, string>> = {}) {
  return Object.fromEntries(
    proposal(text, answers).questions.map(({ id, answers: all }) => [id, all.map(({ value }) => value)]),
  );
}

describe('a file without names of products', () => {
  it.each([
    [
      'stock',
      'SKU;Qty\nA1;5\nA2;0',
      [
        { sku: 'A1', quantity: 5 },
        { sku: 'A2', quantity: 0 },
      ],
    ],
    [
      'prices',
      'Artikelnr;Preis\nA1;4,00\nA2;7,50',
      [
        { sku: 'A1', price: 4, onSale: false, regularPrice: 4 },
        { sku: 'A2', price: 7.5, onSale: false, regularPrice: 7.5 },
      ],
    ],
  ])('with SKUs and %s changes known products', async (_, text, expected) => {
    const { header, rows, spec, notes } = proposal(text);
    expect(notes.join(' ')).toMatch(/found by their SKU in '/);
    if (spec === null) throw new Error('a question is open');
    expect(checkMapping(spec)).toEqual([]);
    expect(matchOfMapping(spec)).toBe('sku');
    const { mapped } = await mapAll(spec, [table(header, rows)], { match: 'sku' });
    expect(mapped).toMatchObject(
      expected.map((variant) => ({ kind: 'record', body: { variants: [variant] } })),
    );
  });

  it('asks whether a text is the name, or whether there is none', () => {
    const text = 'SKU;Qty;Place of it\nA1;5;Shelf one\nA2;0;Shelf one';
    expect(offered(text)).toEqual({ 'column.title': ['Place of it', ''] });
    expect(matchOfMapping(proposal(text, { 'column.title': '' }).spec ?? expect.fail())).toBe('sku');
  });

  it('asks for the price of a file that gives neither stock nor price after all', () => {
    const text = 'SKU;Variant Shelf Qty\nA1;5\nA2;7';
    expect(offered(text)).toEqual({ 'column.quantity': ['Variant Shelf Qty', ''] });
    expect(offered(text, { 'column.quantity': '' })).toEqual({ 'column.price': [] });
  });
});

describe('what is never offered', () => {
  it.each([
    [
      'stock or codes as the price',
      'Name;Variant Inventory Qty;Barcode\nMug;5;4006381333931\nJug;7;4006381333948',
    ],
    ['ids as the price', 'Name;UniqueID\nMug;1001\nJug;1002'],
    ['a year as the price', 'Name;Model year\nMug;2024\nJug;2025'],
  ])('%s', (_, text) => {
    expect(offered(text)['column.price']).toEqual([]);
  });

  it('codes as the name', () => {
    expect(offered('Barcode;Price\nAB-1;4.00\nAB-2;5.00')['column.title']).toEqual([]);
  });
});
