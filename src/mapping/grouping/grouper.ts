import type { RecordRows, SourceRow } from '../rows.ts';

/** Gathers the rows of records. */
export interface Grouper {
  /** A new file begins. */
  startTable(): void;
  /** Takes rows in source order; gives the records that are complete. */
  add(rows: readonly SourceRow[]): readonly RecordRows[];
  /** The source has ended: gives the rest, in batches. */
  end(): Iterable<readonly RecordRows[]>;
}
