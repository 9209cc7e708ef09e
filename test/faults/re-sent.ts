import type { LoggedRequest } from '../support/store/request-log.ts';

/** Requests from `since` on that had already taken effect since `start`, in the same run and with the same content. */
export function resentSince(requests: readonly LoggedRequest[], start: number, since: number): number {
  const identity = ({ method, target, bodyHash }: LoggedRequest) => `${method} ${target} ${bodyHash}`;
  const done = new Set(
    requests
      .slice(start, since)
      .filter(({ applied }) => applied)
      .map(identity),
  );
  return new Set(
    requests
      .slice(since)
      .map(identity)
      .filter((request) => done.has(request)),
  ).size;
}

/**
 * Re-sent requests for each process that died. A record that was in flight waits until the dead process's request must be
 * over: when the next one dies first, a later one sends it, together with what that had in flight.
 */
export class ReSent {
  worst = 0;
  #deaths = 0;
  #total = 0;

  /** A process has sent so many again, and then died or not. */
  process(resent: number, died: boolean): void {
    this.#total += resent;
    this.worst = Math.max(this.worst, this.#deaths === 0 ? this.#total : this.#total / this.#deaths);
    if (died) this.#deaths += 1;
  }

  /** Nothing is in flight any more: a run was completed. */
  settled(): void {
    this.#deaths = 0;
    this.#total = 0;
  }
}
