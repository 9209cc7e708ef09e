import type { AbortListeners } from '../abort-listeners.ts';
import type { SharedPause, SharedRate, Surroundings } from '../events.ts';
import { breaker, PROBE_EVERY_MS } from './breaker.ts';
import { limiter, type Place } from './limiter.ts';
import { patience } from './patience.ts';
import { retryGrants } from './retry-grants.ts';
import { sharedPlaces } from './shared-places.ts';
import { waitingLine } from './waiting-line.ts';

/** Other processes wait for so long after a probe that failed; the next probe comes sooner. */
const OTHERS_WAIT_MS = PROBE_EVERY_MS * 2;

/** An operation as the gate sees it, from its first attempt to its outcome. */
export interface Ticket {
  /** Whether an attempt was made before. */
  retry: boolean;
  /** It failed again after others had been answered: its failures say nothing about the store. */
  suspect: boolean;
  /** It decides whether a 401 was the key's: while all else is held, it alone goes. */
  confirms: boolean;
  /** Among those that wait, the lowest goes first. */
  readonly turn: number;
}

/** Leave to send one request, to be handed back when it has ended. */
export interface Admission extends Place {
  /** Sent to see whether the store answers again, while everything else waits. */
  readonly probe: boolean;
}

/** How an attempt ended. */
export type AttemptEnd =
  /** The store said what it thinks: done, or refused. */
  | { readonly kind: 'answered' }
  /** It is to be retried. `status` is null when there was no answer. */
  | {
      readonly kind: 'failed';
      readonly status: number | null;
      readonly retryAfterMs: number | undefined;
      readonly reason: string;
    }
  /** We called it off. */
  | { readonly kind: 'abandoned' };

export interface GateStats {
  /** Requests that may be in flight, and why so many. */
  readonly limit: number;
  readonly because: string;
  readonly inFlight: number;
  readonly waiting: number;
  /** Requests sent, and how many of them were retries. */
  readonly requests: number;
  readonly retries: number;
  /** Answers 429. */
  readonly pushBacks: number;
  /** Requests a second that the store seems to allow or the configuration does; null when there is no such limit. */
  readonly requestsPerSecond: number | null;
  /** How long the store (or another worker) has asked to be left alone; 0 when it has not. */
  readonly pausedForMs: number;
  readonly retryBudget: number;
  readonly breakerOpen: boolean;
}

/**
 * The one place where it is decided when a request may go: limiter, rate, pauses, breaker and retry budget of a
 * store meet here. Whoever wants to send enters, perhaps waits, and leaves with how it ended.
 */
export interface Gate {
  /** An operation begins. The signal aborts with StoreUnavailableError when the store has failed for 15 minutes. */
  begin(): AbortSignal;
  /** It has its outcome, or is given up. */
  end(): void;
  /** From now on only a ticket that confirms is admitted. */
  hold(): void;
  /** The others go on; with an error, those that wait are turned away instead. */
  release(error?: Error): void;
  /** To be asked before every retry: resolves when the budget has one. */
  grantRetry(signal: AbortSignal): Promise<void>;
  /** An admission, at once if possible. Rejects with the signal's reason, or StoreUnavailableError. */
  enter(ticket: Ticket, signal: AbortSignal): Admission | Promise<Admission>;
  leave(admission: Admission, end: AttemptEnd): void;
  /** Harmless requests are to come: so many may go at once from the beginning. */
  startAt(concurrency: number): void;
  /** Counts attempts that were answered; when it has moved, others were answered. */
  readonly answered: number;
  stats(): GateStats;
  /** Stops listening and waiting; whoever still waits is turned away with `reason`. */
  close(reason: Error): void;
}

/**
 * Whether the store itself has said that it is unwell, which concerns everybody. A lost connection, or an answer as of
 * something in between, may be this process's own trouble: others find out for themselves.
 */
function isOfStore({ status }: AttemptEnd & { kind: 'failed' }): boolean {
  return status !== null && status >= 400;
}

/** What an attempt has shown of the store, for people. */
function lastSeenIn({ status, retryAfterMs, reason }: AttemptEnd & { kind: 'failed' }): string {
  const said = status === null || reason.includes(String(status)) ? reason : `${status}, ${reason}`;
  if (retryAfterMs === undefined || retryAfterMs < 1_000) return said;
  return `${said} (Retry-After: ${Math.round(retryAfterMs / 1_000)} seconds or more)`;
}

interface GateOptions extends Surroundings {
  readonly concurrency: number;
  readonly requestsPerSecond?: number | undefined;
  readonly sharedPause?: SharedPause | undefined;
  /** `requestsPerSecond` holds over all processes that share it. */
  readonly sharedRate?: SharedRate | undefined;
  readonly aborts: AbortListeners;
}

export function gate(options: GateOptions): Gate {
  const { clock, onEvent, aborts, sharedPause, sharedRate, concurrency } = options;
  const { requestsPerSecond = Number.POSITIVE_INFINITY } = options;
  const limits = limiter({ concurrency, requestsPerSecond });
  const places =
    sharedRate === undefined || !Number.isFinite(requestsPerSecond)
      ? null
      : sharedPlaces({ clock, requestsPerSecond, shared: sharedRate, onReserved: () => pump() });
  const circuit = breaker();
  const grants = retryGrants(clock, aborts);
  const turnOf = ({ turn }: Ticket): number => turn;
  const first = waitingLine<Ticket, Admission>(aborts, turnOf);
  const retries = waitingLine<Ticket, Admission>(aborts, turnOf);
  const confirming = waitingLine<Ticket, Admission>(aborts);
  const waiting = (): number => first.length + retries.length + confirming.length;
  const turnAwayAll = (error: Error): void => {
    for (const line of [first, retries, confirming]) line.turnAwayAll(error);
  };
  const endurance = patience({
    clock,
    onEnded(error) {
      turnAwayAll(error);
      grants.turnAwayAll(error);
      pump();
    },
  });
  let held = false;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let openedAt = 0;
  let closedBy: Error | null = null;
  let cancelTimer: (() => void) | null = null;
  const counts = { requests: 0, retries: 0, pushBacks: 0, answered: 0 };

  const pauseFor = (ms: number, reason: string): void => {
    const now = clock.monotonic();
    const wasPaused = pausedUntil > now;
    if (now + ms <= pausedUntil) return;
    pausedUntil = now + ms;
    endurance.paused(pausedUntil, reason);
    if (waiting() > 0) endurance.heldUp();
    if (!wasPaused) onEvent({ kind: 'paused', forMs: ms, reason });
  };
  const stopListening = sharedPause?.listen((ms) => {
    pauseFor(ms, 'another worker was asked to wait');
    pump();
  });

  const wakeIn = (ms: number): void => {
    cancelTimer?.();
    cancelTimer = clock.after(ms, () => {
      cancelTimer = null;
      pump();
    });
  };

  const admit = (ticket: Ticket, now: number): Admission => {
    if (ticket.retry) counts.retries++;
    else grants.earn();
    counts.requests++;
    if (circuit.open) circuit.probeSent(now);
    places?.take();
    return { ...limits.take(now), probe: circuit.open };
  };

  /** Milliseconds until anything may go, whatever it is; Infinity when the end of a request decides. */
  const closedForMs = (now: number): number => {
    const waitMs = circuit.open ? circuit.probeWaitMs(now) : limits.waitMs(now);
    const closedMs = Math.max(waitMs, pausedUntil - now, 0);
    if (closedMs > 0 || places === null) return closedMs;
    const free = Math.max(1, limits.concurrency - limits.inFlight);
    return places.waitMs(now, Math.min(free, waiting()));
  };

  /** Retries go first, they have waited longest; a probe is better made with what has not failed before. */
  const next = () => {
    if (held) return confirming.next();
    if (circuit.open) return first.next() ?? retries.next(({ suspect }) => !suspect);
    return retries.next() ?? first.next();
  };

  const pump = (): void => {
    cancelTimer?.();
    cancelTimer = null;
    while (waiting() > 0) {
      const now = clock.monotonic();
      const waitMs = closedForMs(now);
      if (waitMs > 0) {
        if (waitMs !== Number.POSITIVE_INFINITY) wakeIn(waitMs);
        return;
      }
      const waiter = next();
      if (waiter === undefined) return;
      waiter.let(admit(waiter.guest, now));
    }
  };

  /** Nothing but probes may be sent, and only an answer of the store, or the end of a pause, changes that. */
  const isHeldUp = (now: number): boolean => circuit.open || pausedUntil > now;

  const wait = (ticket: Ticket, signal: AbortSignal): Promise<Admission> => {
    const line = ticket.retry ? retries : first;
    const admitted = (ticket.confirms ? confirming : line).join(ticket, signal);
    if (isHeldUp(clock.monotonic())) endurance.heldUp();
    pump();
    return admitted;
  };

  const failed = (end: AttemptEnd & { kind: 'failed' }, admission: Admission, now: number): void => {
    endurance.failed(admission.sentAt, lastSeenIn(end));
    if (end.status === 429) counts.pushBacks++;
    const attempt = { status: end.status, hasRetryAfter: end.retryAfterMs !== undefined };
    if (limits.failed(admission, attempt, now)) {
      onEvent({ kind: 'rate-limited', requestsPerSecond: limits.requestsPerSecond });
    }
    if (end.retryAfterMs !== undefined && end.retryAfterMs > 0) {
      pauseFor(end.retryAfterMs, end.reason);
      sharedPause?.announce(end.retryAfterMs);
    }
    if (admission.probe) {
      circuit.probeEnded(false);
      if (isOfStore(end)) sharedPause?.announce(OTHERS_WAIT_MS);
    } else if (circuit.answered(false, now)) {
      openedAt = now;
      limits.restart('starting again after the store failed');
      if (isOfStore(end)) sharedPause?.announce(OTHERS_WAIT_MS);
      onEvent({ kind: 'breaker-opened', reason: end.reason });
    }
  };

  const answered = (admission: Admission, now: number): void => {
    counts.answered++;
    limits.answered(admission, now);
    if (!admission.probe) circuit.answered(true, now);
    else if (circuit.probeEnded(true)) onEvent({ kind: 'breaker-closed', openForMs: now - openedAt });
    endurance.answered(isHeldUp(now));
  };

  return {
    get answered() {
      return counts.answered;
    },
    begin: () => endurance.begin(),
    end: () => endurance.end(),
    hold() {
      held = true;
    },
    release(error) {
      held = false;
      if (error !== undefined) turnAwayAll(error);
      pump();
    },
    startAt: (concurrency) => limits.startAt(concurrency),
    grantRetry: (signal) => (closedBy === null ? grants.grant(signal) : Promise.reject(closedBy)),
    enter(ticket, signal) {
      if (closedBy !== null || signal.aborted) return Promise.reject(closedBy ?? signal.reason);
      if (waiting() > 0 || held || circuit.open) return wait(ticket, signal);
      const now = clock.monotonic();
      return closedForMs(now) > 0 ? wait(ticket, signal) : admit(ticket, now);
    },
    leave(admission, end) {
      const now = clock.monotonic();
      switch (end.kind) {
        case 'answered':
          answered(admission, now);
          break;
        case 'failed':
          failed(end, admission, now);
          break;
        case 'abandoned':
          limits.abandoned();
          if (admission.probe) circuit.probeEnded(false);
          break;
        default:
          throw new Error(`Unknown end of an attempt: ${end satisfies never}`);
      }
      pump();
    },
    stats: () => ({
      limit: limits.concurrency,
      because: limits.because,
      inFlight: limits.inFlight,
      waiting: waiting() + grants.waiting,
      requests: counts.requests,
      retries: counts.retries,
      pushBacks: counts.pushBacks,
      requestsPerSecond: Number.isFinite(limits.requestsPerSecond) ? limits.requestsPerSecond : null,
      pausedForMs: Math.max(0, pausedUntil - clock.monotonic()),
      retryBudget: grants.balance,
      breakerOpen: circuit.open,
    }),
    close(reason) {
      closedBy = reason;
      stopListening?.();
      cancelTimer?.();
      endurance.close();
      grants.close(reason);
      turnAwayAll(reason);
    },
  };
}
