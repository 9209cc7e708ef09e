import { beyondLimit, type InputLimits, raiseLimit } from '../model/input-limits.ts';
import { withoutUndefined } from '../model/json-object.ts';
import { type CellCurrencies, rowPlace, type StagedTable, type TableFormat } from '../model/row.ts';
import { SourceError } from '../model/storeferry-error.ts';
import { columnLetters } from './number-text.ts';

/** Selects a table of a file that may have several. */
export interface TableChoice {
  /** The name of a sheet, or its number among the visible ones, from 1. */
  readonly sheet?: string | number | undefined;
  /** The path of the records in a JSON or XML file: `rss.channel.item`; see `recordsIn`. */
  readonly records?: string | undefined;
}

/** The parts of `products > variants`: the path of the records, and that of the list within each whose objects are rows. */
export function recordsIn({ records = '' }: TableChoice): {
  readonly path: string | undefined;
  readonly within: string | undefined;
} {
  const [path = '', within = ''] = records.split('>').map((part) => part.trim());
  return { path: path || undefined, within: within.replaceAll('[]', '') || undefined };
}

/** A file with a table, from the step `stage`. */
export interface TableFile {
  /** Its name in messages. */
  readonly name: string;
  readonly format: TableFormat;
  readonly choice: TableChoice;
  readonly limits: InputLimits;
  /**
   * The bytes of the file from its beginning. Which charset they are in, the format says: `encoding` of a source is for CSV
   * alone, and bytes of another one are refused.
   */
  readonly content: () => AsyncIterable<Uint8Array>;
  /** The name of the sheet, once it is chosen. */
  readonly title?: string;
  /** The files within a workbook, by their paths; empty for other formats. */
  readonly parts: ReadonlyMap<string, () => AsyncIterable<Uint8Array>>;
}

/** What the limits of a table and their messages need. */
export type LimitedTable = Pick<TableFile, 'name' | 'limits' | 'format' | 'choice' | 'title'>;

/** One row of a sheet, or one record, with its number from 1. */
export interface TableRow {
  readonly line: number;
  readonly cells: readonly string[];
  readonly currencies?: CellCurrencies | undefined;
}

/**
 * The result of reading a format: rows, and facts about the table after they have been read. A reader refuses rows beyond `columns`,
 * `rowBytes` and `cellBytes`, also one that has not ended, and bytes that are not in the charset; `convertTable` counts the rows.
 */
export interface TableReader {
  readonly batches: AsyncIterable<readonly TableRow[]>;
  /** The name of the sheet, or the path of the records. */
  readonly title: () => string;
  /** The names of the columns, if the format has them: then `headerRow` and `dataRow` of a source are refused. A sheet has its header among its rows. */
  readonly header: () => readonly string[] | null;
  /** Of a sheet, the merged cells of its first rows. */
  readonly merged?: StagedTable['merged'];
  /** Of a sheet, as the snapshot stores them. */
  readonly marks?: NonNullable<StagedTable['marks']>;
  /** The values beside records, except in other lists. */
  readonly beside?: () => NonNullable<StagedTable['beside']>;
}

/** The error for a file that does not conform to its format. */
export function tableError(
  file: Pick<TableFile, 'name'>,
  message: string,
  hint: string,
  cause?: unknown,
): SourceError {
  return new SourceError(message, { place: { file: file.name }, hint, cause });
}

/** Refuses a row or record with more cells than the limit. */
export function refuseColumns(file: LimitedTable, cells: number, line: number): void {
  if (cells > file.limits.columns) throw tableLimitError(file, 'columns', { line, found: { cells } });
}

/** Refuses a row of more characters than the limit: a few bytes of a sheet may repeat one text in all its cells. */
export function refuseRowBytes(file: LimitedTable, characters: number, line: number): void {
  if (characters > file.limits.rowBytes) throw tableLimitError(file, 'rowBytes', { line });
}

/** What exceeds a limit in a table. Other words than for CSV, where an unclosed quote may be the reason. */
const LIMIT_WORDS = {
  rowBytes: 'the row or the record is longer',
  cellBytes: 'the cell is longer',
  columns: 'the row has {cells} cells',
  rows: 'there are more rows',
  mergedCells: 'merged cells cover more cells of the sheet',
} as const;

/** Where in a table something is beyond a limit: the row or record, and the index of the column or its path. */
interface LimitPlace {
  readonly line?: number;
  readonly column?: number | string;
  readonly found?: Readonly<Record<string, number>>;
}

/** The error for a table beyond a limit; it names the cell, such as `Prices!C17`. */
export function tableLimitError(
  { name, limits, format, choice, title = recordsIn(choice).path ?? '' }: LimitedTable,
  limit: keyof typeof LIMIT_WORDS,
  { line, column, found }: LimitPlace = {},
): SourceError {
  const header = typeof column === 'number' ? columnLetters(column) : column;
  const letters = typeof column === 'number' ? { [columnLetters(column)]: columnLetters(column) } : {};
  const where = line === undefined ? undefined : rowPlace(line, header, { format, title, letters });
  const beyond = beyondLimit(limit, limits[limit], found, LIMIT_WORDS[limit]);
  return new SourceError(`${where ?? 'The file'} is ${beyond}`, {
    place: withoutUndefined({ file: name, line }),
    hint: raiseLimit(limit),
  });
}
