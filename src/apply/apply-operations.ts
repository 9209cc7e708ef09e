import { type SafetyLimitError, UnauthorizedError } from '../model/errors.ts';
import type { Operation } from '../model/operation.ts';
import type { Outcome } from '../model/outcome.ts';
import { type Clock, systemClock } from '../storefront/clock.ts';
import type { OnEnded } from '../storefront/send.ts';
import { forbidden } from './forbidden.ts';
import { groupCommit } from './group-commit.ts';
import { sendOperation, type WritingStorefront } from './send-operation.ts';
import { type HeldSlot, slots } from './slots.ts';
import { stopOn } from './stop.ts';
import { type ApplyTally, addToTally, EMPTY_TALLY } from './tally.ts';

/** Requests under way get this long to end after an interruption. */
export const GRACE_MS = 5_000;

/** An operation, as it was handed in, and what became of it. */
export interface ApplyResult<Op extends Operation> {
  readonly operation: Op;
  readonly outcome: Outcome;
}

/** What to send, where to, and who is told. */
export interface ApplyOptions<Op extends Operation> {
  /** May carry more than an Operation, such as its shard: results give back the same objects. */
  readonly operations: AsyncIterable<Op> | Iterable<Op>;
  readonly storefront: WritingStorefront;
  /** The most operations that may have taken effect at the store without being recorded. */
  readonly concurrency: number;
  /**
   * Writes outcomes, durably when it resolves; never called while a call is under way. `requests` were sent since
   * the last call, also for operations without an outcome; the last call may have requests only.
   */
  readonly record: (results: readonly ApplyResult<Op>[], requests: number) => Promise<void>;
  /** Asked before each request, and awaited where it gives a promise; what it throws stops the run, and nothing is sent. */
  readonly permit?: () => Promise<void> | undefined;
  /** Told at the end which operations were taken and certainly not done; not when nothing may be written any more. */
  readonly onUntouched?: (operations: readonly Op[]) => Promise<void>;
  /** Rejects with what is wrong with the API key when the store does not take it; asked when all is answered 403. */
  readonly confirmKey?: () => Promise<void>;
  /** Asked after each rejection, with outcomes not yet recorded counted; an error stops the run. */
  readonly judge?: (tally: ApplyTally) => SafetyLimitError | undefined;
  readonly signal: AbortSignal;
  /** Called after each record. */
  readonly onProgress?: (tally: ApplyTally) => void;
  /** Called for each request that has ended. */
  readonly onEnded?: OnEnded;
  /** What is applied, such as the id of a run: requests are told with it. */
  readonly about?: string;
  /** Of several applies on one storefront, the one with the lowest turn is sent first; the others fill its gaps. */
  readonly turn?: number;
  readonly graceMs?: number;
  readonly clock?: Clock;
}

/** The code of a 403. */
const FORBIDDEN = 'store-403';

interface Finished<Op extends Operation> extends ApplyResult<Op> {
  readonly slot: HeldSlot;
  readonly recorded: () => void;
}

/**
 * Sends operations, and records what becomes of each. A slot is free for the next operation only when the outcome
 * is recorded, so a process that dies leaves at most `concurrency` effects unrecorded, which are then sent again.
 * Two operations on one key never overlap.
 *
 * Resolves with the tally when every operation has an outcome. Otherwise sends nothing more, records what was
 * answered and rejects: UnauthorizedError, StoreUnavailableError, SafetyLimitError, InterruptedError (the signal),
 * or what `operations` or `record` failed with. Operations without an outcome are left as planned.
 */
export async function applyOperations<Op extends Operation>(options: ApplyOptions<Op>): Promise<ApplyTally> {
  const { storefront, record, judge, onProgress, clock = systemClock, graceMs = GRACE_MS } = options;
  const stop = stopOn(options.signal, clock, graceMs);
  const places = slots(options.concurrency, stop.stopping);
  const openKeys = new Map<string, Promise<void>>();
  const open = new Set<Promise<void>>();
  let requests = 0;
  let arrived = EMPTY_TALLY;
  let recorded = EMPTY_TALLY;
  const untouched: Op[] = [];
  const about = options.about === undefined ? {} : { about: options.about };
  const { onEnded, turn = 0, permit } = options;
  const send = { signal: stop.ended, stopping: stop.stopping, onEnded, turn, ...about };

  const write = async (results: readonly ApplyResult<Op>[]): Promise<void> => {
    if (!stop.recording) return;
    const sent = requests;
    requests = 0;
    await record(results, sent);
    recorded = addToTally(recorded, results, sent);
    onProgress?.(recorded);
  };
  const outcomes = groupCommit<Finished<Op>>({
    write: (group) => write(group.map(({ operation, outcome }) => ({ operation, outcome }))),
    onWritten: (group) => {
      for (const { slot, recorded: done } of group) {
        slot.free();
        done();
      }
    },
    onFailed: (error) => stop.stop(error, 'drop'),
  });

  const finish = (finished: Finished<Op>): void => {
    arrived = addToTally(arrived, [finished], 0);
    outcomes.add(finished);
    if (finished.outcome.kind !== 'rejected') return;
    const exceeded = judge?.(arrived);
    if (exceeded !== undefined) stop.stop(exceeded, 'drain');
  };
  const keyRefused = (): UnauthorizedError =>
    new UnauthorizedError('The store answers 403 to everything that is sent with this API key.', {
      hint: 'Check what the key may do in the store, then run the job again: it continues where it stopped.',
    });
  const refusals = forbidden<Finished<Op>>({
    confirmKey: options.confirmKey ?? (() => Promise.reject(keyRefused())),
    reject: finish,
    giveUp: (error) => stop.stop(error, 'drain'),
    refused: keyRefused,
  });
  const settle = (finished: Finished<Op>): void => {
    const { outcome, slot } = finished;
    if (outcome.kind === 'rejected' && outcome.reason.code === FORBIDDEN) {
      slot.free();
      refusals.hold(finished);
      return;
    }
    if (outcome.kind !== 'unsent') refusals.accepted();
    finish(finished);
  };

  /** Sends one operation; its key is open until the outcome is recorded. Never rejects. */
  const start = (operation: Op, slot: HeldSlot): void => {
    const { promise, resolve } = Promise.withResolvers<void>();
    openKeys.set(operation.key, promise);
    let notDone = true;
    const onRequest = (): Promise<void> | undefined => {
      const permitted = permit?.();
      notDone = false;
      requests++;
      return permitted;
    };
    const onNotDone = (): void => {
      notDone = true;
    };
    const close = (): void => {
      openKeys.delete(operation.key);
      resolve();
    };
    const sending = sendOperation(storefront, operation, { ...send, slot, onRequest, onNotDone })
      .then((outcome) => settle({ operation, outcome, slot, recorded: close }))
      .catch((error: unknown) => {
        if (notDone) untouched.push(operation);
        slot.free();
        close();
        stop.stop(error, 'drain');
      })
      .finally(() => open.delete(sending));
    open.add(sending);
  };

  const stopped = new Promise<void>((resolve) => {
    stop.stopping.addEventListener('abort', () => resolve(), { once: true });
  });

  /** Rejects when the apply ends before there is one. */
  const slotFor = async ({ key }: Op): Promise<HeldSlot> => {
    const sameKey = openKeys.get(key);
    if (sameKey !== undefined) await Promise.race([sameKey, stopped]);
    return await places.take();
  };

  try {
    for await (const operation of options.operations) {
      const slot = stop.stopped ? null : await slotFor(operation).catch(() => null);
      if (slot === null) {
        untouched.push(operation);
        break;
      }
      start(operation, slot);
    }
  } catch (error) {
    stop.stop(error, 'drain');
  }
  await Promise.all(open);
  if (!stop.stopped) await refusals.finish();
  await outcomes.settled();
  stop.dispose();
  if (requests > 0) {
    try {
      await write([]);
    } catch (error) {
      stop.stop(error, 'drop');
    }
  }
  // Left in doubt, they only cost a request more some day.
  if (untouched.length > 0 && stop.recording) await options.onUntouched?.(untouched).catch(() => {});
  if (stop.stopped) throw stop.error;
  return recorded;
}
