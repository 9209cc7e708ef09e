import { z } from 'zod';
import type { Stored } from './json-object.ts';
import { type Reason, reasonSchema } from './reason.ts';

/** How rows refer to each other. */
export type LinkKind = 'key' | 'parent' | 'children';

/** A row's relation to records. */
export interface RowLinks {
  /** The name of its record; null if it begins one, or if that is unknown. */
  readonly belongs: string | null;
  /** The names by which other rows refer to it. */
  readonly names: readonly string[];
  /** The names of the rows that it refers to, in order. */
  readonly wants: readonly string[];
  /** It only adds to the row with the same name. */
  readonly silent: boolean;
  /** It is a record of its own even if others refer to it. */
  readonly alone: boolean;
  /** Set if its record is unknown. */
  readonly stray?: StrayRow;
}

/** A row whose record is unknown. */
interface StrayRow {
  /** Its cells, which may name its record. */
  readonly names: readonly string[];
  /** Why its record is unknown: the fault of each record that it may belong to. */
  readonly reason: Reason;
  /** The fault of the records beside it, if it names none; left out where it is none of theirs. */
  readonly ofNeighbours?: Reason;
}

/** A name that does not lead to one row. */
const linkFaultSchema = z.object({
  problem: z.enum(['parent-ambiguous', 'parent-missing', 'child-missing', 'child-ambiguous', 'undescribed']),
  name: z.string(),
  /** The line of the first row of the record. */
  line: z.int(),
  /** Of an ambiguous parent: the line of the row that refers to it. */
  from: z.int().nullable(),
});
export type LinkFault = Stored<typeof linkFaultSchema>;

/** Why a whole record is in doubt. */
export const recordFaultSchema = z.object({
  fault: z.union([reasonSchema, linkFaultSchema]),
  keyIsKnown: z.boolean(),
});
export type RecordFault = Stored<typeof recordFaultSchema>;

/** A row of a record. */
export interface RecordMember {
  /** The row that begins the record: equal for all rows of the record. */
  readonly record: number;
  readonly seq: number;
  /** As it was added. */
  readonly text: string;
  readonly isHead: boolean;
  /** Whether the row counts for this record, and not for an earlier one. */
  readonly isCounted: boolean;
}

/** Keeps the rows of a source until all of them are known, and returns them record by record. */
export interface RowScratch extends Disposable {
  /** Takes a row by its position in the source. */
  add(row: { readonly seq: number; readonly line: number; readonly text: string }, links: RowLinks): void;
  /** Rows by record, records by their first row. Add nothing after this call. */
  members(): Iterable<RecordMember>;
  /** Known after the first member. */
  faultOf(record: number): RecordFault | undefined;
}

/** Opens a scratch; more than a few megabytes of rows are stored on disk. */
export type OpenScratch = (kind: LinkKind) => RowScratch;
