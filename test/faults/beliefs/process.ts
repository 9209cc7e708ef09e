import { InterruptedError, StateError } from '../../../src/model/storeferry-error.ts';
import type { Fate } from './simulated-store.ts';

/** What strikes a process while it works. */
export interface Faults {
  /** What becomes of its requests, in their order; those beyond are done. */
  readonly fates: readonly Fate[];
  /** It dies at this event: before or after a write to the state or the artifacts, or around a request. */
  readonly diesAt: number | null;
  /** Of what it had at the store when it died: whether it lands. */
  readonly lateLands: boolean;
  /** This write to the state fails, counted from 0 over writes of its kind: the disk is full. */
  readonly fails: { readonly write: 'begin' | 'record' | 'withdraw' | 'witness'; readonly at: number } | null;
  /** It is interrupted at this request. */
  readonly interruptedAt: number | null;
}

export const NO_FAULTS: Faults = {
  fates: [],
  diesAt: null,
  lateLands: true,
  fails: null,
  interruptedAt: null,
};

/** A fault by what became of a request, for the table. */
const STRUCK: Readonly<Record<Exclude<Fate['kind'], 'done'>, string>> = {
  renumbered: 'changed ids',
  refused: 'refusals',
  unsent: 'refusals',
  unanswered: 'lost answers',
  'at-work': 'late requests',
  lie: 'lying answers',
};

/** A write that failed, of which nothing is on disk. */
export class RefusedWrite extends StateError {
  readonly write: string;

  constructor(write: string) {
    super(`${write}: the disk is full`);
    this.write = write;
  }
}

/** What a dead process gets for whatever it does. */
export class Died extends Error {}

/** What a process gets that died after its write. */
export class DiedAfterWrite extends Died {}

/** One process with its faults: whatever it does asks here first, and gets an error once it is dead. */
export class FaultyProcess {
  readonly name = Symbol('process');
  readonly #faults: Faults;
  readonly #note: (fault: string) => void;
  readonly #interrupt = new AbortController();
  readonly #writes = new Map<string, number>();
  #events = 0;
  #requests = 0;
  #dead = false;

  /** `note` is called with each fault that has struck. */
  constructor(faults: Faults, note: (fault: string) => void = () => {}) {
    this.#faults = faults;
    this.#note = note;
  }

  get signal(): AbortSignal {
    return this.#interrupt.signal;
  }

  get isDead(): boolean {
    return this.#dead;
  }

  get lateLands(): boolean {
    return this.#faults.lateLands;
  }

  /** An event at which it may die. */
  strike(): void {
    if (this.#events++ === this.#faults.diesAt && !this.#dead) {
      this.#dead = true;
      this.#note('processes killed');
    }
    this.refuseDead();
  }

  /** The same, after a write to the state. */
  strikeAfterWrite(): void {
    try {
      this.strike();
    } catch (error) {
      throw error instanceof Died ? new DiedAfterWrite('the process has died after its write') : error;
    }
  }

  /** Rejects once it is dead. */
  refuseDead(): void {
    if (this.#dead) throw new Died('the process has died');
  }

  /** A write that may fail. */
  refuse(write: string): void {
    const count = this.#writes.get(write) ?? 0;
    this.#writes.set(write, count + 1);
    if (this.#faults.fails?.write === write && this.#faults.fails.at === count) {
      this.#note('full disks');
      throw new RefusedWrite(write);
    }
  }

  /** What becomes of the next request. */
  nextFate(): Fate {
    const number = this.#requests++;
    if (number === this.#faults.interruptedAt) {
      this.#note('interruptions');
      this.#interrupt.abort(new InterruptedError('interrupted'));
    }
    const fate = this.#faults.fates[number] ?? { kind: 'done' };
    if (fate.kind !== 'done') this.#note(STRUCK[fate.kind]);
    return fate;
  }

  kill(): void {
    this.#dead = true;
  }
}
