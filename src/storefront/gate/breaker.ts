import type { Clock } from '../../model/clock.ts';
import { StoreUnavailableError } from '../../model/storeferry-error.ts';
import { MAX_RETRY_AFTER_MS } from '../../remote/remote-client.ts';
import { type AbortListeners, waitQueue } from '../wait-queue.ts';

/** The number of latest answers that count, and the number of failures among them that opens the breaker. */
export const BREAKER_WINDOW = 20;
const BREAKER_FAILURES = BREAKER_WINDOW / 2;
/** The interval of probes while the breaker is open. */
export const PROBE_EVERY_MS = 1_000;

/**
 * Stops sending while the store fails. Closed: everything is sent. Open: one probe at a time, at most one per second,
 * until one is answered. Only temporary failures count: a 4xx other than 408 and 429 is an answer.
 */
export function breaker() {
  let answers: boolean[] = [];
  let failures = 0;
  let isOpen = false;
  let isProbing = false;
  let lastProbeAt = Number.NEGATIVE_INFINITY;

  return {
    get open() {
      return isOpen;
    },
    /** A request that was not a probe has ended; true if it opened the breaker. */
    answered(ok: boolean, now: number): boolean {
      if (isOpen) return false;
      answers.push(ok);
      if (!ok) failures++;
      if (answers.length > BREAKER_WINDOW && answers.shift() === false) failures--;
      if (failures < BREAKER_FAILURES) return false;
      isOpen = true;
      lastProbeAt = now;
      return true;
    },
    /** While open: milliseconds until a probe may be sent; Infinity during a probe. */
    probeWaitMs(now: number): number {
      return isProbing ? Number.POSITIVE_INFINITY : Math.max(0, lastProbeAt + PROBE_EVERY_MS - now);
    },
    probeSent(now: number): void {
      isProbing = true;
      lastProbeAt = now;
    },
    /** How the probe ended; true if it closed the breaker. */
    probeEnded(ok: boolean): boolean {
      isProbing = false;
      if (!ok || !isOpen) return false;
      isOpen = false;
      answers = [];
      failures = 0;
      return true;
    },
  };
}

/** A store without a proper answer for this long counts as unavailable. No requested pause is longer. */
const OUTAGE_LIMIT_MS = MAX_RETRY_AFTER_MS;
/** If a requested pause would end near the limit, this much time remains for one more attempt. */
const LAST_ATTEMPT_MS = 10_000;
/** After this long without work, earlier failures no longer count. */
const IDLE_RESET_MS = 10_000;

interface OutageTimerOptions {
  readonly clock: Clock;
  /** Called at the limit, for work that does not observe the signal. */
  readonly onExceeded: (error: StoreUnavailableError) => void;
}

/**
 * Limits the waiting time for a store that fails to 15 minutes. They count from the last proper answer, or from the
 * sending of the first request that failed after it, and include attempts, pauses, delays and the retry budget.
 */
export function outageTimer({ clock, onExceeded }: OutageTimerOptions) {
  let ending = new AbortController();
  let operations = 0;
  let idleSince = clock.monotonic();
  let answeredAt = Number.NEGATIVE_INFINITY;
  /** When the store began to fail; null while it works. */
  let failingSince: number | null = null;
  let pauseEndsAt = Number.NEGATIVE_INFINITY;
  let lastSeen = '';
  let cancelTimer: (() => void) | null = null;

  const endsAt = (since: number) => {
    const end = since + OUTAGE_LIMIT_MS;
    const leavesNoAttempt = pauseEndsAt > end - LAST_ATTEMPT_MS && pauseEndsAt < end + LAST_ATTEMPT_MS;
    return leavesNoAttempt ? pauseEndsAt + LAST_ATTEMPT_MS : end;
  };

  /** One timer that checks again when it fires, because answers come far more often than the limit is reached. */
  const watch = () => {
    if (cancelTimer !== null || failingSince === null || operations === 0) return;
    cancelTimer = clock.after(endsAt(failingSince) - clock.monotonic(), () => {
      cancelTimer = null;
      if (failingSince !== null && clock.monotonic() >= endsAt(failingSince)) giveUp(failingSince);
      else watch();
    });
  };

  const unwatch = () => {
    cancelTimer?.();
    cancelTimer = null;
  };

  const giveUp = (since: number) => {
    const minutes = Math.round((clock.monotonic() - since) / 60_000);
    const unquoted = `The store has not answered properly for ${minutes} minutes`;
    const error = new StoreUnavailableError(`${unquoted}; last: ${lastSeen}`, {
      unquoted,
      hint: 'Run the job again when the store works again: it continues where it stopped.',
    });
    failingSince = null;
    const ended = ending;
    ending = new AbortController();
    ended.abort(error);
    onExceeded(error);
  };

  return {
    /**
     * An operation begins: the signal aborts with StoreUnavailableError at the limit. Operations that begin after
     * that get a new signal.
     */
    begin(): AbortSignal {
      if (operations === 0 && clock.monotonic() - idleSince > IDLE_RESET_MS) failingSince = null;
      operations++;
      watch();
      return ending.signal;
    },
    /** An operation has its outcome. */
    end(): void {
      operations--;
      if (operations > 0) return;
      idleSince = clock.monotonic();
      unwatch();
    },
    /** An attempt that was sent at `sentAt` failed; `seen` is for the error message. */
    failed(sentAt: number, seen: string): void {
      lastSeen = seen;
      failingSince ??= Math.max(sentAt, answeredAt);
      if (clock.monotonic() >= failingSince + OUTAGE_LIMIT_MS) giveUp(failingSince);
      else watch();
    },
    /** Nothing is sent until this moment of the monotonic clock. */
    paused(until: number, because: string): void {
      pauseEndsAt = until;
      if (failingSince === null) lastSeen = because;
    },
    /** Work waits because nothing may be sent. */
    blocked(): void {
      failingSince ??= clock.monotonic();
      watch();
    },
    /** The store has answered; `stillBlocked` if nothing may be sent nevertheless. */
    answered(stillBlocked: boolean): void {
      answeredAt = clock.monotonic();
      failingSince = stillBlocked ? answeredAt : null;
    },
    close: unwatch,
  };
}

/** Retries that are available before the first answer of the store. */
export const INITIAL_RETRIES = 100;
/** How much each first attempt adds to the budget. */
const RETRIES_PER_ATTEMPT = 0.1;
/** With an empty budget one retry is granted at this interval, so that every row gets its retries. */
const EMPTY_BUDGET_RETRY_MS = 1_000;

/**
 * Keeps retries in proportion to first attempts, however many attempts fail. Retries wait for the budget; none fails
 * because of it.
 */
export function retryBudget() {
  let balance = INITIAL_RETRIES;
  let lastGrantAt = Number.NEGATIVE_INFINITY;
  return {
    get balance() {
      return balance;
    },
    earn(): void {
      balance += RETRIES_PER_ATTEMPT;
    },
    /** Milliseconds until a retry may be sent; 0 is now. */
    waitMs(now: number): number {
      return balance >= 1 ? 0 : Math.max(0, lastGrantAt + EMPTY_BUDGET_RETRY_MS - now);
    },
    /** Takes the retry that may be sent now. */
    spend(now: number): void {
      if (balance >= 1) balance -= 1;
      else lastGrantAt = now;
    },
  };
}

/** Grants retries from a budget, in order of arrival. */
export function retryGrants(clock: Clock, aborts: AbortListeners) {
  const budget = retryBudget();
  const queue = waitQueue<void, void>(aborts);
  let cancelTimer: (() => void) | null = null;

  const pump = () => {
    cancelTimer?.();
    cancelTimer = null;
    while (queue.length > 0) {
      const now = clock.monotonic();
      const waitMs = budget.waitMs(now);
      if (waitMs > 0) {
        cancelTimer = clock.after(waitMs, pump);
        return;
      }
      budget.spend(now);
      queue.next()?.resume();
    }
  };

  return {
    /** Retries that may be sent at once. */
    get balance() {
      return budget.balance;
    },
    get waiting() {
      return queue.length;
    },
    /** A first attempt was sent. */
    earn(): void {
      budget.earn();
      if (queue.length > 0) pump();
    },
    /**
     * Resolves when one retry may be sent. Rejects with the signal's reason, or with the error of `rejectAll` or
     * `close`.
     */
    grant(signal: AbortSignal): Promise<void> {
      if (signal.aborted) return Promise.reject(signal.reason);
      const granted = queue.wait(undefined, signal);
      pump();
      return granted;
    },
    /** Rejects all that wait. */
    rejectAll(error: Error): void {
      queue.rejectAll(error);
      pump();
    },
    close(reason: Error): void {
      cancelTimer?.();
      queue.rejectAll(reason);
    },
  };
}
