import { describe, expect, it } from 'vitest';
import type { RenameMethod } from '../../src/plan/predecessors.ts';
import { findRenamed } from '../../src/plan/predecessors.ts';
import { MemoryRunFolder } from './memory-run-folder.ts';
import {
  ledgerOf,
  NO_LIMITS,
  type PlanCase,
  planOf,
  product,
  products,
  record,
  rejected,
  skipped,
} from './plan-of.ts';

const PICTURES = { images: ['https://images.example/a.jpg'] };

/** Plans with a search for renamed products. */
async function planRenames(given: PlanCase, method: RenameMethod = 'create') {
  const { ledger = ledgerOf(0, 5), mode = 'mirror' } = given;
  const folder = new MemoryRunFolder();
  return await planOf({
    ...given,
    ledger,
    mode,
    folder,
    options: {
      ...given.options,
      predecessorsIn: ({ tally, seen, upserts }) =>
        findRenamed({
          ledger,
          folder,
          job: 'nightly',
          method,
          isMirror: mode === 'mirror',
          upserts,
          tally,
          seen,
          signal: new AbortController().signal,
        }),
    },
  });
}

/** The product `p4` under another url, with changes. */
const renamed = (url: string, changes = {}) =>
  record(url, product(url, { title: 'The p4', variants: product('p4').variants, ...changes }), { line: 9 });

describe('a product with a new url', () => {
  it('is renamed where all of its SKUs are the same: created, then deleted, and no delete of the mirror', async () => {
    const { plan, operations } = await planRenames({ mapped: [...products(0, 4), renamed('q4')] });
    expect(plan).toMatchObject({
      counts: { new: { records: 0 }, changed: { records: 1 }, removed: 0, deletes: 0 },
      renamed: { records: 1, waiting: 0, byId: false, examples: [{ from: 'p4', to: 'q4', by: 'skus' }] },
      fieldsChanged: [{ field: 'url', records: 1 }],
    });
    expect(operations).toMatchObject([
      { kind: 'upsert-product', key: 'q4', renames: 'p4' },
      { kind: 'delete-product', key: 'p4', id: 1004, renamedTo: 'q4' },
    ]);
    expect(plan.shards.map(({ kind }) => kind)).toEqual(['upserts', 'renames']);
  });

  it('keeps its id where the store changes urls: the two lines are one request', async () => {
    const { plan, operations } = await planRenames({ mapped: [...products(0, 4), renamed('q4')] }, 'put');
    expect(plan.renamed).toMatchObject({ records: 1, byId: true });
    expect(operations).toMatchObject([
      { kind: 'upsert-product', key: 'q4', renames: 'p4', putId: 1004, knownId: 1004 },
      { kind: 'delete-product', key: 'p4', renamedTo: 'q4' },
    ]);
  });

  it('is found by its title and pictures, if its SKUs are others', async () => {
    const ledger = ledgerOf(0, 4).put('p4', product('p4', PICTURES), { id: 7, job: 'nightly' });
    const mapped = [...products(0, 4), renamed('q4', { ...PICTURES, variants: product('q4').variants })];
    const { plan } = await planRenames({ mapped, ledger });
    expect(plan.renamed?.examples).toEqual([{ from: 'p4', to: 'q4', by: 'pictures' }]);
    const { plan: without } = await planRenames({ mapped, ledger: ledgerOf(0, 5) });
    expect(without).toMatchObject({ counts: { new: { records: 1 }, deletes: 1 } });
    expect(without.renamed).toBeUndefined();
  });

  it('is compared with its earlier values: guards see how its price changes', async () => {
    const dearer = { variants: [{ ...product('p4').variants[0], options: [], price: 90, sku: 'sku-p4' }] };
    const { plan, operations } = await planRenames({
      mapped: [...products(0, 4), renamed('q4', dearer)],
      options: {
        job: {
          name: 'nightly',
          import: 'products',
          mode: 'mirror',
          duplicates: 'reject',
          safety: NO_LIMITS,
          guards: [{ field: 'variants.price', changeBy: 50, action: 'hold' }],
        },
      },
    });
    expect(plan.counts).toMatchObject({ held: { records: 1 }, removed: 0, deletes: 0 });
    expect(operations).toEqual([]);
  });

  it.each([
    ['two new ones have its SKUs', [renamed('q4'), renamed('r4')], 2],
    ['the key of a row cannot be read', [renamed('q4'), rejected(null, 'no-key', { line: 20 })], 1],
  ])('waits if %s, and the old one is not deleted', async (_why, more, waiting) => {
    const { plan, operations } = await planRenames({ mapped: [...products(0, 4), ...more] });
    expect(plan).toMatchObject({
      counts: { held: { records: waiting }, new: { records: 0 }, deletes: 0 },
      renamed: { records: 0, waiting },
    });
    expect(operations).toEqual([]);
  });

  it('is new if a product that is still in the source has its SKUs, too', async () => {
    const ledger = ledgerOf(0, 5).put('p3', product('p3', { variants: product('p4').variants }), {
      id: 1003,
    });
    const { plan } = await planRenames({ mapped: [...products(0, 4), renamed('q4')], ledger });
    expect(plan.renamed).toBeUndefined();
    expect(plan.counts).toMatchObject({ new: { records: 1 }, deletes: 1 });
  });

  it.each(['id: null', 'id changed'])('waits if its old id deletes nothing: %s', async (why) => {
    const mark = why === 'id: null' ? { id: null } : { id: 1004, idProof: 'changed' as const };
    const ledger = ledgerOf(0, 4).put('p4', product('p4'), { ...mark, job: 'nightly' });
    const { plan } = await planRenames({ mapped: [...products(0, 4), renamed('q4')], ledger });
    expect(plan).toMatchObject({ renamed: { records: 0, waiting: 1 }, counts: { deletes: 0 } });
  });

  it('is held with mode upsert, where renaming would delete; a part of a catalog is matched by SKUs only', async () => {
    const { plan } = await planRenames({ mapped: [renamed('q4')], mode: 'upsert' }, 'hold');
    expect(plan).toMatchObject({ counts: { held: { records: 1 } }, renamed: { records: 0, waiting: 1 } });
    const ledger = ledgerOf(0, 4).put('p4', product('p4', PICTURES), { id: 7, job: 'nightly' });
    const other = renamed('q4', { ...PICTURES, variants: product('q4').variants });
    expect((await planRenames({ mapped: [other], ledger, mode: 'upsert' })).plan.renamed).toBeUndefined();
    const { plan: whole } = await planRenames({ mapped: [...products(0, 4), other], ledger, mode: 'upsert' });
    expect(whole.renamed?.records).toBe(1);
  });

  it('is found where the whole source has new urls, and is never created a second time', async () => {
    const titled = (key: string, title: string, more = {}) =>
      record(key, { ...product(key, { title, ...more }), variants: [] }, { line: 9 });
    const ledger = ledgerOf(0, 0);
    for (let n = 0; n < 6; n++)
      ledger.put(`p${n}`, { ...product(`p${n}`), variants: [] }, { id: 100 + n, job: 'nightly' });
    const all = (more = {}) => [0, 1, 2, 3, 4, 5].map((n) => titled(`P-${n}`, `The p${n}`, more));
    const planned = async (mapped: ReturnType<typeof all>, method: RenameMethod = 'hold') =>
      (await planRenames({ mapped, ledger, mode: 'upsert' }, method)).plan;
    const changed = {
      counts: { new: { records: 0 }, held: { records: 6 } },
      renamed: { records: 0, waiting: 6 },
    };
    expect(await planned(all())).toMatchObject(changed);
    expect(await planned(all(), 'put'), 'a title alone proves nothing').toMatchObject(changed);
    // Other products of which one has the title of a missing one.
    const others = [0, 1, 2, 3, 4, 5].map((n) => titled(`o${n}`, n === 0 ? 'The p0' : `Other ${n}`));
    expect((await planned(others)).counts).toMatchObject({ new: { records: 6 } });
    expect((await planned(all().slice(0, 2))).counts, 'a part').toMatchObject({ new: { records: 2 } });
    for (let n = 0; n < 6; n++)
      ledger.put(`p${n}`, { ...product(`p${n}`, PICTURES), variants: [] }, { id: 100 + n, job: 'nightly' });
    expect(await planned(all(PICTURES), 'put')).toMatchObject({
      counts: { new: { records: 0 }, changed: { records: 6 } },
      renamed: { records: 6, waiting: 0 },
    });
  });

  it.each(['hold', 'put'] as const)('is new if all its SKUs are others (%s)', async (method) => {
    const variants = (...skus: string[]) => skus.map((sku) => ({ ...product('p').variants[0], sku }));
    const planned = async (before: readonly string[], after: readonly string[], more = {}) => {
      const ledger = ledgerOf(0, 0);
      const mapped = [0, 1, 2, 3, 4, 5].map((n) => {
        const of = (key: string, skus: readonly string[]) => ({
          ...product(key, { title: `Tee ${n}`, ...more }),
          variants: variants(...skus.map((sku) => sku && `${sku}-${n}`)),
        });
        ledger.put(`s${n}`, of(`s${n}`, before), { id: 100 + n, job: 'nightly' });
        return record(`a${n}`, of(`a${n}`, after), { line: 9 });
      });
      const { counts } = (await planRenames({ mapped, ledger, mode: 'upsert' }, method)).plan;
      return [counts.new.records, counts.held.records];
    };
    expect(await planned(['SS26'], ['AW26'])).toEqual([6, 0]);
    expect(await planned(['SS26', 'SS26-L'], ['AW26', 'AW26-L'], PICTURES)).toEqual([6, 0]);
    // The same product: a SKU is shared, absent or spelled otherwise.
    expect(await planned(['SS26', 'SS26-L'], ['SS26', 'AW26-L'])).toEqual([0, 6]);
    expect(await planned(['SS26', ''], ['AW26', 'AW26-L'])).toEqual([0, 6]);
    expect(await planned(['SS26'], [''])).toEqual([0, 6]);
    expect(await planned(['SS＂26'], ['DE-ss26'])).toEqual([0, 6]);
    expect(await planned(['0026'], ['26'])).toEqual([0, 6]);
  });

  it('is the known one if Unicode spells its url, SKU or pictures in another way', async () => {
    const [nfc, nfd] = ['tür', 'tür'.normalize('NFD')];
    const ledger = ledgerOf(0, 4).put(nfc, product(nfc), { id: 7, job: 'nightly' });
    const mapped = [...products(0, 4), record(nfd, product(nfd), { line: 9 })];
    const { plan } = await planRenames({ mapped, ledger, mode: 'upsert' }, 'hold');
    expect(plan).toMatchObject({ counts: { new: { records: 0 }, held: { records: 1 } } });
    const sameSku = [
      ...products(0, 4),
      record('other', product('other', { variants: product(nfd).variants }), { line: 9 }),
    ];
    const { plan: bySku } = await planRenames({ mapped: sameSku, ledger, mode: 'upsert' }, 'put');
    expect(bySku.renamed?.examples).toEqual([{ from: nfc, to: 'other', by: 'skus' }]);
  });

  it.each([
    ['rejected', ': correct that row'],
    ['skipped', ''],
  ] as const)('stays while its row under the new url is %s', async (kind, advice) => {
    const at = { line: 9 };
    const leftOut = kind === 'rejected' ? rejected('q4', 'bad', at) : skipped('q4', at);
    const mapped = [...products(0, 4), { ...leftOut, likeness: { ...product('p4') } }];
    const { plan, operations, folder } = await planRenames({ mapped });
    expect(plan.counts).toMatchObject({ removed: 0, deletes: 0 });
    expect(operations).toEqual([]);
    expect(plan.notices).toMatchObject([
      { message: `not deleted, because its row, under a new url, is ${kind}${advice}`, keys: ['p4'] },
    ]);
    expect(await folder.list()).toEqual(['plan.json', 'rejections.jsonl']);
  });

  it('is deleted although a row is skipped that has one of its SKUs: a variant that is not sold on its own', async () => {
    const variants = ['a', 'b'].map((sku) => ({
      ...{ options: [sku], price: 10, onSale: false, regularPrice: 10, sku },
    }));
    const ledger = ledgerOf(0, 4).put('p4', product('p4', { variants }), { id: 1004, job: 'nightly' });
    const likeness = { title: 'The variant a', images: [], variants: [{ sku: 'a' }] };
    const mapped = [...products(0, 4), { ...skipped('a', { line: 9 }), likeness }];
    expect((await planRenames({ mapped, ledger })).plan.counts).toMatchObject({ removed: 1, deletes: 1 });
  });

  it('is of this job only', async () => {
    const ledger = ledgerOf(0, 4).put('p4', product('p4'), { id: 7, job: 'other' });
    const { plan } = await planRenames({ mapped: [...products(0, 4), renamed('q4')], ledger });
    expect(plan.renamed).toBeUndefined();
    expect(plan.counts.new.records).toBe(1);
  });
});
