import { fileLimitError, type InputLimits } from '../model/input-limits.ts';
import type { TableFormat } from '../model/row.ts';
import { SourceError } from '../model/storeferry-error.ts';

/** Which table of a file is meant, where it may hold several. */
export interface TableChoice {
  /** The name of a sheet, or its number among the visible ones, from 1. */
  readonly sheet?: string | number | undefined;
  /** Where the records of a JSON or XML file stand: `rss.channel.item`. */
  readonly records?: string | undefined;
}

/** A file that holds a table, as the step `stage` gives it. */
export interface TableFile {
  /** What messages call it. */
  readonly name: string;
  readonly format: TableFormat;
  readonly choice: TableChoice;
  readonly limits: InputLimits;
  /** The file from its beginning. */
  readonly content: () => AsyncIterable<Uint8Array>;
  /** The files within a workbook, by their paths; empty for other formats. */
  readonly parts: ReadonlyMap<string, () => AsyncIterable<Uint8Array>>;
}

/** One row of a sheet, or one record, with its number from 1. */
export interface TableRow {
  readonly line: number;
  readonly cells: readonly string[];
}

/** What a reader of a format gives: rows, and what is known of the table once they have been read. */
export interface TableReader {
  readonly batches: AsyncIterable<readonly TableRow[]>;
  /** The name of the sheet, or the path of the records. */
  readonly title: () => string;
  /** The names of the columns, where the format names them; a sheet has its header among its rows. */
  readonly header: () => readonly string[] | null;
}

/** The error for a file that is not what its format asks for. */
export function tableError(
  file: Pick<TableFile, 'name'>,
  message: string,
  hint: string,
  cause?: unknown,
): SourceError {
  return new SourceError(message, { place: { file: file.name }, hint, cause });
}

/** The error for a table beyond a limit. */
export function tableLimitError(
  { name, limits }: Pick<TableFile, 'name' | 'limits'>,
  limit: 'rowBytes' | 'cellBytes' | 'columns' | 'rows' | 'bytes',
  line?: number,
  found?: Readonly<Record<string, number>>,
): SourceError {
  const place = { file: name, ...(line === undefined ? {} : { line }) };
  return fileLimitError(SourceError, limits, limit, place, found);
}
