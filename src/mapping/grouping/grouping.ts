import { beyondLimit, raiseLimit, TOO_MANY_ROWS } from '../../model/input-limits.ts';
import type { Reason } from '../../model/reason.ts';
import type { RowSpan } from '../../model/row.ts';
import type { Columns } from '../columns/columns.ts';
import type { RecordRows, SourceRow } from '../record-rows.ts';
import type { Scope } from '../scope.ts';
import { blankIfUnreadable, type Expression } from '../values/cell.ts';

/** Gathers the rows of records. */
export interface Grouper {
  /** A new file begins. */
  startTable(): void;
  /** Takes rows in source order; gives the records that are complete. */
  add(rows: readonly SourceRow[]): readonly RecordRows[];
  /** The source has ended: gives the rest, in batches. */
  end(): Iterable<readonly RecordRows[]>;
}

/** How the rows of a source become records. */
export interface Grouping {
  /** Gathers a source; the scratch, where one is needed, is opened and left to the caller to dispose of. */
  readonly open: (openScratch: OpenScratch) => Grouper;
}

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

/**
 * Whether the cells of some columns can be trusted in a misaligned row: all of them, of those the file has, stand in
 * the first column, which only a cell before it can have shifted, and what stands there fits.
 */
export function inFirstColumn(columns: Columns, names: Iterable<string>): (row: SourceRow) => boolean {
  const slots = [...names].map((name) => columns.declared.get(name)?.slot ?? -1);
  return ({ table, misaligned }) => {
    if (misaligned?.firstFits === false) return false;
    const found = slots.filter((slot) => table.headers[slot] !== undefined);
    return found.length > 0 && found.every((slot) => table.firstSlots.has(slot));
  };
}

/** Reads the key of a misaligned row, where it can be trusted; null otherwise. */
export function trustedKey({ columns }: Scope, key: Expression): (row: SourceRow) => string | null {
  const trusted = inFirstColumn(columns, key.sources);
  const readKey = blankIfUnreadable(key.read);
  return (row) => {
    const read = trusted(row) ? readKey(row, 0) : undefined;
    return read === undefined ? null : String(read);
  };
}

/** Runs of rows that follow each other in one file, as spans. The rows are in source order. */
export function spansOf(rows: readonly SourceRow[]): readonly RowSpan[] {
  const [only, second] = rows;
  if (only !== undefined && second === undefined) {
    return [{ file: only.table.file, from: only.line, to: only.line }];
  }
  const spans: RowSpan[] = [];
  let first: SourceRow | undefined;
  let last: SourceRow | undefined;
  for (const row of rows) {
    if (first !== undefined && last !== undefined) {
      if (row.seq === last.seq + 1 && row.table.file === last.table.file) {
        last = row;
        continue;
      }
      spans.push({ file: first.table.file, from: first.line, to: last.line });
    }
    first = row;
    last = row;
  }
  if (first !== undefined && last !== undefined) {
    spans.push({ file: first.table.file, from: first.line, to: last.line });
  }
  return spans;
}

/** A record of its own that cannot be read: a row that belongs to nothing. */
export function strayRecord(
  rows: readonly SourceRow[],
  reason: Reason,
  key: string | null = null,
): RecordRows {
  return {
    head: undefined,
    rows: [],
    children: [],
    childOptions: undefined,
    fault: reason,
    key,
    spans: spansOf(rows),
    counted: rows.length,
    torn: false,
  };
}

/** Why a record is rejected that has more rows than fit. */
export function tooManyRows(line: number, most: number): Reason {
  return {
    code: TOO_MANY_ROWS,
    message: `${beyondLimit('recordRows', most)} ${raiseLimit('recordRows')}`,
    line,
  };
}

/** Why a record is rejected whose neighbour in the file cannot be placed. */
export function neighbourMisaligned(line: number): Reason {
  return {
    code: 'neighbour-misaligned',
    message: `line ${line} cannot be placed, and may belong to this product: correct that line first`,
    line,
  };
}

/** Why a row is rejected whose key is blank. */
export function keyMissing(line: number, column: string | undefined): Reason {
  return {
    code: 'key-missing',
    message: 'the row does not name its product: the cell is blank',
    line,
    ...(column === undefined ? {} : { column }),
  };
}

/** Why a row is rejected that continues a record, where none has begun. */
export function nothingToContinue(line: number): Reason {
  return {
    code: 'nothing-to-continue',
    message: 'the row continues the product above it, but there is none',
    line,
  };
}
