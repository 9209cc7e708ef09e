import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Papa from 'papaparse';
import { parse } from 'yaml';
import type { ColumnReport } from '../../src/mapping/columns/bind-table.ts';
import { compileMapping, type MappingContext } from '../../src/mapping/compile-mapping.ts';
import { mapTables, type Table } from '../../src/mapping/map-tables.ts';
import { type MappingSpec, mappingSchema } from '../../src/mapping/spec/mapping-spec.ts';
import type { Mapped, Product } from '../../src/model/mapped-record.ts';
import type { CellCurrencies, Row } from '../../src/model/row.ts';
import { openRowScratch } from '../../src/state/sqlite/open-row-scratch.ts';

/** A mapping written as YAML. */
export function mappingOf(yaml: string): MappingSpec {
  return mappingSchema.parse(parse(yaml));
}

/** A mapping that ships with Storeferry. */
export function shippedMapping(name: string): MappingSpec {
  return mappingOf(readFileSync(join(import.meta.dirname, '..', '..', 'mappings', `${name}.yaml`), 'utf8'));
}

/** What tests say of the context, where they say anything. */
export const CONTEXT: MappingContext = {
  params: {},
  lookups: new Map(),
  weightUnit: 'kg',
  now: Date.parse('2026-01-01T00:00:00Z'),
};

/** A table of a header and rows, the first of which stands in line 2. */
export function table(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  file = 0,
  batch = 2,
): Table {
  const all: Row[] = rows.map((cells, index) => ({ file, line: index + 2, cells }));
  return { header, file, batches: batches(all, batch) };
}

/** A table of a workbook, whose rows have cells and the currencies of their formats. */
export function formattedTable(
  header: readonly string[],
  rows: readonly (readonly [cells: readonly string[], currencies: CellCurrencies | undefined])[],
): Table {
  const all = rows.map(([cells, currencies], index) => ({ file: 0, line: index + 2, cells, currencies }));
  return { header, file: 0, batches: batches(all, all.length) };
}

async function* batches(rows: readonly Row[], size: number): AsyncIterable<readonly Row[]> {
  for (let from = 0; from < rows.length; from += size) {
    yield rows.slice(from, from + size);
  }
}

/** Everything that becomes of the tables. */
export async function mapAll(
  spec: MappingSpec,
  tables: readonly Table[],
  context: Partial<MappingContext> = {},
): Promise<{ readonly mapped: readonly Mapped[]; readonly reports: readonly ColumnReport[] }> {
  const reports: ColumnReport[] = [];
  const mapped: Mapped[] = [];
  const mapping = compileMapping(spec, { ...CONTEXT, ...context });
  for await (const batch of mapTables(mapping, tables, {
    openScratch: openRowScratch,
    onTable: (report) => reports.push(report),
  })) {
    mapped.push(...batch);
  }
  return { mapped, reports };
}

/** CSV text as rows, for the mappings' own tests. */
export async function parseCsv(text: string, delimiter: string) {
  const { data } = Papa.parse<string[]>(text.trim(), { delimiter });
  const [header = [], ...rows] = data;
  return { header, rows: rows.map((cells, index) => ({ file: 0, line: index + 2, cells })) };
}

/** The bodies of the products that can be sent. */
export function products(mapped: readonly Mapped[]): readonly Product[] {
  return mapped.flatMap((one) => (one.kind === 'record' && 'options' in one.body ? [one.body] : []));
}

/** A record in short: its kind, its key, and the code of its reason. */
export function brief(mapped: Mapped): string {
  const rows = `${mapped.rows} row${mapped.rows === 1 ? '' : 's'}`;
  return mapped.kind === 'record'
    ? `record ${mapped.key} (${rows})`
    : `${mapped.kind} ${mapped.key} ${mapped.reason.code} (${rows})`;
}
