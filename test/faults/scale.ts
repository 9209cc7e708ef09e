/** How much is done: the short version of `npm test`, or what `npm run soak` asks for. */
export interface Scale {
  /** SIGKILLs of one process, each followed by a run that continues. */
  readonly kills: number;
  /** How long faults of all kinds strike two workers. */
  readonly chaosMs: number;
  /** Rows of the largest source. */
  readonly rows: number;
}

function fromEnvironment(name: string, otherwise: number): number {
  const text = process.env[name];
  return text === undefined || text === '' ? otherwise : Number(text);
}

export const SCALE: Scale = {
  kills: fromEnvironment('STOREFERRY_SOAK_KILLS', 6),
  chaosMs: fromEnvironment('STOREFERRY_SOAK_MINUTES', 0.2) * 60_000,
  rows: fromEnvironment('STOREFERRY_SOAK_ROWS', 100_000),
};

/** A test of so long a run needs more patience than others: twice its time, and a minute to begin and end. */
export function patienceFor(ms: number): number {
  return 2 * ms + 60_000;
}
