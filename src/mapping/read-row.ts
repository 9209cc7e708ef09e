import type { Row } from '../model/row.ts';
import type { Binding } from './columns/bind-table.ts';

/** Whether a cell holds nothing but white space. */
export function isBlank(cell: string | undefined): boolean {
  return cell === undefined || cell === '' || cell.trim() === '';
}

/**
 * How a row's cells stand to its header. A cell too many counts even when it is blank: where the last columns are
 * often blank, that is all that shows of a comma without quotes.
 */
export function alignmentOf(row: Row, binding: Binding): 'whole' | 'short' | 'long' {
  const { cells } = row;
  if (cells.length > binding.width) {
    return 'long';
  }
  for (const index of binding.surplus) {
    if (!isBlank(cells[index])) {
      return 'long';
    }
  }
  return cells.length < binding.width ? 'short' : 'whole';
}

/** The cells that the mapping uses, by slot. Cells that a short row lacks are blank. */
export function cellsBySlot(row: Row, binding: Binding): readonly (string | undefined)[] {
  const { indexes, constants } = binding;
  const cells: (string | undefined)[] = new Array(indexes.length);
  for (let slot = 0; slot < indexes.length; slot++) {
    const index = indexes[slot] ?? -1;
    cells[slot] = index < 0 ? undefined : (row.cells[index] ?? '');
  }
  for (const { slot, text } of constants) {
    cells[slot] = text;
  }
  return cells;
}
