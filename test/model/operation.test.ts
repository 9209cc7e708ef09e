import { describe, expect, it } from 'vitest';
import { storeDifferences } from '../../src/model/operation.ts';

const MUG = {
  url: 'mug',
  title: 'Mug',
  description: '<p>Blue</p>',
  hidden: false,
  images: [],
  variants: [{ options: [], price: 12.5, quantity: 3, sku: 'M-1' }],
};

const paths = (found: object) =>
  storeDifferences(MUG, { id: 7, type: 'physical', ...MUG, ...found }).flatMap((one) => one.paths);

describe('the differences between what is believed of a record and what its store has', () => {
  it('are none where the store writes the same in another way, or has more than was sent', () => {
    expect(paths({})).toEqual([]);
    expect(paths({ variants: [{ ...MUG.variants[0], id: 3, price: '12.50', weight: 1 }] })).toEqual([]);
    expect(paths({ categories: [{ id: 3, name: 'Sale' }] })).toEqual([]);
    expect(paths({ images: null })).toEqual([]);
  });

  it('are named with the members that differ, each once', () => {
    expect(paths({ title: 'Cup', hidden: true })).toEqual(['title', 'hidden']);
    expect(paths({ variants: [{ ...MUG.variants[0], price: 11, quantity: null }] })).toEqual([
      'variants.price',
      'variants.quantity',
    ]);
    expect(paths({ variants: [] })).toEqual(['variants']);
  });

  it('have the value of the store, also where it has none', () => {
    const { description: _gone, ...rest } = MUG;
    expect(storeDifferences(MUG, { ...rest, title: 'Cup' })).toEqual([
      { field: 'title', paths: ['title'], believed: 'Mug', found: 'Cup' },
      { field: 'description', paths: ['description'], believed: '<p>Blue</p>', found: null },
    ]);
  });
});
