import type { Reason } from '../model/reason.ts';
import type { RowSpan } from '../model/row.ts';
import type { SourceRow } from './source-row.ts';

/** The rows of one record. */
export interface RecordRows {
  /** The row that describes the record; undefined when none can be read. */
  readonly head: SourceRow | undefined;
  /** All rows whose cells can be trusted, in source order, the head among them. */
  readonly rows: readonly SourceRow[];
  /** Rows other than the head that are referred to as children, in the order of the references. */
  readonly children: readonly SourceRow[];
  /** What the references say of each child, where they say more than its name. */
  readonly childOptions: readonly ReadonlyMap<string, string>[] | undefined;
  /** Why the record cannot be imported, whatever its cells say. */
  readonly fault: Reason | undefined;
  /** The key, where it is known without the head. */
  readonly key: string | null;
  readonly spans: readonly RowSpan[];
  /** How many rows this record accounts for. */
  readonly counted: number;
  readonly torn: boolean;
}
