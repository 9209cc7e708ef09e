/**
 * Whether a row is a heading between records: its only text is in one cell, or in adjacent cells that all have it, as merged
 * cells do.
 */
export function isSectionHeading(cells: readonly string[]): boolean {
  let text: string | undefined;
  let last = -1;
  for (let index = 0; index < cells.length; index++) {
    const cell = cells[index]?.trim() ?? '';
    if (cell === '') continue;
    if (text !== undefined && (cell !== text || last !== index - 1)) return false;
    text = cell;
    last = index;
  }
  return text !== undefined && /\p{L}/u.test(text);
}
