import type { Columns } from '../columns/columns.ts';
import type { SourceRow } from '../rows.ts';
import type { Scope } from '../scope.ts';
import { blankIfUnreadable, type Expression } from '../values/cell.ts';
import type { Grouper } from './grouper.ts';
import type { OpenScratch } from './row-scratch.ts';

/** How the rows of a source become records. */
export interface Grouping {
  readonly kind: 'row' | 'adjacent' | 'anywhere' | 'starts' | 'parent' | 'children';
  /** Gathers a source; the scratch, where one is needed, is opened and left to the caller to dispose of. */
  readonly open: (openScratch: OpenScratch) => Grouper;
}

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
