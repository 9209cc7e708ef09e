import { describe, expect, it } from 'vitest';
import type { Contact } from '../../src/model/mapped-record.ts';
import { newContactKey } from '../../src/model/operation.ts';
import { readShard } from '../../src/plan/plan-file.ts';
import type { PlanOptions } from '../../src/plan/plan-import.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { ledgerOf, planOf, product, products, record, rejected, skipped } from './plan-of.ts';

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

  it('writes the body exactly as it was fingerprinted, whatever characters it holds', async () => {
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
    const deletes = plan.shards.filter(({ kind }) => kind === 'deletes');
    const read = await Promise.all(deletes.map((shard) => readShard(folder, shard)));
    expect(read[0]?.[0]).toMatchObject({
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
    expect(ledger.questions).toBeLessThanOrEqual(10);
  });

  it('sends what is unchanged as well when it resends, and does not call it changed', async () => {
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

  it('sends nothing for a contact of which only a field was emptied, and says so', async () => {
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

  it('warns when it takes over what another job sent, and names what stays that job’s', async () => {
    const mapped = [...products(0, 1, { title: 'x' }), ...products(1, 3)];
    const { plan } = await planOf({ mapped, ledger: ledgerOf(0, 3, 'other') });
    expect(plan.takeovers).toEqual([{ job: 'other', sent: 1, left: 2, examples: ['p0', 'p1', 'p2'] }]);
  });

  it('counts what the mapping changed on the way by its sentence', async () => {
    const raised = { ...record('p0', product('p0'), { line: 2 }), notes: ['quantity below 0 raised to 0'] };
    const { plan } = await planOf({ mapped: [raised, ...products(1, 2)] });
    expect(plan.notices).toEqual([{ message: 'quantity below 0 raised to 0', records: 1, keys: ['p0'] }]);
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

describe('a text that the source has as another charset shows it', () => {
  const known = () => {
    const ledger = new MemoryLedger();
    for (const url of ['p0', 'p1', 'p2'])
      ledger.put(url, product(url, { title: 'Größe “M”' }), { id: 1, job: 'nightly' });
    return ledger;
  };
  const source = (title: string) => products(0, 3, { title });

  it.each(['GrÃ¶ÃŸe â€œMâ€\u009d', 'GrÃ¶ÃŸe â€œMâ€'])('is rejected, with the record: %s', async (title) => {
    const { plan, operations } = await planOf({ mapped: source(title), ledger: known() });
    expect(operations).toEqual([]);
    expect(plan.rejections).toMatchObject([
      {
        code: 'misread-text',
        field: 'title',
        records: 3,
        message: expect.stringContaining("is 'Größe “M”'"),
      },
    ]);
  });

  it('is sent where it is another text, or was decided before', async () => {
    const repaired = await planOf({ mapped: source('Größe “L”'), ledger: known() });
    expect(repaired.operations).toHaveLength(3);
    const released = await planOf({
      mapped: source('GrÃ¶ÃŸe â€œMâ€'),
      ledger: known(),
      options: { origin: { kind: 'bodies' } },
    });
    expect(released.operations).toHaveLength(3);
  });
});

describe('a contact with a part of its address', () => {
  const planned = async (...bodies: readonly Contact[]) => {
    const mapped = bodies.map((body, index) => record(String(index), body, { line: index + 2 }));
    return (await planOf({ mapped, resource: 'contacts' })).plan.notices;
  };

  it.each<[Contact, string]>([
    [{ address: 'High St 1', city: 'Leeds', state: 'Yorks', country: 'GB' }, 'zip'],
    [{ address: 'High St 1' }, 'zip and city'],
  ])('is named, since the store keeps the other part: %j', async (body, lacking) => {
    const message = `address: sent without ${lacking}; the store keeps what it had there`;
    expect(await planned(body)).toMatchObject([{ message, records: 1 }]);
  });

  it('is not named with all of it, or none', async () => {
    const whole = { address: 'High St 1', zip: 'LS1', city: 'Leeds', state: 'Yorks', country: 'GB' };
    expect(await planned(whole, { name: 'Ann' })).toEqual([]);
  });

  it('is not named without a state or country, unless the store has got one', async () => {
    const body = { address: 'Weg 1', zip: '01067', city: 'Dresden', country: 'DE' };
    expect(await planned(body)).toEqual([]);
    const ledger = new MemoryLedger().put('0', { ...body, state: 'ME', country: 'US' });
    const { plan } = await planOf({ mapped: [record('0', body, { line: 2 })], resource: 'contacts', ledger });
    expect(plan.notices).toMatchObject([{ message: expect.stringContaining('sent without state;') }]);
  });

  it('is not named where its address stays, or where it is created', async () => {
    const sent = { name: 'Ann', zip: 'LS1', city: 'Leeds' };
    const mapped = (key: string, body: Contact) => [record(key, body, { line: 2 })];
    const ledger = new MemoryLedger().put('1', sent);
    const created = { zip: 'LS2', city: 'Leeds' };
    const of = async (key: string, body: Contact, options: Partial<PlanOptions> = {}) =>
      (await planOf({ mapped: mapped(key, body), resource: 'contacts', ledger, options })).plan.notices;
    expect(await of('1', { ...sent, name: 'Anne' })).toEqual([]);
    expect(await of('1', { ...sent, city: 'York' })).toHaveLength(1);
    const key = newContactKey('ann@mail.example');
    expect(await of(key, created, { changesInStore: () => undefined })).toEqual([]);
    // A store that was not read may have the address.
    expect(await of(key, created)).toHaveLength(1);
  });
});
