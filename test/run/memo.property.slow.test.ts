import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileMapping } from '../../src/mapping/compile-mapping.ts';
import { deferTables, mapTables } from '../../src/mapping/map-tables.ts';
import type { MappingSpec } from '../../src/mapping/spec/mapping-spec.ts';
import type { Operation } from '../../src/model/operation.ts';
import { decodeBodies } from '../../src/state/encode-body.ts';
import { openRowScratch } from '../../src/state/sqlite/open-row-scratch.ts';
import { CONTEXT, shippedMapping, table } from '../mapping/mapping-setup.ts';
import { MemoryLedger } from '../plan/memory-ledger.ts';
import { type PlanMade, planOf } from '../plan/plan-of.ts';
import { edited, editsOf, SOURCE_KINDS, type SourceFile, type SourceKind } from './memo-sources.ts';

const DAY_MS = 86_400_000;

interface RunInput {
  readonly files: readonly SourceFile[];
  readonly ledger: MemoryLedger;
  readonly now: number;
  readonly mode: 'upsert' | 'mirror';
  readonly duplicates: 'reject' | 'first' | 'last';
  readonly resend: boolean;
}

/** A kind of source with its mapping, read once. */
type OpenKind = SourceKind & { readonly spec: MappingSpec };

function opened(kind: SourceKind): OpenKind {
  return { ...kind, spec: shippedMapping(kind.mapping) };
}

/** How many records were mapped while the plan was made. */
let mappedRecords = 0;

async function planned({ spec, resource }: OpenKind, input: RunInput, memo: boolean): Promise<PlanMade> {
  const { files, ledger, now, mode, duplicates, resend } = input;
  const openMapped = () => {
    const mapping = compileMapping(spec, { ...CONTEXT, now });
    const { build } = mapping.mapper;
    const counting = {
      ...mapping,
      mapper: {
        ...mapping.mapper,
        build: (...args: Parameters<typeof build>) => {
          mappedRecords++;
          return build(...args);
        },
      },
    };
    const tables = files.map(({ header, rows }, file) => table(header, rows, file, 5));
    return memo
      ? deferTables(counting, tables, { context: 'context', openScratch: openRowScratch })
      : mapTables(counting, tables, { openScratch: openRowScratch });
  };
  return await planOf({
    ...{ mapped: [], ledger, resource, mode, duplicates },
    options: { openMapped, resend },
  });
}

/**
 * Without memos, which only one of the two plans knows of; shards by what stands in them. In no order: rows that are skipped once
 * they are mapped claim their key before, so that a copy of it waits for the second pass, and comes last.
 */
function comparable({ plan, operations, rejections }: PlanMade) {
  const { shards: _, rejectionsSha256: __, ...bare } = plan;
  return unordered({ plan: bare, operations: operations.map(bareOperation), rejections });
}

function bareOperation(operation: Operation): object {
  const packed = 'packed' in operation ? operation.packed : undefined;
  const unpacked = packed === undefined ? undefined : decodeBodies(packed.block)[packed.place];
  return { ...operation, packed: unpacked, memo: undefined, index: undefined };
}

function unordered(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => ({
      item: unordered(item),
      text: JSON.stringify(unordered(item)) ?? '',
    }));
    return items.sort((one, other) => (one.text < other.text ? -1 : 1)).map(({ item }) => item);
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, unordered(member)]));
}

/** As if the store had acknowledged what the plan sends. */
function acknowledge(ledger: MemoryLedger, operations: readonly Operation[], job: string): void {
  for (const operation of operations) {
    if (operation.kind === 'delete-product') {
      ledger.entries.delete(operation.key);
      continue;
    }
    const { key, body, memo } = operation;
    ledger.entries.set(key, { body, id: ledger.entries.get(key)?.id ?? ledger.entries.size + 1, job, memo });
  }
}

describe.each(SOURCE_KINDS.map(opened))('daily runs of $mapping', (kind) => {
  const header = Object.keys(kind.columns);

  it('are planned with memos as they are without', async () => {
    await fc.assert(
      fc.asyncProperty(
        editsOf(kind),
        fc.constantFrom('reject' as const, 'first' as const, 'last' as const),
        fc.constantFrom('upsert' as const, 'mirror' as const),
        fc.constantFrom('nightly', 'nightly', 'another'),
        fc.boolean(),
        async ({ rows, edits }, duplicates, mode, job, resend) => {
          const ledger = new MemoryLedger();
          let files: readonly SourceFile[] = [{ header, rows }];
          let now = Date.parse('2026-01-01T00:00:00Z');
          for (const changes of [[], ...edits, []]) {
            files = edited(kind, files, changes);
            const input = { files, ledger, now, mode, duplicates, resend: resend && changes.length === 3 };
            const without = await planned(kind, { ...input, ledger: new MemoryLedger(ledger) }, false);
            const withMemos = await planned(kind, input, true);
            expect(comparable(withMemos)).toEqual(comparable(without));
            acknowledge(ledger, withMemos.operations, changes.length === 1 ? job : 'nightly');
            now += 5 * DAY_MS;
          }
        },
      ),
      { numRuns: 20 },
    );
  });
});

describe('a run after an unchanged one', () => {
  const shirts = (price: string) =>
    Array.from({ length: 300 }, (_, n) => [`p${n}`, `The ${n}`, n === 7 ? price : '10.00', 'Acme']);
  const header = ['Handle', 'Title', 'Variant Price', 'Vendor'];
  const [kind] = SOURCE_KINDS.slice(0, 1).map(opened);
  if (kind === undefined) throw new Error('no kind of source');
  const inputOf = (rows: string[][], ledger: MemoryLedger, columns = header): RunInput => ({
    ...{ files: [{ header: columns, rows }], ledger, now: 0 },
    ...{ mode: 'upsert', duplicates: 'reject', resend: false },
  });

  it('maps what has changed, and nothing else', async () => {
    const ledger = new MemoryLedger();
    acknowledge(ledger, (await planned(kind, inputOf(shirts('10.00'), ledger), true)).operations, 'nightly');
    mappedRecords = 0;
    const { plan } = await planned(kind, inputOf(shirts('12.00'), ledger), true);
    expect(plan.counts).toMatchObject({ changed: { records: 1 }, unchanged: { records: 299 } });
    expect(mappedRecords).toBe(1);
  });

  it('maps nothing either where only columns have changed that the mapping does not use', async () => {
    const ledger = new MemoryLedger();
    acknowledge(ledger, (await planned(kind, inputOf(shirts('10.00'), ledger), true)).operations, 'nightly');
    mappedRecords = 0;
    const turned = shirts('10.00').map(([handle = '', title = '', price = '']) => [
      title,
      price,
      handle,
      'X',
    ]);
    const columns = ['Title', 'Variant Price', 'Handle', 'Supplier'];
    const { plan } = await planned(kind, inputOf(turned, ledger, columns), true);
    expect(plan.counts).toMatchObject({ unchanged: { records: 300 } });
    expect(mappedRecords).toBe(0);
  });

  it('learns the memos that the ledger lacks, as after an update of Storeferry', async () => {
    const ledger = new MemoryLedger();
    acknowledge(ledger, (await planned(kind, inputOf(shirts('10.00'), ledger), true)).operations, 'nightly');
    for (const [key, { memo: _, ...entry }] of ledger.entries) ledger.entries.set(key, entry);
    mappedRecords = 0;
    await planned(kind, inputOf(shirts('10.00'), ledger), true);
    expect(mappedRecords).toBe(300);
    await planned(kind, inputOf(shirts('10.00'), ledger), true);
    expect(mappedRecords).toBe(300);
  });

  it('maps again what was noted, so that the notice appears in every run', async () => {
    const ledger = new MemoryLedger();
    const rows = [['p1', 'One', '10.00', '-3']];
    const columns = ['Handle', 'Title', 'Variant Price', 'Variant Inventory Qty'];
    const first = await planned(kind, inputOf(rows, ledger, columns), true);
    expect(first.plan.notices).toHaveLength(1);
    acknowledge(ledger, first.operations, 'nightly');
    const { plan } = await planned(kind, inputOf(rows, ledger, columns), true);
    expect(plan.notices).toEqual(first.plan.notices);
    expect(plan.counts.unchanged.records).toBe(1);
  });

  it('sends everything with resend', async () => {
    const ledger = new MemoryLedger();
    acknowledge(ledger, (await planned(kind, inputOf(shirts('10.00'), ledger), true)).operations, 'nightly');
    const { plan } = await planned(kind, { ...inputOf(shirts('10.00'), ledger), resend: true }, true);
    expect(plan.counts.resent.records).toBe(300);
  });
});
