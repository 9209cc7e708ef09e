import type { DeletesWithheld, ImportMode, PlannedShard } from '../model/plan.ts';
import type { RunFolder } from '../state/artifacts.ts';
import type { Ledger } from '../state/state.ts';
import { ShardWriter } from './files/shard-writer.ts';
import { isJsonObject } from './json-value.ts';
import type { KeySet } from './key-set.ts';
import { type MissingKey, missingKeys } from './missing-keys.ts';
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
  readonly unconfirmed: number;
  readonly shards: readonly PlannedShard[];
}

/**
 * Plans a delete for every key that this job last sent and the source no longer has, in shards of their own; also for
 * those that a run which died may have created, whose id nobody knows. While the key of any row cannot be read, that row might be any of them: they are counted, and nothing is deleted.
 */
export async function planDeletes(
  options: DeleteOptions,
  seen: KeySet,
  tally: PlanTally,
  firstShard: number,
): Promise<PlannedDeletes> {
  const { folder, ledger, job, mode, retry, signal } = options;
  const none = { removed: 0, deletes: 0, withoutId: 0, unconfirmed: 0, withheld: null, shards: [] };
  if (mode === 'upsert') return none;
  if (retry) return { ...none, withheld: 'retry' };
  const isEmpty = (await ledger.count(job)) === 0;
  const unreadable = tally.unreadableKeys > 0;
  const writer = new ShardWriter(folder, 'deletes', firstShard);
  let removed = 0;
  let deletes = 0;
  let withoutId = 0;
  for await (const missing of missingKeys(ledger, job, seen)) {
    signal.throwIfAborted();
    const bodies = await bodiesToLearnBy(ledger, missing);
    for (const { key, id, idProof } of missing) {
      removed++;
      tally.example('removed', key);
      const known = id !== null && idProof !== 'changed';
      if (!known) withoutId++;
      if (!known || unreadable) continue;
      deletes++;
      writer.add({ kind: 'delete-product', key, id, learn: bodies.get(key), rows: 0, spans: [] });
    }
    await writer.room();
  }
  let unconfirmed = 0;
  for await (const keys of ledger.unconfirmed(job)) {
    signal.throwIfAborted();
    for (const key of keys.filter((key) => !seen.has(key))) {
      removed++;
      tally.example('removed', key);
      if (unreadable) continue;
      deletes++;
      unconfirmed++;
      writer.add({ kind: 'delete-product', key, id: null, learn: hiddenBody(key), rows: 0, spans: [] });
    }
    await writer.room();
  }
  for await (const keys of ledger.unconfirmed(null)) {
    const gone = keys.filter((key) => !seen.has(key)).length;
    removed += gone;
    withoutId += gone;
  }
  const shards = await writer.finish();
  const withheld = unreadable ? 'key-unreadable' : isEmpty && unconfirmed === 0 ? 'ledger-empty' : null;
  return { removed, deletes, withoutId, unconfirmed, withheld, shards };
}

/** Of products whose id was answered once only, what they were last sent as, hidden: they are to be deleted. */
async function bodiesToLearnBy(
  ledger: Ledger,
  missing: readonly MissingKey[],
): Promise<ReadonlyMap<string, string | undefined>> {
  const keys = missing.filter(({ idProof }) => idProof === 'once').map(({ key }) => key);
  if (keys.length === 0) return new Map();
  const bodies = await ledger.bodies(keys);
  return new Map(keys.map((key, position) => [key, hidden(bodies[position] ?? hiddenBody(key))]));
}

function hidden(body: string): string {
  const product: unknown = JSON.parse(body);
  return JSON.stringify(isJsonObject(product) ? { ...product, hidden: true } : product);
}

/** The least that names a product, and shows it to nobody until it is deleted. */
function hiddenBody(url: string): string {
  return JSON.stringify({ title: url, url, hidden: true });
}
