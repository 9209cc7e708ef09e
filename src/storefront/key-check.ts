import { UnauthorizedError } from '../model/errors.ts';
import { type Clock, sleep } from './clock.ts';
import type { Gate, Ticket } from './gate/gate.ts';
import type { Settled } from './read-answer.ts';

/** An answer that speaks of the key. */
export type Unauthorized = Extract<Settled, { kind: 'unauthorized' }>;

/** A gateway's hiccup is over by then. */
const CONFIRM_AFTER_MS = 1_000;

/** Whether an answer refuses the key and is to be confirmed; a 403 is the store's own word. */
export function needsConfirmation(verdict: Settled): verdict is Unauthorized {
  return verdict.kind === 'unauthorized' && verdict.status === 401;
}

/** The key is wrong. */
export function wrongKey({ status, message }: Unauthorized): UnauthorizedError {
  return new UnauthorizedError(`The store does not accept the API key (${status}): ${message}`, {
    hint: 'Check what apiKey of the store stands for in .env, then run the job again: it continues where it stopped.',
  });
}

/**
 * A 401 may be that of a gateway: one further request, a second later, decides for all that were answered so, while
 * nothing else is sent.
 */
export interface KeyCheck {
  /**
   * What the store says in the end: `again` sends the request once more, unless another is doing so already. Null where
   * that other one was answered well: the request is to be retried. Rejects as `again` does, or with the reason of
   * `stopping` or `patience`.
   */
  confirm(
    refused: Unauthorized,
    ticket: Ticket,
    again: () => Promise<Settled>,
    stopping: AbortSignal,
    patience: AbortSignal,
  ): Promise<Settled | null>;
}

export function keyCheck(gate: Gate, clock: Clock): KeyCheck {
  /** Whether the key is wrong, while one request finds out. */
  let underWay: Promise<boolean> | null = null;

  return {
    async confirm(refused, ticket, again, stopping, patience) {
      if (underWay !== null) return (await orAborted(underWay, stopping)) ? refused : null;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      underWay = promise;
      ticket.retry = true;
      ticket.confirms = true;
      let isWrong = false;
      try {
        await sleep(clock, CONFIRM_AFTER_MS, stopping, patience);
        const verdict = await again();
        isWrong = needsConfirmation(verdict);
        return verdict;
      } finally {
        ticket.confirms = false;
        underWay = null;
        gate.release(isWrong ? wrongKey(refused) : undefined);
        resolve(isWrong);
      }
    },
  };
}

/** What the promise resolves with; rejects with the signal's reason when that aborts before. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    void promise.then((value) => {
      signal.removeEventListener('abort', onAbort);
      resolve(value);
    });
  });
}
