import type { CrosswalkSpec } from '../../config/job/job.ts';
import { type Crosswalk, columnsNamed, lookupKey } from '../../mapping/lookup-table.ts';
import { blankCellsBeyond, type Row } from '../../model/row.ts';
import { MappingError } from '../../model/storeferry-error.ts';
import { openTemporaryDatabase } from '../../state/sqlite/open-row-scratch.ts';
import { listHeaders } from '../../text/printable.ts';

/** An index from millions of texts to numbers, in a temporary SQLite database: on disk when they are many, and gone with the process. */
export class CrosswalkIndex {
  readonly #database = openTemporaryDatabase(
    'CREATE TABLE ids (value TEXT PRIMARY KEY, id REAL) WITHOUT ROWID;',
  );
  readonly #insert = this.#database.prepare('INSERT OR IGNORE INTO ids VALUES (?, ?)');
  readonly #select = this.#database.prepare('SELECT id FROM ids WHERE value = ?');

  /** Adds the text with its number. If the text is already there, it returns the existing number instead. */
  add(text: string, number: number): number | undefined {
    return this.#insert.run(text, number).changes === 0 ? this.get(text) : undefined;
  }

  /** The number of the text; undefined if it is not there. */
  get(text: string): number | undefined {
    // A lone surrogate has no UTF-8 encoding, so it would match another text.
    const found = text.isWellFormed() ? this.#select.get(text) : undefined;
    // SQLite stores NaN as NULL.
    return found && Number(found['id'] ?? Number.NaN);
  }
}

/**
 * Reads the rows of a crosswalk into an index: looking an id up must not wait. Lines without a value or an id are passed over. MappingError where a column is not there or one value has two ids.
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

function columnAt(header: readonly string[], name: string, file: string): number {
  const found = columnsNamed(header, name);
  const [at] = found;
  if (at !== undefined && found.length === 1) return at;
  const message =
    at === undefined
      ? `There is no column '${name}'; columns found: ${listHeaders(header, [])}.`
      : `The column '${name}' occurs more than once: columns ${found.map((index) => index + 1).join(', ')}.`;
  throw new MappingError(message, {
    place: { file, line: 1 },
    hint: at === undefined ? CROSSWALK_COLUMN_HINT : 'Rename or remove all but one of them.',
  });
}
