import { hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { inertCell } from '../../model/row.ts';
import { DestinationError } from '../../model/storeferry-error.ts';
import { changedMeanwhile, type Destination, type DestinationWriteOptions } from '../open-destination.ts';
import type { RowShape } from './row-shape.ts';

/** Items as JSON, in batches. */
export type Items = AsyncIterable<readonly string[]>;

/** The result of writing to the destination. */
export interface Written {
  /** Lines that were added, without the header. */
  readonly lines: number;
  /** Set if the file is new: there was no content to add to. */
  readonly begun?: true;
  /** Size of the whole file. */
  readonly bytes: number;
  /** Notes for people, in sentences. */
  readonly notes: readonly string[];
}

/** Replaces the destination. With a style it is a table, without one JSON Lines. */
export async function replaceFile(
  destination: Destination,
  {
    items,
    shape,
    style,
    signal,
    ifVersion,
  }: {
    readonly items: Items;
    readonly shape: RowShape;
    readonly style: TableStyle | null;
    readonly signal: AbortSignal;
    /** As for `Destination.write`: null if no file may exist yet. */
    readonly ifVersion?: string | null | undefined;
  },
): Promise<Written> {
  let lines = 0;
  const bytes = await destination.write(
    content(),
    ifVersion === undefined ? { signal } : { signal, ifVersion },
  );
  return { lines, bytes, notes: [] };

  async function* content(): AsyncGenerator<string> {
    if (style !== null) yield markOf(style) + csvLine(shape.columns, style);
    for await (const batch of items) {
      lines += batch.length;
      yield batch
        .map((item) => (style === null ? `${shape.json(item)}\n` : csvLine(shape.cells(item), style)))
        .join('');
    }
  }
}

/** The style of the lines of a table; `formatRow` makes a row of cells; injected like `OpenTable`. */
export interface TableStyle {
  readonly delimiter: string;
  readonly newline: '\n' | '\r\n';
  /** Whether the file begins with a byte order mark. */
  readonly bom: boolean;
  /** For spreadsheets: no cell starts a formula. */
  readonly forSpreadsheets: boolean;
  readonly formatRow: (cells: readonly string[], delimiter: string) => string;
}

/** The style of a new file: `excel-csv` is for spreadsheets, `csv` for everything else. */
export function newStyle(format: 'csv' | 'excel-csv', formatRow: TableStyle['formatRow']): TableStyle {
  const forSpreadsheets = format === 'excel-csv';
  const newline = forSpreadsheets ? '\r\n' : '\n';
  return { delimiter: ',', newline, bom: forSpreadsheets, forSpreadsheets, formatRow };
}

/** The text before the header. */
export function markOf({ bom }: TableStyle): string {
  return bom ? '\ufeff' : '';
}

/** One row with its line end. A single empty cell is quoted, because an empty line is not a row. */
export function csvLine(cells: readonly string[], style: TableStyle): string {
  const line = style.formatRow(style.forSpreadsheets ? cells.map(inertCell) : cells, style.delimiter);
  return `${line === '' ? '""' : line}${style.newline}`;
}

/** The key of a line, from the values of its key columns. */
export function lineKey(values: readonly string[]): string {
  return values.join('\u001f');
}

/** What is kept of a line of the file, to see later whether an order has changed; nothing of a history, whose lines never change. */
export function linePrint(text: string, { isHistory }: RowShape): string {
  return isHistory ? '' : hash('sha256', text, 'base64url');
}

/** Whether the file has this line: one with its key that is, for orders, the last one with it and equal. */
export function hasLine(
  known: ReadonlyMap<string, string>,
  key: string,
  text: string,
  shape: RowShape,
): boolean {
  const print = known.get(key);
  return print !== undefined && print === linePrint(text, shape);
}

/** Reads the content again, to be written with the new lines. DestinationChangedError if it has changed. */
export async function readAgain(
  destination: Destination,
  version: string | null,
  signal: AbortSignal,
): Promise<Readable> {
  const again = await destination.read(signal);
  if (again !== undefined && again.version === version) return again.content;
  again?.content.destroy();
  throw changedMeanwhile(destination.location);
}

/** Writes only over the version that was read, if the destination has versions. */
export function overVersion(version: string | null, signal: AbortSignal): DestinationWriteOptions {
  return version === null ? { signal } : { signal, ifVersion: version };
}

/** An order without an id cannot be compared with the orders in the file. */
export function withoutId({ location }: Destination): DestinationError {
  return new DestinationError(
    `An order has no id, so it cannot be compared with the orders in ${location}; nothing was added.`,
    { hint: 'Set `mode: replace` under destination in the job.' },
  );
}

/** The note on lines that were already in the file; normal for orders, noted for a history only. */
export function alreadyThere(lines: number, { isHistory }: RowShape): string[] {
  return lines > 0 && isHistory ? [`${lines} lines were already in the file and were not added again.`] : [];
}
