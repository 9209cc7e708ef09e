import type { DeleteProduct } from '../../model/operation.ts';
import type { PlannedShard } from '../../model/plan.ts';
import { readShard } from '../../plan/files/read-shard.ts';
import type { RunContext } from '../context.ts';
import type { Delivery } from '../delivery.ts';
import { targetOf } from '../run-locks.ts';

/**
 * Takes deletes off the plan whose id was answered for another key too, of this job or another: deleting by it would delete
 * that product. A store that takes `Shoe` and `shoe` for one product has only renamed it, so the delete counts as done,
 * without a request; of keys that are all to be deleted, one is. Where the urls differ by more, the store has given the id
 * away, as after a restore: nothing is known of the old product, which is left.
 */
export async function spareSharedIds(
  context: RunContext,
  { run, job, lock }: Delivery,
  shards: readonly PlannedShard[],
): Promise<void> {
  const folder = context.artifacts.run(run.id);
  const planned: { readonly shard: number; readonly operation: DeleteProduct }[] = [];
  for (const planShard of shards) {
    const outcomes = await context.state.runs.outcomes(run.id, planShard.number);
    for (const operation of await readShard(folder, planShard)) {
      if (operation.kind !== 'delete-product' || outcomes.get(operation.index) === 'applied') continue;
      planned.push({ shard: planShard.number, operation });
    }
  }
  const byId = Map.groupBy(planned, ({ operation }) => operation.id);
  const ledger = context.state.ledger(targetOf(run, job.import));
  for (const [id, keys] of await ledger.sharedIds(new Set(byId.keys()))) {
    const deletes = byId.get(id) ?? [];
    const isRenamed = new Set(keys.map(spelling)).size === 1;
    const outcome = isRenamed ? { kind: 'applied' as const, id: null } : { kind: 'left' as const };
    for (const { shard, operation } of isRenamed && deletes.length === keys.length
      ? deletes.slice(1)
      : deletes) {
      await context.state.runs.record(run, shard, [{ operation, outcome }], 0, lock.fence);
    }
  }
}

/** Urls that a store may take for one have the same: without case, accents and punctuation. */
function spelling(url: string): string {
  return url
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
}
