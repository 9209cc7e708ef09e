import { UnauthorizedError } from '../model/storeferry-error.ts';
import { abortable } from './abortable.ts';
import { type Clock, sleep } from './clock.ts';
import type { Gate, Ticket } from './gate/gate.ts';
import type { Settled } from './read-answer.ts';

/** An answer that is about the key. */
export type Unauthorized = Extract<Settled, { kind: 'unauthorized' }>;

/** A short failure of a gateway is over by then. */
const CONFIRM_AFTER_MS = 1_000;

/** Whether an answer refuses the key and is to be confirmed; a 403 comes from the store itself. */
export function needsConfirmation(verdict: Settled): verdict is Unauthorized {
  return verdict.kind === 'unauthorized' && verdict.status === 401;
}

/** The error for an API key that the store does not accept. */
export function wrongKey({ status, message }: Unauthorized): UnauthorizedError {
  const unquoted = `The store does not accept the API key (${status})`;
  return new UnauthorizedError(`${unquoted}: ${message}`, {
    unquoted,
    hint: 'Check the API key of the store in .env, then run the job again: it continues where it stopped.',
  });
}

/**
 * A 401 may be that of a gateway: one further request, a second later, decides for all requests answered with 401, while
 * nothing else is sent.
 */
export function keyCheck(gate: Gate, clock: Clock) {
  /** Whether the key is wrong, while one request confirms it. */
  let underWay: Promise<boolean> | null = null;

  return {
    /**
     * The confirmed answer: `again` sends the request once more, unless another request already confirms. Null where that
     * other one was accepted: the request is to be retried. Rejects as `again` does, or with the reason of `stopping` or
     * `outage`.
     */
    async confirm(
      refused: Unauthorized,
      ticket: Ticket,
      again: () => Promise<Settled>,
      stopping: AbortSignal,
      outage: AbortSignal,
    ): Promise<Settled | null> {
      if (underWay !== null) return (await abortable(underWay, stopping)) ? refused : null;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      underWay = promise;
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
        underWay = null;
        gate.release(isWrong ? wrongKey(refused) : undefined);
        resolve(isWrong);
      }
    },
  };
}
