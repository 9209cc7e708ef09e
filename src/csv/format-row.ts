/** What must be quoted, and what a reader could take for a delimiter or trim. */
const NEEDS_QUOTES = /[",;\t|\r\n\ufeff]|^\s|\s$/;

/**
 * One row as CSV text without its line end. `readCsv` gives the same cells back, unless all are blank. Cells with any of
 * the usual delimiters are quoted, so that the delimiter can be detected.
 */
export function formatRow(cells: readonly string[], delimiter: string): string {
  let line = '';
  for (let index = 0; index < cells.length; index += 1) {
    const cell = cells[index] ?? '';
    if (index > 0) line += delimiter;
    line += NEEDS_QUOTES.test(cell) || cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell;
  }
  return line;
}
