/** This many 403 in a row, with nothing accepted in between, concern the key and not records. */
export const MAX_CONSECUTIVE_FORBIDDEN = 20;
/** This many, with nothing accepted before, cause one request that checks the key. */
const CHECK_AFTER = 3;

/**
 * A 403 may concern one record (another user owns it) or the key. Records answered with 403 wait until another record is
 * accepted: then they are rejected. Several in a row before that cause one read request that checks whether the store
 * accepts the key at all.
 */
interface Forbidden<Entry> {
  /** Lets a record wait that was answered with 403. */
  add(entry: Entry): void;
  /** Something was accepted, or refused for another reason: the key is valid. */
  accepted(): void;
  /** Everything was sent: decides about the waiting records. */
  finish(): Promise<void>;
}

interface ForbiddenOptions<Entry> {
  /** Rejects with an error about the key if the store does not accept it. */
  readonly confirmKey: () => Promise<void>;
  /** Called for each record that is rejected itself. */
  readonly reject: (entry: Entry) => void;
  /** Called once, if the key is refused. */
  readonly giveUp: (error: unknown) => void;
  /** The error if the store accepts the key for reading only. */
  readonly refused: () => Error;
}

/** No record waits yet. */
export function forbidden<Entry>(options: ForbiddenOptions<Entry>): Forbidden<Entry> {
  let waiting: Entry[] = [];
  let keyIsValid = false;
  let asking: Promise<void> | null = null;
  let gaveUp = false;

  const giveUp = (error: unknown): void => {
    if (!gaveUp) options.giveUp(error);
    gaveUp = true;
  };
  const ask = (): Promise<void> => {
    asking ??= options.confirmKey().then(() => {
      keyIsValid = true;
    }, giveUp);
    return asking;
  };
  const rejectAll = (): void => {
    const rejected = waiting;
    waiting = [];
    for (const entry of rejected) options.reject(entry);
  };
  return {
    add(entry) {
      waiting.push(entry);
      if (waiting.length >= MAX_CONSECUTIVE_FORBIDDEN) giveUp(options.refused());
      else if (!keyIsValid && waiting.length >= CHECK_AFTER) void ask();
    },
    accepted() {
      keyIsValid = true;
      if (waiting.length > 0 && !gaveUp) rejectAll();
    },
    async finish() {
      if (asking !== null) await asking;
      if (waiting.length === 0 || gaveUp) return;
      if (!keyIsValid) await ask();
      if (!gaveUp) rejectAll();
    },
  };
}
