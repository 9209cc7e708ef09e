/** One parsed CSV line. `line` is the physical line on which it starts, the header being line 1. */
export interface Row {
  /** Index of the file within the snapshot; 0 for a source of one file. */
  readonly file: number;
  readonly line: number;
  readonly cells: readonly string[];
  /** Set where the row is the header again, or a second one: names or units, no data. */
  readonly heading?: true;
}

/** Consecutive rows of one file, by the lines on which the first and the last of them start. */
export interface RowSpan {
  readonly file: number;
  readonly from: number;
  readonly to: number;
}
