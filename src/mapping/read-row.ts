import type { Row } from '../model/row.ts';
import type { Binding } from './columns/bind-table.ts';

/** Whether a cell holds nothing but white space. */
function isBlank(cell: string | undefined): boolean {
  return cell === undefined || cell === '' || cell.trim() === '';
}

/**
 * How a row's cells stand to its header. A cell too many counts even when it is blank: where the last columns are
 * often blank, that is all that shows of a comma without quotes.
 */
export function alignmentOf(row: Row, binding: Binding): 'whole' | 'short' | 'long' {
  const { cells } = row;
  if (cells.length > binding.width) return 'long';
  for (const index of binding.surplus) {
    if (!isBlank(cells[index])) return 'long';
  }
  return cells.length < binding.width ? 'short' : 'whole';
}

/** Fewer rows than this that are alike say nothing. */
const FEWEST_ALIKE = 2;

/**
 * By how many cells, all of them blank, every row goes beyond its header: files that end each row with a delimiter.
 * Negative where it is the header that ends with blank names which no row has a cell for. 0 where the rows are not
 * alike, or where each of them might have shifted: by a comma in a sentence or in a price.
 */
export function blankCellsBeyond(header: readonly string[], rows: readonly Row[]): number {
  const [first] = rows;
  const more = (first?.cells.length ?? header.length) - header.length;
  if (more === 0 || rows.some(({ cells }) => cells.length !== header.length + more)) return 0;
  if (more < 0) return header.slice(more).every(isBlank) ? more : 0;
  const blank = rows.every(({ cells }) => cells.slice(header.length).every(isBlank));
  return blank && rows.length >= FEWEST_ALIKE && !mayHaveShifted(header, rows) ? more : 0;
}

function mayHaveShifted(header: readonly string[], rows: readonly Row[]): boolean {
  const spaced = header.some((name) => name.startsWith(' '));
  return header.some((_, index) => {
    const inSentence = !spaced && rows.every(({ cells }) => cells[index]?.startsWith(' ') === true);
    const inPrice = rows.every(
      ({ cells }) => /^-?[0-9]+$/.test(cells[index] ?? '') && /^[0-9]{2}$/.test(cells[index + 1] ?? ''),
    );
    return inSentence || inPrice;
  });
}

/** The cells that the mapping uses, by slot. Cells that a short row lacks are blank. */
export function cellsBySlot(row: Row, binding: Binding): readonly (string | undefined)[] {
  const { indexes, constants } = binding;
  const cells: (string | undefined)[] = new Array(indexes.length);
  for (let slot = 0; slot < indexes.length; slot++) {
    const index = indexes[slot] ?? -1;
    cells[slot] = index < 0 ? undefined : (row.cells[index] ?? '');
  }
  for (const { slot, text } of constants) cells[slot] = text;
  return cells;
}
