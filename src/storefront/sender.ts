import { randomUUID } from 'node:crypto';
import pRetry from 'p-retry';
import type { Reason } from '../model/reason.ts';
import { abortable } from './abortable.ts';
import { type Clock, sleep } from './clock.ts';
import { type Exchange, NoAnswer, type StoreRequest } from './exchange.ts';
import type { AttemptEnd, Gate, Ticket } from './gate/gate.ts';
import { keyCheck, needsConfirmation, type Unauthorized, wrongKey } from './key-check.ts';
import type { Expectation, Proof } from './proof.ts';
import { type Doubt, type Failure, NO_DOUBT, readAnswer, type Settled, type Verdict } from './read-answer.ts';

/** How often an operation is retried, and how long each retry waits. */
export const RETRY_POLICY = {
  /** Attempts after the first before an operation is unsent. */
  retries: 8,
  /** The first retry waits up to this long. */
  baseMs: 500,
  /** No retry waits longer, unless the store asks for it. */
  capMs: 30_000,
} as const;

/** The caller's place among those that may have an unrecorded request at the store. */
export interface Slot {
  /** Released while waiting to retry what the store certainly has not applied. */
  release(): void;
  /** Taken again before the next attempt. */
  regain(): Promise<void>;
}

/** Called for each request that has ended and was not cancelled: its duration, whether it failed, whether it was a retry. */
export type OnEnded = (ms: number, failed: boolean, retry: boolean) => void;

export interface SendOptions {
  /** Ends waiting and requests at once; the call rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Ends waiting only: no attempt begins any more, but a request under way may end and count. Aborts before `signal`. */
  readonly stopping?: AbortSignal;
  /** Called for each request that is about to be sent, and awaited where it gives a promise. */
  readonly onRequest?: () => Promise<void> | undefined;
  readonly onEnded?: OnEnded | undefined;
  /** Called before the call rejects, when the store has certainly not applied it. */
  readonly onNotApplied?: () => void;
  readonly slot?: Slot;
  /** Among requests that wait, those of the lowest turn are sent first; 0 when left out. */
  readonly turn?: number;
  /** What the request is about, such as the id of a run: part of its attempts. */
  readonly about?: string;
  /** Called with the parsed answer once it has acknowledged the request. */
  readonly onAnswer?: (answer: unknown) => void;
}

/** A request, and what acknowledges it. */
export interface SentRequest extends StoreRequest {
  /** Left out for a read: any whole JSON is accepted. */
  readonly expected?: Expectation;
}

/** The result of a request, retries included. Failing is data here; only a wrong key or a dead store is thrown. */
export type Sent =
  | { readonly kind: 'ok'; readonly value: unknown; readonly text: string; readonly proof: Proof }
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly reason: Reason;
      /** The answer has the API's error body. */
      readonly isFromApi: boolean;
      /** What earlier attempts leave open. */
      readonly doubt: Doubt;
    }
  /** All retries failed; `reason` is the last failure. */
  | { readonly kind: 'unsent'; readonly reason: Reason; readonly doubt: Doubt };

/** One attempt of a request, for logs. */
export interface Attempt {
  /** Unique; the same for all attempts of one request. */
  readonly requestId: string;
  /** What the caller gave as `about`. */
  readonly about: string | undefined;
  readonly method: string;
  /** With its query; holds neither keys of products nor secrets. */
  readonly path: string;
  /** Counted from 1. */
  readonly attempt: number;
  /** Null when there was no answer. */
  readonly status: number | null;
  readonly durationMs: number;
  /** Why it is to be repeated, or is given up; null when the store accepted or refused it. */
  readonly failure: string | null;
}

export type OnAttempt = (attempt: Attempt) => void;

interface SenderOptions {
  readonly exchange: Exchange;
  readonly gate: Gate;
  readonly apiKey: string;
  readonly clock: Clock;
  /** In [0, 1), as Math.random. */
  readonly random: () => number;
  /** Called for every attempt. */
  readonly onAttempt?: OnAttempt | undefined;
}

/** One failed attempt, on its way through p-retry. */
class AttemptFailed extends Error {
  readonly failure: Failure;
  /** A probe of a failing store uses no retry, unless the record itself is what fails. */
  readonly usesRetry: boolean;

  constructor(failure: Failure, usesRetry: boolean) {
    super(failure.message);
    this.failure = failure;
    this.usesRetry = usesRetry;
  }
}

/** An operation between its first attempt and its outcome. */
interface Sending extends Ticket {
  readonly request: SentRequest;
  readonly options: SendOptions;
  /** Ends waiting. */
  readonly stopping: AbortSignal;
  /** Aborts when the store has failed for too long. */
  readonly outage: AbortSignal;
  doubt: Doubt;
  /** A request was sent and has not ended. */
  underWay: boolean;
  /** How many attempts of all operations had been answered when this one last failed. */
  answeredBefore: number | null;
  /** Set when attempts are reported. */
  requestId: string | null;
  attempts: number;
}

/** Sends a request through the gate until it is accepted, refused or out of retries. */
export type Send = (request: SentRequest, options: SendOptions) => Promise<Sent>;

/** What it gives rejects with UnauthorizedError, StoreUnavailableError or the signal's reason. */
export function sender({ exchange, gate, apiKey, clock, random, onAttempt }: SenderOptions): Send {
  const work = workTime();
  const key = keyCheck(gate, clock);

  /** One request, and what its answer means. */
  const ask = async (sending: Sending): Promise<Verdict> => {
    const { request, options, stopping, outage } = sending;
    const permitted = options.onRequest?.();
    if (permitted !== undefined) {
      await abortable(permitted, AbortSignal.any([options.signal, stopping, outage]));
    }
    sending.underWay = true;
    try {
      const answer = await exchange.send(request, options.signal, outage);
      sending.underWay = false;
      return readAnswer(answer, { apiKey, now: clock.now(), expected: request.expected });
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      sending.underWay = false;
      return { kind: 'failed', failure: unanswered(error) };
    }
  };

  const report = (sending: Sending, verdict: Verdict, durationMs: number): void => {
    const { request, options } = sending;
    const failure = verdict.kind === 'failed' ? verdict.failure : null;
    if (onAttempt !== undefined) {
      sending.requestId ??= randomUUID();
      sending.attempts++;
      onAttempt({
        requestId: sending.requestId,
        about: options.about,
        method: request.method,
        path: request.path,
        attempt: sending.attempts,
        status: verdict.kind === 'failed' ? verdict.failure.status : verdict.status,
        durationMs,
        failure: failure?.message ?? null,
      });
    }
    options.onEnded?.(durationMs, failure !== null, sending.retry);
  };

  /** One attempt through the gate; throws AttemptFailed where it is to be repeated. */
  const attemptOnce = async (sending: Sending): Promise<Settled> => {
    sending.outage.throwIfAborted();
    const entering = gate.enter(sending, sending.stopping);
    const admission = entering instanceof Promise ? await entering : entering;
    const sentAt = clock.monotonic();
    let end: AttemptEnd = { kind: 'abandoned' };
    try {
      const verdict = await ask(sending);
      const ms = clock.monotonic() - sentAt;
      report(sending, verdict, ms);
      if (verdict.kind !== 'failed') {
        // Before the place is free for another: nothing is sent with a key that may be wrong.
        if (needsConfirmation(verdict)) gate.hold();
        end = { kind: 'answered' };
        work.answeredIn(ms);
        return verdict;
      }
      const { failure } = verdict;
      const { status, retryAfterMs, message } = failure;
      end = { kind: 'failed', status, retryAfterMs, reason: message };
      sending.suspect ||= sending.answeredBefore !== null && gate.answered > sending.answeredBefore;
      sending.answeredBefore = gate.answered;
      sending.doubt = doubtAfter(sending.doubt, failure);
      throw new AttemptFailed(failure, !admission.probe || sending.suspect);
    } finally {
      gate.leave(admission, end);
    }
  };

  /** The same, with a 401 confirmed. */
  const attempt = async (sending: Sending): Promise<Settled> => {
    const verdict = await attemptOnce(sending);
    if (!needsConfirmation(verdict)) return verdict;
    const { stopping, outage } = sending;
    const confirmed = await key.confirm(verdict, sending, () => attemptOnce(sending), stopping, outage);
    if (confirmed === null) throw new AttemptFailed(unconfirmed(verdict), true);
    return confirmed;
  };

  /** Waits out the delay, then for the retry budget. A probe of a failing store waits for the gate only. */
  const waitToRetry = async (sending: Sending, { failure, usesRetry }: AttemptFailed, retry: number) => {
    const { stopping, outage, options, doubt } = sending;
    sending.retry = true;
    const atWorkMs = failure.mayBeAtWork ? work.longestMs : 0;
    if (!usesRetry) {
      if (atWorkMs > 0) await sleep(clock, atWorkMs, stopping, outage);
      return;
    }
    const slot = doubt.mayHaveArrived ? undefined : options.slot;
    slot?.release();
    const { retryAfterMs = 0 } = failure;
    const delayMs = retryDelayMs({ retry, random: random(), retryAfterMs, atWorkMs });
    await sleep(clock, delayMs, stopping, outage);
    await gate.grantRetry(stopping);
    await slot?.regain();
  };

  /**
   * The loop: p-retry counts the retries and separates failures from bugs. It gets no delays, since ours run on an
   * injected clock, and no signal, since it would discard an answer that came after the abort.
   */
  const attemptWithRetries = (sending: Sending): Promise<Settled> =>
    pRetry(() => attempt(sending), {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 0,
      shouldConsumeRetry: ({ error }) => error instanceof AttemptFailed && error.usesRetry,
      async shouldRetry({ error, retriesConsumed }) {
        if (!(error instanceof AttemptFailed)) return false;
        if (error.usesRetry && retriesConsumed >= RETRY_POLICY.retries) return false;
        await waitToRetry(sending, error, retriesConsumed + 1);
        return true;
      },
    });

  return async (request, options) => {
    const sending: Sending = {
      request,
      options,
      stopping: options.stopping ?? options.signal,
      outage: gate.begin(),
      retry: false,
      suspect: false,
      confirms: false,
      turn: options.turn ?? 0,
      doubt: NO_DOUBT,
      underWay: false,
      answeredBefore: null,
      requestId: null,
      attempts: 0,
    };
    try {
      return resultOf(await attemptWithRetries(sending), sending.doubt);
    } catch (error) {
      if (error instanceof AttemptFailed) {
        const { code, message } = error.failure;
        return { kind: 'unsent', reason: { code, message }, doubt: sending.doubt };
      }
      if (!sending.doubt.mayHaveArrived && !sending.underWay) options.onNotApplied?.();
      throw error;
    } finally {
      gate.end();
    }
  };
}

/** A 401 that the next request did not confirm. */
function unconfirmed({ status, message }: Unauthorized): Failure {
  return { code: `store-${status}`, message, status, retryAfterMs: undefined, ...NO_DOUBT };
}

/** An attempt without an answer: what may have arrived may still be worked on. */
function unanswered({ code, message, mayHaveArrived }: NoAnswer): Failure {
  const mayBeAtWork = mayHaveArrived;
  return { code, message, status: null, retryAfterMs: undefined, mayHaveArrived, mayBeAtWork };
}

function resultOf(verdict: Settled, doubt: Doubt): Sent {
  switch (verdict.kind) {
    case 'ok': {
      const { value, text, proof } = verdict;
      return { kind: 'ok', value, text, proof };
    }
    case 'refused': {
      const { status, message, isFromApi } = verdict;
      return { kind: 'refused', status, reason: { code: `store-${status}`, message }, isFromApi, doubt };
    }
    case 'unauthorized':
      throw wrongKey(verdict);
    default:
      throw new Error(`Unknown verdict: ${verdict satisfies never}`);
  }
}

/** The doubt after one more failed attempt. Once in doubt, always in doubt: a later refusal does not undo an arrival. */
function doubtAfter(earlier: Doubt, attempt: Doubt): Doubt {
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
export function workTime() {
  let meanMs: number | null = null;
  return {
    /** At most as long as any retry waits; before the first answer, exactly that. */
    get longestMs() {
      if (meanMs === null) return RETRY_POLICY.capMs;
      return Math.min(RETRY_POLICY.capMs, Math.max(SHORTEST_WORK_MS, SLOW_FACTOR * meanMs));
    },
    answeredIn(ms: number): void {
      meanMs = meanMs === null ? ms : meanMs + ANSWER_WEIGHT * (ms - meanMs);
    },
  };
}
