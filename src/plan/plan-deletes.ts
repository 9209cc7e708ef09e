import { isJsonObject } from '../model/json-object.ts';
import type { ImportMode } from '../model/mapped-record.ts';
import type { Plan, PlannedShard } from '../model/plan.ts';
import type { RunFolder } from '../state/artifacts.ts';
import { chunksOf, type Ledger, type OwnedKey } from '../state/state.ts';
import type { KeySet } from './key-set.ts';
import type { PlanTally } from './plan-tally.ts';
import { readMissingKeys } from './predecessors.ts';
import { ShardWriter, type UnplacedOperation } from './shard-writer.ts';

const RENAMES_PER_QUERY = 500;

/** A product of this job that gets a new url. */
export interface RenamedProduct extends OwnedKey {
  readonly to: string;
}

/** The delete of a product under its old key; with `idLookupBody`, its id must be proved again. */
export function deleteOfRenamed(
  { key, to }: RenamedProduct,
  id: number,
  idLookupBody: string | undefined,
): UnplacedOperation {
  return { kind: 'delete-product', key, id, idLookupBody, renamedTo: to, rows: 0, spans: [] };
}

/** The deletes of renamed products under their old keys, of a store that cannot change a url. */
export async function planRenameDeletes(
  folder: RunFolder,
  ledger: Ledger,
  renamed: readonly RenamedProduct[],
  firstShard: number,
): Promise<readonly PlannedShard[]> {
  const writer = new ShardWriter(folder, 'renames', firstShard);
  for (const some of chunksOf(renamed, RENAMES_PER_QUERY)) {
    const bodies = await idLookupBodies(ledger, some);
    for (const one of some) {
      if (one.id !== null) writer.add(deleteOfRenamed(one, one.id, bodies.get(one.key)));
    }
    await writer.waitForWrites();
  }
  return await writer.finish();
}

/** What a plan deletes in place of what its source no longer has. */
export interface ListedDeletes {
  /** In batches. Asked after the records were read. */
  readonly deletes: () => AsyncIterable<readonly OwnedKey[]>;
}

/** The input for planning the deletes of a mirror. */
interface DeleteOptions {
  readonly folder: RunFolder;
  readonly ledger: Ledger;
  readonly job: string;
  readonly mode: ImportMode;
  /** The plan has only a part of the source: other keys are not missing. */
  readonly partial: 'retry' | 'sample' | null;
  /** Keys that are not missing, but renamed, or may be. */
  readonly spared: ReadonlySet<string>;
  readonly listed: ListedDeletes | undefined;
  readonly signal: AbortSignal;
}

/** The deletes of a plan. */
export interface PlannedDeletes {
  /** Keys that are to go, whether or not they are deleted. */
  readonly removed: number;
  readonly deletes: number;
  /** Why none of them is deleted; null if no such reason holds. */
  readonly withheld: Plan['deletesWithheld'];
  /** Those without an id that is certain, which cannot be deleted. */
  readonly withoutId: number;
  /** Those of which the store has acknowledged nothing, though it may have them. */
  readonly unconfirmed: Plan['unconfirmed'];
  readonly shards: readonly PlannedShard[];
}

/** How many keys are named. */
const EXAMPLES = 10;

/**
 * Plans a delete for every key that this job last sent and the source no longer has, in separate shards. If the key
 * of any row cannot be read, that row may belong to any of them: then they are counted, and nothing is deleted.
 */
export async function planDeletes(
  options: DeleteOptions,
  seen: KeySet,
  tally: PlanTally,
  firstShard: number,
): Promise<PlannedDeletes> {
  const { folder, ledger, job, mode, partial, listed, signal, spared } = options;
  const none = { removed: 0, deletes: 0, withoutId: 0, withheld: null, shards: [] };
  const unconfirmed: { keys: number; examples: string[] } = { keys: 0, examples: [] };
  if (mode !== 'mirror') return { ...none, unconfirmed };
  if (partial !== null) return { ...none, unconfirmed, withheld: partial };
  const isEmpty = (await ledger.count(job)) === 0;
  const unreadable = tally.unreadableKeys > 0;
  const writer = new ShardWriter(folder, 'deletes', firstShard);
  let removed = 0;
  let deletes = 0;
  let withoutId = 0;
  for await (const gone of listed?.deletes() ?? readMissingKeys(ledger, job, seen)) {
    signal.throwIfAborted();
    const missing = gone.filter(({ key }) => !spared.has(key));
    const bodies = await idLookupBodies(ledger, missing);
    for (const { key, id, idProof } of missing) {
      removed++;
      tally.addExample('removed', key);
      const idLookupBody = bodies.get(key);
      if (id === null || idProof === 'changed' || (idProof === 'once' && idLookupBody === undefined)) {
        withoutId++;
      } else if (!unreadable) {
        deletes++;
        writer.add({ kind: 'delete-product', key, id, idLookupBody, rows: 0, spans: [] });
      }
    }
    await writer.waitForWrites();
  }
  for await (const keys of listed === undefined ? ledger.unconfirmed(job) : []) {
    signal.throwIfAborted();
    for (const key of keys.filter((key) => !seen.has(key))) {
      removed++;
      tally.addExample('removed', key);
      unconfirmed.keys++;
      if (unconfirmed.examples.length < EXAMPLES) unconfirmed.examples.push(key);
    }
  }
  const shards = await writer.finish();
  const unknown = isEmpty && unconfirmed.keys === 0 && listed === undefined;
  const withheld = unreadable ? 'key-unreadable' : unknown ? 'ledger-empty' : null;
  return { removed, deletes, withoutId, unconfirmed, withheld, shards };
}

/**
 * For each product whose id the store must answer again: its acknowledged body, hidden because it is about to be deleted. Only where
 * the body has `hidden`: if the delete fails and the product comes back, a store that keeps absent fields would keep it hidden.
 */
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
      if (!isJsonObject(product)) return [];
      const hidden = Object.hasOwn(product, 'hidden') ? { hidden: true } : {};
      return [[key, JSON.stringify({ ...product, ...hidden })]];
    }),
  );
}
