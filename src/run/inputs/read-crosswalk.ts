import type { CrosswalkSpec } from '../../config/job/job.ts';
import { type Crosswalk, columnsNamed, lookupKey } from '../../mapping/lookup-table.ts';
import { comparedEmail } from '../../model/operation.ts';
import { blankCellsBeyond, type Row } from '../../model/row.ts';
import { MappingError } from '../../model/storeferry-error.ts';
import { openTemporaryDatabase, orStateError } from '../../state/sqlite/open-row-scratch.ts';
import { listHeaders } from '../../text/printable.ts';

/**
 * An index from millions of texts to numbers, in a temporary SQLite database: on disk when they are many. StateError when it cannot be
 * written.
 */
export function crosswalkIndex(path = '') {
  const schema = 'CREATE TABLE ids (value TEXT PRIMARY KEY, id REAL) WITHOUT ROWID;';
  const database = orStateError(() => openTemporaryDatabase(schema, path));
  const insert = database.prepare('INSERT OR IGNORE INTO ids VALUES (?, ?)');
  const select = database.prepare('SELECT id FROM ids WHERE value = ?');
  /** The number of the text; undefined if it is not there. */
  const get = (text: string) => {
    // A lone surrogate has no UTF-8 encoding, so it would match another text.
    const found = text.isWellFormed() ? orStateError(() => select.get(text)) : undefined;
    // SQLite stores NaN as NULL.
    return found && Number(found['id'] ?? Number.NaN);
  };
  return {
    get,
    /** Adds the text with its number. If the text is already there, it returns the existing number instead. */
    add(text: string, number: number): number | undefined {
      const { changes } = orStateError(() => insert.run(text, number));
      return changes === 0 ? get(text) : undefined;
    },
    [Symbol.dispose]: () => database.close(),
  };
}

/**
 * Reads the rows of a crosswalk into an index, which `opened` closes: looking an id up must not wait. Lines without a value or an id are
 * passed over. MappingError where a column is not there or one value has two ids.
 */
export async function readCrosswalk(
  { match, field = match, id }: Pick<CrosswalkSpec, 'match' | 'field' | 'id'>,
  path: string,
  header: readonly string[],
  rows: AsyncIterable<readonly Row[]>,
  opened: DisposableStack,
): Promise<Crosswalk> {
  const index = opened.use(crosswalkIndex());
  const keyOf = field === 'email' ? comparedEmail : lookupKey;
  for await (const batch of crosswalkReader({ match, id }, path, header).read(rows)) {
    for (const { value, id: written, line } of batch) {
      const key = keyOf(value);
      if (key === '' || written === '') continue;
      const number = idOf(written);
      const known = index.add(key, number);
      if (known !== undefined && !Object.is(known, number)) {
        throw new MappingError(
          `The crosswalk has two ids for the same ${match}: ${shown(known)} in an earlier line, and ${shown(number)} here.`,
          { place: { file: path, line }, hint: 'Delete one of the two lines.' },
        );
      }
    }
  }
  return { match: field, file: path, find: (value) => index.get(keyOf(value)) };
}

/**
 * Reads the two cells of each row of a crosswalk, and those of its other columns, whose headers are `headers`. MappingError where a column
 * is not there or a row has shifted.
 */
export function crosswalkReader(
  {
    match,
    id,
    hint = CROSSWALK_COLUMN_HINT,
  }: Pick<CrosswalkSpec, 'match' | 'id'> & { readonly hint?: string },
  path: string,
  header: readonly string[],
) {
  const matchAt = columnAt(header, match, path, hint);
  const idAt = columnAt(header, id, path, hint);
  const othersOf = (cells: readonly string[]) =>
    header.flatMap((_, at) => (at === matchAt || at === idAt ? [] : [cells[at] ?? '']));
  return {
    headers: othersOf(header),
    async *read(rows: AsyncIterable<readonly Row[]>) {
      let width: number | undefined;
      for await (const batch of rows) {
        width ??= header.length + blankCellsBeyond(header, batch);
        for (const { cells, line } of batch) {
          if (cells.length === width) continue;
          const message = `The row has ${cells.length} cells under ${header.length} headers, so its id may be another's.`;
          throw new MappingError(message, {
            place: { file: path, line },
            hint: 'Look for a missing or extra quote or delimiter.',
          });
        }
        yield batch.map(({ cells, line }) => ({
          line,
          value: cells[matchAt] ?? '',
          id: (cells[idAt] ?? '').trim(),
          others: othersOf(cells),
        }));
      }
    },
  };
}

/** The store's id as a number; NaN for other texts, which rejects the contact that uses it. */
function idOf(text: string) {
  const digits = /^0*([0-9]{1,15})(?:\.0+)?$/.exec(text)?.[1];
  return digits === undefined ? Number.NaN : Number(digits);
}

function shown(id: number) {
  return Number.isNaN(id) ? 'one that is not a whole number' : String(id);
}

/** What to do if a crosswalk lacks a column that the job names. */
export const CROSSWALK_COLUMN_HINT =
  'Both columns may have any name. The job names them with `match` and `id` of the crosswalk. If the field of the contact has another name than the column, name it with `field`.';

function columnAt(header: readonly string[], name: string, file: string, hint: string) {
  const found = columnsNamed(header, name);
  const [at] = found;
  if (at !== undefined && found.length === 1) return at;
  const message =
    at === undefined
      ? `There is no column '${name}'; columns found: ${listHeaders(header, [])}.`
      : `The column '${name}' occurs more than once: columns ${found.map((index) => index + 1).join(', ')}.`;
  throw new MappingError(message, {
    place: { file, line: 1 },
    hint: at === undefined ? hint : 'Rename or remove all but one of them.',
  });
}
