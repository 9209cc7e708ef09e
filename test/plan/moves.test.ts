import { describe, expect, it } from 'vitest';
import type { Mapped, Variant } from '../../src/model/mapped-record.ts';
import { isPriceMove } from '../../src/model/safety-limits.ts';
import { readPlan } from '../../src/plan/plan-file.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { NO_LIMITS, planOf, product, record } from './plan-of.ts';

function variant(changes: Partial<Variant> = {}): Variant {
  return { options: [], price: 10, onSale: false, regularPrice: 10, ...changes };
}

interface Change {
  readonly key: string;
  readonly before: readonly Variant[];
  readonly after: readonly Variant[];
}

const ANY_PRICE_MOVE = { ...NO_LIMITS, maxPriceMoves: { kind: 'count', count: 0 } } as const;

/** How many products have a price move when their variants change so. */
async function priceMovesOf(changes: readonly Change[]) {
  const { plan } = await planFor(changes);
  return plan.safety.find(({ limit }) => limit === 'maxPriceMoves')?.figure;
}

/** The moves of a plan in which the variants of products change so. */
async function movesOf(changes: readonly Change[]) {
  const { plan, folder } = await planFor(changes);
  expect((await readPlan(folder))?.moves).toEqual(plan.moves);
  return plan.moves;
}

async function planFor(changes: readonly Change[]) {
  const ledger = new MemoryLedger();
  const mapped: Mapped[] = changes.map(({ key, before, after }, index) => {
    ledger.put(key, product(key, { variants: before }), { id: index, job: 'nightly' });
    return record(key, product(key, { variants: after }), { line: index + 2 });
  });
  const job = { name: 'nightly', import: 'products', mode: 'upsert', duplicates: 'reject' } as const;
  return await planOf({ mapped, ledger, options: { job: { ...job, safety: ANY_PRICE_MOVE } } });
}

const everyday = Array.from({ length: 60 }, (_, index) => ({
  key: `p${index}`,
  before: [variant({ price: 100 + index, quantity: 40 })],
  after: [variant({ price: 101 + index, quantity: 39 })],
}));

describe('the largest moves of a plan', () => {
  it('begin with a price that is a hundred times as high and with stock that is gone', async () => {
    const moves = await movesOf([
      ...everyday,
      { key: 'lamp', before: [variant({ price: 10 })], after: [variant({ price: 1_000 })] },
      { key: 'chair', before: [variant({ quantity: 500 })], after: [variant({ quantity: 0 })] },
    ]);
    expect(moves.prices[0]).toEqual({
      key: 'lamp',
      what: null,
      field: 'variants.price',
      old: 10,
      new: 1_000,
    });
    expect(moves.stocks[0]).toEqual({
      key: 'chair',
      what: null,
      field: 'variants.quantity',
      old: 500,
      new: 0,
    });
    expect(moves.prices).toHaveLength(20);
    expect(moves.stocks).toHaveLength(20);
  });

  it('count from or to nothing as the largest, of those the one by more', async () => {
    const { stocks, prices } = await movesOf([
      { key: 'one', before: [variant({ quantity: 1 })], after: [variant({ quantity: 0 })] },
      { key: 'all', before: [variant({ quantity: 0 })], after: [variant({ quantity: 700 })] },
      { key: 'free', before: [variant({ price: 5 })], after: [variant({ price: 0 })] },
      { key: 'dear', before: [variant({ price: 5 })], after: [variant({ price: 500 })] },
    ]);
    expect(stocks.map(({ key }) => key)).toEqual(['all', 'one']);
    expect(prices.map(({ key }) => key)).toEqual(['free', 'dear']);
  });

  it('name the variant, found by its options or sku at any position, and each product once', async () => {
    const red = variant({ options: ['Red', 'L'], sku: 'r' });
    const blue = variant({ options: ['Blue', 'L'], sku: 'b' });
    const { prices } = await movesOf([
      {
        key: 'shirt',
        before: [red, blue],
        after: [
          variant({ options: ['Green', 'L'] }),
          { ...blue, price: 90, regularPrice: 90 },
          { ...red, price: 11 },
        ],
      },
      {
        key: 'parts',
        before: [variant({ sku: 'a' }), variant({ sku: 'b', price: 7 })],
        after: [variant({ sku: 'a' }), variant({ sku: 'b', price: 14 })],
      },
    ]);
    expect(prices).toEqual([
      { key: 'shirt', what: 'Blue / L', field: 'variants.price', old: 10, new: 90 },
      { key: 'parts', what: 'b', field: 'variants.price', old: 7, new: 14 },
    ]);
  });

  it('leave out what appears, goes or stays', async () => {
    const moves = await movesOf([
      { key: 'tracked', before: [variant()], after: [variant({ quantity: 3 })] },
      { key: 'untracked', before: [variant({ quantity: 3 })], after: [variant()] },
      { key: 'sale', before: [variant()], after: [variant({ onSale: true, salePrice: 8 })] },
      { key: 'more', before: [variant()], after: [variant(), variant({ options: ['XL'], price: 99 })] },
    ]);
    expect(moves).toEqual({ prices: [], stocks: [] });
  });

  it('are none in plans of contacts', async () => {
    const ledger = new MemoryLedger();
    ledger.put('7', { name: 'Ann', tags: ['a'] }, { id: 7, job: 'nightly' });
    const mapped = [record('7', { name: 'Anna', tags: ['b'] }, { line: 2 })];
    const { plan } = await planOf({ mapped, ledger, resource: 'contacts' });
    expect(plan.moves).toEqual({ prices: [], stocks: [] });
    expect(plan.priceMoves).toBe(0);
  });
});

describe('a price move', () => {
  it.each([
    [10, 30, true],
    [0.1, 0.3, true],
    [1.1, 3.3, true],
    [10, 29.99, false],
    [9.99, 3.33, true],
    [10, 3.33, true],
    [10, 3.34, false],
    [10, 0, true],
    [0, 10, true],
    [0, 0, false],
    [10, -1, true],
  ])('from %d to %d: %s', (old, now, expected) => {
    expect(isPriceMove({ old, new: now })).toBe(expected);
  });

  it('counts once for each product, whichever price of whichever variant moves', async () => {
    const sizes = [variant({ options: ['S'] }), variant({ options: ['L'] })];
    const moved = [
      { key: 'one', before: [variant()], after: [variant({ regularPrice: 1_000 })] },
      {
        key: 'two',
        before: sizes,
        after: sizes.map((size) => ({ ...size, price: 1_000, regularPrice: 1_000 })),
      },
      { key: 'last', before: sizes, after: [sizes[0] ?? variant(), variant({ options: ['L'], price: 3 })] },
      { key: 'sale', before: [variant({ salePrice: 8 })], after: [variant({ salePrice: 0.8 })] },
      { key: 'sale begins', before: [variant()], after: [variant({ onSale: true, salePrice: 0.08 })] },
    ];
    const usual = [
      { key: 'cheaper', before: [variant()], after: [variant({ price: 5 })] },
      { key: 'sale of half', before: [variant()], after: [variant({ onSale: true, salePrice: 5 })] },
      { key: 'sale ends', before: [variant({ salePrice: 0.08 })], after: [variant()] },
      { key: 'stock', before: [variant({ quantity: 1 })], after: [variant({ quantity: 900 })] },
    ];
    expect(await priceMovesOf([...everyday, ...moved, ...usual])).toBe(moved.length);
  });

  it('does not hide behind other options and skus of the variants', async () => {
    const before = [variant({ options: ['S'] }), variant({ options: ['L'], price: 40, regularPrice: 40 })];
    const renamed = (factor: number) =>
      before.map(({ options, price, ...rest }) => ({
        ...rest,
        options: options.map((value) => `Size ${value}`),
        price: price * factor,
      }));
    expect(await priceMovesOf([{ key: 'shirt', before, after: renamed(100) }])).toBe(1);
    expect(await priceMovesOf([{ key: 'shirt', before, after: renamed(1) }])).toBe(0);
    expect((await movesOf([{ key: 'shirt', before, after: renamed(100) }])).prices).toEqual([
      { key: 'shirt', what: 'Size L', field: 'variants.price', old: 40, new: 4_000 },
    ]);
  });

  it('is not made by a variant that is added, removed or replaced beside others', async () => {
    const small = variant({ options: ['S'] });
    const pallet = variant({ options: ['Pallet'], price: 5_000, regularPrice: 5_000 });
    expect(await priceMovesOf([{ key: 'mug', before: [small], after: [small, pallet] }])).toBe(0);
    expect(await priceMovesOf([{ key: 'mug', before: [small, pallet], after: [small] }])).toBe(0);
    const sample = variant({ options: ['Sample'], price: 1, regularPrice: 1 });
    expect(await priceMovesOf([{ key: 'mug', before: [small, sample], after: [small, pallet] }])).toBe(0);
  });

  it('is counted of records in doubt too, and of those that are sent again', async () => {
    const ledger = new MemoryLedger();
    const keys = ['a', 'b', 'c'];
    for (const key of keys) ledger.put(key, product(key), { job: 'nightly' });
    await ledger.doubt(['a']);
    const dear = [variant({ price: 1_000, regularPrice: 1_000 })];
    const mapped = keys.map((key, line) => record(key, product(key, { variants: dear }), { line }));
    const job = { name: 'nightly', import: 'products', mode: 'upsert', duplicates: 'reject' } as const;
    const options = { job: { ...job, safety: ANY_PRICE_MOVE }, resend: true };
    const { plan } = await planOf({ mapped, ledger, options });
    expect(plan.safety).toContainEqual(
      expect.objectContaining({ limit: 'maxPriceMoves', figure: 3, base: 3 }),
    );
  });

  it('count among variants of which one has kept its price', async () => {
    const named = (size: string, price: number) => variant({ options: [size], price });
    const before = [named('S', 9), named('M', 11), named('L', 12)];
    const after = [named('S', 9), named('Medium', 1_100), named('Large', 1_200)];
    expect(await priceMovesOf([{ key: 'shirt', before, after }])).toBe(1);
    // One that is added beside the others takes no place of theirs.
    expect(await priceMovesOf([{ key: 'shirt', before, after: [...before, named('Display', 900)] }])).toBe(0);
  });

  it('are refused where the state has lost what was acknowledged, but for a resend', async () => {
    const ledger = new MemoryLedger().put('lamp', product('lamp', { variants: [variant()] }));
    ledger.bodies = async (keys) => keys.map(() => undefined);
    const mapped = [record('lamp', product('lamp', { variants: [variant({ price: 1_000 })] }), { line: 2 })];
    await expect(planOf({ mapped, ledger })).rejects.toThrow('has lost the acknowledged body of "lamp"');
    expect((await planOf({ mapped, ledger, options: { resend: true } })).plan.counts.changed.records).toBe(1);
  });
});
