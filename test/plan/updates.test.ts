import { describe, expect, it } from 'vitest';
import type { Mapped, Product, ProductPatch } from '../../src/model/mapped-record.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { NO_LIMITS, type PlanCase, planOf, product, record, rejected, skipped } from './plan-of.ts';

const shirt = product('shirt', {
  options: [{ name: 'Size', values: ['S', 'L'], advanced: false }],
  variants: [
    { options: ['S'], price: 10, onSale: false, regularPrice: 10, quantity: 1, sku: 'S-S' },
    { options: ['L'], price: 10, onSale: false, regularPrice: 10, quantity: 2, sku: 'S-L' },
  ],
});
const mug = product('mug');

function catalog(): MemoryLedger {
  return new MemoryLedger()
    .put('shirt', shirt, { id: 1, job: 'catalog' })
    .put('mug', { ...mug, later: true }, { id: 2, job: 'catalog' })
    .put('cup', product('cup', { variants: mug.variants }), { id: 3, job: 'catalog' });
}

/** Stock by SKU: a patch of one variant. */
function stock(sku: string, quantity: number, line: number): Mapped {
  return record(sku, { variants: [{ sku, quantity }] }, { line });
}

async function update(
  mapped: readonly Mapped[],
  { match = 'sku', ...given }: Partial<PlanCase> & { readonly match?: 'url' | 'sku' | 'id' } = {},
) {
  const { duplicates = 'reject', ledger = catalog() } = given;
  const job = {
    name: 'stock',
    import: 'products',
    mode: 'update',
    match,
    duplicates,
    safety: NO_LIMITS,
  } as const;
  const made = await planOf({ ...given, mapped, ledger, options: { job, ...given.options } });
  const sent = made.operations.map((operation) => {
    const body: Product = 'body' in operation ? JSON.parse(operation.body) : {};
    const { owner, knownId } = operation.kind === 'upsert-product' ? operation : {};
    return { key: operation.key, rows: operation.rows, owner, knownId, body };
  });
  const reasons = made.rejections.map(({ key, records, rows, reason, spans }) => ({
    ...{ key, records, rows, code: reason.code, lines: spans.map(({ from }) => from) },
  }));
  return { ...made, sent, reasons };
}

const withQuantities = (...quantities: readonly number[]) => ({
  ...shirt,
  variants: shirt.variants.map((variant, index) => ({ ...variant, quantity: quantities[index] ?? 0 })),
});

describe('an update', () => {
  it('merges rows of one product into one operation that leaves the key with its owner', async () => {
    const { plan, sent } = await update([stock('S-L', 20, 2), stock('sku-shoe', 4, 3), stock('S-S', 10, 4)]);
    expect(sent).toEqual([
      { key: 'shirt', rows: 2, owner: 'catalog', knownId: 1, body: withQuantities(10, 20) },
    ]);
    expect(plan.counts).toMatchObject({
      ...{ rows: 3, records: 2, new: { records: 0 }, changed: { records: 1, rows: 2 } },
      rejected: { records: 1, rows: 1 },
    });
    expect(plan.takeovers).toEqual([]);
    expect(plan.fieldsChanged.map(({ field }) => field)).toEqual(['variants.quantity']);
  });

  it('sends nothing where the merged body is what the store acknowledged', async () => {
    const { plan, sent } = await update([stock('S-S', 1, 2), stock('S-L', 2, 3)]);
    expect(sent).toEqual([]);
    expect(plan.counts.unchanged).toEqual({ records: 1, rows: 2 });
  });

  it('never creates: it rejects what it does not find, and SKUs of several products', async () => {
    const { sent, reasons, plan } = await update([
      stock('none', 1, 2),
      stock('sku-mug', 3, 3),
      stock('S-S', 1, 4),
    ]);
    expect(sent).toEqual([]);
    expect(reasons).toEqual([
      { key: null, records: 1, rows: 1, code: 'no-match', lines: [2] },
      { key: null, records: 1, rows: 1, code: 'ambiguous-match', lines: [3] },
    ]);
    expect(plan.rejections[1]?.message).toContain("2 products have this SKU: 'mug', 'cup'");
  });

  it('finds products by url and by id, and fields of a later version stay', async () => {
    const hide: ProductPatch = { hidden: true, variants: [] };
    const byUrl = await update([record('mug', hide, { line: 2 }), record('x', hide, { line: 3 })], {
      match: 'url',
    });
    expect(byUrl.sent.map(({ body }) => body)).toEqual([{ ...mug, hidden: true, later: true }]);
    expect(byUrl.reasons.map(({ code }) => code)).toEqual(['no-match']);
    const byId = await update([record('2', hide, { line: 2 }), record('9', hide, { line: 3 })], {
      match: 'id',
    });
    expect(byId.sent.map(({ key }) => key)).toEqual(['mug']);
    expect(byId.reasons.map(({ code }) => code)).toEqual(['no-match']);
  });

  it.each([
    [false, true],
    [true, undefined],
  ])('says whether the store takes whole products alone: parts by key %s', async (partByKey, sendsWhole) => {
    const updates = { partByKey, partById: false, replaces: true, isLocked: false };
    expect((await planOf({ mapped: [], options: { updates } })).plan.sendsWhole).toBe(sendsWhole);
  });

  it('gives no product the SKU of another one', async () => {
    const rename = (line: number, sku: string): Mapped =>
      record('1', { variants: [{ sku, options: ['S'] }] }, { line });
    const taken = await update([rename(2, 'sku-mug')], { match: 'id' });
    expect(taken.sent).toEqual([]);
    expect(taken.reasons).toMatchObject([{ code: 'ambiguous-match', lines: [2] }]);
    const ledger = catalog();
    expect((await update([rename(2, 'S-S')], { match: 'id', ledger })).sent).toEqual([]);
    expect(ledger.lookUps).toEqual([1]);
    expect((await update([rename(2, 'S-N')], { match: 'id' })).sent).toMatchObject([{ key: 'shirt' }]);
  });

  it.each([
    ['reject', [], [2, 3], 0],
    ['first', [10, 2], [], 1],
    ['last', [11, 2], [], 1],
  ] as const)(
    'does with two rows of one SKU what duplicates: %s says',
    async (duplicates, sends, lines, skips) => {
      const rows = [stock('S-S', 10, 2), stock('S-S', 11, 3), stock('sku-none', 1, 4)];
      const { sent, reasons, plan } = await update(rows, { duplicates });
      expect(sent.map(({ body }) => body)).toEqual(sends.length === 0 ? [] : [withQuantities(...sends)]);
      expect(reasons.filter(({ code }) => code === 'duplicate-key').flatMap((each) => each.lines)).toEqual(
        lines,
      );
      expect(plan.counts).toMatchObject({ records: 2, skipped: { rows: skips } });
      expect(plan.counts.rows).toBe(3);
      expect(plan.duplicates).toMatchObject({ policy: duplicates, keys: 1, copies: 2 });
    },
  );

  it('skips identical copies, and sends the other rows of a product of which one is rejected', async () => {
    const rows = [
      ...[stock('S-S', 10, 2), stock('S-S', 10, 3)],
      ...[rejected('S-L', 'quantity-not-a-number', { line: 4 }), skipped('S-X', { line: 5 })],
    ];
    const { sent, reasons, plan } = await update(rows);
    expect(sent.map(({ body }) => body)).toEqual([withQuantities(10, 2)]);
    expect(reasons).toMatchObject([{ key: null, code: 'quantity-not-a-number', lines: [4] }]);
    expect(plan.counts).toMatchObject({ rows: 4, records: 3, skipped: { records: 1, rows: 2 } });
  });

  it('merges nothing into what the store may hold, and names who sends it whole', async () => {
    const ledger = catalog();
    await ledger.doubt(['shirt']);
    const { sent, reasons, plan } = await update([stock('S-S', 10, 2), stock('S-L', 11, 3)], { ledger });
    expect(sent).toEqual([]);
    expect(reasons).toEqual([{ key: null, records: 1, rows: 2, code: 'in-doubt', lines: [2, 3] }]);
    expect(plan.rejections[0]?.message).toContain('storeferry run catalog');
  });

  it('merges again into what only an earlier run of its own may have changed', async () => {
    const ledger = catalog();
    await ledger.doubt(['shirt'], 'stock');
    const { sent, reasons } = await update([stock('S-S', 10, 2)], { ledger });
    expect(sent.map(({ key, body }) => [key, body])).toEqual([['shirt', withQuantities(10, 2)]]);
    expect(reasons).toEqual([]);
  });

  it('asks the ledger about many rows at a time', async () => {
    const ledger = new MemoryLedger();
    for (let index = 0; index < 1_500; index++) ledger.put(`p${index}`, product(`p${index}`));
    const rows = Array.from({ length: 1_500 }, (_, index) => stock(`sku-p${index}`, 5, index + 2));
    const { sent } = await update(rows, { ledger, batchSize: 500 });
    expect(sent.map(({ key }) => key)).toEqual(Array.from({ length: 1_500 }, (_, index) => `p${index}`));
    expect(ledger.lookUps).toEqual([500, 500, 500]);
    expect(ledger.questions).toBeLessThan(15);
  });
});

describe('a job that keeps fields', () => {
  const keeping = async (mapped: readonly Mapped[], ledger: MemoryLedger, senders = {}) =>
    await planOf({
      ...{ mapped, ledger },
      options: {
        job: {
          ...{ name: 'catalog', import: 'products', mode: 'upsert', duplicates: 'reject', safety: NO_LIMITS },
          keep: ['variants.quantity'],
        },
        ...senders,
      },
    });

  it('takes them from the acknowledged body, and its own of what the store does not have yet', async () => {
    const ledger = catalog().put('shirt', withQuantities(50, 60), { id: 1, job: 'catalog' });
    const same = await keeping([record('shirt', shirt, { line: 2 })], ledger);
    expect(same.operations).toEqual([]);
    const renamed = { ...shirt, title: 'New' };
    const more = {
      ...renamed,
      variants: [
        ...shirt.variants,
        { ...mug.variants[0], price: 1, onSale: false, regularPrice: 1, options: ['M'], quantity: 7 },
      ],
    };
    const { operations, plan } = await keeping(
      [
        record('shirt', more, { line: 2 }),
        record('new', product('new', { variants: shirt.variants }), { line: 3 }),
      ],
      ledger,
    );
    const [changed, created] = operations.map((each) => ('body' in each ? JSON.parse(each.body) : null));
    expect(changed.title).toBe('New');
    expect(changed.variants.map(({ quantity }: { quantity: number }) => quantity)).toEqual([50, 60, 7]);
    expect(created.variants).toEqual(shirt.variants);
    expect(plan.fieldsChanged.map(({ field }) => field)).toEqual(['title', 'variants']);
  });

  it('takes those of each variant where variants share a SKU, and of none that is another variant now', async () => {
    const variant = (size: string, sku: string, quantity: number) => ({
      ...{ options: [size], price: 10, onSale: false, regularPrice: 10 },
      ...{ sku, quantity },
    });
    const known = {
      'same-sku': [variant('S', 'X', 5), variant('L', 'X', 9)],
      'sku-has-moved': [variant('S', 'X', 5)],
      'skus-are-exchanged': [variant('S', 'X', 5), variant('L', 'Y', 9)],
      'sku-has-changed': [variant('S', 'X', 5), variant('L', 'Y', 9)],
    };
    const now = {
      'same-sku': [variant('S', 'X', 1), variant('L', 'X', 1)],
      'sku-has-moved': [variant('S', 'Z', 1), variant('L', 'X', 1)],
      'skus-are-exchanged': [variant('S', 'Y', 1), variant('L', 'X', 1)],
      'sku-has-changed': [variant('S', 'Z', 1), variant('L', 'Y', 1)],
    };
    const ledger = new MemoryLedger();
    for (const [url, variants] of Object.entries(known))
      ledger.put(url, { ...shirt, url, variants }, { id: 1, job: 'catalog' });
    const { operations } = await keeping(
      Object.entries(now).map(([url, variants], index) =>
        record(url, { ...shirt, url, title: 'New', variants }, { line: index + 2 }),
      ),
      ledger,
    );
    const kept = operations.map((each) => ('body' in each ? JSON.parse(each.body) : {}));
    expect(
      kept.map(({ url, variants }) => [
        url,
        ...variants.map(({ quantity }: { quantity: number }) => quantity),
      ]),
    ).toEqual([
      ['same-sku', 5, 9],
      ['sku-has-moved', 1, 5],
      ['skus-are-exchanged', 9, 5],
      ['sku-has-changed', 5, 9],
    ]);
  });

  it('names who owns them, and what it sends as well as another job', async () => {
    const senders = [
      { job: 'catalog', updates: false, fields: ['title', 'variants.pricing'], removes: [] },
      { job: 'stock', updates: true, fields: ['variants.quantity'], removes: [] },
      { job: 'prices', updates: true, fields: ['variants.pricing'], removes: [] },
      { job: 'other', updates: false, fields: ['title'], removes: ['variants.quantity'] },
    ] as const;
    const dearer = {
      ...mug,
      variants: mug.variants.map((each) => ({ ...each, price: 11, regularPrice: 11 })),
    };
    const { plan } = await keeping([record('mug', dearer, { line: 2 })], catalog(), { senders });
    expect(plan.sharedFields).toEqual([
      { field: 'variants.quantity', jobs: ['stock'], kept: true, records: 0 },
      { field: 'variants.price', jobs: ['prices'], kept: false, records: 1 },
    ]);
  });
});

it('names what an update sends and whole products of this job lack', async () => {
  const senders = [
    { job: 'nightly', updates: false, fields: ['title'], removes: ['variants.quantity', 'variants.weight'] },
    { job: 'stock', updates: true, fields: ['variants.quantity'], removes: [] },
  ] as const;
  const { plan } = await planOf({
    mapped: [
      record(
        'shirt',
        { ...shirt, variants: shirt.variants.map(({ quantity: _, ...each }) => each) },
        { line: 2 },
      ),
    ],
    ledger: catalog(),
    options: { senders },
  });
  expect(plan.sharedFields).toEqual([
    { field: 'variants.quantity', jobs: ['stock'], kept: false, records: 1 },
  ]);
});

it('with mode: create sends new products, and skips known ones whatever they are like now', async () => {
  const { plan, operations } = await planOf({
    mapped: [
      record('shirt', { ...shirt, title: 'New' }, { line: 2 }),
      record('new', product('new'), { line: 3 }),
    ],
    ledger: catalog(),
    options: {
      job: { name: 'j', import: 'products', mode: 'create', duplicates: 'reject', safety: NO_LIMITS },
    },
  });
  expect(operations.map(({ key }) => key)).toEqual(['new']);
  expect(plan.skips.map(({ code, records }) => [code, records])).toEqual([['already-created', 1]]);
  expect(plan.counts).toMatchObject({ records: 2, new: { records: 1 }, skipped: { records: 1 } });
});
