/** A cell without white space around it (no-break spaces and byte order marks too); undefined when blank. */
export function cleanCell(cell: string | undefined): string | undefined {
  if (cell === undefined || cell === '') return undefined;
  const trimmed = cell.trim();
  return trimmed === '' ? undefined : trimmed;
}
