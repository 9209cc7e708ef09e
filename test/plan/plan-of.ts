import type {
  Mapped,
  MappedRecord,
  MappedRejection,
  MappedSkip,
  Product,
} from '../../src/model/mapped-record.ts';
import type { Operation } from '../../src/model/operation.ts';
import type { DuplicatesPolicy, Plan, PlannedRejection } from '../../src/model/plan.ts';
import { readRejections, readShard } from '../../src/plan/plan-file.ts';
import { type PlanOptions, planImport } from '../../src/plan/plan-import.ts';
import type { RunFolder } from '../../src/state/artifacts.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { MemoryRunFolder } from './memory-run-folder.ts';

/** No limit at all, so that a test judges only what it names. */
export const NO_LIMITS = {
  maxDeletes: { kind: 'off' },
  maxRejects: { kind: 'off' },
  maxSkipped: { kind: 'off' },
  minRows: { kind: 'count', count: 0 },
  maxChanges: { kind: 'off' },
  maxCreates: { kind: 'off' },
  maxPriceMoves: { kind: 'off' },
} as const;

export interface PlanCase {
  readonly mapped: readonly Mapped[];
  readonly ledger?: MemoryLedger;
  readonly folder?: MemoryRunFolder;
  readonly resource?: 'products' | 'contacts';
  readonly mode?: 'upsert' | 'mirror';
  readonly duplicates?: DuplicatesPolicy;
  readonly batchSize?: number;
  readonly options?: Partial<PlanOptions>;
}

export interface PlanMade {
  readonly plan: Plan;
  readonly operations: readonly Operation[];
  readonly rejections: readonly PlannedRejection[];
  readonly folder: MemoryRunFolder;
  /** How often the source was read. */
  readonly passes: number;
}

/** Plans what the case says, and reads back everything that was written. */
export async function planOf({
  mapped,
  ledger = new MemoryLedger(),
  folder = new MemoryRunFolder(),
  resource = 'products',
  mode = 'upsert',
  duplicates = 'reject',
  batchSize = 7,
  options = {},
}: PlanCase): Promise<PlanMade> {
  let passes = 0;
  const plan = await planImport({
    run: 'run-1',
    job: { name: 'nightly', import: resource, mode, duplicates, safety: NO_LIMITS },
    origin: { kind: 'source' },
    async *openMapped() {
      passes++;
      for (let from = 0; from < mapped.length; from += batchSize) yield mapped.slice(from, from + batchSize);
    },
    describeSource: () => ({ files: [], columnsNotUsed: [], dates: null }),
    ledger,
    folder,
    resend: false,
    keyDigest: null,
    previous: { rows: null, keyDigest: null },
    signal: new AbortController().signal,
    onProgress: () => {},
    ...options,
  });
  return {
    plan,
    operations: await operationsOf(folder, plan),
    rejections: await rejectionsOf(folder),
    folder,
    passes,
  };
}

export async function operationsOf(folder: RunFolder, plan: Plan): Promise<Operation[]> {
  const shards = await Promise.all(plan.shards.map((shard) => readShard(folder, shard)));
  return shards.flat();
}

async function rejectionsOf(folder: RunFolder): Promise<PlannedRejection[]> {
  const rejections: PlannedRejection[] = [];
  for await (const batch of readRejections(folder)) rejections.push(...batch);
  return rejections;
}

export function product(url: string, changes: Partial<Product> = {}): Product {
  return {
    type: 'physical',
    title: `The ${url}`,
    url,
    options: [],
    variants: [{ options: [], price: 10, onSale: false, regularPrice: 10, sku: `sku-${url}` }],
    ...changes,
  };
}

interface Rows {
  readonly line: number;
  readonly rows?: number;
  readonly partial?: true;
}

const rowsOf = ({ line, rows = 1, ...partial }: Rows) => ({
  rows,
  spans: [{ file: 0, from: line, to: line + rows - 1 }],
  ...partial,
});

export function record(key: string, body: MappedRecord['body'], at: Rows): MappedRecord {
  return { kind: 'record', key, body, ...rowsOf(at) };
}

export function rejected(key: string | null, code: string, at: Rows): MappedRejection {
  return { kind: 'rejected', key, reason: { code, message: `because of ${code}` }, ...rowsOf(at) };
}

export function skipped(key: string | null, at: Rows): MappedSkip {
  return { kind: 'skipped', key, reason: { code: 'skip', message: 'not sold here' }, ...rowsOf(at) };
}

/** Records of so many products, one a row. */
export function products(from: number, to: number, changes = {}): Mapped[] {
  return Array.from({ length: to - from }, (_, index) =>
    record(`p${from + index}`, product(`p${from + index}`, changes), { line: from + index + 2 }),
  );
}

/** A ledger that has them, as a job sent them. */
export function ledgerOf(from: number, to: number, job = 'nightly'): MemoryLedger {
  const ledger = new MemoryLedger();
  for (let number = from; number < to; number++)
    ledger.put(`p${number}`, product(`p${number}`), { id: 1000 + number, job });
  return ledger;
}
