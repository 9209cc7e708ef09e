import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/model/json-object.ts';
import {
  membersOf,
  PRODUCT_FIELDS,
  type Product,
  type ProductPatch,
  type Variant,
} from '../../src/model/mapped-record.ts';
import { withStock } from '../../src/model/operation.ts';
import {
  keepFields,
  type Merged,
  patchProduct,
  stockInStore,
  unchangedStock,
} from '../../src/plan/patch-product.ts';
import { product } from './plan-of.ts';

const prices = fc
  .record({ price: fc.integer({ min: 0, max: 99 }), off: fc.integer({ min: 0, max: 9 }) })
  .map(({ price, off }) => ({
    price,
    onSale: off > 0,
    regularPrice: price + off,
    ...(off > 0 ? { salePrice: price } : {}),
  }));
const quantity = fc.record({ quantity: fc.integer({ min: 0, max: 9 }) }, { requiredKeys: [] });

/** A product as some version of Storeferry sent it, with members that this one does not know. */
const acknowledged = fc
  .record({
    variants: fc.array(fc.tuple(prices, quantity, fc.constantFrom({}, { later: { a: 1 } })), {
      minLength: 1,
      maxLength: 4,
    }),
    rest: fc.record(
      {
        description: fc.string(),
        hidden: fc.boolean(),
        images: fc.array(fc.webUrl()),
        later: fc.jsonValue(),
      },
      { requiredKeys: [] },
    ),
  })
  .map(({ variants, rest }): Product & JsonObject => ({
    ...product('mug'),
    ...rest,
    variants: variants.map(([price, stock, later], index) => ({
      ...{ options: [`O${index}`], ...price, ...stock, sku: `S${index}`, ...later },
    })),
  }));

/** Patches of single variants, each found by SKU or by options. */
const patch = fc.record({
  at: fc.nat({ max: 3 }),
  by: fc.constantFrom('sku', 'options'),
  change: fc.oneof(prices, quantity),
  fields: fc.record({ title: fc.string(), hidden: fc.boolean() }, { requiredKeys: [] }),
});

function merged(result: Merged): Product & JsonObject {
  if ('refused' in result) throw new Error(result.refused.message);
  const whole: Product & JsonObject = JSON.parse(JSON.stringify(result.product));
  return whole;
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('a patch that is merged into an acknowledged product', () => {
  it('changes the fields that it names, and nothing else', () => {
    fc.assert(
      fc.property(acknowledged, patch, (before, { at, by, change, fields }) => {
        const place = at % before.variants.length;
        const found = by === 'sku' ? { sku: `S${place}` } : { options: [`O${place}`] };
        const after = merged(patchProduct(before, [{ ...fields, variants: [{ ...found, ...change }] }]));
        const { salePrice: _, ...withoutSale } = before.variants[place] ?? { price: 0 };
        const variants = before.variants.map((variant, index) =>
          index === place ? { ...('price' in change ? withoutSale : variant), ...change } : variant,
        );
        expect(after).toEqual(plain({ ...before, ...fields, variants }));
      }),
    );
  });

  it('gives the acknowledged text again where it names the values that are there', () => {
    fc.assert(
      fc.property(acknowledged, (before) => {
        const text = JSON.stringify(merged(patchProduct(before, [])));
        const again: Product & JsonObject = JSON.parse(text);
        const same: ProductPatch = {
          title: before.title,
          variants: before.variants.map(({ options: _, ...variant }) => variant),
        };
        expect(JSON.stringify(merged(patchProduct(again, [same])))).toBe(text);
      }),
    );
  });

  const sold: Variant = { options: ['S'], price: 8, onSale: true, regularPrice: 10, salePrice: 8, sku: 'A' };
  const mug: Product & JsonObject = {
    ...product('mug'),
    variants: [sold, { ...sold, options: ['L'], sku: 'B' }],
  };

  it('ends a sale with a price that is none', () => {
    const price = { price: 9, onSale: false, regularPrice: 9 };
    const { variants } = merged(patchProduct(mug, [{ variants: [{ sku: 'A', ...price }] }]));
    expect(variants).toEqual([{ options: ['S'], ...price, sku: 'A' }, mug.variants[1]]);
  });

  it('is refused where the variant is ambiguous, and where patches disagree', () => {
    const codes = (variants: readonly Variant[], ...patches: ProductPatch[]) => {
      const result = patchProduct({ ...mug, variants }, patches);
      return 'refused' in result ? [result.refused.code, result.refused.field] : 'merged';
    };
    const { variants } = mug;
    expect(codes(variants, { variants: [{ sku: 'C', quantity: 1 }] })).toEqual(['no-match', 'variants.sku']);
    expect(codes(variants, { variants: [{ options: ['M'] }] })).toEqual(['no-match', 'options']);
    expect(codes(variants, { variants: [{ quantity: 1 }] })).toEqual(['ambiguous-match', 'variants.sku']);
    expect(codes([sold, sold], { variants: [{ sku: 'A' }] })).toEqual(['ambiguous-match', 'variants.sku']);
    expect(codes([sold], { variants: [{ quantity: 1 }] })).toBe('merged');
    expect(codes(variants, { hidden: true, variants: [] }, { hidden: false, variants: [] })).toEqual([
      ...['rows-disagree', 'hidden'],
    ]);
    const quantities = [1, 2].map((quantity) => ({ variants: [{ sku: 'A', quantity }] }));
    expect(codes(variants, ...quantities)).toEqual(['rows-disagree', 'variants.quantity']);
  });

  it('takes blank options for none: it changes the only variant, or the product alone', () => {
    const variant = { options: ['S'], price: 10, onSale: false, regularPrice: 10, quantity: 1 };
    const one = { url: 'one', variants: [variant] };
    const two = { url: 'two', variants: [variant, { ...variant, options: ['L'] }] };
    expect(patchProduct(one, [{ variants: [{ options: [], quantity: 5 }] }])).toMatchObject({
      product: { variants: [{ options: ['S'], quantity: 5 }] },
    });
    expect(patchProduct(two, [{ title: 'New', variants: [{ options: [] }] }])).toMatchObject({
      product: { title: 'New', variants: two.variants },
    });
    expect(patchProduct(two, [{ variants: [{ options: [], quantity: 5 }] }])).toMatchObject({
      refused: { code: 'ambiguous-match', message: expect.stringContaining('does not say which') },
    });
  });

  it('is refused where SKU and options name different variants, with what the product has', () => {
    const refused = (before: JsonObject, change: ProductPatch['variants'][number]) => {
      const result = patchProduct(before, [{ variants: [{ quantity: 50, ...change }] }], undefined, (sku) =>
        sku === 'B-1' ? 'bowl' : undefined,
      );
      return 'refused' in result ? `${result.refused.code}: ${result.refused.message}` : 'merged';
    };
    const red = {
      ...mug,
      variants: mug.variants.map((one) => ({ ...one, options: [...one.options, 'Red'] })),
    };
    for (const options of [['L', 'Red'], ['M'], ['S', 'Blue']])
      expect(refused(red, { sku: 'A', options })).toBe(
        `no-match: the product has no variant with this SKU (A) and these options (${options.join(', ')}), but A (S, Red) and B (L, Red); correct the row, or let the job that owns the product add the variant first`,
      );
    for (const options of [['S', 'Red'], ['Red'], []])
      expect(refused(red, { sku: 'A', options })).toBe('merged');
    // Blank options name no variant that gets another SKU; one without a SKU gets its first.
    const one = { url: 'fork', variants: [{ ...sold, options: [], sku: 'F' }] };
    expect(refused(one, { sku: 'wrong', options: [] })).toContain('no variant with this SKU (wrong), but F;');
    for (const sku of [undefined, null, '']) {
      const bare = { ...one, variants: [{ options: [], sku }] };
      expect(refused(bare, { sku: 'F', options: [] })).toBe('merged');
      expect(refused(bare, { sku: 'F', options: ['S'] })).toContain(', but one without a SKU;');
    }
    expect(refused(red, { sku: 'B-1', options: ['L', 'Red'] })).toContain(
      "ambiguous-match: the product 'bowl' has this SKU (B-1)",
    );
  });

  it('has the options of the variant in their order, and takes the exact one of several', () => {
    const placeOf = (variants: readonly JsonObject[], options: readonly string[]) => {
      const result = patchProduct({ url: 'jeans', variants }, [
        { variants: [{ sku: 'A', options, quantity: 50 }] },
      ]);
      return 'refused' in result
        ? result.refused.code
        : merged(result).variants.findIndex(({ quantity }) => quantity === 50);
    };
    const sized = (sku: string, ...options: readonly string[]) => ({ ...sold, sku, options });
    const jeans = [sized('A', '30', '32'), sized('B', '32', '30')];
    expect(placeOf(jeans, ['30', '32'])).toBe(0);
    expect(placeOf(jeans, ['32'])).toBe(0);
    for (const options of [
      ['32', '30'],
      ['30', '30'],
      ['30', '32', '30'],
    ])
      expect(placeOf(jeans, options)).toBe('no-match');
    const twice = [sized('A', '30', '32', '30'), sized('A', '30', '32')];
    expect(placeOf(twice, ['30', '32'])).toBe(1);
    expect(placeOf(twice, ['30'])).toBe('ambiguous-match');
  });

  it('finds a variant by its options where the SKU is new, and names the new one', () => {
    const { variants } = merged(patchProduct(mug, [{ variants: [{ sku: 'N', options: ['L'] }] }]));
    expect(variants.map(({ sku }) => sku)).toEqual(['A', 'N']);
  });
});

describe('kept fields', () => {
  it('are those of the acknowledged product; all others are the new ones', () => {
    fc.assert(
      fc.property(acknowledged, acknowledged, fc.subarray([...PRODUCT_FIELDS]), (before, now, keep) => {
        const kept = keepFields(now, before, keep);
        const expected = (one: JsonObject, other: JsonObject | undefined, members: readonly string[]) => ({
          ...Object.fromEntries(
            Object.entries(one).filter(([name]) => other === undefined || !members.includes(name)),
          ),
          ...Object.fromEntries(
            members.flatMap((name) => (other !== undefined && name in other ? [[name, other[name]]] : [])),
          ),
        });
        const variants = now.variants.map((variant, index) =>
          expected(
            { ...variant },
            before.variants[index] && { ...before.variants[index] },
            membersOf(keep, 'variants'),
          ),
        );
        expect(plain(kept)).toEqual(
          plain({ ...expected(now, before, membersOf(keep, 'product')), variants }),
        );
      }),
    );
  });
});

describe('stock that a product does not change', () => {
  /** What stays of a variant in each of three versions: as the ledger, the store and the source have it. */
  const sized = fc.record({
    sku: fc.constantFrom('S', '', 'same'),
    stock: fc.option(fc.nat({ max: 3 }), { nil: undefined }),
    left: fc.option(fc.nat({ max: 3 }), { nil: undefined }),
    now: fc.constantFrom('equal', 'other', 'gone'),
    there: fc.constantFrom('equal', 'gone', 'other SKU', 'no SKU'),
  });
  const variant = (size: number, sku: string, quantity: number | undefined) => ({
    options: [`O${size}`],
    price: 1,
    ...(sku !== '' && { sku: sku === 'S' ? `S${size}` : sku }),
    ...(quantity !== undefined && { quantity }),
  });

  it('is the one of the same variant in the store, and all else is as the source has it', () => {
    fc.assert(
      fc.property(fc.array(sized, { maxLength: 5 }), fc.nat({ max: 4 }), (sizes, turn) => {
        const before = JSON.stringify({
          variants: sizes.map(({ sku, stock }, size) => variant(size, sku, stock)),
        });
        const turned = [...sizes.entries()].flatMap(([size, { sku, left, there }]) => {
          const sold = variant(
            size,
            there === 'other SKU' ? `N${size}` : there === 'no SKU' ? '' : sku,
            left,
          );
          return there === 'gone' ? [] : [sold];
        });
        const answer = { variants: [...turned.slice(turn), ...turned.slice(0, turn)] };
        const source = {
          title: 'Mug',
          variants: sizes.flatMap(({ sku, stock, now }, size) =>
            now === 'gone' ? [] : [variant(size, sku, now === 'other' ? (stock ?? 0) + 1 : stock)],
          ),
        };
        const body = JSON.stringify(source);
        const stock = unchangedStock(source, JSON.parse(before), stockInStore(before, answer, false));
        const sent: typeof source = JSON.parse(withStock(body, stock));
        const expected = sizes.flatMap(({ stock, left, now, there }) => {
          if (now === 'gone') return [];
          if (now === 'other') return [(stock ?? 0) + 1];
          const isFound = there !== 'gone' && left !== undefined && !(left === 0 && stock === undefined);
          return [isFound ? left : stock];
        });
        expect(sent.variants.map(({ quantity }) => quantity)).toEqual(expected);
        const others = ({ quantity: _, ...rest }: (typeof source.variants)[number]) => rest;
        expect(sent.variants.map(others)).toEqual(source.variants.map(others));
      }),
    );
  });

  it('is of the SKU where options have moved, and of none where neither tells variants apart', () => {
    const known = {
      variants: [
        { options: ['S'], sku: 'A', quantity: 5 },
        { options: ['L'], sku: 'B', quantity: 6 },
      ],
    };
    const found = (answer: JsonObject, product: JsonObject = known) =>
      unchangedStock(product, known, stockInStore(JSON.stringify(known), answer, true));
    const moved = [
      { options: ['S'], sku: 'B', quantity: 1 },
      { options: ['L'], sku: 'A', quantity: 2 },
    ];
    expect(found({ variants: moved })).toEqual([
      [0, 2],
      [1, 1],
    ]);
    expect(found(known, { variants: moved.map((one) => ({ ...one, quantity: 5 })) })).toEqual([]);
    const alike = { variants: [{ quantity: 1 }, { quantity: 2 }] };
    expect(found(alike)).toEqual([]);
    expect(unchangedStock(alike, alike, stockInStore(JSON.stringify(alike), alike, true))).toEqual([]);
    const twice = { options: ['S'], sku: 'A', quantity: 1 };
    expect(found({ variants: [twice, twice] })).toEqual([]);
    expect(found({ variants: 'none' })).toEqual([]);
    const [only, none] = [
      { variants: [{ price: 1, quantity: 3 }] },
      { variants: [{ options: [], sku: null, quantity: '2' }] },
    ];
    expect(unchangedStock(only, only, stockInStore(JSON.stringify(only), none, true))).toEqual([[0, 2]]);
  });
});
