import { CsvError, type Place } from '../model/errors.ts';
import { beyondLimit, DEFAULT_LIMITS, type InputLimits, raiseLimit } from '../model/input-limits.ts';

/** The most that one CSV file may hold. */
export type CsvLimits = Pick<InputLimits, 'rowBytes' | 'cellBytes' | 'rows' | 'columns' | 'headerBytes'>;

/** The limits where none are set. */
export const DEFAULT_CSV_LIMITS: CsvLimits = DEFAULT_LIMITS;

/** The error for a file beyond one of its limits, with how to raise it; `found` fills the message. */
export function csvLimitError(
  limits: CsvLimits,
  limit: keyof CsvLimits,
  place: Place,
  found?: Readonly<Record<string, number>>,
): CsvError {
  return new CsvError(`The file is ${beyondLimit(limit, limits[limit], found)}`, {
    place,
    hint: raiseLimit(limit),
  });
}
