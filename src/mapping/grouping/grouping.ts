import { beyondLimit, raiseLimit, TOO_MANY_ROWS } from '../../model/input-limits.ts';
import type { OpenScratch, RowLinks } from '../../model/mapped-record.ts';
import type { Reason } from '../../model/reason.ts';
import type { RowSpan } from '../../model/row.ts';
import type { Columns } from '../columns/columns.ts';
import type { RecordRows, SourceRow } from '../record-rows.ts';
import type { Scope } from '../scope.ts';
import { blankIfUnreadable, type TypedExpression } from '../values/cell.ts';

/** Collects the rows of records. */
export interface Grouper {
  /** A new file begins; left out where rows of one record may be in several files. */
  startTable?(): void;
  /** Takes rows in source order; returns the complete records. */
  add(rows: readonly SourceRow[]): readonly RecordRows[];
  /** The source has ended: returns the rest, in batches. */
  end(): Iterable<readonly RecordRows[]>;
  /** Set where records are consecutive rows. */
  readonly bounds?: RecordBounds;
}

/** Where records end, if rows between them are left out. Names are those of `RecordRows.key`. */
export interface RecordBounds {
  /**
   * Ends the open record, and returns all complete ones, if rows that begin with a record of this name certainly do not
   * continue it; otherwise undefined. Without a name: rows whose record had none.
   */
  endBefore(isName: (name: string) => boolean): readonly RecordRows[] | undefined;
  /** Whether the row certainly begins a record if the record before it has this name. */
  begins(row: SourceRow, isName: (name: string) => boolean): boolean;
}

/** How the rows of a source become records. */
export interface Grouping {
  /** Groups a source. If it needs a scratch, it opens it; the caller disposes of it. */
  readonly open: (openScratch: OpenScratch) => Grouper;
}

/** A row without relations: a record of its own. */
export const UNLINKED: RowLinks = {
  belongs: null,
  names: [],
  wants: [],
  silent: false,
  alone: false,
};

/** The relations of a row whose record is unknown; `column` has its key. */
export function strayLinks({ misaligned, line }: SourceRow, column?: string): RowLinks {
  const reason = misaligned?.reason ?? keyMissing(line, column);
  const names = (misaligned?.cells ?? []).filter((cell) => cell !== '');
  return {
    ...UNLINKED,
    stray: { names, reason, ...(misaligned && { ofNeighbours: neighbourMisaligned(line) }) },
  };
}

/**
 * Whether the cells of some columns can be trusted in a misaligned row: all of these columns that the file has are
 * the first column, which only an extra cell before it can shift, and the cell fits.
 */
export function inFirstColumn(columns: Columns, names: Iterable<string>): (row: SourceRow) => boolean {
  const slots = [...names].map((name) => columns.declared.get(name)?.slot ?? -1);
  return ({ table, misaligned }) => {
    if (misaligned?.firstFits === false) return false;
    const found = slots.filter((slot) => table.headers[slot] !== undefined);
    return found.length > 0 && found.every((slot) => table.firstSlots.has(slot));
  };
}

/** Reads the key of a misaligned row, if it can be trusted; null otherwise. */
export function trustedKey({ columns }: Scope, key: TypedExpression): (row: SourceRow) => string | null {
  const trusted = inFirstColumn(columns, key.sources);
  const readKey = blankIfUnreadable(key.read);
  return (row) => {
    const read = trusted(row) ? readKey(row, 0) : undefined;
    return read === undefined ? null : String(read);
  };
}

/** Runs of consecutive rows of one file, as spans. The rows are in source order. */
export function spansOf(rows: readonly SourceRow[]): readonly RowSpan[] {
  const spans: { file: number; from: number; to: number }[] = [];
  let next = Number.NaN;
  for (const { seq, line, table } of rows) {
    const last = spans.at(-1);
    if (last !== undefined && seq === next && last.file === table.file) last.to = line;
    else spans.push({ file: table.file, from: line, to: line });
    next = seq + 1;
  }
  return spans;
}

/** The record of these rows. `given`: what is known of it; a record of which nothing is known has no rows that can be read. */
export function recordOf(all: readonly SourceRow[], given: Partial<RecordRows>): RecordRows {
  return {
    head: undefined,
    rows: [],
    children: [],
    childOptions: undefined,
    fault: undefined,
    key: null,
    spans: spansOf(all),
    counted: all.length,
    partial: false,
    ...given,
  };
}

/** A separate unreadable record: a row that belongs to no other record. */
export function ungroupedRow(row: SourceRow, fault: Reason, key: string | null = null): RecordRows {
  return recordOf([row], { fault, key });
}

/** A row that repeats the one before it, of the record with this key. */
export function repeatedRow(row: SourceRow, key: string | null): RecordRows {
  const message = 'the row before it has the same cells';
  return { ...ungroupedRow(row, { code: 'identical-copy', message, line: row.line }, key), isLeftOut: true };
}

/** The reason for rejecting a record with too many rows. */
export function tooManyRows(line: number, most: number): Reason {
  return {
    code: TOO_MANY_ROWS,
    message: `${beyondLimit('recordRows', most)} ${raiseLimit('recordRows')}`,
    line,
  };
}

/** The reason for rejecting a record whose neighbour in the file cannot be placed. */
export function neighbourMisaligned(line: number): Reason {
  return {
    code: 'neighbour-misaligned',
    message: `line ${line} cannot be placed, and may belong to this product: correct that line first`,
    line,
  };
}

/** The reason for rejecting a row with a blank key, which is in this column. */
export function keyMissing(line: number, column: string | undefined): Reason {
  const message = 'the row does not name its product: the cell is blank';
  return { code: 'key-missing', message, line, ...(column !== undefined && { column }) };
}
