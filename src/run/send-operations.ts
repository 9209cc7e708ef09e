import {
  type ApplyOptions,
  type ApplyResult,
  applyOperations,
  type PartRules,
  type WritingStorefront,
} from '../apply/apply-operations.ts';
import type { StoreConfig } from '../config/store-config.ts';
import { type Clock, sleep, systemClock } from '../model/clock.ts';
import { observeAnswer } from '../model/observation.ts';
import { type DeleteProduct, isFinal, type Operation, type Outcome, SHARD_SIZE } from '../model/operation.ts';
import type { PlannedShard } from '../model/plan.ts';
import type { Run } from '../model/run.ts';
import { lockLostError } from '../model/storeferry-error.ts';
import { readShard } from '../plan/plan-file.ts';
import {
  type Begun,
  changedId,
  importTarget,
  type Lock,
  type OperationResult,
  type Sending,
} from '../state/state.ts';
import type { Storefront } from '../storefront/storefront.ts';
import { withAnswerListener } from './answer-tally.ts';
import { noteEmptied, type ProductWrites, productWrites } from './kept-probe.ts';
import type { RunContext } from './run-context.ts';

/** An operation with the shard for which its outcome is recorded. */
export type ShardOperation = Operation & {
  readonly shard: number;
  /** Of an upsert that gives a product a new url: the end of its old key, which needs no request of its own. */
  readonly ending?: DeleteProduct & { readonly shard: number };
};

interface SendOptions
  extends Pick<ApplyOptions<ShardOperation>, 'priority' | 'onEnded' | 'judge' | 'onProgress'> {
  readonly run: Run;
  readonly store: StoreConfig;
  /** Nothing is sent or recorded after it is lost. */
  readonly lock: Lock;
  readonly operations: AsyncIterable<readonly ShardOperation[]>;
  /** The shard for requests without an outcome. */
  readonly firstShard: number;
  readonly storefront: WritingStorefront & Pick<Storefront, 'subscriberLists'>;
  /**
   * The requests leave the records as the ledger has them: outcomes are not recorded, and each doubt is again as before. Keys of
   * `doubted` are in doubt only by earlier requests of this kind: an answer ends their doubt.
   */
  readonly changesNothing?: { readonly doubted: ReadonlySet<string> };
  /** Called with recorded outcomes. */
  readonly onRecorded?: (results: readonly ApplyResult<ShardOperation>[]) => void;
}

/**
 * The only way in which operations reach a store: their keys are in doubt before they are sent, and each outcome is
 * recorded. Rejects as `applyOperations`.
 */
export async function sendOperations(context: RunContext, options: SendOptions): Promise<void> {
  const { run, store, lock, firstShard, onRecorded, changesNothing, priority = 0 } = options;
  const { onEnded, judge, onProgress } = options;
  const { runs } = context.state;
  const { fence } = lock;
  const signal = AbortSignal.any([context.signal, lock.lost]);
  const attemptMs = store.limits.timeoutSeconds * 1_000;

  /** Of products whose new url the store certainly refused: they have the old one. */
  const refusedEndings = new Set<Operation>();
  const writes = await productWrites(context, run, store);
  const { observes, unaltered } = writes;
  const observed =
    observes && changesNothing === undefined
      ? observingResults(context, run, options.storefront, unaltered)
      : undefined;
  const storefront = observed?.storefront ?? options.storefront;
  let proof: Promise<void> | undefined;
  const record = async (recorded: readonly OperationResult[], shard: number, requests: number) => {
    const results = (await observed?.of(recorded)) ?? recorded;
    if (results.some((result) => changedId(result) !== undefined)) {
      // Before any of them is recorded: no run may delete by ids from before a restore of the store.
      proof ??= context.state.ledger(importTarget(run)).proveIdsAgain();
      await proof;
    }
    await runs.record(run, shard, results, requests, fence, versionTime(context, store));
    const refused = results.map(({ operation }) => operation).filter((one) => refusedEndings.delete(one));
    if (refused.length > 0) await opened.withdraw(refused);
  };
  await using opened = await context.state.sending({ run, attemptMs, fence });
  const sending = sendingPairs(opened);
  const operations = beginGroups({
    operations: options.operations,
    sending,
    concurrency: store.limits.concurrency,
    leave: async (overtaken) => {
      for (const [shard, ofShard] of Map.groupBy(overtaken, ({ shard }) => shard)) {
        await record(
          ofShard.flatMap((operation) => resultsOf({ operation, outcome: overtakenOutcome(operation) })),
          shard,
          0,
        );
      }
    },
    onWait: (waiting, ms) => context.onEvent({ type: 'waiting-for-requests', operations: waiting, ms }),
    clock: systemClock,
    signal,
  });
  await applyOperations<ShardOperation>({
    operations,
    storefront,
    // The plan may be older than what an answer has shown since.
    parts: run.resource === 'products' ? partRules(context, run, store, writes) : undefined,
    signal,
    priority,
    onEnded,
    judge,
    onProgress,
    concurrency: store.limits.concurrency,
    about: run.id,
    async record(results, requests) {
      if (changesNothing !== undefined) {
        const { doubted } = changesNothing;
        const isSeen = ({ operation, outcome }: OperationResult) =>
          doubted.has(operation.key) && outcome.kind === 'applied' && outcome.id !== null;
        const ended = results.filter((result) => !isSeen(result) && !leavesDoubt(result));
        await sending.withdraw(ended.map(({ operation }) => operation));
        await record(results.filter(isSeen), firstShard, requests);
        return;
      }
      const byShard = Map.groupBy(results, ({ operation }) => operation.shard);
      if (byShard.size === 0) byShard.set(firstShard, []);
      let unrecorded = requests;
      const records = [...byShard].map(([shard, ofShard]) => {
        const requestsOfCall = unrecorded;
        unrecorded = 0;
        const all = ofShard.flatMap(resultsOf);
        for (const { operation, outcome } of ofShard) {
          if (operation.ending !== undefined && outcome.kind === 'rejected' && outcome.inDoubt !== true)
            refusedEndings.add(operation.ending);
        }
        return record(all, shard, requestsOfCall);
      });
      await Promise.all(records);
      onRecorded?.(results);
    },
    permit() {
      if (!lock.isHeld()) throw lockLostError(fence.name);
      return opened.permit();
    },
    onNotApplied: (operations) => sending.withdraw(operations),
    async confirmKey(onRequest) {
      await storefront.subscriberLists({ signal, onRequest });
    },
  });
}

/** One product may have been emptied by hand. */
const EMPTIED_TO_BELIEVE = 3;

/**
 * Parts as the store was last seen to take them. Where the first parts of a run have emptied their products, and none has not, the run
 * sends whole bodies, and later runs do; each of these products got its own at once.
 */
function partRules(
  { artifacts }: RunContext,
  run: Run,
  store: StoreConfig,
  { partByKey, partById }: ProductWrites,
): PartRules {
  let keepsAbsent = true;
  let hasKept = false;
  let emptied = 0;
  return {
    allow: ({ byId }) => keepsAbsent && (byId === true ? partById : partByKey),
    async onSeen(isKept) {
      if (isKept) hasKept = true;
      else emptied += 1;
      if (!keepsAbsent || hasKept || emptied < EMPTIED_TO_BELIEVE) return;
      keepsAbsent = false;
      // If it cannot be kept, the next run finds it out as this one did.
      await noteEmptied(artifacts, run, store).catch(() => undefined);
    },
  };
}

function leavesDoubt({ outcome }: OperationResult) {
  return (
    outcome.kind !== 'applied' &&
    outcome.kind !== 'left' &&
    (outcome.inDoubt === true || outcome.atWork === true)
  );
}

/** A sending that puts both keys of a product that gets a new url in doubt, and ends both doubts. */
function sendingPairs(sending: Sending): GroupSending<ShardOperation> {
  const keysOf = (operation: ShardOperation) =>
    operation.ending === undefined ? [operation] : [operation, operation.ending];
  return {
    async begin(operations) {
      const pairs = operations.map(keysOf);
      const { waitMs, overtaken } = await sending.begin(pairs.flat());
      let next = 0;
      const places = pairs.map((pair) => pair.map(() => next++));
      return {
        waitMs: places.map((pair) => Math.max(...pair.map((place) => waitMs[place] ?? 0))),
        overtaken: places.map((pair) => pair.some((place) => overtaken[place] === true)),
      };
    },
    withdraw: (operations) => sending.withdraw(operations.flatMap(keysOf)),
  };
}

/** The outcomes of an operation and, of a product that gets a new url, of the end of its old key. */
function resultsOf({ operation, outcome }: ApplyResult<ShardOperation>): readonly OperationResult[] {
  const { ending } = operation;
  if (ending === undefined) return [{ operation, outcome }];
  switch (outcome.kind) {
    case 'applied':
      return [
        { operation, outcome },
        { operation: ending, outcome: { kind: 'applied', id: null } },
      ];
    case 'rejected': {
      // The store has nothing under the id.
      const isGone = outcome.absent === true && outcome.atWork !== true;
      const { absent: _, ...rejected } = outcome;
      return [
        { operation, outcome: rejected },
        { operation: ending, outcome: isGone ? { kind: 'applied', id: null } : { kind: 'left' } },
      ];
    }
    case 'unsent':
    case 'left':
      return [{ operation, outcome }];
    default:
      return outcome satisfies never;
  }
}

/** Of an operation that is not sent, because the ledger no longer has what its delete was planned with. */
function overtakenOutcome({ ending }: ShardOperation): Outcome {
  if (ending === undefined) return { kind: 'left' };
  const message = 'not sent: the id of the product is no longer certain; run the job again';
  return { kind: 'rejected', reason: { code: 'rename-overtaken', message } };
}

/** Adds to outcomes what the answers have shown of their records, against what the ledger knows of them. */
function observingResults(
  { state, clock }: RunContext,
  run: Run,
  storefront: SendOptions['storefront'],
  unaltered: readonly string[],
) {
  const ledger = state.ledger(importTarget(run));
  const answers = new Map<string, unknown>();
  return {
    storefront: withAnswerListener(storefront, (key, _body, answer) => answers.set(key, answer)),
    async of(results: readonly OperationResult[]): Promise<readonly OperationResult[]> {
      const parts = results.flatMap(({ operation, outcome }) =>
        outcome.kind === 'applied' && outcome.part !== undefined ? [operation.key] : [],
      );
      const views = parts.length === 0 ? [] : await ledger.views(parts);
      const before = new Map(parts.map((key, index) => [key, views[index]?.observation]));
      return results.map((result) => {
        const { operation, outcome } = result;
        const answer = answers.get(operation.key);
        answers.delete(operation.key);
        if (outcome.kind !== 'applied' || operation.kind === 'delete-product' || answer === undefined)
          return result;
        const { part: sent = null } = outcome;
        const observation = observeAnswer({
          body: operation.body,
          sent,
          answer,
          before: before.get(operation.key),
          unaltered,
          at: clock(),
        });
        return { ...result, observation };
      });
    },
  };
}

/** The time of versions that are recorded now; null where the store keeps none. */
export function versionTime({ clock }: RunContext, { history }: StoreConfig): number | null {
  return history.keep === null ? null : clock();
}

/** A group is at most one shard. */
const MAX_GROUP_SIZE = SHARD_SIZE;
/**
 * Target duration of a group. If a process dies, two groups are in doubt, and of earlier ones what is in flight, waits
 * for a retry, or is postponed.
 */
const GROUP_MS = 100;
/** The most operations that are kept back because they wait for earlier requests; all others are sent first. */
const MAX_POSTPONED = 2_000;

/** The part of a sending that groups need. */
interface GroupSending<Op extends Operation> {
  begin(operations: readonly Op[]): Promise<Begun>;
  withdraw(operations: readonly Op[]): Promise<void>;
}

interface BeginGroupsOptions<Op extends Operation> {
  /** In batches, such as shards; a group is never larger than one batch. */
  readonly operations: AsyncIterable<readonly Op[]>;
  readonly sending: GroupSending<Op>;
  /** The smallest group. */
  readonly concurrency: number;
  /** Records operations that must no longer be sent: deletes as left, new urls of products as rejected. */
  readonly leave: (operations: readonly Op[]) => Promise<void>;
  /**
   * Called with the number of waiting operations and their waiting time: the store may still be processing earlier
   * requests for their records.
   */
  readonly onWait: (operations: number, ms: number) => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface Group<Op extends Operation> {
  readonly ready: readonly Op[];
  readonly postponed: readonly { readonly operation: Op; readonly readyAt: number }[];
}

/**
 * Yields operations after their keys were put in doubt, group by group; while one group is sent, the next is begun.
 * Operations that wait for requests of a dead process come last, when those requests must be over. If the consumer
 * stops, operations that were begun and not yielded are withdrawn.
 */
export async function* beginGroups<Op extends Operation>(
  options: BeginGroupsOptions<Op>,
): AsyncGenerator<Op> {
  const { sending, concurrency, leave, onWait, clock, signal } = options;
  const batches = options.operations[Symbol.asyncIterator]();
  let batch: readonly Op[] = [];
  const minGroupSize = Math.min(MAX_GROUP_SIZE, concurrency);
  let size = minGroupSize;
  let postponed: Group<Op>['postponed'][number][] = [];
  const begun = new Set<Op>();

  const begin = async (): Promise<Group<Op> | undefined> => {
    while (batch.length === 0) {
      const { value, done } = await batches.next();
      if (done === true) return undefined;
      batch = value;
    }
    const operations = batch.slice(0, size);
    batch = batch.slice(size);
    for (const operation of operations) begun.add(operation);
    const { waitMs, overtaken } = await sending.begin(operations);
    const left = operations.filter((_, position) => overtaken[position]);
    for (const operation of left) begun.delete(operation);
    if (left.length > 0) await leave(left);
    const now = clock.monotonic();
    const waits = (position: number) => (overtaken[position] ? 0 : (waitMs[position] ?? 0));
    return {
      ready: operations.filter((_, position) => !overtaken[position] && waits(position) === 0),
      postponed: operations.flatMap((operation, position) =>
        waits(position) > 0 ? [{ operation, readyAt: now + waits(position) }] : [],
      ),
    };
  };
  async function* sendPostponed(): AsyncGenerator<Op> {
    const due = postponed.sort((one, other) => one.readyAt - other.readyAt);
    postponed = [];
    const lastMs = (due.at(-1)?.readyAt ?? 0) - clock.monotonic();
    if (lastMs > 0) onWait(due.length, lastMs);
    for (const { operation, readyAt } of due) {
      const ms = readyAt - clock.monotonic();
      if (ms > 0) await sleep(clock, ms, signal);
      begun.delete(operation);
      yield operation;
    }
  }

  let next = begin();
  // It is awaited below; a rejection before that must not count as unhandled.
  next.catch(() => {});
  try {
    for (let group = await next; group !== undefined; group = await next) {
      const startedAt = clock.monotonic();
      next = begin();
      next.catch(() => {});
      postponed.push(...group.postponed);
      for (const operation of group.ready) {
        begun.delete(operation);
        yield operation;
      }
      if (postponed.length >= MAX_POSTPONED) yield* sendPostponed();
      size = sizeAfter(size, clock.monotonic() - startedAt, minGroupSize);
    }
    yield* sendPostponed();
  } finally {
    await next.catch(() => {});
    if (begun.size > 0) await sending.withdraw([...begun]).catch(() => {});
  }
}

/** The operations of a shard that have no final outcome. */
export async function unsentOperations(
  { state, artifacts }: RunContext,
  run: Run,
  shard: PlannedShard,
): Promise<Operation[]> {
  const outcomes = await state.runs.outcomes(run.id, shard.number);
  const operations = await readShard(artifacts.run(run.id), shard);
  return operations.filter(({ index }) => !isFinal(outcomes.get(index)));
}

/** The size of the next group after one of `size` that took `ms`: doubled or halved towards GROUP_MS. */
function sizeAfter(size: number, ms: number, minGroupSize: number) {
  if (ms < GROUP_MS) return Math.min(MAX_GROUP_SIZE, size * 2);
  return ms > 2 * GROUP_MS ? Math.max(minGroupSize, Math.floor(size / 2)) : size;
}
