/** One number a test has measured, and what it is held against. */
export interface Measure {
  /** A noun, such as `missing rows` or `re-sent of one kill`. */
  readonly name: string;
  readonly value: number;
  readonly bound: 'at most' | 'at least';
  readonly limit: number;
}

/** What a test found out about one line of invariants.md. */
export interface Figure {
  readonly invariant: number;
  /** How often each fault really struck, by its name. */
  readonly fired: Readonly<Record<string, number>>;
  readonly measured: readonly Measure[];
  /** Null where nothing was left to chance. */
  readonly seed: number | null;
}

/** A fault that cannot be had on this machine. */
export interface Skipped {
  readonly invariant: number;
  readonly reason: string;
}

export function atMost(limit: number, name: string, value: number): Measure {
  return { name, value, bound: 'at most', limit };
}

export function atLeast(limit: number, name: string, value: number): Measure {
  return { name, value, bound: 'at least', limit };
}

/** What must not happen at all. */
export function none(name: string, value: number): Measure {
  return atMost(0, name, value);
}

export function holds({ value, bound, limit }: Measure): boolean {
  return bound === 'at most' ? value <= limit : value >= limit;
}
