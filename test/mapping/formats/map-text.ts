import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { parse } from 'yaml';
import { compileMapping } from '../../../src/mapping/compile-mapping.ts';
import { mapTables } from '../../../src/mapping/map-tables.ts';
import { mappingSchema } from '../../../src/mapping/spec/mapping-spec.ts';
import type { MappedRecord, MappedRejection, MappedSkip, Product } from '../../../src/model/mapped-record.ts';
import { openRowScratch } from '../../../src/state/sqlite/open-row-scratch.ts';
import { readCsv } from '../../../src/tables/csv/read-csv.ts';

/** What a job may say beside the mapping. */
export interface MapOptions {
  readonly params?: Readonly<Record<string, string | number | boolean>>;
  /** When the source is staged, in ISO form. */
  readonly now?: string;
  readonly delimiter?: string;
}

export interface MappedProduct extends MappedRecord {
  readonly body: Product;
}

/** What a shipped mapping makes of a source. */
export interface MappedSource {
  readonly products: readonly MappedProduct[];
  readonly rejected: readonly MappedRejection[];
  readonly skipped: readonly MappedSkip[];
  /** Rows accounted for, all together. */
  readonly rows: number;
}

/** Runs CSV text through a shipped mapping, as an import does. */
export function mapText(mapping: string, text: string, options: MapOptions = {}): Promise<MappedSource> {
  return mapBytes(mapping, Buffer.from(text), options);
}

/** Runs the bytes of a CSV file through a shipped mapping, as an import does. */
export async function mapBytes(
  mapping: string,
  bytes: Buffer,
  options: MapOptions = {},
): Promise<MappedSource> {
  const file = new URL(`../../../mappings/${mapping}.yaml`, import.meta.url);
  const compiled = compileMapping(mappingSchema.parse(parse(await readFile(file, 'utf8'))), {
    params: options.params ?? {},
    lookups: new Map(),
    weightUnit: 'kg',
    now: Date.parse(options.now ?? '2026-01-01T00:00:00Z'),
  });
  using table = await readCsv(Readable.from([bytes]), { name: 'source.csv', delimiter: options.delimiter });
  const products: MappedProduct[] = [];
  const rejected: MappedRejection[] = [];
  const skipped: MappedSkip[] = [];
  const tables = [{ header: table.header, file: 0, batches: table.batches() }];
  for await (const batch of mapTables(compiled, tables, { openScratch: openRowScratch })) {
    for (const mapped of batch) {
      if (mapped.kind === 'rejected') rejected.push(mapped);
      else if (mapped.kind === 'skipped') skipped.push(mapped);
      else if (isProduct(mapped)) products.push(mapped);
      else throw new Error(`${mapping} gives contacts`);
    }
  }
  const rows = [...products, ...rejected, ...skipped].reduce((sum, mapped) => sum + mapped.rows, 0);
  return { products, rejected, skipped, rows };
}

function isProduct(record: MappedRecord): record is MappedProduct {
  return 'variants' in record.body;
}

/** Writes rows as CSV text under a header; cells that are not given are blank. */
export function csvText<Column extends string>(
  header: readonly Column[],
  rows: readonly Partial<Record<Column, string | number>>[],
): string {
  const line = (cells: readonly string[]) =>
    cells.map((cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',');
  return [line(header), ...rows.map((row) => line(header.map((column) => String(row[column] ?? ''))))].join(
    '\n',
  );
}
