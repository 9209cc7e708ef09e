import type { JudgedDates } from '../model/plan.ts';

/** The moment at which a source was staged. It remembers what was judged by it. */
export class Clock {
  /** Whether a date was judged since this was last set to false. */
  asked = false;
  readonly #now: number;
  #since = Number.NEGATIVE_INFINITY;
  #until = Number.POSITIVE_INFINITY;

  /** In milliseconds since the epoch. */
  constructor(now: number) {
    this.#now = now;
  }

  /** Whether that moment has come, in milliseconds since the epoch. */
  hasCome(moment: number): boolean {
    this.asked = true;
    const has = moment <= this.#now;
    if (has) this.#since = Math.max(this.#since, moment);
    else this.#until = Math.min(this.#until, moment);
    return has;
  }

  /** Between which moments every date would be judged as it was; null while none was. */
  judged(): JudgedDates | null {
    const [since, until] = [this.#since, this.#until].map((at) => (Number.isFinite(at) ? at : null));
    if (since == null && until == null) return null;
    return { since: since ?? null, until: until ?? null };
  }
}
