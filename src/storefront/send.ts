import { randomUUID } from 'node:crypto';
import pRetry from 'p-retry';
import type { Reason } from '../model/reason.ts';
import { sleep } from './clock.ts';
import type { OnAttempt, Surroundings } from './events.ts';
import { type Exchange, NoAnswer, type StoreRequest } from './exchange.ts';
import type { AttemptEnd, Gate, Ticket } from './gate/gate.ts';
import { keyCheck, needsConfirmation, type Unauthorized, wrongKey } from './key-check.ts';
import type { Expectation, Proof } from './proof.ts';
import { type Failure, readAnswer, type Settled, type Verdict } from './read-answer.ts';
import { MAX_RETRIES, retryDelayMs } from './retry-policy.ts';
import { workTime } from './work-time.ts';

/** The caller's place among those that may have an unrecorded request at the store. */
export interface Slot {
  /** Given up while waiting to retry what the store certainly has not done. */
  release(): void;
  /** Taken again before the next attempt. */
  regain(): Promise<void>;
}

/** An attempt has ended that was not called off: after so many milliseconds, to be tried again, not the first. */
export type OnEnded = (ms: number, failed: boolean, retry: boolean) => void;

export interface SendOptions {
  /** Ends waiting and requests at once; the call rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Ends waiting only: no attempt begins any more, but a request under way may end and count. Aborts before `signal`. */
  readonly stopping?: AbortSignal;
  /** Called for each request that is about to be sent, and awaited where it gives a promise. */
  readonly onRequest?: () => Promise<void> | undefined;
  /** Called for each request that has ended. */
  readonly onEnded?: OnEnded | undefined;
  /** Called before the call rejects, when the store has certainly done nothing of it. */
  readonly onNotDone?: () => void;
  readonly slot?: Slot;
  /** Where requests wait for the limiter, those of the lowest turn go first; 0 when left out. */
  readonly turn?: number;
  /** What the request is about, such as the id of a run: part of its attempts. */
  readonly about?: string;
  /** Called with the parsed answer once it has acknowledged the request. */
  readonly onAnswer?: (answer: unknown) => void;
}

/** A request, and what acknowledges it. */
export interface SentRequest extends StoreRequest {
  /** Left out for a read: any whole JSON will do. */
  readonly expected?: Expectation;
}

/** What became of a request, retries included. Failing is data here; only a wrong key or a dead store is thrown. */
export type Sent =
  | { readonly kind: 'ok'; readonly value: unknown; readonly text: string; readonly proof: Proof }
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly reason: Reason;
      /** The answer has the API's error body. */
      readonly isFromApi: boolean;
      /** An earlier attempt may have taken effect. */
      readonly inDoubt: boolean;
      /** The store may still be at work on an earlier attempt. */
      readonly atWork: boolean;
    }
  /** It failed for too long; `reason` is the last failure. */
  | {
      readonly kind: 'unsent';
      readonly reason: Reason;
      /** An attempt may have taken effect. */
      readonly inDoubt: boolean;
      /** The store may still be at work on an attempt. */
      readonly atWork: boolean;
    };

interface SenderOptions extends Omit<Surroundings, 'onEvent'> {
  readonly exchange: Exchange;
  readonly gate: Gate;
  readonly apiKey: string;
  /** Is told every attempt; left out, none is measured. */
  readonly onAttempt?: OnAttempt | undefined;
}

/** One failed attempt, on its way through p-retry. */
class AttemptFailed extends Error {
  readonly failure: Failure;
  /** A probe of an unwell store uses no retry, unless the record itself is what fails. */
  readonly usesRetry: boolean;

  constructor(failure: Failure, usesRetry: boolean) {
    super(failure.message);
    this.failure = failure;
    this.usesRetry = usesRetry;
  }
}

/** How far an operation has come. */
interface Progress extends Ticket {
  retriesUsed: number;
  /** Once in doubt, always in doubt: a later refusal does not undo an earlier arrival. */
  mayHaveArrived: boolean;
  mayBeAtWork: boolean;
  /** A request was sent and has not ended. */
  underWay: boolean;
  /** How many attempts of all operations had been answered when this one last failed. */
  answeredBefore: number | null;
  /** Given when somebody listens. */
  requestId: string | null;
  attempts: number;
  /** Aborts when the store has failed for too long. */
  readonly patience: AbortSignal;
}

/** Waits, but no longer than until the signal aborts. */
async function unlessAborted(waiting: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([waiting, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** A 401 that the next request did not confirm. */
function unconfirmed({ status, message }: Unauthorized): Failure {
  const failure = { retryAfterMs: undefined, mayHaveArrived: false, mayBeAtWork: false };
  return { code: `store-${status}`, message, status, ...failure };
}

/** Sends requests until the store has its last word. */
export interface Sender {
  /** Rejects with UnauthorizedError, StoreUnavailableError or the signal's reason. */
  send(request: SentRequest, options: SendOptions): Promise<Sent>;
}

function statusOf(verdict: Verdict): number | null {
  return verdict.kind === 'failed' ? verdict.failure.status : verdict.status;
}

/**
 * One attempt, then up to eight retries through p-retry. The delays are ours (`retryDelayMs`, on an injected
 * clock), so p-retry is given none; nor a signal, since it would throw an answer away that came after the abort. It
 * keeps count and tells bugs from failures.
 */
export function sender({ exchange, gate, apiKey, clock, random, onAttempt }: SenderOptions): Sender {
  const work = workTime();
  const key = keyCheck(gate, clock);
  const ask = async (request: SentRequest, options: SendOptions, progress: Progress): Promise<Verdict> => {
    try {
      const permitted = options.onRequest?.();
      if (permitted !== undefined) {
        const { signal, stopping = signal } = options;
        await unlessAborted(permitted, AbortSignal.any([signal, stopping, progress.patience]));
      }
      progress.underWay = true;
      const answer = await exchange.send(request, options.signal, progress.patience);
      progress.underWay = false;
      return readAnswer(answer, { apiKey, now: clock.now(), expected: request.expected });
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      progress.underWay = false;
      const { code, message, mayHaveArrived } = error;
      return {
        kind: 'failed',
        failure: {
          code,
          message,
          mayHaveArrived,
          mayBeAtWork: mayHaveArrived,
          status: null,
          retryAfterMs: undefined,
        },
      };
    }
  };

  const asked =
    onAttempt === undefined
      ? ask
      : async (request: SentRequest, options: SendOptions, progress: Progress): Promise<Verdict> => {
          const startedAt = clock.monotonic();
          const verdict = await ask(request, options, progress);
          progress.requestId ??= randomUUID();
          onAttempt({
            requestId: progress.requestId,
            about: options.about,
            method: request.method,
            path: request.path,
            attempt: ++progress.attempts,
            status: statusOf(verdict),
            durationMs: clock.monotonic() - startedAt,
            failure: verdict.kind === 'failed' ? verdict.failure.message : null,
          });
          return verdict;
        };

  const attempt = async (
    request: SentRequest,
    progress: Progress,
    options: SendOptions,
  ): Promise<Settled> => {
    progress.patience.throwIfAborted();
    const entering = gate.enter(progress, options.stopping ?? options.signal);
    const admission = entering instanceof Promise ? await entering : entering;
    const sentAt = clock.monotonic();
    let end: AttemptEnd = { kind: 'abandoned' };
    try {
      const verdict = await asked(request, options, progress);
      const ms = clock.monotonic() - sentAt;
      options.onEnded?.(ms, verdict.kind === 'failed', progress.retry);
      if (verdict.kind !== 'failed') {
        // Before the place is free for another: nothing is sent with a key that may be wrong.
        if (needsConfirmation(verdict)) gate.hold();
        end = { kind: 'answered' };
        work.answeredIn(ms);
        return verdict;
      }
      const { failure } = verdict;
      end = {
        kind: 'failed',
        status: failure.status,
        retryAfterMs: failure.retryAfterMs,
        reason: failure.message,
      };
      progress.suspect ||= progress.answeredBefore !== null && gate.answered > progress.answeredBefore;
      progress.answeredBefore = gate.answered;
      progress.mayHaveArrived ||= failure.mayHaveArrived;
      progress.mayBeAtWork ||= failure.mayBeAtWork;
      throw new AttemptFailed(failure, !admission.probe || progress.suspect);
    } finally {
      gate.leave(admission, end);
    }
  };

  const attemptWithKey = async (
    request: SentRequest,
    progress: Progress,
    options: SendOptions,
  ): Promise<Settled> => {
    const verdict = await attempt(request, progress, options);
    if (!needsConfirmation(verdict)) return verdict;
    const { stopping = options.signal } = options;
    const again = () => attempt(request, progress, options);
    const confirmed = await key.confirm(verdict, progress, again, stopping, progress.patience);
    if (confirmed === null) throw new AttemptFailed(unconfirmed(verdict), true);
    return confirmed;
  };

  const waitToRetry = async (
    { failure, usesRetry }: AttemptFailed,
    progress: Progress,
    options: SendOptions,
  ) => {
    progress.retry = true;
    const { stopping = options.signal } = options;
    const atWorkMs = failure.mayBeAtWork ? work.longestMs : 0;
    if (!usesRetry) {
      if (atWorkMs > 0) await sleep(clock, atWorkMs, stopping, progress.patience);
      return;
    }
    progress.retriesUsed++;
    const slot = progress.mayHaveArrived ? undefined : options.slot;
    slot?.release();
    const { retryAfterMs = 0 } = failure;
    const retry = progress.retriesUsed;
    const delayMs = retryDelayMs({ retry, random: random(), retryAfterMs, atWorkMs });
    await sleep(clock, delayMs, stopping, progress.patience);
    await gate.grantRetry(stopping);
    await slot?.regain();
  };

  const retry = (first: AttemptFailed, request: SentRequest, progress: Progress, options: SendOptions) => {
    let last = first;
    return pRetry(
      async (attemptNumber) => {
        if (attemptNumber === 1) throw first;
        await waitToRetry(last, progress, options);
        try {
          return await attemptWithKey(request, progress, options);
        } catch (error) {
          if (error instanceof AttemptFailed) last = error;
          throw error;
        }
      },
      {
        retries: Number.POSITIVE_INFINITY,
        minTimeout: 0,
        shouldConsumeRetry: ({ error }) => !(error instanceof AttemptFailed) || error.usesRetry,
        shouldRetry: ({ error, retriesConsumed }) =>
          error instanceof AttemptFailed && (!error.usesRetry || retriesConsumed < MAX_RETRIES),
      },
    );
  };

  const settle = (verdict: Settled, { mayHaveArrived, mayBeAtWork }: Progress): Sent => {
    switch (verdict.kind) {
      case 'ok': {
        const { value, text, proof } = verdict;
        return { kind: 'ok', value, text, proof };
      }
      case 'refused': {
        const { status, message, isFromApi } = verdict;
        return {
          kind: 'refused',
          status,
          reason: { code: `store-${status}`, message },
          isFromApi,
          inDoubt: mayHaveArrived,
          atWork: mayBeAtWork,
        };
      }
      case 'unauthorized':
        throw wrongKey(verdict);
      default:
        throw new Error(`Unknown verdict: ${verdict satisfies never}`);
    }
  };

  const deliver = async (request: SentRequest, progress: Progress, options: SendOptions): Promise<Sent> => {
    try {
      return settle(await attemptWithKey(request, progress, options), progress);
    } catch (failed) {
      if (!(failed instanceof AttemptFailed)) throw failed;
      try {
        return settle(await retry(failed, request, progress, options), progress);
      } catch (error) {
        if (!(error instanceof AttemptFailed)) throw error;
        const { code, message } = error.failure;
        const { mayHaveArrived: inDoubt, mayBeAtWork: atWork } = progress;
        return { kind: 'unsent', reason: { code, message }, inDoubt, atWork };
      }
    }
  };

  return {
    async send(request, options) {
      const progress: Progress = {
        retry: false,
        suspect: false,
        confirms: false,
        turn: options.turn ?? 0,
        retriesUsed: 0,
        mayHaveArrived: false,
        mayBeAtWork: false,
        underWay: false,
        answeredBefore: null,
        requestId: null,
        attempts: 0,
        patience: gate.begin(),
      };
      try {
        return await deliver(request, progress, options);
      } catch (error) {
        if (!progress.mayHaveArrived && !progress.underWay) options.onNotDone?.();
        throw error;
      } finally {
        gate.end();
      }
    },
  };
}
