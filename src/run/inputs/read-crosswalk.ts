import type { CrosswalkSpec } from '../../config/job/job.ts';
import { type Crosswalk, lookupKey } from '../../mapping/lookup-table.ts';
import { loosened } from '../../model/nearest.ts';
import { blankCellsBeyond, type Row } from '../../model/row.ts';
import { MappingError } from '../../model/storeferry-error.ts';
import { CrosswalkIndex } from './crosswalk-index.ts';

/**
 * Reads the rows of a crosswalk into memory, which a million lines fit in easily: looking an id up must not wait. Lines
 * without a value or an id are passed over. MappingError where a column is not there or one value has two ids.
 */
export async function readCrosswalk(
  { match, field = match, id }: Pick<CrosswalkSpec, 'match' | 'field' | 'id'>,
  path: string,
  header: readonly string[],
  rows: AsyncIterable<readonly Row[]>,
): Promise<Crosswalk> {
  const matchAt = columnAt(header, match, path);
  const idAt = columnAt(header, id, path);
  let width: number | undefined;
  const index = new CrosswalkIndex();
  for await (const batch of rows) {
    width ??= header.length + blankCellsBeyond(header, batch);
    for (const { cells, line } of batch) {
      const place = { file: path, line };
      if (cells.length !== width) {
        const message = `The row has ${cells.length} cells under ${header.length} headers, so its id may be another's.`;
        throw new MappingError(message, {
          place,
          hint: 'Look for a missing or extra quote or delimiter.',
        });
      }
      const value = lookupKey(cells[matchAt] ?? '');
      const found = (cells[idAt] ?? '').trim();
      if (value === '' || found === '') continue;
      const number = idOf(found);
      const known = index.add(value, number);
      if (known !== undefined && !Object.is(known, number)) {
        throw new MappingError(
          `The crosswalk has two ids for the same ${match}: ${shown(known)} in an earlier line, and ${shown(number)} here.`,
          { place, hint: 'Delete one of the two lines.' },
        );
      }
    }
  }
  return { match: field, file: path, find: (value) => index.get(lookupKey(value)) };
}

/** The store's id as a number; NaN for other texts, which rejects the contact that uses it. */
function idOf(text: string): number {
  const digits = /^0*([0-9]{1,15})(?:\.0+)?$/.exec(text)?.[1];
  return digits === undefined ? Number.NaN : Number(digits);
}

function shown(id: number): string {
  return Number.isNaN(id) ? 'one that is not a whole number' : String(id);
}

/** What to do if a crosswalk lacks a column that the job names. */
export const CROSSWALK_COLUMN_HINT =
  'Both columns may have any name. The job names them with `match` and `id` of the crosswalk. If the field of the contact has another name than the column, name it with `field`.';

/** The columns with that name in a header: equal except for case, or else loosely equal. */
export function columnsNamed(header: readonly string[], name: string): readonly number[] {
  const called = (key: (text: string) => string) =>
    header.flatMap((text, index) => (key(text) === key(name) ? [index] : []));
  const exact = called(lookupKey);
  return exact.length > 0 ? exact : called(loosened);
}

function columnAt(header: readonly string[], name: string, file: string): number {
  const found = columnsNamed(header, name);
  const [at] = found;
  if (at !== undefined && found.length === 1) return at;
  const message =
    at === undefined
      ? `There is no column '${name}'; the columns are ${header.join(', ')}.`
      : `The column '${name}' occurs more than once: columns ${found.map((index) => index + 1).join(', ')}.`;
  throw new MappingError(message, {
    place: { file, line: 1 },
    hint: at === undefined ? CROSSWALK_COLUMN_HINT : 'Rename or remove all but one of them.',
  });
}
