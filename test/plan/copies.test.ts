import { describe, expect, it } from 'vitest';
import type { Mapped } from '../../src/model/mapped-record.ts';
import { countUnaskedSkips, hasManyUnaskedSkips } from '../../src/model/plan.ts';
import { NO_PRICE } from '../../src/model/reason.ts';
import { planOf, product, products, record, skipped } from './plan-of.ts';

describe('copies of a key', () => {
  it('reads the source once when no key repeats, twice when one does', async () => {
    expect((await planOf({ mapped: products(0, 50) })).passes).toBe(1);
    expect((await planOf({ mapped: [...products(0, 50), ...products(3, 4)] })).passes).toBe(2);
  });

  it('are rejected with the lines of the others, and the first attempt leaves nothing behind', async () => {
    const mapped = [...products(0, 1200), ...products(5, 6, { title: 'Other' })];
    const { plan, rejections, folder } = await planOf({ mapped });
    expect(plan.duplicates).toMatchObject({ keys: 1, copies: 2, examples: [{ key: 'p5', line: 7 }] });
    expect(rejections.map(({ key, records }) => [key, records])).toEqual([
      ['p5', 1],
      ['p5', 0],
    ]);
    expect(rejections[0]?.reason.message).toContain('lines 7 and 7');
    expect(plan.shards.reduce((sum, { operations }) => sum + operations, 0)).toBe(1199);
    expect(await folder.list()).toEqual(
      ['plan.json', 'rejections.jsonl', ...plan.shards.map(({ name }) => name)].sort(),
    );
  });

  it('that are many leave fewer shards, and none of the first attempt', async () => {
    const mapped = [...products(0, 1000), ...products(0, 600, { title: 'Other' })];
    const { plan, folder } = await planOf({ mapped });
    expect(plan.counts).toMatchObject({ new: { records: 400 }, rejected: { records: 600, rows: 1200 } });
    expect(await folder.list()).toEqual(['plan.json', 'rejections.jsonl', 'shard-00001.jsonl']);
  });

  it('count as duplicates only when they are, not when two keys share a hash', async () => {
    const hashKey = (_key: string, into: { high: number; low: number }) => {
      into.high = 1;
      into.low = 2;
    };
    const { plan } = await planOf({ mapped: products(0, 20), options: { hashKey } });
    expect(plan.duplicates).toBeNull();
    expect(plan.counts.new.records).toBe(20);
  });

  it.each(['first', 'reject'] as const)(
    'whose first was skipped count as no skipped record, %s',
    async (duplicates) => {
      const reason = { code: NO_PRICE, message: 'no price', field: 'variants.price' };
      const mapped = products(0, 6).flatMap((item, index): Mapped[] => [
        { ...skipped(`p${index}`, { line: 50 + index }), reason },
        item,
      ]);
      mapped.push(skipped('p0', { line: 90 }), { ...skipped('p9', { line: 91 }), reason });
      const { plan } = await planOf({ mapped, duplicates });
      expect(plan.counts).toMatchObject({ new: { records: 6 }, skipped: { records: 1, rows: 8 } });
      expect(plan.skips).toMatchObject([
        { code: NO_PRICE, records: 1, rows: 7 },
        { code: 'skip', records: 0, rows: 1 },
      ]);
      expect([countUnaskedSkips(plan), hasManyUnaskedSkips(plan)]).toEqual([1, true]);
    },
  );

  it('that may be halves of one product are rejected under every policy', async () => {
    const half = record('p5', product('p5', { title: 'Half' }), { line: 90, rows: 2, partial: true });
    const { plan } = await planOf({ mapped: [...products(0, 6), half], duplicates: 'first' });
    expect(plan.rejections).toMatchObject([{ code: 'rows-not-adjacent', records: 1, rows: 3 }]);
    expect(plan.rejections[0]?.message).toContain('lines 7 and 90-91');
  });

  it('of a contact are merged as if sent one after the other, but who unsubscribed stays so', async () => {
    const mapped = [
      record('7', { name: 'A', phone: '1', tags: ['x'], subscribed: false }, { line: 2 }),
      record(
        '7',
        { name: 'B', tags: ['y', 'x'], subscribed: true, properties: [{ name: 'Stage', value: 'lead' }] },
        { line: 3 },
      ),
    ];
    const { plan, operations } = await planOf({ mapped, resource: 'contacts', duplicates: 'merge' });
    const [operation] = operations;
    expect(operation).toMatchObject({ rows: 2, spans: [{ from: 2 }, { from: 3 }] });
    expect(JSON.parse(operation && 'body' in operation ? operation.body : '')).toEqual({
      name: 'B',
      phone: '1',
      properties: [{ name: 'Stage', value: 'lead' }],
      tags: ['x', 'y'],
      subscribed: false,
    });
    expect(plan.counts).toMatchObject({ records: 1, rows: 2, new: { records: 1, rows: 2 } });
  });

  it('of a contact who unsubscribed leave out the lists of its other rows, and say so', async () => {
    const copies = (...lists: (readonly number[])[]) =>
      lists.map((subscriberLists, at) =>
        record('7', { name: `A${at}`, subscribed: at > 0, subscriberLists }, { line: at + 2 }),
      );
    const merged = async (...lists: (readonly number[])[]) => {
      const mapped = copies(...lists);
      const { plan, operations } = await planOf({ mapped, resource: 'contacts', duplicates: 'merge' });
      const [operation] = operations;
      expect(JSON.parse(operation && 'body' in operation ? operation.body : '')).toMatchObject({
        subscribed: false,
        subscriberLists: lists[0],
      });
      return plan.notices.map(({ message, records }) => [message, records]);
    };
    expect(await merged([1], [1, 2])).toEqual([[expect.stringContaining('lists of other rows'), 1]]);
    expect(await merged([1, 2], [2])).toEqual([]);
  });

  it('are not merged by the thousand: that is a wrong mapping', async () => {
    const mapped = Array.from({ length: 1001 }, (_, n) => record('7', { name: `n${n}` }, { line: n + 2 }));
    const { plan } = await planOf({ mapped, resource: 'contacts', duplicates: 'merge', batchSize: 500 });
    expect(plan.rejections).toMatchObject([{ code: 'too-many-copies', records: 1, rows: 1001 }]);
    const { plan: within } = await planOf({
      mapped: mapped.slice(0, 1000),
      resource: 'contacts',
      duplicates: 'merge',
      batchSize: 500,
    });
    expect(within.counts).toMatchObject({ records: 1, rows: 1000, new: { records: 1 } });
  });
});
