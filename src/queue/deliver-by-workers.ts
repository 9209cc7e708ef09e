import { setTimeout as sleep } from 'node:timers/promises';
import { DelayedError, type Job, WaitingError } from 'bullmq';
import type { StoreConfig } from '../config/store-config.ts';
import type { PlannedShard } from '../model/plan.ts';
import { storeIdentity } from '../model/remote-address.ts';
import type { Run } from '../model/run.ts';
import {
  InterruptedError,
  InterruptedOnRequestError,
  LockedError,
  messageOf,
  StateError,
  StateUnavailableError,
} from '../model/storeferry-error.ts';
import { hasOpenOperations, shardDeliverer } from '../run/execute-run.ts';
import {
  type DeliverShards,
  type Delivery,
  type RunContext,
  type RunEvent,
  runErrorOf,
} from '../run/run-context.ts';
import {
  importTarget,
  type LedgerTarget,
  type Lock,
  type Locks,
  type Runs,
  shardLockName,
  targetLockName,
} from '../state/state.ts';
import { jobSignal } from './queue-workers.ts';
import {
  isShardJobData,
  type Queues,
  type ShardJobData,
  type ShardJobResult,
  shardError,
  toShardFailure,
  UNREADABLE_JOB,
} from './queues.ts';
import { type RunConfiguration, WAITS_FOR_REQUESTS, type WorkerLog } from './worker-settings.ts';

const POLL_MS = 100;
/** Workers see the end of a run within this time, and give requests in flight five seconds to end. */
const QUIET_WITHIN_MS = 8_000;

/**
 * Queues shards for the workers of their store and waits until each has ended. If this process is stopped, or its
 * lock is lost, the workers continue: the process that continues the run waits for them. If the run itself must end,
 * they are stopped first, so that its totals are final and no worker writes after its locks are free.
 */
export function deliverByWorkers(queues: Queues): DeliverShards {
  return async (context, delivery, shards, onTally) => {
    const { run, lock } = delivery;
    const signal = AbortSignal.any([context.signal, lock.lost]);
    let round: ShardRound | undefined;
    try {
      const open = await unfinished(context, run, shards);
      round = await beginRound(queues, { id: run.id, store: delivery.store.name }, open, context.newRunId());
      for (;;) {
        signal.throwIfAborted();
        const out = await round.poll();
        onTally(await context.state.runs.tally(run.id));
        if (out === 0) return;
        await sleep(POLL_MS, undefined, { signal }).catch(() => {});
      }
    } catch (error) {
      const reason = await reasonToEnd(context, run, signal, error);
      const quiet =
        round !== undefined &&
        (!signal.aborted || reason instanceof InterruptedOnRequestError) &&
        (await stopWorkers(context, delivery, round, reason).catch(() => false));
      if (!quiet) await lock.leave();
      throw reason;
    }
  };
}

/**
 * Workers that send its shards may have seen the request to end first, and ended them: then the error is only a consequence,
 * also where this process sees the request while it looks at the shards.
 */
async function reasonToEnd(
  { state }: RunContext,
  { id }: Run,
  signal: AbortSignal,
  error: unknown,
): Promise<unknown> {
  if (signal.aborted) return signal.reason;
  const run = await state.runs.get(id).catch(() => undefined);
  return run?.interruptAskedAt == null ? error : new InterruptedOnRequestError();
}

/** The numbers of the shards without final outcomes: a continued run has finished most. */
async function unfinished(
  context: RunContext,
  run: Run,
  shards: readonly PlannedShard[],
): Promise<readonly number[]> {
  const open: number[] = [];
  for (const shard of shards) if (await hasOpenOperations(context, run, shard)) open.push(shard.number);
  return open;
}

/** Stops all workers that send for the run, and waits for them. False if one of them does not answer. */
async function stopWorkers(context: RunContext, { run }: Delivery, round: ShardRound, reason: unknown) {
  const error = messageOf(reason);
  await context.state.runs.update(run.id, { error });
  const deadline = performance.now() + QUIET_WITHIN_MS;
  while ((await round.withdraw()) > 0) {
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** Workers take shards in order, so only the first of the open ones can have ended. */
const MAX_POLLED = 32;

type ShardJob = Job<ShardJobData, ShardJobResult>;

/** Shards of a run that were queued together. */
type ShardRound = Awaited<ReturnType<typeof beginRound>>;

/**
 * Adds a job per shard. The round checks the jobs themselves, because events may be lost. Jobs of an earlier round,
 * left by a coordinator that died, are harmless: a shard is sent by one process at a time, and only operations
 * without an outcome are sent. `round` makes their ids differ.
 */
async function beginRound(
  { shards: queueOf, ask }: Queues,
  { id: run, store }: { readonly id: string; readonly store: string },
  shards: readonly number[],
  round: string,
) {
  const queue = queueOf(store);
  const ids = shards.map((shard) => `${run}-${shard}-${round}`);
  await ask(
    queue.addBulk(
      shards.map((shard, index) => ({
        name: 'shard',
        data: { run, shard },
        opts: { jobId: ids[index] ?? '' },
      })),
    ),
  );
  let out: readonly string[] = ids;

  const endedAmong = async (wanted: readonly string[]): Promise<readonly ShardJob[]> => {
    const jobs = await Promise.all(wanted.map(async (id) => (await ask(queue.getJob(id))) ?? vanished(id)));
    return jobs.filter((job) => job.finishedOn !== undefined);
  };

  return {
    /** The number of open shards. Rejects with the error that one of them ended with. */
    async poll(): Promise<number> {
      for (;;) {
        const ended = await endedAmong(out.slice(0, MAX_POLLED));
        if (ended.length === 0) return out.length;
        // A shard that was stopped ended because of another one: report the error of that one.
        if (!ended.every(isDelivered)) throw causeAmong(await endedAmong(out));
        // The outcome of a shard is in the state; kept jobs of a large run would fill Redis.
        await Promise.allSettled(ended.map((job) => job.remove()));
        const gone = new Set(ended.map(({ id }) => id));
        out = out.filter((id) => !gone.has(id));
      }
    },
    /** Removes those that no worker has begun; returns how many are being sent now. */
    async withdraw(): Promise<number> {
      const jobs = await ask(Promise.all(out.map((id) => queue.getJob(id))));
      const open = jobs.filter((job) => job !== undefined && job.finishedOn === undefined);
      const removed = await Promise.allSettled(open.map((job) => job?.remove()));
      out = open.flatMap((job, index) =>
        removed[index]?.status === 'rejected' && job?.id !== undefined ? [job.id] : [],
      );
      return out.length;
    },
  };
}

function vanished(id: string): never {
  throw new StateError(`The queue has lost the job of shard ${id}.`, {
    hint: 'Redis was emptied, or it evicts keys. Check maxmemory-policy, then enqueue the job again to continue.',
  });
}

function isDelivered({ failedReason, returnvalue }: ShardJob) {
  return !failedReason && returnvalue.status === 'delivered';
}

function causeAmong(ended: readonly ShardJob[]) {
  for (const { failedReason, returnvalue: result } of ended) {
    if (failedReason) return new Error(failedReason);
    switch (result.status) {
      case 'delivered':
      case 'obsolete':
        continue;
      case 'unauthorized':
      case 'store-unavailable':
      case 'safety-limit':
      case 'failed':
        return shardError(result);
      default:
        throw new Error(`Unknown result: ${result satisfies never}`);
    }
  }
  return new StateError('Another process has ended this run.', {
    hint: '`storeferry runs` shows how it ended.',
  });
}

/** The delay before a second look at a shard that another process holds: its holder may have died. */
const SHARD_RETRY_DELAY_MS = 1_000;

interface ShardProcessorOptions {
  readonly context: RunContext;
  readonly readConfiguration: (run: Run) => RunConfiguration;
  readonly log: WorkerLog;
}

/** Sends one shard of a run. */
export function shardProcessor({ context, readConfiguration, log }: ShardProcessorOptions) {
  const { runs, locks } = context.state;
  const deliverShard = shardDeliverer();
  const endings = watchRunEnds(runs);

  /** Undefined if another process holds the shard. */
  const deliver = async (
    run: Run,
    shard: number,
    signal: AbortSignal,
  ): Promise<ShardJobResult | undefined> => {
    const { job, store } = readConfiguration(run);
    refuseOtherStore(run, store);
    await using lock = await tryLockShard(locks, importTarget(run), run, shard);
    if (lock === undefined) return undefined;
    using ending = endings.watch(run.id);
    const onEvent = (event: RunEvent) => {
      // The coordinator sees progress in the state; only the sending worker knows the reason of its waits.
      if (event.type !== 'waiting-for-requests') return;
      const { operations, ms } = event;
      log.info({ run: run.id, job: run.job, shard, operations, ms }, WAITS_FOR_REQUESTS);
      void runs.update(run.id, { waiting: { operations, until: context.clock() + ms } }).catch(() => {});
    };
    const own = { ...context, onEvent, signal: AbortSignal.any([signal, ending.signal]) };
    try {
      await deliverShard(own, { run, job, store, lock }, shard);
      return { status: 'delivered' };
    } catch (error) {
      if (ending.signal.aborted) return { status: 'obsolete' };
      throw error;
    }
  };

  return async (
    queued: Job<ShardJobData, ShardJobResult>,
    token: string | undefined,
    cancelled: AbortSignal | undefined,
  ): Promise<ShardJobResult> => {
    if (!isShardJobData(queued.data)) {
      log.error({ queued: queued.id }, UNREADABLE_JOB);
      return { status: 'obsolete' };
    }
    const { shard } = queued.data;
    const startedAt = performance.now();
    const signal = jobSignal(context.signal, cancelled);
    const delay = async () => {
      await queued.moveToDelayed(context.clock() + SHARD_RETRY_DELAY_MS, token);
      throw new DelayedError();
    };
    let run: Run | undefined;
    try {
      run = await runs.get(queued.data.run);
      if (!maySend(run)) return { status: 'obsolete' };
      const result = await deliver(run, shard, signal);
      if (result === undefined) return await delay();
      const durationMs = Math.round(performance.now() - startedAt);
      log.info({ ...queued.data, job: run.job, status: result.status, durationMs }, 'shard ended');
      return result;
    } catch (error) {
      if (error instanceof DelayedError) throw error;
      const ids = { ...queued.data, job: run?.job };
      if (signal.aborted || error instanceof LockedError) {
        log.info(
          { ...ids, reason: error instanceof Error ? error.message : null },
          'shard returned to the queue',
        );
        await queued.moveToWait(token);
        throw new WaitingError();
      }
      if (run === undefined && error instanceof StateUnavailableError) {
        log.error({ ...ids, reason: error.message }, 'shard waits for the state');
        return await delay();
      }
      // Kept in the queue and as the error of the run. Where that is not known, it may be one about people.
      const message = runErrorOf(error, run ?? { resource: 'contacts' }, context);
      const failure = toShardFailure(error, message);
      log.error({ ...ids, ...failure }, 'shard failed');
      // If the state does not take it, the coordinator finds it in the queue.
      await endings.end(ids.run, failure.message).catch(() => {});
      return failure;
    }
  };
}

/** The configuration of another worker may be newer, or belong to another shop: then the plan is for another store. */
function refuseOtherStore(run: Run, store: StoreConfig) {
  if (storeIdentity(store) === run.storeId) return;
  throw new StateError(
    `The run ${run.id} is for ${run.baseUrl}; a worker has ${store.baseUrl} as the store ${store.name}.`,
    { hint: 'Give all workers the same stores.yaml and environment, then enqueue the job again.' },
  );
}

/**
 * The locks of a worker that sends a shard: the shard, alone, and the store's resource, together with the other
 * workers of the run, so that no other run begins there even while no process coordinates this one. Undefined if
 * another process holds either. Releasing it leaves the resource to the other workers.
 */
async function tryLockShard(
  locks: Locks,
  target: LedgerTarget,
  run: Run,
  shard: number,
): Promise<Lock | undefined> {
  const holder = { job: run.job, run: run.id };
  const shared = await locks.tryAcquire(targetLockName(target), holder, { together: true });
  if ('heldBy' in shared) return undefined;
  const own = await locks.tryAcquire(shardLockName(target, run.id, shard), holder);
  if ('heldBy' in own) {
    await shared.leave();
    return undefined;
  }
  const leave = async () => {
    await Promise.all([shared.leave(), own.leave()]);
  };
  const release = async () => {
    await Promise.all([shared.leave(), own.release()]);
  };
  return {
    fence: own.fence,
    lost: AbortSignal.any([shared.lost, own.lost]),
    isHeld: () => shared.isHeld() && own.isHeld(),
    leave,
    release,
    [Symbol.asyncDispose]: release,
  };
}

/**
 * Whether workers may send for the run. An error on a running run means that it is about to end: the process that has
 * the error first writes it, so that all stop. An interrupted run is being passed from one worker to the next, and
 * its shards continue meanwhile, unless a person has requested its end.
 */
function maySend(run: Run | undefined): run is Run {
  if (run?.interruptAskedAt != null) return false;
  return run?.status === 'interrupted' || (run?.status === 'running' && run.error === null);
}

interface Watched {
  readonly ending: AbortController;
  readonly timer: NodeJS.Timeout;
  watchers: number;
}

/** Watches for the end of runs, once for all shards of a run in this process. */
function watchRunEnds(runs: Pick<Runs, 'get' | 'update'>) {
  const watched = new Map<string, Watched>();

  const stop = (id: string) => {
    watched.get(id)?.ending.abort(new InterruptedError(`The run ${id} ends.`));
  };
  const look = async (id: string) => {
    try {
      if (!maySend(await runs.get(id))) stop(id);
    } catch {
      // Without an answer nothing is known; then the lock decides when to stop.
    }
  };
  const begin = (id: string): Watched => {
    const begun = { ending: new AbortController(), timer: setInterval(look, POLL_MS, id), watchers: 0 };
    watched.set(id, begun);
    return begun;
  };

  return {
    /** Dispose of it after the shard was sent; the signal aborts when the run ends, or is about to. */
    watch(id: string): Disposable & { readonly signal: AbortSignal } {
      const known = watched.get(id);
      const entry = known === undefined || known.ending.signal.aborted ? begin(id) : known;
      entry.watchers++;
      return {
        signal: entry.ending.signal,
        [Symbol.dispose]() {
          if (--entry.watchers > 0) return;
          clearInterval(entry.timer);
          if (watched.get(id) === entry) watched.delete(id);
        },
      };
    },
    /** Ends the run for this process at once, and for the others at their next look. */
    async end(id: string, error: string): Promise<void> {
      stop(id);
      await runs.update(id, { error });
    },
  };
}
