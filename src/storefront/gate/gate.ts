import type { Clock } from '../../model/clock.ts';
import { isPushBack } from '../exchange.ts';
import { type AbortListeners, waitQueue } from '../wait-queue.ts';
import { breaker, outageTimer, PROBE_EVERY_MS, retryGrants } from './breaker.ts';
import { concurrencyLimit, createCauseTracker } from './concurrency-limit.ts';
import { rateLimit, type SharedRate } from './rate-limit.ts';

/** Other processes wait this long after a failed probe; the next probe comes sooner. */
const OTHERS_WAIT_MS = PROBE_EVERY_MS * 2;

/** An operation as the gate sees it, from its first attempt to its outcome. */
export interface Ticket {
  /** Whether an attempt was made before. */
  retry: boolean;
  /** It failed again after others had been answered: its failures say nothing about the store. */
  suspect: boolean;
  /** It confirms a 401: only this request is sent while all others wait. */
  confirms: boolean;
  /** Among waiting operations, the lowest number is sent first. */
  readonly priority: number;
}

/** The permission to send one request. Return it with `leave` when the request has ended. */
interface Admission {
  readonly sentAt: number;
  /** It was the last one that the concurrency limit allowed. */
  readonly atLimit: boolean;
  /** It had to wait for the rate limit. */
  readonly wasRateLimited: boolean;
  /** Sent to test whether the store answers again, while everything else waits. */
  readonly probe: boolean;
}

/** An attempt that will be repeated. `status` is null without an answer. */
interface FailedAttempt {
  readonly status: number | null;
  readonly retryAfterMs: number | undefined;
  readonly reason: string;
}

/** How an attempt ended. */
export type AttemptEnd =
  /** The store accepted or refused the request. */
  | { readonly kind: 'answered' }
  | ({ readonly kind: 'failed' } & FailedAttempt)
  /** It was cancelled. */
  | { readonly kind: 'abandoned' };

export interface GateStats {
  /** How many requests may be in flight, and the reason for this number. */
  readonly limit: number;
  readonly because: string;
  readonly inFlight: number;
  readonly waiting: number;
  /** Requests sent, and how many of them were retries. */
  readonly requests: number;
  readonly retries: number;
  /** Answers 429 alone; a 503 with `Retry-After` pushes back too. */
  readonly pushBacks: number;
  /** Requests per second that the store or the configuration allows; null without such a limit. */
  readonly requestsPerSecond: number | null;
  /** The remaining time of a pause that the store or another worker requested; 0 without a pause. */
  readonly pausedForMs: number;
  readonly retryBudget: number;
  readonly breakerOpen: boolean;
}

/**
 * A pause that several processes share, for example through Redis. Durations, because machines disagree about the
 * time.
 */
export interface SharedPause {
  /** Asks the others to send nothing for this long. */
  announce(forMs: number): void;
  /** Called when another process requests a pause; returns a function that stops listening. */
  listen(onPause: (forMs: number) => void): () => void;
}

/** Events of a storefront, for logs and progress; never needed for correctness. */
export type StorefrontEvent =
  /** Half of the last answers were failures: only probes are sent until one is answered. */
  | { readonly kind: 'breaker-opened'; readonly reason: string }
  | { readonly kind: 'breaker-closed'; readonly openForMs: number }
  /** The store, or another process, requested a pause. */
  | { readonly kind: 'paused'; readonly forMs: number; readonly reason: string }
  /** The store refused requests as too many; from now on at most this many per second are sent. */
  | { readonly kind: 'rate-limited'; readonly requestsPerSecond: number };

export type OnStorefrontEvent = (event: StorefrontEvent) => void;

interface GateOptions {
  readonly clock: Clock;
  readonly onEvent: OnStorefrontEvent;
  /** The most requests in flight. */
  readonly concurrency: number;
  /** The most requests per second; default: no limit. */
  readonly requestsPerSecond?: number | undefined;
  readonly sharedPause?: SharedPause | undefined;
  /** `requestsPerSecond` applies to all processes that share it. */
  readonly sharedRate?: SharedRate | undefined;
  readonly aborts: AbortListeners;
}

/** Decides when a request may be sent. */
export type Gate = ReturnType<typeof gate>;

/**
 * The controller of all requests to a store: concurrency, rate, pauses, breaker and retry budget are combined here
 * and nowhere else. A request enters, may wait, and leaves with its result.
 */
export function gate(options: GateOptions) {
  const { clock, onEvent, aborts, sharedPause } = options;
  const { requestsPerSecond = Number.POSITIVE_INFINITY } = options;
  const concurrency = concurrencyLimit(options.concurrency, Number.isFinite(requestsPerSecond));
  const rate = rateLimit({ clock, requestsPerSecond, shared: options.sharedRate, onReserved: () => pump() });
  const causeOf = createCauseTracker();
  const circuit = breaker();
  const grants = retryGrants(clock, aborts);
  const priorityOf = ({ priority }: Ticket) => priority;
  const firstAttempts = waitQueue<Ticket, Admission>(aborts, priorityOf);
  const retries = waitQueue<Ticket, Admission>(aborts, priorityOf);
  const confirming = waitQueue<Ticket, Admission>(aborts);
  const waiting = () => firstAttempts.length + retries.length + confirming.length;
  const rejectAll = (error: Error) => {
    for (const line of [firstAttempts, retries, confirming]) line.rejectAll(error);
  };
  const outage = outageTimer({
    clock,
    onExceeded(error) {
      rejectAll(error);
      grants.rejectAll(error);
      pump();
    },
  });
  let inFlight = 0;
  let held = false;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let openedAt = 0;
  let closedBy: Error | null = null;
  let cancelTimer: (() => void) | null = null;
  const counts = { requests: 0, retries: 0, pushBacks: 0, answered: 0 };

  const pauseFor = (ms: number, reason: string) => {
    const now = clock.monotonic();
    const wasPaused = pausedUntil > now;
    if (now + ms <= pausedUntil) return;
    pausedUntil = now + ms;
    outage.paused(pausedUntil, reason);
    if (waiting() > 0) outage.blocked();
    if (!wasPaused) onEvent({ kind: 'paused', forMs: ms, reason });
  };
  const stopListening = sharedPause?.listen((ms) => {
    pauseFor(ms, 'another worker was asked to wait');
    pump();
  });

  const admit = (ticket: Ticket, now: number): Admission => {
    if (ticket.retry) counts.retries++;
    else grants.earn();
    counts.requests++;
    if (circuit.open) circuit.probeSent(now);
    const wasRateLimited = rate.take(now);
    inFlight++;
    concurrency.sent(inFlight);
    const atLimit = inFlight >= concurrency.current && concurrency.current > 1;
    return { sentAt: now, atLimit, wasRateLimited, probe: circuit.open };
  };

  const limitedForMs = (now: number) =>
    inFlight >= concurrency.current ? Number.POSITIVE_INFINITY : rate.waitMs(now);

  /** Milliseconds until any request may be sent; Infinity if this depends on the end of another. */
  const closedForMs = (now: number) => {
    const waitMs = circuit.open ? circuit.probeWaitMs(now) : limitedForMs(now);
    const closedMs = Math.max(waitMs, pausedUntil - now, 0);
    if (closedMs > 0) return closedMs;
    const free = Math.max(1, concurrency.current - inFlight);
    return rate.sharedWaitMs(now, Math.min(free, waiting()));
  };

  /** Retries first, because they have waited longest. As a probe, a request that has not failed before is preferred. */
  const next = () => {
    if (held) return confirming.next();
    if (circuit.open) return firstAttempts.next() ?? retries.next(({ suspect }) => !suspect);
    return retries.next() ?? firstAttempts.next();
  };

  const pump = () => {
    cancelTimer?.();
    cancelTimer = null;
    while (waiting() > 0) {
      const now = clock.monotonic();
      const waitMs = closedForMs(now);
      if (waitMs > 0) {
        if (waitMs !== Number.POSITIVE_INFINITY) cancelTimer = clock.after(waitMs, pump);
        return;
      }
      const waiter = next();
      if (waiter === undefined) return;
      waiter.resume(admit(waiter.item, now));
    }
  };

  /** Only probes may be sent, and only an answer of the store, or the end of a pause, changes that. */
  const isBlocked = (now: number) => circuit.open || pausedUntil > now;

  const wait = (ticket: Ticket, signal: AbortSignal): Promise<Admission> => {
    const line = ticket.retry ? retries : firstAttempts;
    const admitted = (ticket.confirms ? confirming : line).wait(ticket, signal);
    if (isBlocked(clock.monotonic())) outage.blocked();
    pump();
    return admitted;
  };

  /** Adapts concurrency and rate to a failed attempt; true if the rate fell. */
  const slowDown = (end: FailedAttempt, admission: Admission, now: number) => {
    const { status, retryAfterMs } = end;
    const { sentAt } = admission;
    if (!isPushBack(status, retryAfterMs)) {
      concurrency.ended({ sentAt, endedAt: now, pressure: 'failure' });
      return status === 503 && rate.refused({ sentAt, endedAt: now, explicit: false });
    }
    const { current: limit, averageMs } = concurrency;
    const cause = causeOf({ ...admission, endedAt: now, limit, averageMs, hasRate: rate.isLearned });
    if (cause.tooManyAtOnce) concurrency.ended({ sentAt, endedAt: now, pressure: 'too-many' });
    return cause.tooManyASecond && rate.refused({ sentAt, endedAt: now, explicit: true });
  };

  const failed = (end: FailedAttempt, admission: Admission, now: number) => {
    outage.failed(admission.sentAt, lastSeenIn(end));
    if (end.status === 429) counts.pushBacks++;
    if (slowDown(end, admission, now)) {
      onEvent({ kind: 'rate-limited', requestsPerSecond: rate.perSecond });
    }
    if (end.retryAfterMs !== undefined && end.retryAfterMs > 0) {
      pauseFor(end.retryAfterMs, end.reason);
      sharedPause?.announce(end.retryAfterMs);
    }
    if (admission.probe) {
      circuit.probeEnded(false);
      if (isReportedByStore(end)) sharedPause?.announce(OTHERS_WAIT_MS);
    } else if (circuit.answered(false, now)) {
      openedAt = now;
      concurrency.restart('restarting slowly after the store failed');
      if (isReportedByStore(end)) sharedPause?.announce(OTHERS_WAIT_MS);
      onEvent({ kind: 'breaker-opened', reason: end.reason });
    }
  };

  const answered = (admission: Admission, now: number) => {
    counts.answered++;
    concurrency.ended({ sentAt: admission.sentAt, endedAt: now, pressure: 'none' });
    rate.accepted(now, (concurrency.current * 1_000) / concurrency.averageMs);
    if (!admission.probe) circuit.answered(true, now);
    else if (circuit.probeEnded(true)) onEvent({ kind: 'breaker-closed', openForMs: now - openedAt });
    outage.answered(isBlocked(now));
  };

  return {
    /** Counts answered attempts; a change shows that others were answered. */
    get answered() {
      return counts.answered;
    },
    /** An operation begins. The signal aborts with StoreUnavailableError when the store has failed for 15 minutes. */
    begin: () => outage.begin(),
    /** The operation has its outcome, or is given up. */
    end: () => outage.end(),
    /** From now on only a confirming request is admitted. */
    hold(): void {
      held = true;
    },
    /** The others continue; with an error, waiting requests are rejected instead. */
    release(error?: Error): void {
      held = false;
      if (error !== undefined) rejectAll(error);
      pump();
    },
    /** Only reads follow: this many may be in flight from the beginning. */
    startAt: (limit: number) => concurrency.startAt(limit),
    /** Call before every retry: resolves when the budget has one. */
    grantRetry: (signal: AbortSignal) =>
      closedBy === null ? grants.grant(signal) : Promise.reject(closedBy),
    /** An admission, at once if possible. Rejects with the signal's reason, or StoreUnavailableError. */
    enter(ticket: Ticket, signal: AbortSignal): Admission | Promise<Admission> {
      if (closedBy !== null || signal.aborted) return Promise.reject(closedBy ?? signal.reason);
      if (waiting() > 0 || held || circuit.open) return wait(ticket, signal);
      const now = clock.monotonic();
      return closedForMs(now) > 0 ? wait(ticket, signal) : admit(ticket, now);
    },
    leave(admission: Admission, end: AttemptEnd): void {
      const now = clock.monotonic();
      inFlight--;
      switch (end.kind) {
        case 'answered':
          answered(admission, now);
          break;
        case 'failed':
          failed(end, admission, now);
          break;
        case 'abandoned':
          if (admission.probe) circuit.probeEnded(false);
          break;
        default:
          throw new Error(`Unknown end of an attempt: ${end satisfies never}`);
      }
      pump();
    },
    stats: (): GateStats => ({
      limit: concurrency.current,
      because: concurrency.because,
      inFlight,
      waiting: waiting() + grants.waiting,
      requests: counts.requests,
      retries: counts.retries,
      pushBacks: counts.pushBacks,
      requestsPerSecond: Number.isFinite(rate.perSecond) ? rate.perSecond : null,
      pausedForMs: Math.max(0, pausedUntil - clock.monotonic()),
      retryBudget: grants.balance,
      breakerOpen: circuit.open,
    }),
    /** Stops listening and waiting; waiting requests are rejected with `reason`. */
    close(reason: Error): void {
      closedBy = reason;
      stopListening?.();
      cancelTimer?.();
      outage.close();
      grants.close(reason);
      rejectAll(reason);
    },
  };
}

/**
 * Whether the store itself reports its failure, which concerns all processes. A lost connection, a redirect, or
 * a success that proves nothing, may concern only this process: the others detect it themselves.
 */
function isReportedByStore({ status }: FailedAttempt) {
  return status !== null && status >= 400;
}

/** What an attempt has shown about the store, for messages. */
function lastSeenIn({ status, retryAfterMs, reason }: FailedAttempt) {
  const said = status === null || reason.includes(String(status)) ? reason : `${status}, ${reason}`;
  if (retryAfterMs === undefined || retryAfterMs < 1_000) return said;
  return `${said} (Retry-After: ${Math.round(retryAfterMs / 1_000)} seconds or more)`;
}
