import { LockedError, StoreferryError } from '../../model/errors.ts';
import { elapsedMs, type Moment, presentMoment } from '../elapsed.ts';
import type { Lock } from '../state.ts';

/** A lock that must be renewed to stay ours. */
export interface Lease extends Lock {
  /** Stops renewing. */
  stop(): void;
}

/** A lease as Redis has given it, and how to keep it. */
export interface LeaseOptions {
  readonly name: string;
  readonly token: string;
  readonly leaseMs: number;
  /** When the lease was asked for: it runs at least from then. */
  readonly confirmed: Moment;
  /** False when the lease is somebody else's, or nobody's. */
  readonly renew: () => Promise<boolean>;
  readonly free: () => Promise<void>;
  readonly onEnd: () => void;
}

/**
 * Renews the lease three times in its duration. By this process's own clocks it is lost when the last renewal that
 * Redis confirmed was asked for longer ago than the lease lasts, whatever happened to the process in between.
 */
export function holdLease({ name, token, leaseMs, confirmed, renew, free, onEnd }: LeaseOptions): Lease {
  const loss = new AbortController();
  let held = true;
  let lastConfirmed = confirmed;
  /** Why the last renewal has not been confirmed, for the message. */
  let trouble = '';

  const stop = () => {
    if (!held) return;
    held = false;
    clearInterval(renewal);
    clearTimeout(deadline);
    onEnd();
  };
  const lose = () => {
    if (!held) return;
    stop();
    const hint = 'Another process may have taken over; run again to continue.';
    loss.abort(new LockedError(`The lock ${name} was lost: it was not renewed in time.${trouble}`, { hint }));
  };
  const isHeld = () => {
    if (held && elapsedMs(lastConfirmed) >= leaseMs) lose();
    return held;
  };
  const renewOnce = async () => {
    if (!isHeld()) return;
    const asked = presentMoment();
    trouble = ' Redis does not answer.';
    try {
      if (await renew()) {
        lastConfirmed = asked;
        trouble = '';
        deadline.refresh();
      } else {
        lose();
      }
    } catch (error) {
      // Redis may be back before the lease runs out.
      trouble = error instanceof StoreferryError ? ` ${error.message}` : trouble;
    }
  };
  const renewal = setInterval(renewOnce, leaseMs / 3).unref();
  const deadline = setTimeout(lose, leaseMs).unref();

  const release = async () => {
    if (!held) return;
    stop();
    await free();
  };
  return {
    fence: { name, token },
    lost: loss.signal,
    isHeld,
    release,
    async leave() {
      stop();
    },
    stop,
    [Symbol.asyncDispose]: release,
  };
}
