import type { ExportJob } from '../../config/job/job.ts';
import { csvStyle, csvText, writeTable } from '../../tables/write-table.ts';
import type { Destination } from '../open-destination.ts';
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
