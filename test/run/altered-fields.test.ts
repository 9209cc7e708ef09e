import { describe, expect, it } from 'vitest';
import { alteredFields } from '../../src/run/verify/verify-run.ts';

const altered = (sent: object, answer: unknown) => alteredFields(JSON.stringify(sent), answer);

const MUG = { title: 'Mug', url: 'mug', options: [], variants: [{ options: [], price: 12.5, sku: 'M-1' }] };

describe('the fields in which an answer differs from what was sent', () => {
  it('are none where the store adds fields, answers numbers as text, or repeats only a part', () => {
    const variants = [{ options: [], price: '12.50', sku: 'M-1', id: 9 }];
    expect(altered(MUG, { id: 7, type: 'physical', ...MUG, variants })).toEqual([]);
    expect(altered(MUG, { id: 7, url: 'mug' })).toEqual([]);
    expect(altered(MUG, null)).toEqual([]);
  });

  it('are each named once', () => {
    const variants = [{ ...MUG.variants[0], price: 11 }];
    expect(altered(MUG, { ...MUG, title: 'MUG!', variants })).toEqual(['title', 'variants']);
    expect(altered(MUG, { ...MUG, variants: [] })).toEqual(['variants']);
  });

  it('leave out the order of tags and lists, and properties of a contact that were not sent', () => {
    const stage = { name: 'Stage', value: 'lead' };
    const sent = { tags: ['b', 'a'], subscriberLists: [3, 0], properties: [stage] };
    const more = { name: 'Shoe size', value: '43' };
    const answer = { id: 5, tags: ['a', 'b'], subscriberLists: [0, 3], properties: [more, stage] };
    expect(altered(sent, answer)).toEqual([]);
    expect(altered(sent, { ...answer, tags: ['a', 'c'] })).toEqual(['tags']);
    expect(altered(sent, { ...answer, tags: ['a', 'b', 'c'] })).toEqual(['tags']);
    expect(altered(sent, { ...answer, properties: [more] })).toEqual(['properties']);
    expect(altered(sent, { ...answer, properties: [{ ...stage, value: 'customer' }] })).toEqual([
      'properties',
    ]);
  });
});
