import { describe, expect, it } from 'vitest';
import type { Variant } from '../../src/model/product.ts';
import type { Mapped } from '../../src/model/record.ts';
import { readPlan } from '../../src/plan/plan-file.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { planOf, product, record } from './plan-of.ts';

function variant(changes: Partial<Variant> = {}): Variant {
  return { options: [], price: 10, onSale: false, regularPrice: 10, ...changes };
}

interface Change {
  readonly key: string;
  readonly before: readonly Variant[];
  readonly after: readonly Variant[];
}

/** The moves of a plan in which the variants of products change so. */
async function movesOf(changes: readonly Change[]) {
  const ledger = new MemoryLedger();
  const mapped: Mapped[] = changes.map(({ key, before, after }, index) => {
    ledger.put(key, product(key, { variants: before }), { id: index, job: 'nightly' });
    return record(key, product(key, { variants: after }), { line: index + 2 });
  });
  const { plan, folder } = await planOf({ mapped, ledger });
  expect((await readPlan(folder))?.moves).toEqual(plan.moves);
  return plan.moves;
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

  it('name the variant, found by its options or sku wherever it stands, and each product once', async () => {
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

  it('are none in plans of contacts and of earlier versions', async () => {
    const ledger = new MemoryLedger();
    ledger.put('7', { name: 'Ann', tags: ['a'] }, { id: 7, job: 'nightly' });
    const mapped = [record('7', { name: 'Anna', tags: ['b'] }, { line: 2 })];
    const { plan, folder } = await planOf({ mapped, ledger, resource: 'contacts' });
    expect(plan.moves).toEqual({ prices: [], stocks: [] });
    const { moves: _, rejectionsSha256: __, ...before } = plan;
    await folder.write('plan.json', [JSON.stringify(before)]);
    expect((await readPlan(folder))?.moves).toEqual({ prices: [], stocks: [] });
  });
});
