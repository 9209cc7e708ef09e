import type { DeletesWithheld, ImportMode, Plan, PlannedShard } from '../model/plan.ts';
import type { RunFolder } from '../state/artifacts.ts';
import type { Ledger, OwnedKey } from '../state/state.ts';
import { ShardWriter } from './files/shard-writer.ts';
import { isJsonObject } from './json-value.ts';
import type { KeySet } from './key-set.ts';
import type { PlanTally } from './plan-tally.ts';

/** What planning the deletes of a mirror needs. */
export interface DeleteOptions {
  readonly folder: RunFolder;
  readonly ledger: Ledger;
  readonly job: string;
  readonly mode: ImportMode;
  /** A retry sees only a few rows of its source: what it does not see is not missing. */
  readonly retry: boolean;
  readonly signal: AbortSignal;
}

/** The deletes of a plan. */
export interface PlannedDeletes {
  readonly removed: number;
  readonly deletes: number;
  readonly withheld: DeletesWithheld | null;
  readonly withoutId: number;
  readonly unconfirmed: Plan['unconfirmed'];
  readonly shards: readonly PlannedShard[];
}

/** How many keys are named. */
const EXAMPLES = 10;

/**
 * Plans a delete for every key that this job last sent and the source no longer has, in shards of their own. While the
 * key of any row cannot be read, that row might be any of them: they are counted, and nothing is deleted.
 */
export async function planDeletes(
  options: DeleteOptions,
  seen: KeySet,
  tally: PlanTally,
  firstShard: number,
): Promise<PlannedDeletes> {
  const { folder, ledger, job, mode, retry, signal } = options;
  const none = { removed: 0, deletes: 0, withoutId: 0, withheld: null, shards: [] };
  const unconfirmed: { keys: number; examples: string[] } = { keys: 0, examples: [] };
  if (mode === 'upsert') return { ...none, unconfirmed };
  if (retry) return { ...none, unconfirmed, withheld: 'retry' };
  const isEmpty = (await ledger.count(job)) === 0;
  const unreadable = tally.unreadableKeys > 0;
  const writer = new ShardWriter(folder, 'deletes', firstShard);
  let removed = 0;
  let deletes = 0;
  let withoutId = 0;
  for await (const missing of missingKeys(ledger, job, seen)) {
    signal.throwIfAborted();
    const bodies = await idLookupBodies(ledger, missing);
    for (const { key, id, idProof } of missing) {
      removed++;
      tally.example('removed', key);
      const idLookupBody = bodies.get(key);
      if (id === null || idProof === 'changed' || (idProof === 'once' && idLookupBody === undefined)) {
        withoutId++;
      } else if (!unreadable) {
        deletes++;
        writer.add({ kind: 'delete-product', key, id, idLookupBody, rows: 0, spans: [] });
      }
    }
    await writer.room();
  }
  for await (const keys of ledger.unconfirmed(job)) {
    signal.throwIfAborted();
    for (const key of keys.filter((key) => !seen.has(key))) {
      removed++;
      tally.example('removed', key);
      unconfirmed.keys++;
      if (unconfirmed.examples.length < EXAMPLES) unconfirmed.examples.push(key);
    }
  }
  const shards = await writer.finish();
  const withheld = unreadable ? 'key-unreadable' : isEmpty && unconfirmed.keys === 0 ? 'ledger-empty' : null;
  return { removed, deletes, withoutId, unconfirmed, withheld, shards };
}

/** The keys that this job last sent and the source no longer has, in batches. Keys of other jobs are not considered. */
export async function* missingKeys(
  ledger: Ledger,
  job: string,
  seen: KeySet,
): AsyncGenerator<readonly OwnedKey[]> {
  for await (const batch of ledger.keysOf(job)) {
    yield batch.filter(({ key }) => !seen.has(key));
  }
}

/** For each product whose id the store must answer once more: its acknowledged body, hidden since it is about to be deleted. */
async function idLookupBodies(
  ledger: Ledger,
  missing: readonly OwnedKey[],
): Promise<ReadonlyMap<string, string>> {
  const keys = missing.filter(({ idProof }) => idProof === 'once').map(({ key }) => key);
  if (keys.length === 0) return new Map();
  const bodies = await ledger.bodies(keys);
  return new Map(
    keys.flatMap((key, position) => {
      const product: unknown = JSON.parse(bodies[position] ?? 'null');
      return isJsonObject(product) ? [[key, JSON.stringify({ ...product, hidden: true })]] : [];
    }),
  );
}
