import type { KeyExample, PlanSource } from '../model/plan.ts';
import { rowPlace } from '../model/row.ts';
import { printable } from './printable.ts';

type PlanFile = PlanSource['files'][number];

/** Whether the rows of a file are named otherwise than by a line. */
export function hasOwnPlaces(file: PlanFile | undefined): boolean {
  return file?.places !== undefined && file.places.format !== 'jsonl';
}

/** `8` of the only file, or `a.csv:8`; `Prices!C8` or `a.xlsx Prices!C8` of a sheet. `name` is left out of the only file. */
export function placeWords(
  line: number,
  column: string | null,
  file: PlanFile | undefined,
  name: string | undefined,
): string {
  if (!hasOwnPlaces(file)) return name === undefined ? String(line) : `${printable(name)}:${line}`;
  const place = printable(rowPlace(line, column, file?.places));
  return name === undefined ? place : `${printable(name)} ${place}`;
}

/** ` (line 8)` or ` (Prices row 8)` behind a key; empty where its line is not known. */
export function exampleWords({ file, line }: Omit<KeyExample, 'key'>, source: PlanSource): string {
  if (line === null) return '';
  return ` (${printable(rowPlace(line, null, source.files[file ?? 0]?.places))})`;
}
