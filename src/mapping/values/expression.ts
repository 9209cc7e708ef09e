import type { SourceRow } from '../source-row.ts';
import type { Cell, Kind } from './cell.ts';

/** Reads a value from a row; `n` is the member of a family where one is gone through, otherwise 0. */
export type Read = (row: SourceRow, n: number) => Cell;

/** A compiled value. */
export interface Expression {
  readonly read: Read;
  readonly kind: Kind;
  /** The columns it takes its value from, by name. */
  readonly sources: ReadonlySet<string>;
  /** Whether it can always be read, so that nobody needs to look for why not. */
  readonly certain: boolean;
}
