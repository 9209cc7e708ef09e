import type { DeleteProduct } from '../../model/operation.ts';
import type { PlannedShard } from '../../model/plan.ts';
import { readShard } from '../../plan/files/read-shard.ts';
import type { RunContext } from '../context.ts';
import type { Delivery } from '../delivery.ts';
import { targetOf } from '../run-locks.ts';

/**
 * Takes deletes off the plan whose id was answered for another key too, of this job or another: a store that takes `Shoe` and
 * `shoe` for one product has only renamed it, and deleting by the id of the old url would delete the new product. The
 * delete counts as done, without a request; of keys that are all to be deleted, one is.
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
    for (const { shard, operation } of deletes.length < keys ? deletes : deletes.slice(1)) {
      const results = [{ operation, outcome: { kind: 'applied' as const, id: null } }];
      await context.state.runs.record(run, shard, results, 0, lock.fence);
    }
  }
}
