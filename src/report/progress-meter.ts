const WINDOW_MS = 10_000;
/** Before this much has been seen, a rate would be a guess. */
const SETTLED_MS = 1_000;

/** Samples closer together add nothing but memory. */
const SAMPLE_MS = 200;

interface Sample {
  readonly atMs: number;
  readonly done: number;
}

/** How fast something goes, over the last ten seconds: what was done before a pause says little about after it. */
export class ProgressMeter {
  #samples: Sample[] = [];
  #latest: Sample | undefined;
  #pausedUntil = Number.NEGATIVE_INFINITY;

  /** `atMs`: any clock that only goes forward. A smaller `done` than before begins a new measurement. */
  add(atMs: number, done: number): void {
    if (atMs < this.#pausedUntil) {
      this.#samples = [];
      this.#latest = { atMs, done };
      return;
    }
    if (this.#latest !== undefined && done < this.#latest.done) this.#samples = [];
    this.#latest = { atMs, done };
    if (atMs - (this.#samples.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) < SAMPLE_MS) return;
    this.#samples.push(this.#latest);
    while ((this.#samples[1]?.atMs ?? atMs) <= atMs - WINDOW_MS) this.#samples.shift();
  }

  /** What waits until then, by the same clock, is no speed: nothing is measured before, and all anew after it. */
  pauseUntil(atMs: number): void {
    if (atMs <= this.#pausedUntil) return;
    this.#pausedUntil = atMs;
    this.#samples = [];
  }

  /** Null while nothing can be said yet. */
  get ratePerSecond(): number | null {
    const first = this.#samples[0];
    const latest = this.#latest;
    if (first === undefined || latest === undefined || latest.atMs - first.atMs < SETTLED_MS) return null;
    return ((latest.done - first.done) * 1000) / (latest.atMs - first.atMs);
  }

  /** Time left until `total` at the present rate; null when it cannot be said. */
  etaMs(total: number | null): number | null {
    const rate = this.ratePerSecond;
    const done = this.#latest?.done;
    if (total === null || done === undefined || rate === null || rate <= 0 || done > total) return null;
    return ((total - done) * 1000) / rate;
  }
}
