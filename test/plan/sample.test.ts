import { describe, expect, it } from 'vitest';
import { ledgerOf, NO_LIMITS, planOf, product, products, record, rejected, skipped } from './plan-of.ts';

const percent = (value: number) => ({ kind: 'percent', percent: value }) as const;

describe('a sample', () => {
  it('plans the first records of the source, and counts the others as skipped', async () => {
    const { plan, operations } = await planOf({
      mapped: products(0, 30),
      options: { origin: { kind: 'source', sample: { limit: 10 } } },
    });
    expect(operations.map(({ key }) => key)).toEqual(products(0, 10).map(({ key }) => key));
    expect(plan.counts).toMatchObject({
      records: 30,
      new: { records: 10, rows: 10 },
      skipped: { records: 20, rows: 20 },
    });
    expect(plan.skips).toMatchObject([{ code: 'not-in-sample', records: 20 }]);
  });

  it('does not spend its limit on what the mapping skips, but on what it rejects', async () => {
    const mapped = [
      skipped('p0', { line: 2 }),
      rejected('p1', 'bad', { line: 3 }),
      rejected(null, 'bad', { line: 4 }),
      ...products(2, 10),
    ];
    const { plan, operations } = await planOf({
      mapped,
      options: { origin: { kind: 'source', sample: { limit: 3 } } },
    });
    expect(operations.map(({ key }) => key)).toEqual(['p2']);
    expect(plan.counts).toMatchObject({ rejected: { records: 2 }, skipped: { records: 8 }, records: 11 });
  });

  it('finds further copies of a key beyond its limit, and sends none of them', async () => {
    const mapped = [...products(0, 5), record('p0', product('p0', { title: 'Other' }), { line: 9 })];
    const { plan, operations } = await planOf({
      mapped,
      options: { origin: { kind: 'source', sample: { limit: 2 } } },
    });
    expect(operations.map(({ key }) => key)).toEqual(['p1']);
    expect(plan.duplicates).toMatchObject({ keys: 1, copies: 2 });
  });

  it('plans the named records, and refuses names that the source does not have', async () => {
    const mapped = products(0, 30);
    const { operations } = await planOf({
      mapped,
      options: { origin: { kind: 'source', sample: { only: ['p7', 'p3'] } } },
    });
    expect(operations.map(({ key }) => key)).toEqual(['p3', 'p7']);
    const both = await planOf({
      mapped,
      options: { origin: { kind: 'source', sample: { only: ['p7', 'p3'], limit: 1 } } },
    });
    expect(both.operations.map(({ key }) => key)).toEqual(['p3']);
    await expect(
      planOf({ mapped, options: { origin: { kind: 'source', sample: { only: ['p3', 'p77'] } } } }),
    ).rejects.toThrow('The source has no record with the key "p77".');
  });

  it('deletes nothing in a mirror', async () => {
    const { plan } = await planOf({
      mapped: products(0, 3),
      ledger: ledgerOf(0, 9),
      mode: 'mirror',
      options: { origin: { kind: 'source', sample: { limit: 2 } } },
    });
    expect(plan).toMatchObject({ deletesWithheld: 'sample', counts: { removed: 0, deletes: 0 } });
  });

  it('is not compared with the rows of the last run, and its rejections with its own records only', async () => {
    const limits = { ...NO_LIMITS, minRows: percent(80), maxRejects: percent(10) };
    const job = { name: 'nightly', import: 'products', mode: 'upsert', duplicates: 'reject' } as const;
    const mapped = [rejected('bad', 'bad', { line: 2 }), ...products(0, 99)];
    const options = {
      job: { ...job, safety: limits },
      previous: { rows: 1000, keyDigest: null },
    };
    const whole = await planOf({ mapped, options });
    expect(whole.plan.safety.filter(({ exceeded }) => exceeded)).toMatchObject([{ limit: 'minRows' }]);
    const sample = await planOf({
      mapped,
      options: { ...options, origin: { kind: 'source', sample: { limit: 9 } } },
    });
    expect(sample.plan.safety).toMatchObject([{ limit: 'maxRejects', exceeded: true, figure: 1, base: 9 }]);
  });
});
