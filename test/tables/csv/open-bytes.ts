import { Readable } from 'node:stream';
import type { Row } from '../../../src/model/row.ts';
import { CsvError } from '../../../src/model/storeferry-error.ts';
import { type CsvOptions, type CsvTable, readCsv } from '../../../src/tables/csv/read-csv.ts';

/** A stream of the bytes, in pieces of the given lengths, over and over. */
export function inPieces(bytes: Uint8Array, lengths: readonly number[] = [65_536]): Readable {
  return Readable.from(pieces(bytes, lengths), { objectMode: false });
}

function* pieces(bytes: Uint8Array, lengths: readonly number[]): Generator<Uint8Array> {
  let at = 0;
  for (let turn = 0; at < bytes.length; turn += 1) {
    const length = Math.max(1, lengths[turn % lengths.length] ?? 1);
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

/** Opens text (as UTF-8) or bytes. */
export function open(content: string | Uint8Array, options: Partial<CsvOptions> = {}): Promise<CsvTable> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return readCsv(inPieces(bytes), { name: 'sample.csv', ...options });
}

/** All rows of a table. */
export async function allRows(table: CsvTable): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const batch of table.batches()) rows.push(...batch);
  return rows;
}

/** Opens and reads all of it: the header and the cells of the rows. */
export async function read(content: string | Uint8Array, options: Partial<CsvOptions> = {}) {
  const table = await open(content, options);
  const rows = await allRows(table);
  return { table, rows, header: table.header, cells: rows.map((row) => row.cells) };
}

/** The CsvError with which reading ends. */
export async function refusal(content: string | Uint8Array, options: Parameters<typeof open>[1] = {}) {
  const error: unknown = await read(content, options).then(
    () => 'read',
    (reason: unknown) => reason,
  );
  if (!(error instanceof CsvError)) throw new Error(`expected a CsvError, got ${String(error)}`);
  return error;
}
