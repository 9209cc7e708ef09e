import { type ApplyResult, applyOperations } from '../../apply/apply-operations.ts';
import type { ImportJob } from '../../config/job/import-job.ts';
import type { StoreConfig } from '../../config/stores.ts';
import { LockedError } from '../../model/errors.ts';
import { type Operation, SHARD_SIZE } from '../../model/operation.ts';
import type { Run } from '../../model/run.ts';
import type { Ledger, Lock } from '../../state/state.ts';
import type { Storefront } from '../../storefront/storefront.ts';
import type { RunContext } from '../context.ts';
import { targetOf } from '../run-locks.ts';
import { alteredFields } from './altered-fields.ts';
import { isComparable } from './sample-ledger.ts';
import { isMissing, type VerificationTally } from './verification-tally.ts';

/** A verification on its way to the store. */
export interface Resending {
  readonly run: Run;
  readonly job: ImportJob;
  readonly store: StoreConfig;
  /** The lock that lets this process write: nothing is sent or recorded once it is lost. */
  readonly lock: Lock;
  readonly keys: readonly string[];
  /** Counts the answers that are recorded, also when sending ends early. */
  readonly tally: VerificationTally;
}

type SampledOperation = Operation & { readonly shard: number };

/** Sends the acknowledged bodies of the keys again, as a run does: same limits, same ledger, same stops. */
export async function resendSample(context: RunContext, resending: Resending): Promise<void> {
  const { run, job, store, lock, keys, tally } = resending;
  const { runs } = context.state;
  const ledger = context.state.ledger(targetOf(run, job.import));
  const altered = new Map<string, readonly string[]>();
  const record = async (results: readonly ApplyResult<SampledOperation>[], requests: number) => {
    const byShard = Map.groupBy(results.map(doubted), ({ operation }) => operation.shard);
    if (byShard.size === 0) byShard.set(1, []);
    let unrecorded = requests;
    const records = [...byShard].map(([shard, ofShard]) => {
      const requestsOfCall = unrecorded;
      unrecorded = 0;
      return runs.record(run, shard, ofShard, requestsOfCall, lock.fence);
    });
    await Promise.all(records);
    for (const { operation, outcome } of results) {
      tally.add(operation, outcome, altered.get(operation.key) ?? []);
      altered.delete(operation.key);
    }
  };
  await applyOperations<SampledOperation>({
    operations: sampledOperations(ledger, job, keys),
    storefront: listening(await context.openStorefront(store), (key, fields) => altered.set(key, fields)),
    concurrency: store.limits.concurrency,
    about: run.id,
    record,
    permit: () => {
      if (lock.isHeld()) return;
      throw new LockedError(`The lock ${lock.fence.name} was lost: nothing more is sent.`, {
        hint: `Another process may have taken over. Verify again: storeferry verify ${job.name}`,
      });
    },
    signal: AbortSignal.any([context.signal, lock.lost]),
    onProgress: ({ applied, rejected }) =>
      context.onEvent({
        type: 'progress',
        step: 'apply',
        done: applied + rejected,
        total: keys.length,
        unit: 'requests',
        records: { applied, rejected },
      }),
  });
}

/** A contact that the store does not find is not acknowledged any more: the next run sends it, and says why it is refused. */
function doubted({ operation, outcome }: ApplyResult<SampledOperation>): ApplyResult<SampledOperation> {
  if (outcome.kind !== 'rejected' || !isMissing(operation, outcome)) return { operation, outcome };
  return { operation, outcome: { ...outcome, inDoubt: true } };
}

/** The operations that say again what the ledger holds, so that recording them changes nothing but a changed id. */
async function* sampledOperations(
  ledger: Ledger,
  { import: resource }: ImportJob,
  sampled: readonly string[],
): AsyncGenerator<SampledOperation> {
  for (let from = 0, shard = 1; from < sampled.length; from += SHARD_SIZE, shard++) {
    const keys = sampled.slice(from, from + SHARD_SIZE);
    const [marks, bodies] = await Promise.all([ledger.marks(keys), ledger.bodies(keys)]);
    for (const [index, key] of keys.entries()) {
      const mark = marks[index];
      const body = bodies[index];
      if (!isComparable(mark, resource) || body === undefined) continue;
      const { fingerprint, memo } = mark;
      const operation = { index, key, rows: 0, spans: [], body, fingerprint, memo, shard };
      if (resource === 'contacts') yield { kind: 'update-contact', ...operation };
      else yield { kind: 'upsert-product', ...operation, knownId: mark.id };
    }
  }
}

type Sending = Pick<Storefront, 'upsertProduct' | 'updateContact' | 'deleteProduct'>;

/** The storefront, with the fields told in which the latest answer for a key differs from what was sent. */
function listening(
  storefront: Sending,
  onAnswer: (key: string, altered: readonly string[]) => void,
): Sending {
  return {
    upsertProduct: (product, options) =>
      storefront.upsertProduct(product, {
        ...options,
        onAnswer: (answer) => onAnswer(product.url, alteredFields(product.body, answer)),
      }),
    updateContact: (id, body, options) =>
      storefront.updateContact(id, body, {
        ...options,
        onAnswer: (answer) => onAnswer(id, alteredFields(body, answer)),
      }),
    deleteProduct: (id, options) => storefront.deleteProduct(id, options),
  };
}
