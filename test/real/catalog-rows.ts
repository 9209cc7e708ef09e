import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';

/** Real files of real shops; they are not part of the repository. */
export const DATA_FOLDER = new URL('../../../shared/data/', import.meta.url);

/** What a suite that needs the data folder is called, and whether it can run. */
export function suiteName(name: string): string {
  return existsSync(DATA_FOLDER) ? name : `${name}: skipped, no ../shared/data`;
}
export const dataPresent = existsSync(DATA_FOLDER);

/** A data row as an independent parser reads it. */
export interface CatalogRow {
  /** 1 is the first data row. */
  readonly number: number;
  /** The trimmed cell under the first of these headers that the file has, case aside; blank when it has none. */
  readonly cell: (...headers: string[]) => string;
  readonly has: (header: string) => boolean;
}

/** Reads a file by csv-parse, strictly: any ragged row is an error. */
export function readCatalog(file: string): CatalogRow[] {
  const bytes = readFileSync(new URL(file, DATA_FOLDER));
  const [header = [], ...rows] = parse(bytes, { bom: true, delimiter: file.endsWith('.tsv') ? '\t' : ',' });
  const columns = new Map(header.map((name, index) => [name.trim().toLowerCase(), index]));
  return rows.map((cells, index) => ({
    number: index + 1,
    has: (name) => columns.has(name.toLowerCase()),
    cell: (...names) => {
      const column = names
        .map((name) => columns.get(name.toLowerCase()))
        .find((found) => found !== undefined);
      return column === undefined ? '' : (cells[column] ?? '').trim();
    },
  }));
}
