import type { DeleteProduct } from '../../model/operation.ts';
import type { PlannedShard } from '../../model/plan.ts';
import { readShard } from '../../plan/files/read-shard.ts';
import type { RunContext } from '../context.ts';
import type { Delivery } from '../delivery.ts';
import { targetOf } from '../run-locks.ts';

/**
 * Takes deletes off the plan whose id now answers for another key of the job: a store that takes `Shoe` and `shoe` for
 * one product has renamed it, and deleting the old url would delete the new product. Nothing holds the old url any
 * more, so the delete counts as done, without a request.
 */
export async function spareSharedIds(
  context: RunContext,
  { run, job, lock }: Delivery,
  shards: readonly PlannedShard[],
): Promise<void> {
  const folder = context.artifacts.run(run.id);
  const planned = new Map<number, { readonly shard: number; readonly operation: DeleteProduct }>();
  for (const planShard of shards) {
    const { number: shard } = planShard;
    for (const operation of await readShard(folder, planShard)) {
      if (operation.kind !== 'delete-product' || operation.id === null) continue;
      planned.set(operation.id, { shard, operation });
    }
  }
  const ledger = context.state.ledger(targetOf(run, job.import));
  for await (const batch of ledger.keysOf(job.name)) {
    for (const { key, id } of batch) {
      if (id === null) continue;
      const found = planned.get(id);
      if (found === undefined || found.operation.key === key) continue;
      planned.delete(id);
      const { shard, operation } = found;
      await context.state.runs.record(
        run,
        shard,
        [{ operation, outcome: { kind: 'applied', id: null } }],
        0,
        lock.fence,
      );
    }
  }
}
