import { type Clock, sleep } from '../model/clock.ts';
import { UnauthorizedError } from '../model/storeferry-error.ts';
import { abortable } from './abortable.ts';
import type { Settled } from './exchange.ts';
import type { Gate, Ticket } from './gate/gate.ts';

/** An answer about the key. */
export type Unauthorized = Extract<Settled, { kind: 'unauthorized' }>;

/** A short failure of a gateway has ended after this time. */
const CONFIRM_AFTER_MS = 1_000;

/** Whether an answer refuses the key and needs confirmation; a 403 comes from the store itself. */
export function needsConfirmation(verdict: Settled | { readonly kind: 'failed' }): verdict is Unauthorized {
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
 * A 401 may come from a gateway: one more request, a second later, decides for all requests answered with 401.
 * Nothing else is sent meanwhile.
 */
export function keyCheck(gate: Gate, clock: Clock) {
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
      if (confirming !== null) return (await abortable(confirming, stopping)) ? refused : null;
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
        gate.release(isWrong ? wrongKey(refused) : undefined);
        resolve(isWrong);
      }
    },
  };
}
