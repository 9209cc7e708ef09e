import { patience } from '../support/pace.ts';

/** How much is done: the short version of `npm run test:all`, or what `npm run soak` asks for. */
export interface Scale {
  readonly isSoak: boolean;
  /** SIGKILLs of one process, each followed by a run that continues. */
  readonly kills: number;
  /** How long faults of all kinds strike two workers. */
  readonly chaosMs: number;
  /** Rows of the largest source. */
  readonly rows: number;
  /** The size of the largest cell. */
  readonly cellMib: number;
  /** What the largest archive would come to. */
  readonly bombGib: number;
  /** What one test may take on a machine that has much else to do. */
  readonly patienceMs: number;
}

function fromEnvironment(name: string, otherwise: number): number {
  const text = process.env[name];
  return text === undefined || text === '' ? otherwise : Number(text);
}

const isSoak = process.env['STOREFERRY_SOAK'] === '1';

export const SCALE: Scale = {
  isSoak,
  kills: fromEnvironment('STOREFERRY_SOAK_KILLS', isSoak ? 50 : 4),
  chaosMs: fromEnvironment('STOREFERRY_SOAK_MINUTES', isSoak ? 30 : 0.15) * 60_000,
  rows: fromEnvironment('STOREFERRY_SOAK_ROWS', isSoak ? 5_000_000 : 50_000),
  cellMib: isSoak ? 1024 : 64,
  bombGib: isSoak ? 10 : 1,
  patienceMs: patience(isSoak ? 30 * 60_000 : 300_000),
};

/** A test of so long a run needs more patience than others: twice its time, and five minutes to begin and end. */
export function patienceFor(ms: number): number {
  return patience(2 * ms + 300_000);
}
