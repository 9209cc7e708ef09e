import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fieldChanges, valueChanges } from '../../src/plan/changes/field-changes.ts';
import { sampleOf } from '../../src/plan/plan-tally.ts';
import { product } from './plan-of.ts';

const changesOf = (before: object, after: object) =>
  fieldChanges(JSON.stringify(before), JSON.stringify(after));
const namesOf = (before: object, after: object) => changesOf(before, after).map(({ field }) => field);

const variant = (options: readonly string[], changes: object = {}) => ({
  options,
  price: 10,
  onSale: false,
  regularPrice: 10,
  ...changes,
});

describe('fieldChanges', () => {
  it('names fields that differ, appear or disappear', () => {
    expect(changesOf({ title: 'a', hidden: true }, { title: 'b', file: 'f' })).toEqual([
      { field: 'title', old: 'a', new: 'b' },
      { field: 'file', old: undefined, new: 'f' },
      { field: 'hidden', old: true, new: undefined },
    ]);
  });

  it('finds nothing in equal bodies, whatever the order of their fields', () => {
    expect(changesOf({ a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 })).toEqual([]);
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (body) => changesOf(body, body).length === 0),
    );
  });

  it('finds something in bodies that differ', () => {
    const body = fc.dictionary(
      fc.constantFrom('variants', 'properties', 'tags', '__proto__', 'x'),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(body, body, (before, after) => {
        const canonical = (value: object) => JSON.stringify(value, sorted);
        fc.pre(canonical(before) !== canonical(after));
        expect(changesOf(before, after).length).toBeGreaterThan(0);
      }),
    );
  });

  it('looks into subscriptions and custom properties by name', () => {
    const before = {
      subscription: { cycles: 1, period: 2 },
      properties: [
        { name: 'Stage', value: 'lead' },
        { name: 'Old', value: '1' },
      ],
    };
    const after = {
      subscription: { cycles: 2, period: 2 },
      properties: [
        { name: 'New', value: '1' },
        { name: 'Stage', value: 'won' },
      ],
    };
    expect(namesOf(before, after).sort()).toEqual([
      'properties.New',
      'properties.Old',
      'properties.Stage',
      'subscription.cycles',
    ]);
  });

  it('pairs variants by their option values: an inserted one does not mark those after it', () => {
    const before = product('p', { variants: [variant(['S']), variant(['L'])] });
    const after = product('p', {
      variants: [variant(['S']), variant(['M'], { price: 12 }), variant(['L'], { price: 11 })],
    });
    expect(changesOf(before, after)).toEqual([
      { field: 'variants', old: '', new: 'M' },
      { field: 'variants.price', old: 10, new: 11 },
    ]);
  });

  it('pairs variants by sku where their options were renamed', () => {
    const before = product('p', {
      variants: [variant(['Small'], { sku: '1' }), variant(['Large'], { sku: '2' })],
    });
    const after = product('p', { variants: [variant(['S'], { sku: '1' }), variant(['L'], { sku: '2' })] });
    expect(changesOf(before, after)).toEqual([{ field: 'variants.options', old: ['Small'], new: ['S'] }]);
  });

  it('counts a field once a record, however many variants differ in it', () => {
    const of = (price: number) =>
      product('p', { variants: ['S', 'M', 'L'].map((size) => variant([size], { price })) });
    expect(namesOf(of(1), of(2))).toEqual(['variants.price']);
  });

  it('compares the only variant with the only variant', () => {
    const before = product('p', { variants: [variant([], { sku: 'old' })] });
    const after = product('p', { variants: [variant([], { sku: 'new' })] });
    expect(namesOf(before, after)).toEqual(['variants.sku']);
  });

  it('says when variants are only in another order', () => {
    const before = product('p', { variants: [variant(['S']), variant(['L'])] });
    const after = product('p', { variants: [variant(['L']), variant(['S'])] });
    expect(changesOf(before, after)).toEqual([{ field: 'variants', old: 'S, L', new: 'L, S' }]);
  });
});

describe('samples of changes', () => {
  it('show long texts from where they begin to differ', () => {
    const start = 'The same beginning '.repeat(10);
    const sample = sampleOf('products', 'p', {
      field: 'description',
      old: `${start}red`,
      new: `${start}blue${'!'.repeat(90)}`,
    });
    expect(sample.old).toMatch(/^….*red$/);
    expect(sample.new).toMatch(/^….*blue!+…$/);
  });

  it('distinguish an absent value from an empty one', () => {
    expect(sampleOf('products', 'p', { field: 'file', old: undefined, new: '' })).toEqual({
      key: 'p',
      old: null,
      new: '',
    });
  });

  it('keep the shape of what is personal and nothing of its content', () => {
    const sample = sampleOf('contacts', '7', {
      field: 'properties.Birthday',
      old: '1980-02-29',
      new: 'Łucja O’Neil',
    });
    expect([sample.old, sample.new]).toEqual(['1•••-0•-2•', 'Ł•••• O’N•••']);
  });
});

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const sized = (size: string, price: number) => ({ options: [size], price });

function differing(before: object, after: object): { changed: object; removed: object } {
  const { changed, removed } = valueChanges(JSON.stringify(before), after);
  const brief = (all: typeof changed) => Object.fromEntries(all.map(({ path, old }) => [path, old]));
  return { changed: brief(changed), removed: brief(removed) };
}

describe('the values that differ from the acknowledged body', () => {
  it('are none where a body is the same in another order of fields', () => {
    expect(differing({ a: 1, b: [true] }, { b: [true], a: 1 })).toEqual({ changed: {}, removed: {} });
  });

  it('are compared with the variant of the same options, wherever it stood', () => {
    expect(
      differing(
        { variants: [sized('S', 1), sized('M', 2)] },
        { variants: [sized('XS', 9), sized('M', 3), sized('S', 1)] },
      ),
    ).toEqual({
      changed: { 'variants[0].options[0]': null, 'variants[0].price': null, 'variants[1].price': 2 },
      removed: {},
    });
  });

  it('are those of a variant and an image that are no longer sent', () => {
    expect(
      differing(
        { images: ['a', 'b'], variants: [sized('S', 1), sized('M', 2)] },
        { images: ['a'], variants: [sized('M', 2)] },
      ),
    ).toEqual({
      changed: {},
      removed: { 'images[1]': 'b', 'variants[1].options[0]': 'S', 'variants[1].price': 1 },
    });
  });

  it('are compared with the property of the same name', () => {
    const stage = (value: string) => ({ name: 'Stage', value });
    const owner = { name: 'Owner', value: 'Ada' };
    expect(differing({ properties: [stage('Lead')] }, { properties: [owner, stage('Customer')] })).toEqual({
      changed: {
        'properties[0].name': null,
        'properties[0].value': null,
        'properties[1].value': 'Lead',
      },
      removed: {},
    });
  });
});
