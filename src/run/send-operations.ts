import {
  type ApplyOptions,
  type ApplyResult,
  applyOperations,
  type WritingStorefront,
} from '../apply/apply-operations.ts';
import type { StoreConfig } from '../config/store-config.ts';
import { lockLost } from '../model/errors.ts';
import type { Operation } from '../model/operation.ts';
import type { Run } from '../model/run.ts';
import { changedId, importTarget, type Lock, type OperationResult } from '../state/state.ts';

import { systemClock } from '../storefront/clock.ts';
import type { Storefront } from '../storefront/storefront.ts';
import { beginGroups } from './begin-groups.ts';
import type { RunContext } from './run-context.ts';

/** An operation with the shard that its outcome is recorded for. */
export type ShardOperation = Operation & { readonly shard: number };

interface SendOptions
  extends Pick<ApplyOptions<ShardOperation>, 'turn' | 'onEnded' | 'judge' | 'onProgress'> {
  readonly run: Run;
  readonly store: StoreConfig;
  /** Nothing is sent or recorded once it is lost. */
  readonly lock: Lock;
  readonly operations: AsyncIterable<readonly ShardOperation[]>;
  /** What requests without an outcome are recorded for. */
  readonly firstShard: number;
  readonly storefront: WritingStorefront & Pick<Storefront, 'subscriberLists'>;
  /** Called with what has been recorded. */
  readonly onRecorded?: (results: readonly ApplyResult<ShardOperation>[]) => void;
}

/**
 * The one way in which operations reach a store: their keys are in doubt before they are sent, and each outcome is
 * recorded. Rejects as `applyOperations`.
 */
export async function sendOperations(context: RunContext, options: SendOptions): Promise<void> {
  const { run, store, lock, storefront, firstShard, onRecorded, turn = 0 } = options;
  const { onEnded, judge, onProgress } = options;
  const { runs } = context.state;
  const { fence } = lock;
  const signal = AbortSignal.any([context.signal, lock.lost]);
  const attemptMs = store.limits.timeoutSeconds * 1_000;

  let hasChangedIds = false;
  const record = async (results: readonly OperationResult[], shard: number, requests: number) => {
    if (!hasChangedIds && results.some((result) => changedId(result) !== undefined)) {
      hasChangedIds = true;
      // Before it is recorded: no run may delete by ids from before a restore of the store.
      await context.state.ledger(importTarget(run)).proveIdsAgain();
    }
    await runs.record(run, shard, results, requests, fence);
  };
  await using sending = await context.state.sending({ run, attemptMs, fence });
  const operations = beginGroups({
    operations: options.operations,
    sending,
    concurrency: store.limits.concurrency,
    leave: async (overtaken) => {
      for (const [shard, ofShard] of Map.groupBy(overtaken, ({ shard }) => shard)) {
        const left = ofShard.map((operation) => ({ operation, outcome: { kind: 'left' as const } }));
        await record(left, shard, 0);
      }
    },
    onWait: (waiting, ms) => context.onEvent({ type: 'waiting-for-requests', operations: waiting, ms }),
    clock: systemClock,
    signal,
  });
  await applyOperations<ShardOperation>({
    ...{ operations, storefront, signal, turn },
    ...(onEnded === undefined ? {} : { onEnded }),
    ...(judge === undefined ? {} : { judge }),
    ...(onProgress === undefined ? {} : { onProgress }),
    concurrency: store.limits.concurrency,
    about: run.id,
    async record(results, requests) {
      const byShard = Map.groupBy(results, ({ operation }) => operation.shard);
      if (byShard.size === 0) byShard.set(firstShard, []);
      let unrecorded = requests;
      const records = [...byShard].map(([shard, ofShard]) => {
        const requestsOfCall = unrecorded;
        unrecorded = 0;
        return record(ofShard, shard, requestsOfCall);
      });
      await Promise.all(records);
      onRecorded?.(results);
    },
    permit() {
      if (!lock.isHeld()) throw lockLost(fence.name);
      return sending.permit();
    },
    onNotApplied: (operations) => sending.withdraw(operations),
    async confirmKey() {
      await storefront.subscriberLists({ signal });
    },
  });
}
