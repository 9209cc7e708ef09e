import type { Reason } from '../../model/reason.ts';
import type { SourceRow } from '../rows.ts';

/** What a row says of the record it belongs to. */
export interface RowLinks {
  /** The name of the record it belongs to; null when it begins one, or when that is unknown. */
  readonly belongs: string | null;
  /** The names by which other rows refer to it. */
  readonly names: readonly string[];
  /** The names of the rows that it refers to, in order. */
  readonly wants: readonly string[];
  /** It only adds to the row of the same name, and says nothing itself. */
  readonly silent: boolean;
  /** It is a record of its own even when others refer to it. */
  readonly alone: boolean;
  /** The record is unknown: its cells may name it, or its neighbours are in doubt. */
  readonly stray: boolean;
}

/** A row that says nothing of others: a record of its own. */
export const UNLINKED: RowLinks = {
  belongs: null,
  names: [],
  wants: [],
  silent: false,
  alone: false,
  stray: false,
};

/** How rows refer to each other. */
export type LinkKind = 'key' | 'parent' | 'children';

/** A row of a record, as it comes back. */
export interface Member {
  /** The row that begins the record: equal for all rows of it. */
  readonly record: number;
  readonly row: SourceRow;
  readonly role: 'head' | 'member' | 'silent' | 'extra';
  /** Whether the row counts for this record, rather than for one before it. */
  readonly counted: boolean;
}

/** Why a whole record is in doubt. `keyKnown` false: its key is unknown. */
export interface Charge {
  readonly reason: Reason;
  readonly keyKnown: boolean;
}

/** Keeps the rows of a source until all of them are known, and gives them back record by record. */
export interface RowScratch extends Disposable {
  add(row: SourceRow, links: RowLinks): void;
  /** Rows by record, records by their first row. Nothing may be added after. */
  members(): Iterable<Member>;
  chargeOf(record: number): Charge | undefined;
}

/** Opens a scratch; rows beyond what fits into a few megabytes go to disk. */
export type OpenScratch = (kind: LinkKind) => RowScratch;
