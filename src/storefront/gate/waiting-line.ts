import type { AbortListeners } from '../abort-listeners.ts';

interface Waiter<Guest, Pass> {
  readonly guest: Guest;
  readonly let: (pass: Pass) => void;
  readonly turnAway: (error: unknown) => void;
}

/** First come, first served within a turn, unless the door says otherwise; whoever's signal aborts leaves the line. */
export interface WaitingLine<Guest, Pass> {
  readonly length: number;
  /** Resolves with the pass when let in; rejects with the signal's reason. */
  join(guest: Guest, signal: AbortSignal): Promise<Pass>;
  /** The one to let in next: the first that `preferred` accepts, or else the first. */
  next(
    preferred?: (guest: Guest) => boolean,
  ): { readonly guest: Guest; readonly let: (pass: Pass) => void } | undefined;
  turnAwayAll(error: unknown): void;
}

/** An empty line. `turnOf`: guests of a lower turn go before all of a higher one. */
export function waitingLine<Guest, Pass>(
  aborts: AbortListeners,
  turnOf: (guest: Guest) => number = () => 0,
): WaitingLine<Guest, Pass> {
  const line: Waiter<Guest, Pass>[] = [];
  return {
    get length() {
      return line.length;
    },
    join: (guest, signal) =>
      new Promise((resolve, reject) => {
        const forget = aborts.add(signal, () => {
          const place = line.indexOf(waiter);
          if (place >= 0) line.splice(place, 1);
          reject(signal.reason);
        });
        const waiter: Waiter<Guest, Pass> = {
          guest,
          let(pass) {
            forget();
            resolve(pass);
          },
          turnAway(error) {
            forget();
            reject(error);
          },
        };
        const turn = turnOf(guest);
        let place = line.length;
        for (let before = line[place - 1]; before && turnOf(before.guest) > turn; before = line[place - 1])
          place--;
        line.splice(place, 0, waiter);
      }),
    next(preferred) {
      if (preferred === undefined) return line.shift();
      const place = line.findIndex(({ guest }) => preferred(guest));
      return place < 0 ? line.shift() : line.splice(place, 1)[0];
    },
    turnAwayAll(error) {
      for (const waiter of line.splice(0)) waiter.turnAway(error);
    },
  };
}
