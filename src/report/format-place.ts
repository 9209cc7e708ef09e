import type { KeyExample, PlanSource } from '../model/plan.ts';
import { rowPlace } from '../model/row.ts';
import { printable } from '../text/printable.ts';

type PlanFile = PlanSource['files'][number];

/** Whether rows of a file are identified by something else than a line number. */
export function hasNamedRows(file: PlanFile | undefined): boolean {
  return file?.places !== undefined && file.places.format !== 'jsonl';
}

/**
 * `8` in the only file, or `a.csv:8`; `Prices!C8` or `a.xlsx Prices!C8` in a sheet. Omit `name` for the only file. In corrected
 * rejects with the row of the source: `8 (Prices row 17)`.
 */
export function formatPlace(
  line: number,
  column: string | null,
  file: PlanFile | undefined,
  name: string | undefined,
): string {
  const place = formatFilePlace(line, column, file, name);
  const row = file?.sourceRows?.[line];
  return row === undefined ? place : `${place} (${printable(row)})`;
}

function formatFilePlace(
  line: number,
  column: string | null,
  file: PlanFile | undefined,
  name: string | undefined,
) {
  if (!hasNamedRows(file)) return name === undefined ? String(line) : `${printable(name)}:${line}`;
  const place = printable(rowPlace(line, column, file?.places));
  return name === undefined ? place : `${printable(name)} ${place}`;
}

/** ` (line 8)`, ` (Prices row 8)` or ` (line 8, Prices row 17)` after a key, without the file; empty if its line is unknown. */
export function formatExamplePlace({ file, line }: Omit<KeyExample, 'key'>, source: PlanSource): string {
  if (line === null) return '';
  const { places, sourceRows } = source.files[file ?? 0] ?? {};
  const row = sourceRows?.[line];
  return ` (${printable(rowPlace(line, null, places))}${row === undefined ? '' : `, ${printable(row)}`})`;
}
