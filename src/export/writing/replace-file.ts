import { hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { ExportJob } from '../../config/job/job.ts';
import { DestinationError } from '../../model/storeferry-error.ts';
import { csvStyle, csvText, writeTable } from '../../tables/write-table.ts';
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

/** What a file is written from. */
export interface FileContent {
  /** Opens the items, from the first one each time: Parquet reads them twice. */
  readonly items: () => Items;
  readonly shape: RowShape;
  readonly file: Pick<ExportJob['destination'], 'format' | 'delimiter' | 'decimal'>;
  readonly signal: AbortSignal;
}

/** Replaces the destination. `ifVersion` as for `Destination.write`: null if no file may exist yet. */
export async function replaceFile(
  destination: Destination,
  { items, shape, file, signal, ifVersion }: FileContent & { readonly ifVersion?: string | null | undefined },
): Promise<Written> {
  let lines = 0;
  const bytes = await destination.write(
    content(),
    ifVersion === undefined ? { signal } : { signal, ifVersion },
  );
  return { lines, bytes, notes: [] };

  function content(): AsyncIterable<Uint8Array | string> {
    const { format, decimal } = file;
    const table = { name: 'Export', columns: shape.columns, rows: () => converted(shape.cells) };
    switch (format) {
      case 'jsonl':
        return jsonLines();
      case 'csv':
      case 'excel-csv':
        return csvText(table, csvStyle({ ...file, format }), decimal);
      case 'xlsx':
      case 'parquet':
        return writeTable(table, format);
      default:
        return format satisfies never;
    }
  }

  async function* converted<Line>(convert: (item: string) => Line): AsyncGenerator<Line[]> {
    lines = 0;
    for await (const batch of items()) {
      lines += batch.length;
      yield batch.map(convert);
    }
  }

  async function* jsonLines(): AsyncGenerator<string> {
    for await (const batch of converted(shape.json)) yield batch.map((line) => `${line}\n`).join('');
  }
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
