import { type AbortListeners, waitingLine } from './abortable.ts';
import type { Clock } from './clock.ts';

/** How often an operation is retried, and how long each retry waits. */
export const RETRY_POLICY = {
  /** Attempts after the first before an operation is unsent. */
  retries: 8,
  /** The first retry waits up to this long. */
  baseMs: 500,
  /** No retry waits longer, unless the store asks for it. */
  capMs: 30_000,
} as const;

/** Whether the store refused to work on a request for now: 429, or 503 with Retry-After. It has not applied it. */
export function isPushBack(status: number | null, retryAfterMs: number | undefined): boolean {
  return status === 429 || (status === 503 && retryAfterMs !== undefined);
}

/** What failed attempts leave open about an operation. */
export interface Doubt {
  /** It may have taken effect at the store. */
  readonly mayHaveArrived: boolean;
  /** The store may still be at work on it: no answer of its own has ended it. */
  readonly mayBeAtWork: boolean;
}

/** Every attempt was certainly not applied. */
export const NO_DOUBT: Doubt = { mayHaveArrived: false, mayBeAtWork: false };

/** The doubt after one more failed attempt. Once in doubt, always in doubt: a later refusal does not undo an arrival. */
export function doubtAfter(earlier: Doubt, attempt: Doubt): Doubt {
  return {
    mayHaveArrived: earlier.mayHaveArrived || attempt.mayHaveArrived,
    mayBeAtWork: earlier.mayBeAtWork || attempt.mayBeAtWork,
  };
}

interface RetryDelay {
  /** 1 for the first retry. */
  readonly retry: number;
  /** In [0, 1). */
  readonly random: number;
  /** What the store asked for with Retry-After, already bounded; 0 when it asked for nothing. */
  readonly retryAfterMs?: number;
  /** How long the store may still be at work on the attempt before; 0 when that has certainly ended. */
  readonly atWorkMs?: number;
}

/**
 * How long to wait before a retry: full jitter, that is a random share of a ceiling that doubles, so that attempts that
 * failed together are not repeated together. It is added to what the store asked for, or to the time that the store may
 * still be at work on the attempt before if that is longer: a store that looks a product up and then writes it would
 * create two.
 */
export function retryDelayMs({ retry, random, retryAfterMs = 0, atWorkMs = 0 }: RetryDelay): number {
  const ceiling = Math.min(RETRY_POLICY.capMs, RETRY_POLICY.baseMs * 2 ** (retry - 1));
  return Math.max(retryAfterMs, atWorkMs) + random * ceiling;
}

/** A store is given at least this long, however quick its answers. */
const SHORTEST_WORK_MS = 1_000;
/** This many times the mean time of an answer. */
const SLOW_FACTOR = 4;
/** How strongly the latest answer counts in the mean. */
const ANSWER_WEIGHT = 0.1;

/** Estimates from its answers how long a store may be at work on a request whose answer was lost. */
export interface WorkTime {
  /** At most as long as any retry waits; before the first answer, exactly that. */
  readonly longestMs: number;
  answeredIn(ms: number): void;
}

/** An estimate without any answer yet. */
export function workTime(): WorkTime {
  let meanMs: number | null = null;
  return {
    get longestMs() {
      if (meanMs === null) return RETRY_POLICY.capMs;
      return Math.min(RETRY_POLICY.capMs, Math.max(SHORTEST_WORK_MS, SLOW_FACTOR * meanMs));
    },
    answeredIn(ms) {
      meanMs = meanMs === null ? ms : meanMs + ANSWER_WEIGHT * (ms - meanMs);
    },
  };
}

/** Retries that a store is granted before its first answer. */
export const INITIAL_RETRIES = 100;
/** What each first attempt adds. */
const RETRIES_PER_ATTEMPT = 0.1;
/** With an empty budget one retry is granted this often, so that every row gets its retries. */
const EMPTY_BUDGET_RETRY_MS = 1_000;

/** Keeps retries in proportion to first attempts, however much fails. Retries wait for it; none fails because of it. */
export interface RetryBudget {
  readonly balance: number;
  earn(): void;
  /** Milliseconds until a retry may be sent; 0 is now. */
  waitMs(now: number): number;
  /** Takes the retry that may be sent now. */
  spend(now: number): void;
}

/** The initial budget. */
export function retryBudget(): RetryBudget {
  let balance = INITIAL_RETRIES;
  let lastGrantAt = Number.NEGATIVE_INFINITY;
  return {
    get balance() {
      return balance;
    },
    earn() {
      balance += RETRIES_PER_ATTEMPT;
    },
    waitMs(now) {
      return balance >= 1 ? 0 : Math.max(0, lastGrantAt + EMPTY_BUDGET_RETRY_MS - now);
    },
    spend(now) {
      if (balance >= 1) balance -= 1;
      else lastGrantAt = now;
    },
  };
}

/** Grants retries from the budget, first come, first served. */
export interface RetryGrants {
  /** Retries that may be sent at once. */
  readonly balance: number;
  readonly waiting: number;
  /** A first attempt was sent. */
  earn(): void;
  /** Resolves when one retry may be sent. Rejects with the signal's reason, or as `rejectAll` or `close` say. */
  grant(signal: AbortSignal): Promise<void>;
  /** Rejects all that wait. */
  rejectAll(error: Error): void;
  close(reason: Error): void;
}

/** Grants from a budget of its own. */
export function retryGrants(clock: Clock, aborts: AbortListeners): RetryGrants {
  const budget = retryBudget();
  const line = waitingLine<void, void>(aborts);
  let cancelTimer: (() => void) | null = null;

  const pump = (): void => {
    cancelTimer?.();
    cancelTimer = null;
    while (line.length > 0) {
      const now = clock.monotonic();
      const waitMs = budget.waitMs(now);
      if (waitMs > 0) {
        cancelTimer = clock.after(waitMs, pump);
        return;
      }
      budget.spend(now);
      line.next()?.resume();
    }
  };

  return {
    get balance() {
      return budget.balance;
    },
    get waiting() {
      return line.length;
    },
    earn() {
      budget.earn();
      if (line.length > 0) pump();
    },
    grant(signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      const granted = line.wait(undefined, signal);
      pump();
      return granted;
    },
    rejectAll(error) {
      line.rejectAll(error);
      pump();
    },
    close(reason) {
      cancelTimer?.();
      line.rejectAll(reason);
    },
  };
}
