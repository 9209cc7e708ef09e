import { describe, expect, it } from 'vitest';
import type { Mapped } from '../../src/model/record.ts';
import { readPlan } from '../../src/plan/plan-file.ts';
import { readShard } from '../../src/plan/read-shard.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { MemoryRunFolder } from './memory-run-folder.ts';
import { planOf, product, record, rejected, skipped } from './plan-of.ts';

function products(from: number, to: number, changes = {}): Mapped[] {
  return Array.from({ length: to - from }, (_, index) =>
    record(`p${from + index}`, product(`p${from + index}`, changes), { line: from + index + 2 }),
  );
}

function ledgerOf(from: number, to: number, job = 'nightly'): MemoryLedger {
  const ledger = new MemoryLedger();
  for (let number = from; number < to; number++)
    ledger.put(`p${number}`, product(`p${number}`), { id: 1000 + number, job });
  return ledger;
}

describe('a plan', () => {
  it('sends what is new or changed, with the id the ledger knows, and leaves what is unchanged', async () => {
    const mapped = [...products(0, 2, { title: 'New title' }), ...products(2, 510)];
    const { plan, operations } = await planOf({ mapped, ledger: ledgerOf(0, 500) });
    expect(plan.counts).toMatchObject({
      rows: 510,
      records: 510,
      new: { records: 10 },
      changed: { records: 2 },
      unchanged: { records: 498 },
    });
    expect(operations.map(({ key }) => key)).toEqual([
      'p0',
      'p1',
      ...Array.from({ length: 10 }, (_, n) => `p${500 + n}`),
    ]);
    expect(operations[0]).toMatchObject({ kind: 'upsert-product', knownId: 1000, index: 0, rows: 1 });
    expect(operations[2]).toMatchObject({ kind: 'upsert-product', knownId: null });
    expect(plan.examples.new[0]).toEqual({ key: 'p500', file: 0, line: 502 });
  });

  it('writes the body exactly as it was fingerprinted, whatever letters it holds', async () => {
    const body = product('tab', { title: 'a\tb\nc "d" \u2028 é 漢 😀 \ud800' });
    const { operations } = await planOf({ mapped: [record('tab\there', body, { line: 2 })] });
    expect(operations[0]).toMatchObject({ key: 'tab\there', body: JSON.stringify(body) });
  });

  it('fills shards with at most 500 operations, numbers them on, and puts deletes into their own last ones', async () => {
    const ledger = ledgerOf(2000, 2600);
    const { plan, folder } = await planOf({
      mapped: products(0, 1001),
      ledger,
      mode: 'mirror',
      batchSize: 100,
    });
    expect(plan.shards.map(({ number, name, operations }) => [number, name, operations])).toEqual([
      [1, 'shard-00001.jsonl', 500],
      [2, 'shard-00002.jsonl', 500],
      [3, 'shard-00003.jsonl', 1],
      [4, 'delete-00001.jsonl', 500],
      [5, 'delete-00002.jsonl', 100],
    ]);
    expect(plan.shards.map(({ name, bytes }) => bytes === folder.files.get(name)?.length)).not.toContain(
      false,
    );
    expect((await readShard(folder, 'delete-00001.jsonl'))[0]).toMatchObject({
      kind: 'delete-product',
      key: 'p2000',
      id: 3000,
    });
  });

  it('closes a shard early when bodies are large, so that reading one stays cheap', async () => {
    const description = 'x'.repeat(1024 * 1024);
    const { plan, operations } = await planOf({ mapped: products(0, 10, { description }) });
    expect(plan.shards.length).toBeGreaterThan(2);
    expect(Math.max(...plan.shards.map(({ bytes }) => bytes))).toBeLessThan(5 * 1024 * 1024);
    expect(operations.length).toBe(10);
  });

  it('asks the ledger in batches', async () => {
    const ledger = new MemoryLedger();
    await planOf({ mapped: products(0, 2000), ledger, batchSize: 3 });
    expect(ledger.questions).toBeLessThanOrEqual(4);
  });

  it('sends what is unchanged as well when told to resend, and does not call it changed', async () => {
    const { plan, operations } = await planOf({
      mapped: products(0, 3),
      ledger: ledgerOf(0, 2),
      options: { resend: true },
    });
    expect(plan.counts).toMatchObject({
      new: { records: 1 },
      changed: { records: 0 },
      resent: { records: 2 },
      unchanged: { records: 0 },
    });
    expect(operations.length).toBe(3);
    expect(plan.fieldsChanged).toEqual([]);
  });

  it('does not send a body that only lists its fields in another order', async () => {
    const { title, ...others } = product('p0');
    const { plan } = await planOf({
      mapped: products(0, 1),
      ledger: new MemoryLedger().put('p0', { ...others, title }),
    });
    expect(plan.counts.unchanged.records).toBe(1);
  });

  it('counts fields that change, each record once, with old and new values', async () => {
    const cheaper = { variants: [{ options: [], price: 8, onSale: false, regularPrice: 8, sku: 'sku-p1' }] };
    const mapped = [...products(0, 1, { title: 'Better' }), ...products(1, 2, { title: 'Good', ...cheaper })];
    const { plan } = await planOf({ mapped, ledger: ledgerOf(0, 2) });
    expect(plan.fieldsChanged.map(({ field, records }) => [field, records])).toEqual([
      ['title', 2],
      ['variants.price', 1],
      ['variants.regularPrice', 1],
    ]);
    expect(plan.fieldsChanged[0]?.samples[0]).toEqual({ key: 'p0', old: 'The p0', new: 'Better' });
  });

  it('updates contacts by key, hides their values, and counts what the source has emptied', async () => {
    const ledger = new MemoryLedger().put('7', { email: 'anna@example.com', phone: '0123', tags: ['a'] });
    const contact = record('7', { email: 'berta@example.org', tags: ['a', 'b'] }, { line: 2 });
    const { plan, operations } = await planOf({ mapped: [contact], ledger, resource: 'contacts' });
    expect(operations[0]).toMatchObject({ kind: 'update-contact', key: '7' });
    expect(plan.emptied).toEqual([{ field: 'phone', records: 1 }]);
    const text = JSON.stringify(plan);
    expect(text).not.toContain('anna');
    expect(text).not.toContain('berta');
    expect(text).not.toContain('0123');
    expect(plan.fieldsChanged.find(({ field }) => field === 'email')?.samples[0]?.old).toBe(
      'a•••@e••••••.c••',
    );
    expect(plan.fieldsChanged.find(({ field }) => field === 'tags')?.samples[0]?.new).toBe('["a","b"]');
  });

  it('sends nothing for a contact of which only a field was emptied, and tells so', async () => {
    const known = { email: 'anna@example.com', phone: '0123', tags: ['a'], subscribed: false };
    const ledger = new MemoryLedger().put('7', known).put('8', known).put('9', known);
    const mapped = [
      record('7', { email: 'anna@example.com', subscribed: false }, { line: 2 }),
      record('8', { email: 'anna@example.com', tags: ['a'] }, { line: 3 }),
      record('9', known, { line: 4 }),
    ];
    const { plan, operations } = await planOf({ mapped, ledger, resource: 'contacts' });
    expect(operations).toEqual([]);
    expect(plan.counts.unchanged).toEqual({ records: 3, rows: 3 });
    expect(plan.fieldsChanged).toEqual([]);
    expect(plan.emptied).toEqual([
      { field: 'phone', records: 2 },
      { field: 'tags', records: 1 },
      { field: 'subscribed', records: 1 },
    ]);
  });

  it('sends the properties that are left when one of them is gone', async () => {
    const [stage, job] = [
      { name: 'Stage', value: 'Lead' },
      { name: 'Job', value: 'Baker' },
    ];
    const ledger = new MemoryLedger().put('7', { properties: [stage, job] }).put('8', { properties: [job] });
    const mapped = [
      record('7', { properties: [job] }, { line: 2 }),
      record('8', { name: 'Ann' }, { line: 3 }),
    ];
    const { plan, operations } = await planOf({ mapped, ledger, resource: 'contacts' });
    expect(operations.map(({ key }) => key)).toEqual(['7', '8']);
    expect(plan.fieldsChanged.map(({ field }) => field)).toEqual(['properties.Stage', 'name']);
    expect(plan.emptied).toEqual([{ field: 'properties', records: 1 }]);
  });

  it('warns when it takes over what another job sent, and tells what stays that job’s', async () => {
    const mapped = [...products(0, 1, { title: 'x' }), ...products(1, 3)];
    const { plan } = await planOf({ mapped, ledger: ledgerOf(0, 3, 'other') });
    expect(plan.takeovers).toEqual([{ job: 'other', sent: 1, left: 2, examples: ['p0', 'p1', 'p2'] }]);
  });

  it('counts what the mapping changed on the way by its sentence', async () => {
    const raised = { ...record('p0', product('p0'), { line: 2 }), notes: ['quantity below 0 raised to 0'] };
    const { plan } = await planOf({ mapped: [raised, ...products(1, 2)] });
    expect(plan.notices).toEqual([{ message: 'quantity below 0 raised to 0', records: 1 }]);
  });

  it('groups rejections and skips by reason, with counts in records and rows and the first lines', async () => {
    const bad = Array.from({ length: 7 }, (_, n) =>
      rejected(`bad${n}`, 'price-not-a-number', { line: 2 + 2 * n, rows: 2 }),
    );
    const { plan, rejections } = await planOf({
      mapped: [...bad, rejected(null, 'no-key', { line: 99 }), skipped('s', { line: 100 })],
    });
    expect(plan.rejections[0]).toMatchObject({ code: 'price-not-a-number', records: 7, rows: 14 });
    expect(plan.rejections[0]?.lines.map(({ line }) => line)).toEqual([2, 4, 6, 8, 10]);
    expect(plan.skips).toMatchObject([{ code: 'skip', records: 1, rows: 1 }]);
    expect(plan.unreadableKeys).toBe(1);
    expect(rejections.length).toBe(8);
    expect(rejections[7]).toMatchObject({
      key: null,
      reason: { code: 'no-key' },
      spans: [{ file: 0, from: 99, to: 99 }],
    });
  });
});

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

  it('that may be halves of one product are rejected under every policy', async () => {
    const half = record('p5', product('p5', { title: 'Half' }), { line: 90, rows: 2, torn: true });
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

  it('are not merged by the thousand: that is a wrong mapping', async () => {
    const mapped = Array.from({ length: 1001 }, (_, n) => record('7', { name: `n${n}` }, { line: n + 2 }));
    const { plan } = await planOf({ mapped, resource: 'contacts', duplicates: 'merge', batchSize: 500 });
    expect(plan.rejections).toMatchObject([{ code: 'too-many-copies', records: 1, rows: 1001 }]);
  });
});

describe('a mirror', () => {
  it('deletes what this job sent and the source no longer has, and nobody else’s', async () => {
    const ledger = ledgerOf(0, 5).put('theirs', product('theirs'), { job: 'other' });
    const { plan, operations } = await planOf({ mapped: products(0, 3), ledger, mode: 'mirror' });
    expect(plan.counts).toMatchObject({ removed: 2, deletes: 2 });
    expect(operations).toMatchObject([
      { kind: 'delete-product', key: 'p3', id: 1003, index: 0 },
      { kind: 'delete-product', key: 'p4', id: 1004, index: 1 },
    ]);
    expect(plan.examples.removed.map(({ key }) => key)).toEqual(['p3', 'p4']);
  });

  it('keeps what stands in the source only as a rejected or a skipped row', async () => {
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

  it('counts removed products whose id the store never told, since they cannot be deleted', async () => {
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
      options: { retry: true },
    });
    expect(retried.plan).toMatchObject({ deletesWithheld: 'retry', counts: { removed: 0, deletes: 0 } });
  });

  it('is what only a mirror does', async () => {
    expect((await planOf({ mapped: products(0, 1), ledger: ledgerOf(0, 5) })).operations).toEqual([]);
  });
});

describe('the files of a plan', () => {
  it('end with plan.json, which reads back as the plan', async () => {
    const mapped = [...products(0, 3), rejected('x', 'bad', { line: 9 })];
    const { plan, folder } = await planOf({ mapped, ledger: ledgerOf(0, 5), mode: 'mirror' });
    expect(folder.writes.at(-1)).toBe('plan.json');
    expect(await readPlan(folder)).toEqual(plan);
  });

  it('of an earlier attempt are gone', async () => {
    const folder = new MemoryRunFolder();
    await planOf({ mapped: products(0, 1200), folder });
    const { plan } = await planOf({ mapped: products(0, 3), folder });
    expect(await folder.list()).toEqual(['plan.json', 'rejections.jsonl', 'shard-00001.jsonl']);
    expect(plan.counts.records).toBe(3);
  });

  it.each(['shard-00001.jsonl', 'rejections.jsonl', 'plan.json'])(
    'are no plan when %s cannot be written',
    async (failing) => {
      const folder = new MemoryRunFolder();
      await planOf({ mapped: products(0, 3), folder });
      folder.failOn = failing;
      const mapped = [...products(0, 1200), rejected('x', 'bad', { line: 9 })];
      await expect(planOf({ mapped, folder })).rejects.toThrow('the disk is full');
      expect(await readPlan(folder)).toBeUndefined();
    },
  );

  it('are no plan when the source breaks off, or the run is told to stop', async () => {
    const folder = new MemoryRunFolder();
    const broken = async function* () {
      yield products(0, 1200);
      throw new Error('the file ends in the middle of a quote');
    };
    await expect(planOf({ mapped: [], folder, options: { openMapped: broken } })).rejects.toThrow(
      'middle of a quote',
    );
    const stopped = AbortSignal.abort(new Error('told to stop'));
    await expect(planOf({ mapped: products(0, 3), folder, options: { signal: stopped } })).rejects.toThrow(
      'told to stop',
    );
    expect(await readPlan(folder)).toBeUndefined();
    expect(await folder.exists('rejections.jsonl')).toBe(false);
  });

  it('are no plan when the ledger cannot be asked', async () => {
    const ledger = new MemoryLedger();
    ledger.marks = () => Promise.reject(new Error('the ledger is locked'));
    const folder = new MemoryRunFolder();
    await expect(planOf({ mapped: products(0, 1200), ledger, folder })).rejects.toThrow(
      'the ledger is locked',
    );
    expect(await folder.list()).toEqual([]);
  });

  it('are refused when damaged, with the file and line', async () => {
    const { folder } = await planOf({ mapped: products(0, 3) });
    const shard = String(folder.files.get('shard-00001.jsonl'));
    folder.files.set('cut.jsonl', Buffer.from(shard.slice(0, -5)));
    folder.files.set('edited.jsonl', Buffer.from(shard.replace('"rows":1', '"rows":"one"')));
    folder.files.set('plan.json', Buffer.from('{"job":"x"}'));
    await expect(readShard(folder, 'cut.jsonl')).rejects.toThrow(
      'memory/cut.jsonl ends in the middle of a line',
    );
    await expect(readShard(folder, 'edited.jsonl')).rejects.toThrow('Line 1 of memory/edited.jsonl');
    await expect(readPlan(folder)).rejects.toThrow('plan.json is not a plan');
  });
});
