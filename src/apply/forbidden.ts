/** So many 403 in a row, with nothing accepted in between, are about the key and not about records. */
export const FORBIDDEN_IN_A_ROW = 20;
/** So many without anything accepted before are worth one question whether the key is good for anything. */
const ASK_AFTER = 3;

/**
 * A 403 may be about one record (it belongs to somebody else) or about the key. Records that were answered so are held
 * until something else is accepted: then they are rejected. What comes first, or in a row, asks the store with a harmless
 * request whether it takes the key at all.
 */
export interface Forbidden<Entry> {
  /** Holds a record that was answered 403. */
  hold(entry: Entry): void;
  /** Something was accepted, or refused for another reason: the key is good. */
  accepted(): void;
  /** Everything was sent: what is held is judged now. */
  finish(): Promise<void>;
}

interface ForbiddenOptions<Entry> {
  /** Rejects with what is wrong with the key when the store does not take it. */
  readonly confirmKey: () => Promise<void>;
  /** The record is what was refused. */
  readonly reject: (entry: Entry) => void;
  /** The key is: called once. */
  readonly giveUp: (error: unknown) => void;
  /** What to give up with when the store takes the key for reading only. */
  readonly refused: () => Error;
}

/** Nothing held yet. */
export function forbidden<Entry>(options: ForbiddenOptions<Entry>): Forbidden<Entry> {
  let held: Entry[] = [];
  let good = false;
  let asking: Promise<void> | null = null;
  let gaveUp = false;

  const giveUp = (error: unknown): void => {
    if (!gaveUp) options.giveUp(error);
    gaveUp = true;
  };
  const ask = (): Promise<void> => {
    asking ??= options.confirmKey().then(() => {
      good = true;
    }, giveUp);
    return asking;
  };
  const release = (): void => {
    const released = held;
    held = [];
    for (const entry of released) options.reject(entry);
  };
  return {
    hold(entry) {
      held.push(entry);
      if (held.length >= FORBIDDEN_IN_A_ROW) giveUp(options.refused());
      else if (!good && held.length >= ASK_AFTER) void ask();
    },
    accepted() {
      good = true;
      if (held.length > 0 && !gaveUp) release();
    },
    async finish() {
      if (asking !== null) await asking;
      if (held.length === 0 || gaveUp) return;
      if (!good) await ask();
      if (!gaveUp) release();
    },
  };
}
