/** The moment at which a source was staged. It remembers whether anything has depended on it. */
export class Clock {
  /** Whether the moment was looked at since this was last set to false. */
  asked = false;
  readonly #now: number;

  /** In milliseconds since the epoch. */
  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    this.asked = true;
    return this.#now;
  }
}
