import { randomUUID } from 'node:crypto';
import pRetry from 'p-retry';
import { type Clock, rejectOnAbort, sleep } from '../model/clock.ts';
import type { Reason } from '../model/reason.ts';
import { StoreUnavailableError, UnauthorizedError } from '../model/storeferry-error.ts';
import {
  type Exchange,
  type Failure,
  NO_EFFECT,
  NoAnswer,
  readAnswer,
  type Settled,
  type StoreRequest,
  type Uncertainty,
  type Verdict,
} from './exchange.ts';
import type { AttemptEnd, Gate, Ticket } from './gate/gate.ts';
import type { Expectation } from './proof.ts';

/** How often an operation is retried, and how long each retry waits. */
export const RETRY_POLICY = {
  /** The most retries before an operation is unsent. */
  retries: 8,
  /** The first retry waits up to this long. */
  baseMs: 500,
  /** The highest ceiling of the random part of a wait, and of the time that the store is given to finish. */
  capMs: 30_000,
} as const;

/** The caller's slot among those that may have an unrecorded request at the store. */
export interface Slot {
  /** Released while waiting for a retry of a request that certainly had no effect. */
  release(): void;
  /** Taken again before the next attempt. */
  regain(): Promise<void>;
}

/**
 * Called for each request that has ended and was not cancelled: its duration, whether it failed, whether it was a
 * retry.
 */
export type OnEnded = (ms: number, failed: boolean, retry: boolean) => void;

export interface SendOptions {
  /** Ends waiting and requests at once; the call rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Ends waiting only: no new attempt begins, but a request in flight may end and count. Aborts before `signal`. */
  readonly stopping?: AbortSignal;
  /** Called for each request that is about to be sent; a returned promise is awaited. */
  readonly onRequest?: () => Promise<void> | undefined;
  readonly onEnded?: OnEnded | undefined;
  /** Called before the call rejects, if the request certainly had no effect. */
  readonly onNotApplied?: () => void;
  readonly slot?: Slot;
  /** Among waiting requests, those with the lowest number are sent first; default: 0. */
  readonly priority?: number;
  /** The subject of the request, such as the id of a run: part of its attempts. */
  readonly about?: string;
  /**
   * Called with the parsed answer after it has acknowledged the request; with AS_SENT where the answer repeats the sent body
   * as it is.
   */
  readonly onAnswer?: (answer: unknown) => void;
}

/** A request, and its expected acknowledgement. */
interface SentRequest extends StoreRequest {
  /** Omitted for a read: any complete JSON is accepted. */
  readonly expected?: Expectation;
}

/** The result of a request, retries included. Failures are data; only a wrong key or an unavailable store is thrown. */
export type Sent =
  | Extract<Settled, { kind: 'ok' }>
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly reason: Reason;
      /** The answer has the API's error body. */
      readonly isFromApi: boolean;
      /** The uncertainty that earlier attempts leave. */
      readonly uncertainty: Uncertainty;
    }
  /** All retries failed; `reason` is the last failure. */
  | { readonly kind: 'unsent'; readonly reason: Reason; readonly uncertainty: Uncertainty };

/** One attempt of a request, for logs. */
export interface Attempt {
  /** Unique; equal for all attempts of one request. */
  readonly requestId: string;
  /** The value of the caller's `about`. */
  readonly about: string | undefined;
  readonly method: string;
  /** With its query; it has neither keys of products nor secrets. */
  readonly path: string;
  /** Counted from 1. */
  readonly attempt: number;
  /** Null without an answer. */
  readonly status: number | null;
  readonly durationMs: number;
  /** Why the attempt failed; null if the store accepted or refused the request. */
  readonly failure: string | null;
}

export type OnAttempt = (attempt: Attempt) => void;

interface SenderOptions {
  readonly exchange: Exchange;
  readonly gate: Gate;
  readonly apiKey: string;
  readonly clock: Clock;
  /** In [0, 1), like Math.random. */
  readonly random: () => number;
  /** Called for every attempt. */
  readonly onAttempt?: OnAttempt | undefined;
}

/** An attempt that must be repeated. */
interface Failed {
  readonly kind: 'failed';
  readonly failure: Failure;
  /** A probe of a failing store uses up no retry, unless the record itself fails. */
  readonly usesRetry: boolean;
}

const MAX_REDIRECTS_IN_SUCCESSION = 8;

/** Carries a failed attempt to p-retry, which repeats what throws. */
class AttemptError extends Error {
  readonly failed: Failed;

  constructor(failed: Failed) {
    super(failed.failure.message);
    this.failed = failed;
  }
}

/** A request, from its first attempt to its outcome. */
interface PendingRequest extends Ticket {
  readonly request: SentRequest;
  readonly options: SendOptions;
  /** Ends waiting. */
  readonly stopping: AbortSignal;
  /** Aborts if the store has failed for too long. */
  readonly outage: AbortSignal;
  uncertainty: Uncertainty;
  /** A request was sent and has not ended. */
  inFlight: boolean;
  /** How many attempts of all operations had been answered when this one last failed. */
  answeredBefore: number | null;
  /** Set if attempts are reported. */
  requestId: string | null;
  attempts: number;
}

/** Sends a request through the gate until it is accepted, refused or out of retries. */
export type Send = (request: SentRequest, options: SendOptions) => Promise<Sent>;

/** The returned promise rejects with UnauthorizedError, StoreUnavailableError or the signal's reason. */
export function sender({ exchange, gate, apiKey, clock, random, onAttempt }: SenderOptions): Send {
  const processing = processingTime();
  const key = keyCheck(gate, clock);

  let redirects = { movedTo: '', status: 0, count: 0 };
  /** Throws where the store has moved: so many redirects in succession, with no other answer between, are not about a record. */
  const refuseMoved = ({ movedTo = '', status }: Partial<Failure>) => {
    const isSame = movedTo !== '' && redirects.movedTo === movedTo && redirects.status === status;
    redirects = { movedTo, status: status ?? 0, count: isSame ? redirects.count + 1 : 1 };
    if (movedTo === '' || redirects.count < MAX_REDIRECTS_IN_SUCCESSION) return;
    throw new StoreUnavailableError(
      `The store answers every request with a redirect (${status}) to ${movedTo}, which is not followed: it would get the API key.`,
      {
        hint: 'If that is the store, set its baseUrl to this address in stores.yaml. Then run the job again: it continues where it stopped.',
      },
    );
  };

  const report = (pending: PendingRequest, verdict: Verdict, durationMs: number) => {
    const { request, options } = pending;
    const failure = verdict.kind === 'failed' ? verdict.failure : null;
    if (onAttempt !== undefined) {
      pending.requestId ??= randomUUID();
      pending.attempts++;
      onAttempt({
        requestId: pending.requestId,
        about: options.about,
        method: request.method,
        path: request.path,
        attempt: pending.attempts,
        status: verdict.kind === 'failed' ? verdict.failure.status : verdict.status,
        durationMs,
        failure: failure?.message ?? null,
      });
    }
    options.onEnded?.(durationMs, failure !== null, pending.retry);
  };

  /** One attempt through the gate. One function with few promises: each counts for every request (test/bench/README.md). */
  const attemptOnce = async (pending: PendingRequest): Promise<Settled | Failed> => {
    const { request, options, stopping, outage } = pending;
    outage.throwIfAborted();
    const entering = gate.enter(pending, stopping);
    const admission = entering instanceof Promise ? await entering : entering;
    const sentAt = clock.monotonic();
    let end: AttemptEnd = ABANDONED;
    try {
      const permitted = options.onRequest?.();
      if (permitted !== undefined) {
        await rejectOnAbort(permitted, AbortSignal.any([options.signal, stopping, outage]));
      }
      let verdict: Verdict;
      pending.inFlight = true;
      try {
        const answer = await exchange.send(request, options.signal, outage);
        pending.inFlight = false;
        verdict = readAnswer(answer, { apiKey, now: clock.now(), expected: request.expected });
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        pending.inFlight = false;
        verdict = { kind: 'failed', failure: noAnswerFailure(error) };
      }
      const ms = clock.monotonic() - sentAt;
      report(pending, verdict, ms);
      if (verdict.kind !== 'failed') {
        refuseMoved({});
        // Before the slot is free for another request, which must not be sent with a key that may be wrong.
        if (needsConfirmation(verdict)) gate.hold();
        end = ANSWERED;
        processing.addAnswer(ms);
        return verdict;
      }
      const { failure } = verdict;
      const { status, retryAfterMs, message } = failure;
      end = { kind: 'failed', status, retryAfterMs, reason: message };
      pending.suspect ||= pending.answeredBefore !== null && gate.answered > pending.answeredBefore;
      pending.answeredBefore = gate.answered;
      pending.uncertainty = uncertaintyAfter(pending.uncertainty, failure);
      refuseMoved(failure);
      return { kind: 'failed', failure, usesRetry: !admission.probe || pending.suspect };
    } finally {
      gate.leave(admission, end);
    }
  };

  /** What a 401 means: the answer to the request that confirms it. */
  const confirmRefusal = async (
    pending: PendingRequest,
    refused: Unauthorized,
  ): Promise<Settled | Failed> => {
    const { stopping, outage } = pending;
    const confirmed = await key.confirm(refused, pending, () => attemptOnce(pending), stopping, outage);
    return confirmed ?? { kind: 'failed', failure: unconfirmedFailure(refused), usesRetry: true };
  };

  /** Waits out the delay, then for the retry budget. A probe of a failing store waits for the gate only. */
  const waitToRetry = async (pending: PendingRequest, { failure, usesRetry }: Failed, retry: number) => {
    const { stopping, outage, options, uncertainty } = pending;
    pending.retry = true;
    const atWorkMs = failure.mayBeAtWork ? processing.longestMs : 0;
    if (!usesRetry) {
      if (atWorkMs > 0) await sleep(clock, atWorkMs, stopping, outage);
      return;
    }
    const slot = uncertainty.mayHaveArrived ? undefined : options.slot;
    slot?.release();
    const { retryAfterMs = 0 } = failure;
    const delayMs = retryDelayMs({ retry, random: random(), retryAfterMs, atWorkMs });
    await sleep(clock, delayMs, stopping, outage);
    await gate.grantRetry(stopping);
    await slot?.regain();
  };

  /** Repeats an operation after its first failure; p-retry counts the retries that are used up. */
  const retry = async (pending: PendingRequest, first: Failed): Promise<Sent> => {
    try {
      return await pRetry(
        async (attemptNumber) => {
          let attempted: Settled | Failed = attemptNumber === 1 ? first : await attemptOnce(pending);
          if (needsConfirmation(attempted)) attempted = await confirmRefusal(pending, attempted);
          if (attempted.kind === 'failed') throw new AttemptError(attempted);
          return resultOf(attempted, pending.uncertainty);
        },
        {
          // The last retry is judged by `isRetryable`: a probe that fails after it is still repeated.
          retries: RETRY_POLICY.retries + 1,
          minTimeout: 0,
          shouldConsumeRetry: ({ error }) => error instanceof AttemptError && error.failed.usesRetry,
          shouldRetry: ({ error, retriesConsumed }) => isRetryable(error, retriesConsumed),
          // Waits here, by the injected clock, with the delay that the store asks for.
          async onFailedAttempt({ error, retriesConsumed }) {
            if (isRetryable(error, retriesConsumed))
              await waitToRetry(pending, error.failed, retriesConsumed + 1);
          },
        },
      );
    } catch (error) {
      if (!(error instanceof AttemptError)) throw error;
      const { code, message } = error.failed.failure;
      return { kind: 'unsent', reason: { code, message }, uncertainty: pending.uncertainty };
    }
  };

  return async (request, options) => {
    const pending: PendingRequest = {
      request,
      options,
      stopping: options.stopping ?? options.signal,
      outage: gate.begin(),
      retry: false,
      suspect: false,
      confirms: false,
      priority: options.priority ?? 0,
      uncertainty: NO_EFFECT,
      inFlight: false,
      answeredBefore: null,
      requestId: null,
      attempts: 0,
    };
    try {
      // Most requests need no retry, and pay nothing for p-retry.
      let first = await attemptOnce(pending);
      if (needsConfirmation(first)) first = await confirmRefusal(pending, first);
      return first.kind === 'failed' ? await retry(pending, first) : resultOf(first, pending.uncertainty);
    } catch (error) {
      if (!pending.uncertainty.mayHaveArrived && !pending.inFlight) options.onNotApplied?.();
      throw error;
    } finally {
      gate.end();
    }
  };
}

function isRetryable(error: unknown, retriesConsumed: number): error is AttemptError {
  return error instanceof AttemptError && (!error.failed.usesRetry || retriesConsumed < RETRY_POLICY.retries);
}

const ABANDONED: AttemptEnd = { kind: 'abandoned' };
const ANSWERED: AttemptEnd = { kind: 'answered' };

/** A 401 that the next request did not confirm. */
function unconfirmedFailure({ status, message }: Unauthorized): Failure {
  return { code: `store-${status}`, message, status, retryAfterMs: undefined, ...NO_EFFECT };
}

/** An attempt without an answer: the store may still be processing it. */
function noAnswerFailure({ code, message, mayHaveArrived }: NoAnswer): Failure {
  const mayBeAtWork = mayHaveArrived;
  return { code, message, status: null, retryAfterMs: undefined, mayHaveArrived, mayBeAtWork };
}

function resultOf(verdict: Settled, uncertainty: Uncertainty): Sent {
  switch (verdict.kind) {
    case 'ok':
      return verdict;
    case 'refused': {
      const { status, message, isFromApi } = verdict;
      return {
        kind: 'refused',
        status,
        reason: { code: `store-${status}`, message },
        isFromApi,
        uncertainty,
      };
    }
    case 'unauthorized':
      throw wrongKeyError(verdict);
    default:
      throw new Error(`Unknown verdict: ${verdict satisfies never}`);
  }
}

/** The uncertainty after another failed attempt. It never ends here: a later refusal does not undo an earlier effect. */
function uncertaintyAfter(earlier: Uncertainty, attempt: Uncertainty): Uncertainty {
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
  /** The Retry-After of the store, already limited; 0 without one. */
  readonly retryAfterMs?: number;
  /** How long the store may still process the previous attempt; 0 if that has certainly ended. */
  readonly atWorkMs?: number;
}

/**
 * The wait before a retry: full jitter, a random share of a ceiling that doubles, so that attempts that failed
 * together are not repeated together. It is added to the longer of Retry-After and the time that the store may still
 * process the previous attempt: a store that looks a product up and then writes it would create two.
 */
export function retryDelayMs({ retry, random, retryAfterMs = 0, atWorkMs = 0 }: RetryDelay): number {
  const ceiling = Math.min(RETRY_POLICY.capMs, RETRY_POLICY.baseMs * 2 ** (retry - 1));
  return Math.max(retryAfterMs, atWorkMs) + random * ceiling;
}

/** The lowest estimate, however quick the answers are. */
const MIN_WORK_MS = 1_000;
/** The estimate is this many times the mean duration of an answer. */
const SLOW_FACTOR = 4;
/** The weight of the latest answer in the mean. */
const ANSWER_WEIGHT = 0.1;

/** Estimates from its answers how long a store may process a request whose answer was lost. */
export function processingTime() {
  let meanMs: number | null = null;
  return {
    /** At most the longest wait of a retry; before the first answer exactly that. */
    get longestMs() {
      if (meanMs === null) return RETRY_POLICY.capMs;
      return Math.min(RETRY_POLICY.capMs, Math.max(MIN_WORK_MS, SLOW_FACTOR * meanMs));
    },
    addAnswer(ms: number): void {
      meanMs = meanMs === null ? ms : meanMs + ANSWER_WEIGHT * (ms - meanMs);
    },
  };
}

/** An answer about the key. */
type Unauthorized = Extract<Settled, { kind: 'unauthorized' }>;

/** A short failure of a gateway has ended after this time. */
const CONFIRM_AFTER_MS = 1_000;

/** Whether an answer refuses the key and needs confirmation; a 403 comes from the store itself. */
function needsConfirmation(verdict: Settled | { readonly kind: 'failed' }): verdict is Unauthorized {
  return verdict.kind === 'unauthorized' && verdict.status === 401;
}

/** The error for an API key that the store does not accept. */
function wrongKeyError({ status, message }: Unauthorized) {
  const unquoted = `The store does not accept the API key (${status})`;
  return new UnauthorizedError(`${unquoted}: ${message}`, {
    unquoted,
    hint: 'Check the API key of the store in .env, then run the job again: it continues where it stopped.',
  });
}

/**
 * A 401 may come from a gateway: one more request, a second later, decides for all requests answered with 401.
 * Nothing else is sent meanwhile.
 */
function keyCheck(gate: Gate, clock: Clock) {
  /** Whether the key is wrong, by the one request that confirms it; null if none is in flight. */
  let confirming: Promise<boolean> | null = null;

  return {
    /**
     * The confirmed answer: `again` sends the request again, unless another request already confirms. Null if that
     * other one was accepted: then the request must be retried. Rejects like `again`, or with the reason of
     * `stopping` or `outage`.
     */
    async confirm<Failed extends { readonly kind: 'failed' }>(
      refused: Unauthorized,
      ticket: Ticket,
      again: () => Promise<Settled | Failed>,
      stopping: AbortSignal,
      outage: AbortSignal,
    ): Promise<Settled | Failed | null> {
      if (confirming !== null) return (await rejectOnAbort(confirming, stopping)) ? refused : null;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      confirming = promise;
      ticket.retry = true;
      ticket.confirms = true;
      let isWrong = false;
      try {
        await sleep(clock, CONFIRM_AFTER_MS, stopping, outage);
        const verdict = await again();
        isWrong = needsConfirmation(verdict);
        return verdict;
      } finally {
        ticket.confirms = false;
        confirming = null;
        gate.release(isWrong ? wrongKeyError(refused) : undefined);
        resolve(isWrong);
      }
    },
  };
}
