import type { Row } from '../model/row.ts';
import type { Binding } from './bind-table.ts';
import type { SourceRow } from './source-row.ts';

/** Whether a cell holds nothing but white space. */
export function isBlank(cell: string | undefined): boolean {
  return cell === undefined || cell === '' || cell.trim() === '';
}

/** How a row's cells stand to its header. Surplus blank cells do not count. */
export function alignmentOf(row: Row, binding: Binding): 'whole' | 'short' | 'long' {
  const { cells } = row;
  if (cells.length < binding.width) {
    return 'short';
  }
  for (let index = binding.width; index < cells.length; index++) {
    if (!isBlank(cells[index])) {
      return 'long';
    }
  }
  for (const index of binding.surplus) {
    if (!isBlank(cells[index])) {
      return 'long';
    }
  }
  return 'whole';
}

/** The row reduced to the cells that the mapping uses. Cells that a short row lacks are blank. */
export function sourceRow(row: Row, binding: Binding, seq: number): SourceRow {
  const { indexes, constants, table } = binding;
  const cells: (string | undefined)[] = new Array(indexes.length);
  for (let slot = 0; slot < indexes.length; slot++) {
    const index = indexes[slot] ?? -1;
    cells[slot] = index < 0 ? undefined : (row.cells[index] ?? '');
  }
  for (const { slot, text } of constants) {
    cells[slot] = text;
  }
  return { table, seq, line: row.line, cells };
}
