import { describe, expect, it } from 'vitest';
import type { Product } from '../../src/model/mapped-record.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { NO_LIMITS, type PlanCase, planOf, product, record } from './plan-of.ts';

/** A shirt in two sizes with these stocks. */
const shirt = (url: string, advanced: boolean, quantities: readonly [number, number], price = 10): Product =>
  product(url, {
    options: [{ name: 'Size', values: ['S', 'L'], advanced }],
    variants: ['S', 'L'].map((size, index) => ({
      options: [size],
      price,
      onSale: false,
      regularPrice: price,
      quantity: quantities[index] ?? 0,
    })),
  });

/** What an earlier version sent: `advanced` is false, whatever the variants are. */
const sentBefore = (count: number) => {
  const ledger = new MemoryLedger();
  for (let number = 0; number < count; number++)
    ledger.put(`p${number}`, shirt(`p${number}`, false, [1, 2]), { id: number });
  return ledger;
};

const nightly = {
  name: 'nightly',
  import: 'products',
  mode: 'upsert',
  duplicates: 'reject',
  safety: { ...NO_LIMITS, maxChanges: { kind: 'percent', percent: 10 } },
} as const;

const bodies = async (made: PlanCase): Promise<readonly Product[]> => {
  const { operations } = await planOf(made);
  return operations.map((operation) => ('body' in operation ? JSON.parse(operation.body) : {}));
};

describe('products of which only options[].advanced changes', () => {
  it('are sent, named and noted, and count for no limit', async () => {
    const now = Array.from({ length: 20 }, (_, index) =>
      record(`p${index}`, shirt(`p${index}`, true, [1, 2], index < 2 ? 11 : 10), { line: index + 2 }),
    );
    const { plan, operations } = await planOf({
      mapped: now,
      ledger: sentBefore(20),
      options: { job: nightly, keyDigest: 'new', previous: { rows: null, keyDigest: 'old' } },
    });
    expect(operations).toHaveLength(20);
    expect(plan.counts.changed.records).toBe(20);
    const advanced = plan.fieldsChanged.find(({ field }) => field === 'options.advanced');
    expect(advanced).toMatchObject({ records: 20 });
    expect(advanced?.samples[0]).toEqual({ key: 'p0', old: 'false', new: 'true' });
    expect(plan.fieldsChanged.map(({ field }) => field)).not.toContain('options');
    expect(plan.notices).toEqual([
      { message: expect.stringMatching(/^options\.advanced alone changes/), records: 18 },
    ]);
    expect(plan.safety.find(({ limit }) => limit === 'maxChanges')).toMatchObject({
      ...{ figure: 2, base: 20, exceeded: false },
    });
    expect(plan.safety.find(({ limit }) => limit === 'key')?.exceeded).toBe(false);
  });

  it('are a change of options if these change as well', async () => {
    const more = shirt('p0', true, [1, 2]);
    const options = [{ name: 'Size', values: ['S', 'L', 'XL'], advanced: true }];
    const { plan } = await planOf({
      mapped: [record('p0', { ...more, options }, { line: 2 })],
      ledger: sentBefore(1),
    });
    expect(plan.fieldsChanged.map(({ field }) => field)).toEqual(['options']);
    expect(plan.notices).toEqual([]);
  });
});

describe('options[].advanced of merged products', () => {
  const keeping = { ...nightly, keep: ['variants.quantity'] } as const;
  const updating = { ...nightly, name: 'stock', mode: 'update', match: 'url' } as const;
  const ledger = () => new MemoryLedger().put('p0', shirt('p0', false, [3, 3]), { id: 1, job: 'nightly' });
  const patch = [record('p0', { variants: [{ options: ['L'], quantity: 4 }] }, { line: 2 })];

  it('follows the variants that an update merges', async () => {
    expect(await bodies({ mapped: patch, ledger: ledger(), options: { job: updating } })).toEqual([
      shirt('p0', true, [3, 4]),
    ]);
  });

  it('stays as somebody has said, against what the variants were', async () => {
    const said = new MemoryLedger().put('p0', shirt('p0', false, [3, 2]), { id: 1, job: 'nightly' });
    expect(await bodies({ mapped: patch, ledger: said, options: { job: updating } })).toEqual([
      shirt('p0', false, [3, 4]),
    ]);
    expect(
      await bodies({ mapped: patch, ledger: ledger(), options: { job: updating, advanced: false } }),
    ).toEqual([shirt('p0', false, [3, 4])]);
  });

  it('follows the stock that a catalog keeps, so that the two jobs never alternate', async () => {
    const source = [record('p0', shirt('p0', false, [0, 0], 11), { line: 2 })];
    const stocked = new MemoryLedger().put('p0', shirt('p0', true, [3, 4]), { id: 1, job: 'nightly' });
    expect(await bodies({ mapped: source, ledger: stocked, options: { job: keeping } })).toEqual([
      shirt('p0', true, [3, 4], 11),
    ]);
    const same = [record('p0', shirt('p0', false, [0, 0]), { line: 2 })];
    expect(await bodies({ mapped: same, ledger: stocked, options: { job: keeping } })).toEqual([]);
    expect(
      await bodies({ mapped: source, ledger: stocked, options: { job: keeping, advanced: false } }),
    ).toEqual([shirt('p0', false, [3, 4], 11)]);
  });
});

describe('contacts that the store has as they are', () => {
  it('have no change of options.advanced, and count for no change of the others', async () => {
    const mapped = Array.from({ length: 20 }, (_, index) =>
      record(String(index), { name: `N${index}` }, { line: index + 2 }),
    );
    const { plan } = await planOf({
      mapped,
      resource: 'contacts',
      options: {
        job: { ...nightly, import: 'contacts' },
        changesInStore: (id) => (Number(id) < 5 ? [{ field: 'name', old: 'A', new: 'B' }] : []),
      },
    });
    expect(plan.notices).toEqual([]);
    expect(plan.safety.find(({ limit }) => limit === 'maxChanges')).toMatchObject({ figure: 5, base: 20 });
  });
});
