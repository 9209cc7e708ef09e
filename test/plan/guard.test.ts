import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Guard, isTriggered, matchesGuard } from '../../src/model/guard.ts';
import type { Mapped } from '../../src/model/mapped-record.ts';
import { HELD_FILE, readHeld, verifyHeld } from '../../src/plan/plan-file.ts';
import type { RunFolder } from '../../src/state/artifacts.ts';
import { ledgerOf, NO_LIMITS, type PlanMade, planOf, product, products, record } from './plan-of.ts';

const variant = (price: number, more = {}) => ({
  options: [],
  price,
  onSale: false,
  regularPrice: price,
  ...more,
});

/** Products p0 and up with these prices; known ones cost 10. */
const priced = (prices: readonly number[]): Mapped[] =>
  prices.map((price, index) => {
    const key = `p${index}`;
    return record(key, product(key, { variants: [variant(price, { sku: `sku-${key}` })] }), {
      line: index + 2,
    });
  });

const guarded = async (
  guards: readonly Guard[],
  mapped: readonly Mapped[],
  known: number,
): Promise<PlanMade> =>
  await planOf({
    mapped,
    ledger: ledgerOf(0, known),
    options: {
      job: {
        ...{ name: 'nightly', import: 'products', mode: 'upsert', duplicates: 'reject', safety: NO_LIMITS },
        guards,
      },
    },
  });

async function heldIn({ folder, plan }: { readonly folder: RunFolder; readonly plan: PlanMade['plan'] }) {
  const held = [];
  for await (const batch of readHeld(folder, plan)) held.push(...batch);
  return held;
}

const HOLD: Guard = { field: 'variants.price', changeBy: 50, action: 'hold' };

describe('a guard that holds', () => {
  it('keeps back the records that it hits, with old and new values, and plans the others', async () => {
    const made = await guarded([HOLD], priced([10, 11, 15, 14.99, 5, 200, 7]), 6);
    expect(made.operations.map(({ key }) => key)).toEqual(['p1', 'p3', 'p6']);
    expect(made.plan.counts).toMatchObject({
      records: 7,
      new: { records: 1 },
      changed: { records: 2 },
      unchanged: { records: 1 },
      held: { records: 3, rows: 3 },
    });
    expect(made.plan.fieldsChanged).toMatchObject([
      { field: 'variants.price', records: 2 },
      { field: 'variants.regularPrice', records: 2 },
    ]);
    expect(made.plan.guards).toMatchObject([
      {
        guard: 'variants.price changes by at least 50%',
        action: 'hold',
        records: 3,
        of: 6,
        isTriggered: true,
        examples: [
          { key: 'p2', old: 10, new: 15 },
          { key: 'p4', old: 10, new: 5 },
          { key: 'p5', field: 'variants.price', what: null, old: 10, new: 200 },
        ],
      },
    ]);
    const held = await heldIn(made);
    expect(held.map(({ operation }) => operation.key)).toEqual(['p2', 'p4', 'p5']);
    expect(held[2]).toMatchObject({
      before: expect.any(String),
      hits: [{ old: 10, new: 200 }],
      operation: { kind: 'upsert-product', knownId: 1005, body: expect.stringContaining('"price":200') },
    });
  });

  it('counts a held key of a mirror as present', async () => {
    const { plan } = await planOf({
      mapped: priced([10, 500]),
      ledger: ledgerOf(0, 3),
      mode: 'mirror',
      options: {
        job: {
          ...{ name: 'nightly', import: 'products', mode: 'mirror', duplicates: 'reject', safety: NO_LIMITS },
          guards: [HOLD],
        },
      },
    });
    expect(plan.counts).toMatchObject({ held: { records: 1 }, removed: 1, deletes: 1 });
  });

  it('judges each variant by its counterpart, wherever it stands', async () => {
    const sizes = (small: number, large: number) => [
      variant(small, { options: ['S'] }),
      variant(large, { options: ['L'] }),
    ];
    const ledger = ledgerOf(0, 0).put('shirt', product('shirt', { variants: sizes(10, 1000) }));
    const changed = product('shirt', { variants: [...sizes(10, 3000)].reverse() });
    const { plan } = await planOf({
      mapped: [record('shirt', changed, { line: 2 })],
      ledger,
      options: {
        job: {
          ...{ name: 'nightly', import: 'products', mode: 'upsert', duplicates: 'reject', safety: NO_LIMITS },
          guards: [HOLD],
        },
      },
    });
    expect(plan.guards[0]?.examples).toEqual([
      { key: 'shirt', field: 'variants.price', what: 'L', old: 1000, new: 3000 },
    ]);
  });

  it('judges new values by above, below and to, of new records too, and no value that the store has already', async () => {
    const above: Guard = { field: 'variants.price', above: 100, action: 'hold' };
    const free: Guard = { field: 'variants.price', to: 0, action: 'hold' };
    const made = await guarded([above, free], priced([100, 100.01, 0, 10, 500]), 4);
    expect((await heldIn(made)).map(({ operation }) => operation.key)).toEqual(['p1', 'p2', 'p4']);
    const ledger = ledgerOf(0, 0).put('dear', product('dear', { variants: [variant(900)] }));
    const renamed = product('dear', { title: 'Dearest', variants: [variant(900)] });
    const same = await planOf({
      mapped: [record('dear', renamed, { line: 2 })],
      ledger,
      options: {
        job: {
          ...{ name: 'nightly', import: 'products', mode: 'upsert', duplicates: 'reject', safety: NO_LIMITS },
          guards: [above],
        },
      },
    });
    expect(same.plan.counts).toMatchObject({ changed: { records: 1 }, held: { records: 0 } });
  });

  it('holds nothing below its share, and all that it hits above it', async () => {
    const share: Guard = { ...HOLD, share: 20 };
    const below = await guarded([share], priced([...Array(8).fill(10), 50, 50]), 10);
    expect(below.plan.counts).toMatchObject({ held: { records: 0 }, changed: { records: 2 } });
    expect(below.plan.guards).toMatchObject([{ records: 2, of: 10, isTriggered: false }]);
    const above = await guarded([share], priced([...Array(7).fill(10), 50, 50, 50]), 10);
    expect(above.plan.counts).toMatchObject({ held: { records: 3 }, changed: { records: 0 } });
    expect(above.operations).toEqual([]);
    expect(await heldIn(above)).toHaveLength(3);
    const few = await guarded([share], priced([50, 50, 50, 50]), 4);
    expect(few.plan.counts).toMatchObject({ held: { records: 0 }, changed: { records: 4 } });
  });

  it('holds nothing at exactly its share, also where the share has no exact binary form', () => {
    for (const [share, hits, of] of [
      [0.57, 57, 10_000],
      [0.29, 145, 50_000],
      [1.1, 11, 1_000],
    ] as const) {
      expect(isTriggered({ ...HOLD, share }, hits, of)).toBe(false);
      expect(isTriggered({ ...HOLD, share }, hits + 1, of)).toBe(true);
    }
  });
});

describe('guards that stop and warn', () => {
  it('stop names the values and asks for approval; warn only counts', async () => {
    const soldOut: Guard = { field: 'variants.quantity', to: 0, share: 20, action: 'stop' };
    const warn: Guard = { ...HOLD, action: 'warn' };
    const stock = (quantity: number) =>
      Array.from({ length: 10 }, (_, index) =>
        record(`p${index}`, product(`p${index}`, { variants: [variant(20, { quantity })] }), {
          line: index + 2,
        }),
      );
    const stopped = await guarded([soldOut, warn], stock(0), 10);
    expect(stopped.plan.safety.filter(({ limit }) => limit === 'guard')).toMatchObject([
      {
        limit: 'guard',
        exceeded: true,
        figure: 10,
        base: 10,
        allowed: { text: '20%', amount: 2 },
        message: expect.stringMatching(
          /^guard: variants.quantity becomes 0: 10 of 10 records; it allows 20%\. p0: quantity \(none\) → 0; .*; and 7 more\. If this is correct, approve run run-1$/,
        ),
      },
    ]);
    expect(stopped.plan.guards[1]).toMatchObject({ action: 'warn', isTriggered: true, records: 10 });
    expect(stopped.plan.counts).toMatchObject({ changed: { records: 10 }, held: { records: 0 } });
    const fine = await guarded([soldOut, warn], products(0, 10), 10);
    expect(fine.plan.safety[0]).toMatchObject({ limit: 'guard', exceeded: false, figure: 0 });
  });
});

describe('a change by a share', () => {
  it('is exact in decimal', () => {
    expect(matchesGuard({ ...HOLD, changeBy: 10 }, 0.1, 0.11)).toBe(true);
    expect(matchesGuard({ ...HOLD, changeBy: 10 }, 1.1, 1.209)).toBe(false);
    expect(matchesGuard({ ...HOLD, changeBy: 200 }, 0.1, 0.3)).toBe(true);
    const cents = fc.integer({ min: 1, max: 10_000_000 });
    fc.assert(
      fc.property(
        cents,
        fc.integer({ min: 1, max: 1000 }),
        fc.integer({ min: -1, max: 1 }),
        (old, percent, off) => {
          // In hundredths of a cent, so that every percentage of a cent is whole.
          const now = old * 100 + old * percent + off;
          expect(matchesGuard({ ...HOLD, changeBy: percent }, old / 100, now / 10_000)).toBe(off >= 0);
        },
      ),
    );
  });

  it('is met by every change from 0, and by none of a value that was not there', () => {
    expect(matchesGuard(HOLD, 0, 0.01)).toBe(true);
    expect(matchesGuard(HOLD, null, 5)).toBe(false);
    expect(matchesGuard(HOLD, 5, null)).toBe(false);
    expect(matchesGuard({ ...HOLD, above: 100 }, 10, 99)).toBe(false);
    expect(matchesGuard({ ...HOLD, above: 100 }, 10, 101)).toBe(true);
  });
});

describe('a held record that is released', () => {
  it('is read from the bytes that were planned, or not at all', async () => {
    const { folder, plan } = await guarded([HOLD], priced([10, 200]), 2);
    await verifyHeld(folder, plan);
    const held = String(folder.files.get(HELD_FILE));
    await folder.write(HELD_FILE, [held.replace('200', '201')]);
    await expect(verifyHeld(folder, plan)).rejects.toThrow('was changed after planning');
  });

  it('is sent with its whole body, and stays with its job, where an update was held', async () => {
    const whole = await planOf({
      mapped: priced([20]),
      ledger: ledgerOf(0, 1, 'catalog'),
      options: {
        origin: { kind: 'bodies' },
        job: { name: 'prices', import: 'products', mode: 'update', duplicates: 'reject', safety: NO_LIMITS },
      },
    });
    const [operation] = whole.operations;
    expect(operation).toMatchObject({ key: 'p0', owner: 'catalog' });
    expect(JSON.parse(operation?.kind === 'upsert-product' ? operation.body : '')).toEqual(
      product('p0', { variants: [variant(20, { sku: 'sku-p0' })] }),
    );
  });
});
