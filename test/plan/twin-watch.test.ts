import { describe, expect, it } from 'vitest';
import { BlockIndex } from '../../src/model/block-index.ts';
import type { DeferredRecord, Mapped, SourceItem } from '../../src/model/mapped-record.ts';
import { BLOCKS_FILE, readHeld } from '../../src/plan/plan-file.ts';
import { MemoryLedger } from './memory-ledger.ts';
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

const at = (line: number) => ({ line });
const two = (one: string, other: string, title = 'New') => [
  record(one, product(one, { title }), at(2)),
  record(other, product(other, { title }), at(3)),
];

/** A ledger that has these urls with these ids. */
const knows = (ids: Readonly<Record<string, number>>) =>
  Object.entries(ids).reduce(
    (ledger, [url, id]) => ledger.put(url, product(url), { id, job: 'nightly' }),
    new MemoryLedger(),
  );

/** The urls that a plan sends, those that it holds, each with the other one, and those that it warns of. */
async function split(given: PlanCase) {
  const { plan, operations, folder, passes } = await planOf(given);
  const held: unknown[] = [];
  for await (const batch of readHeld(folder, plan))
    for (const { operation, hits } of batch)
      held.push([operation.key, ...hits.map(({ field, old }) => [field, old])]);
  const warned = plan.notices.flatMap(({ message, keys }) =>
    message.includes('in spelling alone') ? (keys ?? []) : [],
  );
  return { plan, folder, sent: operations.map(({ key }) => key), held, warned, passes };
}

describe('two urls that a store may take for one', () => {
  const SPELLINGS = [
    ['case', 'Lamp', 'lamp'],
    ['the form of Unicode', 'cafe\u0301', 'caf\u00e9'],
    ['percent-encoding', 'caf%C3%A9', 'caf\u00e9'],
    ['a slash', 'lamp/', 'lamp'],
    ['case, both unusual', 'Lamp', 'LAMP'],
  ] as const;

  it.each(SPELLINGS)('are named where the store has answered neither: %s', async (_, other, first) => {
    for (const mapped of [two(other, first), two(first, other)]) {
      const found = await split({ mapped });
      expect(found).toMatchObject({ held: [], warned: [other] });
      expect(found.sent).toHaveLength(2);
    }
  });

  it.each(SPELLINGS)(
    'are one where it has answered one product for both: the second is held: %s',
    async (_, other, first) => {
      const ledger = knows({ [other]: 7, [first]: 7 });
      for (const mapped of [two(other, first), two(first, other)]) {
        const found = await split({ mapped, ledger });
        expect(found).toMatchObject({ sent: [first], held: [[other, ['url', first]]], warned: [] });
        expect(found.plan.counts).toMatchObject({ changed: { records: 1 }, held: { records: 1 } });
        expect(found.plan.notices).toMatchObject([
          { message: expect.stringMatching(/^held, because the store has the same product/), keys: [other] },
        ]);
        expect(await split({ mapped, ledger, options: { resend: true } })).toMatchObject({ sent: [first] });
      }
    },
  );

  it('are two where it has answered different products', async () => {
    const ledger = knows({ Lamp: 7, lamp: 8 });
    const found = await split({ mapped: two('Lamp', 'lamp'), ledger });
    expect(found).toMatchObject({ sent: ['Lamp', 'lamp'], held: [], warned: [] });
  });

  it('are neither held nor named while nothing of them is sent', async () => {
    const mapped = ['Lamp', 'lamp'].map((url, index) => record(url, product(url), at(index + 2)));
    const found = await split({ mapped, ledger: knows({ Lamp: 7, lamp: 7 }) });
    expect(found).toMatchObject({ sent: [], held: [], warned: [] });
  });

  it('are a known one and a new one: the new one is named, whatever the spelling', async () => {
    const found = await split({ mapped: two('LAMP', 'lamp'), ledger: knows({ LAMP: 7 }) });
    expect(found).toMatchObject({ sent: ['LAMP', 'lamp'], warned: ['lamp'] });
    const mapped = [record('Lamp', product('Lamp'), at(2)), rejected('lamp', 'bad', at(3))];
    expect(await split({ mapped, ledger: knows({ lamp: 7 }) })).toMatchObject({ warned: ['Lamp'] });
  });

  it('are not urls with other letters or signs, nor those that the source no longer has', async () => {
    const urls = ['caf\u00e9', 'cafe', 'Brass_Lamp', 'brass-lamp', '%', '/', '//', 'T%zz', 't%zz.'];
    const mapped = urls.map((url, index) => record(url, product(url), at(index + 2)));
    expect(await split({ mapped })).toMatchObject({ sent: urls, warned: [], passes: 1 });
    const ledger = ledgerOf(0, 5).put('Lamp', product('Lamp'), { id: 7 });
    const alone = [...products(0, 5), record('lamp', product('lamp'), at(9))];
    expect(await split({ mapped: alone, ledger })).toMatchObject({ sent: ['lamp'], warned: [] });
  });

  it('are two of three where it has answered another product for the first', async () => {
    const mapped = [...two('Lamp', 'lamp'), record('LAMP', product('LAMP', { title: 'New' }), at(4))];
    const found = await split({ mapped, ledger: knows({ lamp: 7, LAMP: 8, Lamp: 8 }) });
    expect(found).toMatchObject({ sent: ['lamp', 'LAMP'], held: [['Lamp', ['url', 'LAMP']]] });
  });

  it('are one once the other is skipped, also by what only its values say', async () => {
    const ledger = knows({ lamp: 7, Lamp: 7 });
    const mapped = [skipped('lamp', at(2)), record('Lamp', product('Lamp', { title: 'New' }), at(3))];
    const forms: readonly (readonly (Mapped | DeferredRecord)[])[] = [mapped, mapped.map(deferred)];
    for (const items of forms)
      expect(await split({ mapped: [], ledger, options: { openMapped: () => inOne(items) } })).toMatchObject({
        ...{ sent: ['Lamp'], held: [], warned: [] },
      });
  });

  it('are named where a job only creates, and has created one of them', async () => {
    const given = { mapped: two('Lamp', 'lamp'), ledger: knows({ lamp: 7 }) };
    const job = {
      name: 'nightly',
      import: 'products',
      mode: 'create',
      duplicates: 'reject',
      safety: NO_LIMITS,
    } as const;
    expect(await split({ ...given, options: { job } })).toMatchObject({ sent: ['Lamp'], warned: ['Lamp'] });
  });

  it('are in no block that the next run need not read', async () => {
    const urls = ['LAMP', 'chair', 'Lamp'];
    const open = () =>
      inOne(
        urls.flatMap((url, index): SourceItem[] => [
          { ...record(url, product(url), at(index + 2)), memo: url },
          { kind: 'block-end', block: { ...BLOCK, bytes: Buffer.from(`${url}\n`) } },
        ]),
      );
    const blocksAfter = async (ids: Readonly<Record<string, number>>) => {
      const blocks = { open, index: undefined, position: '' };
      const { folder } = await split({
        mapped: [],
        ledger: knows({ chair: 1, ...ids }),
        options: { blocks },
      });
      const bytes = folder.files.get(BLOCKS_FILE) ?? Buffer.alloc(0);
      return new BlockIndex(new Uint32Array(new Uint8Array(bytes).buffer), 1).allRecords;
    };
    expect(await blocksAfter({ LAMP: 7, Lamp: 7 })).toBe(1);
    expect(await blocksAfter({ LAMP: 7, Lamp: 8 })).toBe(3);
  });
});

const BLOCK = { lines: 1, rows: 1, blankLines: 0, first: 0, last: 0, table: new Uint32Array(4) };

async function* inOne<Item>(items: readonly Item[]): AsyncGenerator<readonly Item[]> {
  yield items;
}

function deferred(item: Mapped): DeferredRecord {
  const { key, rows, spans } = item;
  if (key === null) throw new Error('a deferred record has a key');
  return { kind: 'deferred', key, rows, spans, memo: `memo of ${key}`, chars: 1, map: () => item };
}
