import { describe, expect, it } from 'vitest';
import { ledgerOf, planOf, product, products, rejected, skipped } from './plan-of.ts';

describe('a mirror', () => {
  it('deletes what this job sent and the source no longer has, and no other job’s', async () => {
    const ledger = ledgerOf(0, 5).put('theirs', product('theirs'), { job: 'other' });
    const { plan, operations } = await planOf({ mapped: products(0, 3), ledger, mode: 'mirror' });
    expect(plan.counts).toMatchObject({ removed: 2, deletes: 2 });
    expect(operations).toMatchObject([
      { kind: 'delete-product', key: 'p3', id: 1003, index: 0 },
      { kind: 'delete-product', key: 'p4', id: 1004, index: 1 },
    ]);
    expect(plan.examples.removed.map(({ key }) => key)).toEqual(['p3', 'p4']);
  });

  it('keeps what is in the source only as a rejected or a skipped row', async () => {
    const mapped = [...products(0, 3), rejected('p3', 'bad', { line: 9 }), skipped('p4', { line: 10 })];
    const { plan } = await planOf({ mapped, ledger: ledgerOf(0, 5), mode: 'mirror' });
    expect(plan.counts).toMatchObject({ removed: 0, deletes: 0 });
  });

  it.each([
    ['rejected', rejected(null, 'no-key', { line: 9 })],
    ['skipped', skipped(null, { line: 9 })],
  ])('deletes nothing while the key of a %s row cannot be read', async (_kind, unreadable) => {
    const { plan } = await planOf({
      mapped: [...products(0, 3), unreadable],
      ledger: ledgerOf(0, 5),
      mode: 'mirror',
    });
    expect(plan.counts).toMatchObject({ removed: 2, deletes: 0 });
    expect(plan.deletesWithheld).toBe('key-unreadable');
    expect(plan.shards).toEqual([]);
  });

  it('deletes although a heading has no key: it describes no product', async () => {
    const heading = { ...skipped(null, { line: 9 }), isNoRecord: true } as const;
    const { plan } = await planOf({
      mapped: [...products(0, 3), heading],
      ledger: ledgerOf(0, 5),
      mode: 'mirror',
    });
    expect(plan).toMatchObject({ counts: { removed: 2, deletes: 2 }, deletesWithheld: null });
  });

  it('counts removed products whose id the store never answered, since they cannot be deleted', async () => {
    const ledger = ledgerOf(0, 3).put('p9', product('p9'), { id: null });
    const { plan } = await planOf({ mapped: products(0, 2), ledger, mode: 'mirror' });
    expect(plan.counts).toMatchObject({ removed: 2, deletes: 1 });
    expect(plan.deletesWithoutId).toBe(1);
  });

  it('deletes nothing from an empty ledger, nor in a retry', async () => {
    expect((await planOf({ mapped: products(0, 3), mode: 'mirror' })).plan.deletesWithheld).toBe(
      'ledger-empty',
    );
    const retried = await planOf({
      mapped: products(0, 1),
      ledger: ledgerOf(0, 5),
      mode: 'mirror',
      options: { origin: { kind: 'retry' } },
    });
    expect(retried.plan).toMatchObject({ deletesWithheld: 'retry', counts: { removed: 0, deletes: 0 } });
  });

  it('names what a run that died may have created, and deletes none of it: it may be a product made by hand', async () => {
    const ledger = ledgerOf(0, 0);
    ledger.unconfirmedKeys = ['p1', 'p7'];
    const { plan, operations } = await planOf({ mapped: products(0, 3), ledger, mode: 'mirror' });
    expect(operations.filter(({ kind }) => kind === 'delete-product')).toEqual([]);
    expect(plan).toMatchObject({
      counts: { removed: 1, deletes: 0 },
      unconfirmed: { keys: 1, examples: ['p7'] },
      deletesWithheld: null,
    });
  });

  it('is what only a mirror does', async () => {
    expect((await planOf({ mapped: products(0, 1), ledger: ledgerOf(0, 5) })).operations).toEqual([]);
  });
});
